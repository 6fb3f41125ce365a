//! What an import reports: prompts without an answer, fields that were lost, secrets.

use crate::cli::command::{Annals, fixture};
use serde_json::Value;

const CODEX: &str = "codex/one-turn.rollout.jsonl";
const ONE_TURN: &str = "claude-code/one-turn.jsonl";

fn text(name: &str) -> String {
    std::fs::read_to_string(fixture(name)).expect("a fixture")
}

/// Writes a file in the folder of the store.
fn put(annals: &Annals, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = annals.file(name);
    std::fs::write(&path, content).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_transcript_that_holds_only_a_prompt_is_imported_and_continued() {
    let annals = Annals::new();
    let all = text(ONE_TURN);
    let lines: Vec<&str> = all.split_inclusive('\n').collect();
    let file = put(&annals, "it.jsonl", lines[..3].concat());
    let prompt = annals.run(&["import", &file]);
    assert_eq!(prompt.status, 0);
    assert!(prompt.out.contains("3 events          hello there"), "{}", prompt.out);
    put(&annals, "it.jsonl", &all);
    let answered = annals.run(&["import", &file]);
    assert_eq!(answered.status, 0, "{}", answered.out);
    let again = annals.run(&["import", &file]);
    assert_eq!((again.status, again.out.as_str()), (0, "1 session, nothing new\n"));
    let log = annals.run(&["log", "@last"]).out;
    assert!(log.contains("anthropic/unknown") && log.contains("model.switched     anthropic/mock-claude"), "{log}");
    assert!(log.contains("text.ended"), "{log}");
    // One without a prompt is not passed over in silence.
    let none = annals.run(&["import", &put(&annals, "none.jsonl", lines[..2].concat())]);
    assert_eq!(none.status, 0);
    assert!(none.remarks.contains("none.jsonl: no prompt yet; nothing to import"), "{}", none.remarks);
}

#[test]
fn policies_and_permission_mode_are_counted_as_lost_and_the_git_state_is_not() {
    let annals = Annals::new();
    let report = annals.file("report.json").to_string_lossy().into_owned();
    annals.run(&["import", &fixture(CODEX), &fixture(ONE_TURN), "--report", &report]);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).expect("it")).expect("JSON");
    let sessions = report["sessions"].as_array().expect("a list");
    let count = |at: usize, what: &str| sessions[at]["losses"][what]["count"].as_u64();
    assert_eq!((count(0, "session_meta.git"), count(0, "session_meta.originator")), (None, None), "{report}");
    assert_eq!(count(0, "turn_context: approval_policy"), Some(1), "{report}");
    assert_eq!(
        (count(1, "user: gitBranch"), count(1, "user: permissionMode")),
        (None, Some(1)),
        "once per value: {report}"
    );
}

#[test]
fn secrets_are_counted_once_or_replaced_in_the_title_too() {
    let key = format!("ghp_{}", "0123456789abcdefghijABCDEFGHIJ012345");
    let annals = Annals::new();
    let with_key = text(CODEX).replace("hello there", &format!("use {key}"));
    let file = put(&annals, "it.jsonl", &with_key);
    let first = annals.run(&["import", &file]);
    assert!(
        first.remarks.contains("1 text looks like a key: github-token (1); --redact replaces them"),
        "{}",
        first.remarks
    );
    let again = annals.run(&["import", &file]);
    assert_eq!(again.remarks, "", "what is known is not counted again");

    let redacted = Annals::new();
    let report = redacted.file("report.json").to_string_lossy().into_owned();
    let answer = redacted.run(&["import", "--redact", &file, "--report", &report]);
    assert_eq!(answer.status, 0);
    assert!(answer.out.contains("use [redacted:github-token]") && !answer.out.contains(&key), "{}", answer.out);
    assert!(!std::fs::read_to_string(report).expect("it").contains(&key));
}
