//! A Session from beginning to end through each protocol, against a server that is not ours: three turns, parallel tools,
//! one that fails, instructions that change, and a kill in the middle. Afterwards it verifies byte for byte, runs again
//! from its cassette without a server, and no planted secret is anywhere.

use crate::run::person::{KEY, Person};
use annals_tests::aimock::{Aimock, AimockError, calls, says, says_after_results};
use annals_tests::deadline::WithDeadline;
use memchr::memmem;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// What a file of the project holds and no model, log or cassette may.
const IN_A_FILE: &str = "sk-ant-api03-Zq8wT5vKx2mYb7Rj4Nc9Ls6Hd3Gf1Pa0Eu8Wi5Ot2Xk7Vn4Bm9Qz6Cy3Jr1Dl-planted-AA";
/// What a variable holds and a command prints.
const IN_A_VARIABLE: &str = "correct-horse-battery-staple-9417";

fn fixtures() -> Vec<Value> {
    let survey = [
        ("call_notes", "read", json!({"path": "notes.md"})),
        ("call_missing", "read", json!({"path": "missing.md"})),
        ("call_env", "bash", json!({"command": "echo token is $DEPLOY_TOKEN"})),
    ];
    let write = [("call_write", "write", json!({"path": "report.md", "content": "All is well.\n"}))];
    let wait = [("call_wait", "bash", json!({"command": "sleep 60"}))];
    vec![
        calls("survey the project", &survey),
        says_after_results("survey the project", "The notes hold a plan and a key."),
        calls("write a report", &write),
        says_after_results("write a report", "The report is written."),
        calls("wait for a minute", &wait),
        says_after_results("wait for a minute", "I did not wait to the end."),
        says("sum it up", "A plan, a report, and a minute that was cut short."),
    ]
}

/// How many answers a cassette holds.
fn answers_in(folder: &Path) -> usize {
    let files = fs::read_dir(folder).expect("a cassette").flatten();
    files.filter(|file| file.path().extension().is_some_and(|end| end == "jsonl")).count()
}

/// The command runs until `sign` stands in what it tells and so many answers are recorded; then it is killed.
fn killed_at(sign: &str, answers: usize, person: &Person, args: &[&str]) {
    let mut child = person.command(args).spawn_watched().expect("it runs");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains(sign) {
        line.clear();
        assert!(out.read_line(&mut line).expect("a line") > 0, "it never told {sign}");
    }
    // The call runs. Its answer ends, and is in the cassette, before anybody pulls the plug.
    while answers_in(&person.folder().join("cassette")) < answers {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().expect("it runs still");
    child.wait().expect("it is gone");
}

fn through(protocol: &str, base: fn(&Aimock) -> String) -> Result<(), AimockError> {
    let Some(server) = Aimock::start(&fixtures())? else { return Ok(()) };
    let mut person = Person::with_model(&base(&server), protocol);
    person.set("DEPLOY_TOKEN", IN_A_VARIABLE);
    person.write("notes.md", &format!("# Plan\n\nMend the clock.\nkey: {IN_A_FILE}\n"));
    person.write("AGENTS.md", "Be brief.\n");
    let run = |args: &[&str]| {
        let all: Vec<&str> = ["run", "--yes", "--record", "../cassette"].iter().chain(args).copied().collect();
        let answer = person.annals(&all);
        assert_eq!(answer.status, Some(0), "{protocol}, {args:?}: {answer:?}");
        answer.out
    };

    assert_eq!(run(&["survey the project"]), "The notes hold a plan and a key.\n");
    person.write("AGENTS.md", "Be exact.\n");
    assert_eq!(run(&["-c", "write a report"]), "The report is written.\n");
    let wait = ["run", "--yes", "--record", "../cassette", "--json", "-c", "wait for a minute"];
    killed_at("\"type\":\"tool.called\"", 5, &person, &wait);
    assert_eq!(run(&["-c"]), "I did not wait to the end.\n");
    assert_eq!(run(&["-c", "sum it up"]), "A plan, a report, and a minute that was cut short.\n");

    let log = person.json(&["log", "@last", "--json"]);
    let kinds: Vec<&str> = log.as_array().into_iter().flatten().filter_map(|record| record["type"].as_str()).collect();
    let count = |kind: &str| kinds.iter().filter(|found| **found == kind).count();
    assert_eq!(
        [
            count("input.promoted"),
            count("tool.called"),
            count("tool.settled"),
            count("context.admitted"),
            count("request.sent")
        ],
        [4, 5, 5, 1, 7],
        "{kinds:?}"
    );
    let verified = person.annals(&["verify", "--requests", "--wire"]);
    assert_eq!(verified.status, Some(0), "{protocol}: {verified:?}");

    // Again, from what was recorded, with no server, no key, and nothing of the world that it met.
    drop(server);
    person.set("MOCK_KEY", "");
    person.set("DEPLOY_TOKEN", "");
    for name in ["notes.md", "AGENTS.md", "report.md"] {
        fs::remove_file(person.project().join(name)).expect("it was there");
    }
    let sent = |session: &str| -> Vec<String> {
        let log = person.json(&["log", session, "--kind", "request.sent", "--json"]);
        let events = log.as_array().cloned().unwrap_or_default();
        // A body of Responses names the session for the provider's cache; the requests are the same all the same.
        let wire = |record: &Value| if protocol == "openai-responses" { Value::Null } else { record["wire"].clone() };
        events.iter().map(|record| format!("{} {}", record["digest"], wire(record))).collect()
    };
    let original = person.json(&["sessions", "--json"])[0]["id"].as_str().expect("an id").to_owned();
    let requests = sent(&original);
    let again = person.annals(&["rerun", &original, "--replay", "../cassette"]);
    assert_eq!(sent("@last"), requests, "{protocol}: each request is the same, to the byte: {again:?}");

    let exported = person.annals(&["export", &original]).out;
    fs::write(person.folder().join("exported.jsonl"), exported).expect("a file");
    for secret in [KEY, IN_A_FILE, IN_A_VARIABLE] {
        assert_eq!(holders(person.folder(), secret.as_bytes()), Vec::<String>::new(), "{protocol}: {secret}");
    }
    Ok(())
}

/// The files below a folder that hold some bytes.
fn holders(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            found.extend(holders(&path, bytes));
        } else if kind.is_file() {
            let held = fs::read(&path).expect("a file");
            if memmem::find(&held, bytes).is_some() {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_session_through_chat_completions_is_proved_replayed_and_holds_no_secret() {
    through("openai-chat", Aimock::openai).expect("a mock server");
}

#[test]
fn a_session_through_responses_is_proved_replayed_and_holds_no_secret() {
    through("openai-responses", Aimock::openai).expect("a mock server");
}

#[test]
fn a_session_through_messages_is_proved_replayed_and_holds_no_secret() {
    through("anthropic-messages", Aimock::anthropic).expect("a mock server");
}
