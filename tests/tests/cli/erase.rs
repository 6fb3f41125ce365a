//! Personal data is handed over withheld, then erased at home: it is nowhere in the folder, and all proofs hold.

use super::command::{Annals, ends, fixture, text};
use annals_config::Variables;
use annals_tests::deadline::WithDeadline;
use memchr::memmem;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const SECRET: &str = "Ottilie Brandauer";
const OUTPUT: &str = "TOKEN=Zebra-Quartz-9917";

/// The name of a file with the whole output of a tool.
const OUTPUT_FILE: &str = "tool_00000000000000000000000000";

/// A store with one session of two turns and a call, and a key to sign it with.
fn store() -> Annals {
    let annals = Annals::new();
    let scenario = serde_json::json!({
        "scenario": 1, "name": "personal data",
        "script": [
            {"tool": {"name": "read", "output": OUTPUT, "required": ["path"]}},
            {"provider": [{"text": "I will look.",
                "calls": [{"id": "c1", "tool": "read", "input": {"path": "/project/.env"}}]}]},
            {"provider": [{"text": "Nothing of note."}]}, {"prompt": format!("My name is {SECRET} ({OUTPUT_FILE})")},
            {"provider": [{"text": "Done again."}]}, {"prompt": "A second question"},
        ],
    });
    let file = annals.file("personal.json");
    std::fs::write(&file, scenario.to_string()).unwrap();
    ends(&annals, 0, &["scenario", "run", &text(&file), "--keep", "--store", &text(&annals.store())]);
    let keys = annals.file("home").join(".ssh");
    std::fs::create_dir_all(&keys).unwrap();
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/src/signing/ssh/vectors");
    std::fs::copy(vectors.join("plain"), keys.join("id_ed25519")).unwrap();
    std::fs::set_permissions(keys.join("id_ed25519"), std::fs::Permissions::from_mode(0o600)).unwrap();
    annals
}

/// The files below a folder that contain a text.
fn containing(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match std::fs::read(&path) {
            _ if path.is_dir() => found.extend(containing(&path, text)),
            Ok(content) if memmem::find(&content, text.as_bytes()).is_some() => {
                found.push(path.display().to_string());
            }
            _ => {}
        }
    }
    found
}

fn python(file: &Path) -> (bool, String) {
    let checker = Path::new(env!("CARGO_MANIFEST_DIR")).join("verify_log.py");
    let output = Command::new("python3").arg("-B").arg(checker).arg(file).output_watched().unwrap();
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn personal_data_is_erased_from_every_file_and_all_proofs_hold() {
    annals_tests::needs!("python3", "ssh-keygen");
    let annals = store();
    ends(&annals, 0, &["sign"]);
    let withheld = annals.file("withheld.jsonl");
    ends(&annals, 0, &["export", "@last", &text(&withheld), "--withhold", "tool:read", "--withhold", "text:Ottilie"]);
    assert!(!containing(&annals.store(), SECRET).is_empty() && !containing(&annals.store(), OUTPUT).is_empty());
    // The index has it as a text and, without its case, as words, whose beginning may be that of the word before.
    ends(&annals, 0, &["index"]);
    let cache = annals.store().join("cache");
    let indexed = [SECRET, "tilie", "andauer"];
    assert!(indexed.iter().all(|text| !containing(&cache, text).is_empty()));

    let erase = ["erase", "@last", "--matching", "Ottilie|Zebra", "--reason", "She asked for it."];
    let refused = ends(&annals, 2, &erase);
    assert!(refused.contains("--yes"), "{refused}");
    assert!(!containing(&annals.store(), SECRET).is_empty(), "nothing is erased before it is confirmed");

    let erased = ends(&annals, 0, &[&erase[..], &["--yes"]].concat());
    assert!(erased.contains("erased 2 texts"), "{erased}");
    for gone in [SECRET, OUTPUT, "Ottilie|Zebra"] {
        assert_eq!(containing(&annals.store(), gone), Vec::<String>::new(), "{gone}");
    }
    let status: serde_json::Value = serde_json::from_str(&annals.run(&["index", "--json"]).out).unwrap();
    assert_eq!(status["added"], 0, "the index was made again");
    for gone in indexed {
        assert_eq!(containing(&cache, gone), Vec::<String>::new(), "{gone}");
    }
    assert_eq!(annals.run(&["search", "Ottilie"]).status, 1);
    for shows in [vec!["log", "@last"], vec!["transcript", "@last"], vec!["replay", "@last"], vec!["history", "@last"]]
    {
        let shown = ends(&annals, 0, &shows);
        assert!(shown.contains("[erased: ") && !shown.contains(SECRET), "{shown}");
    }
    assert!(ends(&annals, 0, &["log", "@last"]).contains("She asked for it."));

    let verified = ends(&annals, 0, &["verify"]);
    assert!(verified.contains("texts erased by ") && verified.contains("She asked for it."), "{verified}");
    ends(&annals, 0, &["verify", "--signed"]);
    ends(&annals, 0, &["doctor"]);
    ends(&annals, 0, &["verify", &text(&withheld)]);

    let after = annals.file("after.jsonl");
    ends(&annals, 0, &["export", "@last", &text(&after)]);
    let said = ends(&annals, 0, &["verify", &text(&after)]);
    assert!(said.contains(" texts erased; everything else and the order of all facts proved"), "{said}");
    let (sound, said) = python(&after);
    assert!(sound && said.contains(" texts erased; everything else"), "{said}");

    let lines = std::fs::read(&after).unwrap();
    for at in (0..lines.len()).step_by(lines.len() / 25) {
        let (mut flipped, file) = (lines.clone(), annals.file("flipped.jsonl"));
        flipped[at] ^= 1;
        std::fs::write(&file, flipped).unwrap();
        ends(&annals, 1, &["verify", &text(&file)]);
        assert!(!python(&file).0, "byte {at}");
    }
}

#[test]
fn an_erasure_names_requests_only_if_there_are_some() {
    let annals = Annals::new();
    ends(&annals, 0, &["import", &fixture("codex/one-turn.rollout.jsonl")]);
    let erased = ends(&annals, 0, &["erase", "@last", "--all", "--reason", "a test", "--yes"]);
    assert!(erased.contains("annals: with them 1 digest of these texts\n"), "{erased}");
}

#[test]
fn an_erased_session_continues_and_is_imported_elsewhere() {
    annals_tests::needs!("python3");
    let annals = store();
    ends(&annals, 0, &["erase", "@last", "--seq", "1", "--reason", "a test", "--yes"]);
    let again = ends(&annals, 2, &["erase", "@last", "--seq", "1", "--reason", "a test", "--yes"]);
    assert!(again.contains("nothing to erase"), "{again}");
    ends(&annals, 0, &["pin", "@last", "turn:2"]);
    let file = annals.file("erased.jsonl");
    ends(&annals, 0, &["export", "@last", &text(&file)]);
    let other = Annals::new();
    ends(&other, 0, &["import", &text(&file)]);
    ends(&other, 0, &["verify"]);
    ends(&other, 0, &["unpin", "@last", "turn:2"]);
    ends(&other, 0, &["verify"]);
    let copied = other.file("copied.jsonl");
    ends(&other, 0, &["export", "@last", &text(&copied)]);
    assert!(python(&copied).0);
}

#[test]
fn a_forgotten_session_is_in_no_list_and_still_verifies() {
    let annals = store();
    let id = ends(&annals, 0, &["sessions"]);
    let id = id.lines().nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    ends(&annals, 0, &["forget", &id, "--reason", "her right", "--yes"]);
    assert!(!ends(&annals, 0, &["sessions"]).contains(&id));
    assert!(ends(&annals, 0, &["log", &id]).contains("session.forgotten"));
    ends(&annals, 0, &["verify"]);
    for gone in [SECRET, OUTPUT, "Nothing of note", "A second question"] {
        assert_eq!(containing(&annals.store(), gone), Vec::<String>::new(), "{gone}");
    }
}

#[test]
fn inherited_texts_are_erased_in_the_session_that_wrote_them() {
    let annals = store();
    ends(&annals, 0, &["fork", "@last"]);
    let erase = ["erase", "@last", "--matching", "Ottilie", "--reason", "a test", "--yes"];
    let refused = ends(&annals, 2, &erase);
    assert!(refused.contains("--with-ancestors"), "{refused}");
    assert!(!containing(&annals.store(), SECRET).is_empty());
    ends(&annals, 0, &[&erase[..], &["--with-ancestors"]].concat());
    assert_eq!(containing(&annals.store(), SECRET), Vec::<String>::new());
    ends(&annals, 0, &["verify"]);
    ends(&annals, 0, &["transcript", "@last"]);
}

#[test]
fn a_source_that_grew_continues_behind_erased_texts_and_restores_none() {
    const SOURCE: &str = "codex/tools-and-resume.rollout.jsonl";
    let annals = Annals::new();
    let source = annals.file("rollout.jsonl");
    let whole = std::fs::read_to_string(super::command::fixture(SOURCE)).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let half = lines[..lines.len() / 2].join("\n") + "\n";
    std::fs::write(&source, half).unwrap();
    ends(&annals, 0, &["import", &text(&source)]);
    ends(&annals, 0, &["erase", "@last", "--seq", "2", "--reason", "a test", "--yes"]);
    let erased = ends(&annals, 0, &["log", "@last"]);
    assert!(ends(&annals, 0, &["import", &text(&source)]).contains("nothing new"));
    std::fs::write(&source, &whole).unwrap();
    let grown = ends(&annals, 0, &["import", &text(&source)]);
    assert!(!grown.contains("nothing new") && !grown.contains("not imported. "), "{grown}");
    let after = ends(&annals, 0, &["log", "@last"]);
    assert!(after.lines().count() > erased.lines().count() + 5, "{after}");
    assert!(after.contains("[erased: "), "{after}");
    ends(&annals, 0, &["verify"]);
    assert!(ends(&annals, 0, &["import", &text(&source)]).contains("nothing new"));
    // The same, imported at once, has the same texts but for the erased one.
    let other = Annals::new();
    ends(&other, 0, &["import", &text(&source)]);
    let kept = |annals: &Annals| ends(annals, 0, &["transcript", "@last"]).lines().count();
    assert!(kept(&annals).abs_diff(kept(&other)) < 8);
}

/// Copies of the personal data outside the log: an output file, a line of the chat history, an answer in a cassette.
fn plant_copies(annals: &Annals) -> std::path::PathBuf {
    let (outputs, cassette) = (annals.store().join("outputs"), annals.file("cassette"));
    std::fs::create_dir_all(&outputs).unwrap();
    std::fs::write(outputs.join(OUTPUT_FILE), format!("hello {SECRET}")).unwrap();
    std::fs::write(annals.store().join("chat-history"), format!("#V2\nMy name is {SECRET}\nsomething else\n")).unwrap();
    std::fs::create_dir_all(cassette.join("parts")).unwrap();
    let requests = ends(annals, 0, &["--all", "requests", "@last", "--json"]);
    let requests: serde_json::Value = serde_json::from_str(requests.trim()).unwrap_or_else(|_| {
        serde_json::Value::Array(requests.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    });
    let digest = digests(&requests).into_iter().next().unwrap();
    let line = format!(r#"{{"cassette":1,"request":"{digest}","parts":[]}}"#);
    std::fs::write(cassette.join(format!("{digest}.1.jsonl")), format!("{line}\n{SECRET}\n")).unwrap();
    cassette
}

/// The digests of requests in an answer.
fn digests(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::Object(members) => {
            let own = members.get("digest").and_then(serde_json::Value::as_str).map(str::to_owned);
            own.into_iter().chain(members.values().flat_map(digests)).collect()
        }
        serde_json::Value::Array(items) => items.iter().flat_map(digests).collect(),
        _ => Vec::new(),
    }
}

/// Copies outside the log go first, so that a command that stops there is repeated as it was.
#[test]
fn an_erasure_that_fails_outside_the_log_is_repeated_and_reaches_every_copy() {
    let annals = store();
    let cassette = plant_copies(&annals);
    let folder = text(&cassette);
    let erase = ["erase", "@last", "--matching", "Ottilie", "--reason", "a test", "--yes", "--cassette", &folder];
    // Each kind of copy cannot be removed in turn: nothing is recorded, and the same command works afterwards.
    let history = annals.store().join("chat-history");
    let content = std::fs::read(&history).unwrap();
    std::fs::remove_file(&history).unwrap();
    std::fs::create_dir(&history).unwrap();
    ends(&annals, 2, &erase);
    assert!(!ends(&annals, 0, &["log", "@last"]).contains("texts.erased"));
    std::fs::remove_dir(&history).unwrap();
    std::fs::write(&history, content).unwrap();
    let moved = annals.file("moved");
    std::fs::rename(&cassette, &moved).unwrap();
    ends(&annals, 2, &erase);
    assert!(!ends(&annals, 0, &["log", "@last"]).contains("texts.erased"));
    assert!(!containing(&annals.store(), SECRET).is_empty() && !containing(&moved, SECRET).is_empty());
    std::fs::rename(&moved, &cassette).unwrap();
    ends(&annals, 0, &erase);
    assert_eq!(containing(&annals.store(), SECRET), Vec::<String>::new());
    assert_eq!(containing(&cassette, SECRET), Vec::<String>::new());
    assert!(std::fs::read_to_string(&history).unwrap().contains("something else"));
    ends(&annals, 0, &["verify"]);
}

#[test]
fn a_source_whose_erased_text_was_replaced_by_one_of_the_same_length_is_not_the_same() {
    let mut annals = Annals::new();
    let source = annals.file("rollout.jsonl");
    let whole = std::fs::read_to_string(super::command::fixture("codex/one-turn.rollout.jsonl")).unwrap();
    std::fs::write(&source, &whole).unwrap();
    ends(&annals, 0, &["import", &text(&source)]);
    let shown = ends(&annals, 0, &["log", "@last"]);
    assert!(whole.contains("hello there") && shown.contains("hello there"), "{shown}");
    ends(&annals, 0, &["erase", "@last", "--matching", "hello there", "--reason", "a test", "--yes"]);
    let erased = ends(&annals, 0, &["log", "@last"]);
    assert!(ends(&annals, 0, &["import", &text(&source)]).contains("nothing new"));

    let other = whole.replace("hello there", "hello where");
    std::fs::write(&source, &other).unwrap();
    let differs = ends(&annals, 1, &["import", &text(&source)]);
    assert!(differs.contains("differs from the earlier import"), "{differs}");
    assert_eq!(ends(&annals, 0, &["log", "@last"]), erased, "nothing was appended");

    // Whoever lost the secret that the key follows from can compare lengths alone.
    let home = text(&annals.file("home"));
    annals.environment.variables = Variables::fixed([("HOME", home), ("ANNALS_IMPORT_SECRET", "11".repeat(32))]);
    assert!(ends(&annals, 0, &["import", &text(&source)]).contains("nothing new"));
    std::fs::write(&source, whole.replace("hello there", "hello over there")).unwrap();
    assert!(ends(&annals, 1, &["import", &text(&source)]).contains("differs from the earlier import"));
    assert_eq!(ends(&annals, 0, &["log", "@last"]), erased);
}

#[test]
fn originals_that_an_import_kept_lose_the_text_as_well_and_others_stay() {
    let annals = Annals::new();
    let source = fixture("claude-code/tools-and-compaction.jsonl");
    ends(&annals, 0, &["import", &source, "--keep-originals"]);
    let blobs = annals.store().join("blobs");
    // In a record the lines of a text are one line of JSON.
    let kept = |text: &str| containing(&blobs, text).len();
    let (with, others) = (kept("\\nnuts,20,A1\\n"), kept("\"attachment\"") - kept("\\nnuts,20,A1\\n"));
    assert!(with > 0 && others > 0, "{with} and {others}");
    let erase = ["erase", "@last", "--matching", "nuts,20,A1", "--reason", "a test", "--yes", "--json"];
    let answer: serde_json::Value = serde_json::from_str(&annals.run(&erase).out).unwrap();
    assert_eq!(answer["originals"], with);
    assert_eq!(containing(&annals.store(), "nuts,20,A1"), Vec::<String>::new());
    assert_eq!(kept("\"attachment\""), others);
    ends(&annals, 0, &["verify"]);
}

/// Real processes, killed at any time: what is recorded is finished by the next opening, what is not is found again.
#[test]
fn an_erasure_that_is_killed_at_any_time_is_finished_by_the_same_command() {
    for round in 0..12_u64 {
        let annals = store();
        plant_copies(&annals);
        let erase = ["erase", "@last", "--matching", "Ottilie", "--reason", "a test", "--yes"];
        let mut command = Command::new(env!("CARGO_BIN_EXE_annals-test"));
        command.args(erase).args(["--all", "--store", &text(&annals.store())]);
        let mut process = command
            .env("HOME", annals.file("home"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn_watched()
            .unwrap();
        std::thread::sleep(Duration::from_millis(round * 9));
        process.kill().unwrap();
        process.wait().unwrap();
        let again = annals.run(&erase);
        // Nothing matches any more if the killed process had recorded it.
        assert!(
            again.status == 0 || again.remarks.contains("no text"),
            "round {round}: {}{}",
            again.out,
            again.remarks
        );
        assert_eq!(containing(&annals.store(), SECRET), Vec::<String>::new(), "round {round}");
        let log = ends(&annals, 0, &["log", "@last"]);
        assert_eq!(log.matches("texts.erased").count(), 1, "round {round}: {log}");
        ends(&annals, 0, &["verify"]);
    }
}

#[test]
fn an_expression_finds_what_json_escapes_and_what_is_left_is_said() {
    let annals = Annals::new();
    let scenario = serde_json::json!({
        "scenario": 1, "name": "escaped",
        "script": [
            {"tool": {"name": "read", "output": "nothing", "required": ["path"]}},
            {"provider": [{"text": "I will look.", "calls": [{"id": "c-4711", "tool": "read",
                "input": {"path": "/p/a", "script": "{\"who\": \"Herr \\\"M\\u00fcller\\\"\"}"}}]}]},
            {"provider": [{"text": "Done."}]}, {"prompt": "Look for Mu\u{308}ller"},
        ],
    });
    let file = annals.file("escaped.json");
    std::fs::write(&file, scenario.to_string()).unwrap();
    ends(&annals, 0, &["scenario", "run", &text(&file), "--keep", "--store", &text(&annals.store())]);
    std::fs::remove_file(file).unwrap();
    let erase = |regex: &str| ["erase", "@last", "--reason", "a test", "--yes", "--matching", regex].join("\n");
    let run = |status, regex: &str| ends(&annals, status, &erase(regex).split('\n').collect::<Vec<_>>());
    run(0, "M\u{fc}ller");
    for form in ["ller", "u00fc"] {
        assert_eq!(containing(&annals.store(), form), Vec::<String>::new(), "{form}");
    }
    // The id of a call is no text.
    let said = run(1, "c-4711|Done");
    assert!(said.contains("still matches in event"), "{said}");
    assert!(!annals.run(&["transcript", "@last"]).out.contains("Done."));
}

#[test]
fn commands_that_look_say_that_an_erasure_is_unfinished() {
    let annals = store();
    let unfinished = |command: &str| {
        annals.run(&[command]).remarks.contains("erased texts are still in the store (an erasure is not finished)")
    };
    assert!(!unfinished("verify"));
    std::fs::write(annals.store().join("erasing"), "").unwrap();
    assert!(unfinished("verify") && unfinished("log") && unfinished("doctor"));
}
