//! The corpus of invented secrets, and that of what must stay (`docs/redaction.md`).

mod containers_by_hand;
mod generated;
mod grammar;
mod labelled;
mod shapes;

use annals_guard::redaction::Redactor;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

type Tested = Result<(), Box<dyn std::error::Error>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn corpus<T: for<'de> Deserialize<'de>>(name: &str) -> Result<Vec<T>, Box<dyn std::error::Error>> {
    let text = fs::read_to_string(root().join("fixtures/redaction").join(name))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

#[derive(Deserialize)]
struct Secret {
    kind: String,
    before: String,
    /// In parts, so that no scanner takes the corpus for a leak.
    secret: Vec<String>,
    after: String,
}

#[derive(Deserialize)]
struct LookAlike {
    what: String,
    text: String,
}

#[test]
fn every_invented_secret_becomes_its_placeholder_and_nothing_else_changes() -> Tested {
    let redactor = Redactor::default();
    let corpus: Vec<Secret> = corpus("secrets.txt")?;
    assert!(corpus.len() > 60);
    let mut wrong = Vec::new();
    for Secret { kind, before, secret, after } in corpus {
        let secret = secret.concat();
        let expected = format!("{before}[redacted:{kind}]{after}");
        let redacted = redactor.redact(&format!("{before}{secret}{after}")).text.into_owned();
        if redacted != expected {
            wrong.push(format!("{expected:?}\n  was {redacted:?}"));
        }
        // In the middle of other text, and again.
        let among = format!("a line\n{before}{secret}{after}\nanother line {before}{secret}{after}");
        let redacted = redactor.redact(&among);
        if redacted.text.contains(&secret) || redacted.counts.get(&kind) != Some(&2) {
            wrong.push(format!("{kind} among other text: {:?}", redacted.counts));
        }
        let again = redactor.redact(&redacted.text);
        if again.text != redacted.text {
            wrong.push(format!("{kind}: redacted twice"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn a_secret_in_a_text_of_json_leaves_it_json() -> Tested {
    let redactor = Redactor::default();
    for Secret { kind, before, secret, after } in corpus::<Secret>("secrets.txt")? {
        let secret = secret.concat();
        let json = serde_json::json!({"output": format!("{before}{secret}{after}"), "exit": 0}).to_string();
        let redacted = redactor.redact(&json);
        let value: serde_json::Value = serde_json::from_str(&redacted.text)?;
        assert!(!value.to_string().contains(&secret), "{kind}: {value}");
        assert_eq!(value.get("exit"), Some(&0.into()), "{kind}: {value}");
    }
    Ok(())
}

#[test]
fn what_only_looks_like_a_secret_stays() -> Tested {
    let redactor = Redactor::default();
    for LookAlike { what, text } in corpus::<LookAlike>("look-alikes.txt")? {
        assert_eq!(redactor.redact(&text).text, text, "{what}");
    }
    Ok(())
}

#[test]
fn lock_files_and_recorded_sessions_of_this_repository_stay() -> Tested {
    let redactor = Redactor::default();
    let mut read = 0;
    let mut folders = vec![
        root().join("fixtures/stories"),
        root().join("fixtures/codex"),
        root().join("fixtures/claude-code"),
        root().join("docs"),
    ];
    let mut files =
        vec![root().join("Cargo.lock"), root().join("fixtures/events.jsonl"), root().join("fixtures/events.hex")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        read += 1;
        let counts = redactor.redact(&text).counts;
        assert!(counts.is_empty(), "{}: {counts:?}", file.display());
    }
    assert!(read > 20);
    Ok(())
}

/// How many of a hundred.
fn percent(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

#[derive(Deserialize)]
struct Assignment {
    before: String,
    secret: Vec<String>,
    after: String,
}

#[test]
fn secrets_are_found_by_their_names_and_ordinary_lines_stay() -> Tested {
    let redactor = Redactor::default();
    let assignments: Vec<Assignment> = corpus("assignments.txt")?;
    let (mut missed, mut asked) = (Vec::new(), 0);
    for Assignment { before, secret, after } in assignments {
        let secret = secret.concat();
        let text = format!("{before}{secret}{after}");
        let among = format!("{text}\nanother line\n{text}\n");
        let json = serde_json::json!({"output": [format!("first line\n{text}")]}).to_string();
        let nested = serde_json::json!({"body": json}).to_string();
        for form in [text, among, json, nested] {
            asked += 1;
            let redacted = redactor.redact(&form);
            if redacted.text.contains(&secret) || redacted.counts.is_empty() {
                missed.push(form);
            }
        }
    }
    let ordinary = fs::read_to_string(root().join("fixtures/redaction/ordinary.txt"))?;
    let ordinary: Vec<&str> = ordinary.lines().filter(|line| !line.starts_with("# ")).collect();
    let wrong: Vec<&&str> = ordinary.iter().filter(|line| redactor.redact(line).text != **line).collect();
    let found = asked - missed.len();
    let (recall, precision) = (percent(found, asked), percent(found, found + wrong.len()));
    println!("recall {recall:.1} % of {asked}, precision {precision:.1} % with {} ordinary lines", ordinary.len());
    assert!(asked > 280 && ordinary.len() > 95, "the lists are there");
    assert!(recall >= 99.0, "recall {recall:.1} %: {missed:#?}");
    assert!(precision >= 99.0, "precision {precision:.1} %: {wrong:#?}");
    Ok(())
}
