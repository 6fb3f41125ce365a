//! Files of several exports, and files that only resemble one.

use super::command::{Annals, ends, fixture, text};

/// The export of a session with this answer. Its id and its first events are always the same.
fn exported(answer: &str) -> String {
    let annals = Annals::new();
    let scenario = serde_json::json!({
        "scenario": 1, "name": "two versions",
        "script": [{"provider": [{"text": answer}]}, {"prompt": "Shall I go on?"}],
    });
    let file = annals.file("versions.json");
    std::fs::write(&file, scenario.to_string()).unwrap();
    ends(&annals, 0, &["scenario", "run", &text(&file), "--keep", "--store", &text(&annals.store())]);
    annals.run(&["export", "@last"]).out
}

fn head(export: &str) -> String {
    let header: serde_json::Value = serde_json::from_str(export.lines().next().unwrap()).unwrap();
    header["head"]["digest"].as_str().unwrap().to_owned()
}

#[test]
fn two_exports_of_one_session_that_contradict_each_other_are_damage_for_every_command() {
    let (honest, forged) = (exported("No."), exported("Yes."));
    let (kept, session) = (head(&honest), serde_json::from_str::<serde_json::Value>(honest.lines().next().unwrap()));
    let session = session.unwrap()["session"].as_str().unwrap().to_owned();
    let annals = Annals::new();
    let file = annals.file("both.jsonl");
    std::fs::write(&file, format!("{forged}{honest}")).unwrap();
    let path = text(&file);
    let verified = ends(&annals, 1, &["verify", &path, "--head", &kept]);
    assert!(verified.contains("contradict each other"), "{verified}");
    assert!(verified.contains("but the log is damaged") && !verified.contains("has grown since"), "{verified}");
    for command in ["replay", "transcript", "report", "history", "log", "export", "verify"] {
        let said = ends(&annals, 1, &[command, &path]);
        assert!(said.contains("contradict each other") && !said.contains("Yes."), "{command}: {said}");
    }
    let said = ends(&annals, 1, &["import", &path]);
    assert!(!annals.run(&["sessions"]).out.contains(&session), "{said}");
    // The same export twice, and one of another session behind it.
    std::fs::write(&file, format!("{honest}{honest}")).unwrap();
    let verified = ends(&annals, 0, &["verify", &path, "--head", &kept]);
    let line = honest.lines().count();
    assert!(verified.contains(": 1 session, ") && verified.contains(&format!("session {session}, line {}", 2 * line)));
    ends(&annals, 0, &["replay", &path]);
    annals.run(&["import", &fixture("claude-code/one-turn.jsonl")]);
    let other = annals.run(&["export", "@last"]).out;
    std::fs::write(&file, format!("{other}{honest}")).unwrap();
    let verified = ends(&annals, 1, &["verify", &path, "--head", &kept]);
    let line = other.lines().count() + line;
    assert!(verified.contains(&format!("is in session {session} (line {line}), not in the first")), "{verified}");
}

#[test]
fn a_byte_order_mark_is_damage() {
    let (annals, export) = (Annals::new(), exported("No."));
    let file = annals.file("marked.jsonl");
    std::fs::write(&file, format!("\u{feff}{export}")).unwrap();
    ends(&annals, 1, &["verify", &text(&file)]);
    ends(&annals, 1, &["import", &text(&file)]);
}
