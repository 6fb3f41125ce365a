//! `verify_log.py`, which follows `fixtures/FORMAT.md` alone, and the Rust code tell the same damage at the same lines.

use annals_core::exported::{ExportedText, visit_texts};
use annals_core::text::BlobRef;
use annals_core::{Digest, Seq, Text};
use annals_store::conformance::material::{KEY, draft, fork, promoted, session, story, synthetic, two, whole};
use annals_store::exchange::{VerifyReport, export, verify_file};
use annals_store::{EventLog, MemoryLog};
use annals_tests::deadline::WithDeadline;
use memchr::memmem;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Line, and the words told of it.
type DamageLines = BTreeMap<u64, Vec<String>>;

fn by_rust(file: &[u8], kept: Option<Digest>) -> DamageLines {
    let report: VerifyReport = verify_file(&mut &*file, kept, &mut |_| {}).unwrap();
    let lines = report.damage.iter().map(|one| (one.place.line.unwrap_or(0), one.flaw.word().to_owned()));
    gather(lines)
}

/// The program itself, on one file.
fn by_python(path: &Path, kept: Option<Digest>) -> DamageLines {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("verify_log.py");
    let mut command = Command::new("python3");
    command.arg(program).arg(path).args(kept.map(|digest| digest.to_string()));
    let output = command.output_watched().unwrap();
    let lines = read_lines(&String::from_utf8(output.stdout).unwrap());
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(i32::from(!lines.is_empty())), "{problem}");
    lines
}

/// Its `verify`, on many files in one process.
fn by_python_all(paths: &[PathBuf]) -> Vec<DamageLines> {
    const DRIVER: &str = "import sys; sys.path.insert(0, sys.argv[1]); import verify_log
for path in sys.argv[2:]:
    [print(*one) for one in verify_log.verify(open(path, 'rb'))]
    print()";
    let mut command = Command::new("python3");
    command.args(["-B", "-c", DRIVER, env!("CARGO_MANIFEST_DIR")]).args(paths);
    let output = command.output_watched().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (mut all, mut one) = (Vec::new(), String::new());
    for line in text.lines() {
        if line.is_empty() {
            all.push(read_lines(&std::mem::take(&mut one)));
        } else {
            one.extend([line, "\n"]);
        }
    }
    all
}

fn read_lines(text: &str) -> DamageLines {
    // Without damage it prints the digests.
    gather(text.lines().filter(|line| !line.starts_with("session ")).map(|line| {
        let (line, word) = line.split_once(' ').unwrap();
        (line.parse().unwrap(), word.to_owned())
    }))
}

fn gather(found: impl Iterator<Item = (u64, String)>) -> DamageLines {
    let mut lines = DamageLines::new();
    for (line, word) in found {
        lines.entry(line).or_default().push(word);
    }
    for words in lines.values_mut() {
        words.sort();
        words.dedup();
    }
    lines
}

/// The one allowed difference: who knows every type of event tells `line` where others tell `digest` or `key`, and not which
/// blobs such a batch fails to name (`fixtures/FORMAT.md`).
fn agree(rust: &DamageLines, python: &DamageLines) -> bool {
    let mut python = python.clone();
    for (line, words) in rust {
        let Some(found) = python.get_mut(line) else { return false };
        if words == &["line"] && found.iter().any(|word| word == "digest" || word == "key") {
            *found = words.clone();
            python.retain(|line, found| found != &["blob"] || rust.contains_key(line));
        }
    }
    *rust == python
}

/// A file of two exports, where the first one ends, and every digest of the second.
async fn file() -> (Vec<u8>, usize, Vec<Digest>) {
    let log = MemoryLog::new();
    let (a, b) = (session(1), session(2));
    story(&log, a, 2).await.unwrap();
    let odd = synthetic("\"\\\u{8}\t\n\u{c}\r\u{0}\u{1f}\u{7f}\u{2028}\u{1f600}/");
    log.append(draft(a, Seq(5), vec![odd, promoted("x")])).await.unwrap();
    fork(&log, a, Seq(6), b).await.unwrap();
    two(&log, b, Seq(7)).await.unwrap();
    // Small blobs, since the Python program hashes slowly.
    let texts = ["größer als ein Happen ".repeat(20), "kept twice".to_owned(), "\u{1f600}\n\"".repeat(9)];
    for (text, at) in texts.iter().zip(9..) {
        log.put_blob(text.clone()).await.unwrap();
        let blobs = [text, &texts[0]].map(|text| synthetic(Text::Blob(BlobRef::to(text).into())));
        log.append(draft(b, Seq(2 * at - 9), blobs.to_vec())).await.unwrap();
    }
    let mut out = Vec::new();
    let first = export(&log, a, &mut out, &mut |_| {}).await.unwrap().bytes as usize;
    export(&log, b, &mut out, &mut |_| {}).await.unwrap();
    let digests = whole(&log, b).await.unwrap().iter().map(|slice| slice.batch.digest).collect();
    (out, first, digests)
}

/// The file as it is when texts are withheld: the one with number `n` if `chosen(n)` says so; the others are disclosed.
fn withheld(file: &[u8], chosen: impl Fn(usize) -> bool) -> Vec<u8> {
    let (mut out, mut number) = (String::new(), 0);
    let mut blobs: BTreeMap<Digest, String> = BTreeMap::new();
    for line in file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut line: Value = serde_json::from_slice(line).unwrap();
        if let Some(text) = line.get("text").and_then(Value::as_str) {
            blobs.insert(Digest::of(text.as_bytes()), text.to_owned());
            continue;
        }
        line.as_object_mut().unwrap().remove("keys");
        let hide = visit_texts(&mut line, &mut |seq, place, text| {
            let text = match text {
                ExportedText::Text(text) => text,
                ExportedText::Blob(named) => blobs[&named.blob].clone(),
                other => panic!("{other:?}"),
            };
            number += 1;
            let key = KEY.text_key(seq, place);
            Ok::<_, Infallible>(Some(match chosen(number) {
                true => json!({"bytes": text.len(), "chars": text.chars().count(), "commitment": key.commit(&text)}),
                false => json!({"key": Digest(key.0), "text": text}),
            }))
        });
        let Ok(()) = hide;
        out.push_str(&annals_core::canonical::value(&line));
        out.push('\n');
    }
    out.into_bytes()
}

#[tokio::test]
async fn exports_of_one_session_in_one_file_continue_each_other_or_are_damage() {
    if !annals_tests::needed::is_here("python3") {
        return;
    }
    // One session as two people have it, and what one of them made of it: shorter, the same, longer, and with another end.
    let (a, b) = (session(1), session(2));
    let exported = async |events: &[&str], of| {
        let log = MemoryLog::new();
        story(&log, a, 1).await.unwrap();
        let mut at = log.head(a).await.unwrap().unwrap().next;
        for event in events {
            at = log.append(draft(a, at, vec![synthetic(*event)])).await.unwrap().batch.next();
        }
        fork(&log, a, at, b).await.unwrap();
        let (mut out, head) = (Vec::new(), log.head(of).await.unwrap().unwrap().digest);
        export(&log, of, &mut out, &mut |_| {}).await.unwrap();
        (out, head)
    };
    let [short, whole, forged] = [&["x"][..], &["x", "y"], &["x", "z"]];
    let ((short, _), (whole, head), (forged, other)) =
        (exported(short, a).await, exported(whole, a).await, exported(forged, a).await);
    let (fork_of_forged, _) = exported(&["x", "z"], b).await;
    let hidden = withheld(&whole, |number| number % 2 == 0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("both.jsonl");
    for (parts, kept, words) in [
        (vec![&whole, &whole], head, &[][..]),
        (vec![&short, &whole], head, &[]),
        (vec![&whole, &short, &hidden], head, &[]),
        (vec![&forged, &whole], head, &["other"]),
        (vec![&forged, &whole], other, &["other"]),
        (vec![&whole, &forged, &forged], head, &["other", "other"]),
        (vec![&whole, &fork_of_forged], head, &["other"]),
        (vec![&short, &fork_of_forged, &whole], other, &["kept", "other"]),
    ] {
        let content: Vec<u8> = parts.into_iter().flatten().copied().collect();
        std::fs::write(&path, &content).unwrap();
        let rust = by_rust(&content, Some(kept));
        let mut found: Vec<&str> = rust.values().flatten().map(String::as_str).collect();
        found.sort_unstable();
        assert_eq!(found, words, "{rust:?}");
        assert_eq!(rust, by_python(&path, Some(kept)));
        let report = verify_file(&mut content.as_slice(), Some(kept), &mut |_| {}).unwrap();
        assert_eq!(report.sessions.iter().filter(|proven| proven.session == a).count(), 1, "one session");
    }
}

/// The file, and many ways to damage it, each with a name.
fn variants(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let mut all = vec![("as exported".to_owned(), file.to_vec())];
    for at in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(at);
        all.push((format!("without line {}", at + 1), without.concat()));
        let mut twice = lines.clone();
        twice.insert(at, lines[at]);
        all.push((format!("line {} twice", at + 1), twice.concat()));
        let mut swapped = lines.clone();
        swapped.swap(at, (at + 1) % lines.len());
        all.push((format!("line {} later", at + 1), swapped.concat()));
        all.push((format!("cut after line {at}"), lines[..at].concat()));
    }
    for at in (0..file.len()).step_by(file.len() / 40) {
        let mut altered = file.to_vec();
        altered[at] ^= 1;
        all.push((format!("byte {at} altered"), altered));
    }
    if !file.windows(6).any(|window| window == b"\"keys\"") {
        for (what, with) in [("\"commitment\":\"", "\"commitment\":\"0"), ("\"bytes\":", "\"bytes\":1")] {
            let text = String::from_utf8(file.to_vec()).unwrap();
            all.push((format!("{with} for {what}"), text.replacen(what, with, 1).into_bytes()));
        }
        return all;
    }
    for (what, with) in [
        ("\"session.created\"", "\"session.titled\""),
        ("\"first\":3", "\"first\":4"),
        ("\"prev\":null", "\"prev\":0"),
        ("what now?", "what then?"),
        ("\"cut\":6", "\"cut\":5"),
        ("\"at\":", "\"at\": "),
        ("\\u001f", "\\u001F"),
        ("\u{1f600}", "\\ud83d\\ude00"),
        ("\"format\":2", "\"format\":3"),
        ("\"format\":2", "\"format\":1"),
        ("\"keys\":{", "\"kays\":{"),
        ("\"keys\":{\"0", "\"keys\":{\"1"),
        ("\"key_hash\":\"a", "\"key_hash\":\"b"),
        ("{\"text\":\"/work/project\"}", "\"/work/project\""),
        ("{\"text\":\"what now?\"}", "{\"key\":\"11\",\"text\":\"what now?\"}"),
        ("\"chars\":440", "\"chars\":441"),
        ("\"first\":1,", "\"first\":1.0,"),
        ("\"bytes\"", "\"byte\""),
    ] {
        let text = String::from_utf8(file.to_vec()).unwrap();
        assert!(text.contains(what), "{what}");
        all.push((format!("{with} for {what}"), text.replacen(what, with, 1).into_bytes()));
    }
    all.push(("nothing".to_owned(), Vec::new()));
    all.push(("no last line feed".to_owned(), file.strip_suffix(b"\n").unwrap().to_vec()));
    all
}

#[tokio::test]
async fn the_python_program_agrees_about_exports_that_withhold_texts() {
    if !annals_tests::needed::is_here("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, ..) = file().await;
    for (name, hidden) in [("all", withheld(&file, |_| true)), ("some", withheld(&file, |number| number % 3 == 0))] {
        assert!(!hidden.windows(6).any(|window| window == b"\"keys\""), "the header has no keys");
        let variants = variants(&hidden);
        let path = |n: usize| folder.path().join(format!("{name}-{n}.jsonl"));
        let paths: Vec<PathBuf> = (0..variants.len()).map(path).collect();
        for (path, (_, content)) in paths.iter().zip(&variants) {
            std::fs::write(path, content).unwrap();
        }
        for ((what, content), python) in variants.iter().zip(by_python_all(&paths)) {
            let rust = by_rust(content, None);
            assert!(agree(&rust, &python), "{name}, {what}:\n rust   {rust:?}\n python {python:?}");
            if what == "as exported" {
                assert!(rust.is_empty(), "{name}: {rust:?}");
            }
        }
        // With one text as it was, but without its key, nothing is proved.
        let text = String::from_utf8(hidden).unwrap();
        let at = text.find("{\"bytes\":").unwrap();
        let end = at + text[at..].find('}').unwrap() + 1;
        let open = format!("{}{{\"text\":\"x\"}}{}", &text[..at], &text[end..]);
        assert!(by_rust(open.as_bytes(), None).values().flatten().any(|word| word == "key"));
    }
}

#[tokio::test]
async fn the_python_program_agrees_about_every_alteration() {
    if !annals_tests::needed::is_here("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (file, first, digests) = file().await;
    let variants = variants(&file);
    let paths: Vec<PathBuf> = (0..variants.len()).map(|n| folder.path().join(format!("{n}.jsonl"))).collect();
    for (path, (_, content)) in paths.iter().zip(&variants) {
        std::fs::write(path, content).unwrap();
    }
    let by_python_all = by_python_all(&paths);
    assert_eq!(by_python_all.len(), variants.len());
    let mut damaged = 0;
    for ((name, content), python) in variants.iter().zip(by_python_all) {
        let rust = by_rust(content, None);
        assert!(agree(&rust, &python), "{name}:\n rust   {rust:?}\n python {python:?}");
        // The file without its last line feed, and the first of its two exports alone, are sound.
        let is_sound = [&*file, &file[..file.len() - 1], &file[..first]].contains(&&**content);
        assert_eq!(rust.is_empty(), is_sound, "{name}: {rust:?}");
        damaged += usize::from(!rust.is_empty());
    }
    assert!(damaged > 100, "{damaged}");
    let path = folder.path().join("log.jsonl");
    std::fs::write(&path, &file).unwrap();
    let lines = DamageLines::from([(0, vec!["kept".to_owned()])]);
    let (mut held, mut later) = (0, 0);
    for kept in digests {
        // What a person kept is of the first session: what stands behind it proves nothing of that one.
        let is_first = memmem::find(&file[..first], kept.to_string().as_bytes()).is_some();
        let expected = if is_first { DamageLines::new() } else { lines.clone() };
        assert_eq!((by_rust(&file, Some(kept)), by_python(&path, Some(kept))), (expected.clone(), expected));
        *(if is_first { &mut held } else { &mut later }) += 1;
    }
    assert!(held > 0 && later > 0, "{held} {later}");
    let foreign = Some(Digest::of(b"not in this log"));
    assert_eq!((by_rust(&file, foreign), by_python(&path, foreign)), (lines.clone(), lines));
}
