//! The questions as commands: stdout, stderr and exit status.

use crate::cli::command::{Annals, fixture};
use serde_json::Value;

const COMPACTION: &str = "opencode/v2/compaction.events.jsonl";

fn json(args: &[&str]) -> Value {
    let mut all = args.to_vec();
    all.push("--json");
    serde_json::from_str(&Annals::new().run(&all).out).unwrap()
}

#[test]
fn a_text_that_a_request_does_not_hold_is_bad_news() {
    let file = fixture(COMPACTION);
    let annals = Annals::new();
    let why = annals.run(&["why", &file, "no such words"]);
    let when = annals.run(&["when", &file, "no such words"]);
    assert_eq!((why.status, when.status), (1, 1));
    assert_eq!(why.remarks, "annals: request 10 does not contain this text; `annals when` shows which requests did\n");
}

#[test]
fn a_step_that_does_not_exist_is_wrong_use() {
    let answer = Annals::new().run(&["why", &fixture(COMPACTION), "--step", "99"]);
    assert_eq!(answer.status, 2);
    assert!(answer.remarks.contains("has 10 requests; there is no request 99"), "{}", answer.remarks);
}

#[test]
fn denied_breaks_are_bad_news_and_none_are_fine() {
    let annals = Annals::new();
    let broken = fixture(COMPACTION);
    assert_eq!(annals.run(&["cache", &broken]).status, 0);
    assert_eq!(annals.run(&["cache", &broken, "--deny-breaks"]).status, 1);
    assert_eq!(annals.run(&["cache", &fixture("opencode/v2/tools.events.jsonl"), "--deny-breaks"]).status, 0);
}

#[test]
fn differences_are_bad_news() {
    let annals = Annals::new();
    let (one, other) = (fixture("opencode/v1/fork-source.json"), fixture("opencode/v1/fork.json"));
    assert_eq!((annals.run(&["diff", &one, &one]).status, annals.run(&["diff", &one, &other]).status), (0, 1));
    let file = fixture(COMPACTION);
    assert_eq!(annals.run(&["diff", &file, "--steps", "2", "2"]).status, 0);
    insta::assert_snapshot!(
        annals.show(&["diff", &file, "--steps", "4", "5", "--stat"])
            + "\n"
            + &annals.show(&["diff", &one, &other, "--stat"])
            + "\n"
            + &annals.show(&["diff", &file, "22", "28", "--stat"])
    );
}

#[test]
fn every_question_is_answered_in_json() {
    let file = fixture(COMPACTION);
    let why = json(&["why", &file, "Rules changed"]);
    assert_eq!(why["spans"][0]["fact"]["kind"], "epoch.started");
    assert_eq!(why["spans"][0]["sources"][0], "core/instructions");
    assert_eq!(why["spans"][0]["since"], 9);
    let when = json(&["when", &file, "Rules changed"]);
    assert_eq!(when["sightings"][0]["stays"][0]["left"]["by"]["epoch"], "compaction");
    assert_eq!(when["sightings"][3]["stays"][0]["left"], Value::Null);
    let cache = json(&["cache", &file, "--last", "2"]);
    assert_eq!(cache["requests"][0]["break"]["cause"]["baseline"], "compaction");
    assert_eq!(cache["breaks"], 1);
    let requests = json(&["diff", &file, "--steps", "1", "2"]);
    assert_eq!(requests["first"]["b"], "message 1");
    let sessions = json(&["diff", &fixture("opencode/v1/fork-source.json"), &fixture("opencode/v1/fork.json")]);
    assert_eq!((&sessions["first"], &sessions["same"]), (&Value::from(3), &Value::from(2)));
    let pattern = r#"{"history": {"$contains": {"type": "compaction"}}}"#;
    let found = json(&["bisect", &file, "--good", "0", "--bad", "58", "--where", pattern]);
    assert_eq!((&found["bad"], &found["facts"][0]["kind"]), (&Value::from(28), &Value::from("compaction.ended")));
    let found = json(&["bisect", &file, "--bad", "20", "--text", "What does inventory.csv hold"]);
    assert_eq!((&found["bad"], &found["facts"][0]["kind"]), (&Value::from(9), &Value::from("input.promoted")));
}

#[test]
fn a_bisection_takes_a_pattern_or_a_command_and_ends_that_differ() {
    let file = fixture(COMPACTION);
    let annals = Annals::new();
    let by_command = annals.run(&[
        "bisect",
        &file,
        "--good",
        "0",
        "--bad",
        "58",
        "--",
        "sh",
        "-c",
        "! grep -q '\"type\":\"compaction\"'",
    ]);
    assert_eq!(by_command.status, 0, "{}", by_command.remarks);
    assert!(by_command.out.contains("first true after event 27"), "{}", by_command.out);
    let equal = r#"{"session": {"agent": "build"}}"#;
    insta::assert_snapshot!(
        annals.show(&["bisect", &file, "--good", "0", "--bad", "58", "--where", equal])
            + &annals.show(&["bisect", &file, "--good", "0", "--bad", "58", "--where", r#"{"histroy": []}"#])
            + &annals.show(&["bisect", &file, "--good", "0", "--bad", "5800", "--where", equal])
            + &annals.show(&["bisect", &file, "--good", "58", "--bad", "0", "--where", equal])
    );
}

#[test]
fn a_certificate_of_the_fixtures_holds_and_an_altered_one_names_the_view() {
    let annals = Annals::new();
    let (file, report) = (fixture("codex/one-turn.rollout.jsonl"), annals.file("report.json"));
    let path = report.to_str().unwrap();
    assert_eq!(annals.run(&["certify", &file, "--report", path]).status, 0);
    assert_eq!(annals.run(&["certify", &file, "--against", path]).status, 0);
    let mut altered: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    altered["sessions"][0]["views"]["usage"] = altered["sessions"][0]["views"]["history"].clone();
    std::fs::write(&report, altered.to_string()).unwrap();
    insta::assert_snapshot!(annals.show(&["certify", &file, "--against", path]));
    assert_eq!(annals.run(&["certify", &file, "--against", &fixture("FORMAT.md")]).status, 2);
}

#[test]
fn questions_on_a_store_create_and_append_nothing() {
    let annals = Annals::with_fixtures();
    let before = annals.run(&["sessions", "--json"]).out;
    let folder = annals.file("goldens");
    for args in [
        &["why", "@last"][..],
        &["when", "@last", "the"],
        &["cache", "@last"],
        &["diff", "@last", "1"],
        &["fixture", "@last", "--output", folder.to_str().unwrap()],
    ] {
        let answer = annals.run(args);
        assert!(answer.status < 2, "{args:?}: {}", answer.remarks);
    }
    assert_eq!(annals.run(&["sessions", "--json"]).out, before);
    assert!(folder.join("certificate.json").exists());
}
