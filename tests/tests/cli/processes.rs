//! Each command that appends to a session names its process; what plays a scenario does not.

use crate::cli::command::{Annals, fixture};
use serde_json::Value;

/// What each process of the last session calls itself.
fn processes(annals: &Annals, session: &str) -> Vec<String> {
    let log: Value = serde_json::from_str(&annals.run(&["log", session, "--json"]).out).expect("a log");
    let log = log.as_array().expect("a list").clone();
    let named = log.iter().filter(|event| event["process"].is_object()).map(|event| {
        let process = &event["process"];
        format!("{} {} {}", process["program"], process["user"], process["host"]).replace('"', "")
    });
    named.collect()
}

#[test]
fn an_edit_names_its_process_and_a_scenario_none() {
    let annals = Annals::new();
    let (scenario, store) = (fixture("scenarios/several-changes-make-one-message.json"), annals.store());
    let played = annals.run(&["scenario", "run", &scenario, "--store", &store.to_string_lossy()]);
    assert_eq!(played.status, 0, "{}", played.remarks);
    assert_eq!(processes(&annals, "@last"), [""; 0]);
    let session = annals.run(&["sessions", "--json"]).out;
    let session: Value = serde_json::from_str(&session).expect("a list");
    let session = session[0]["id"].as_str().expect("an id").to_owned();
    let prompts = annals.run(&["history", &session, "--json"]).out;
    let prompts: Value = serde_json::from_str(&prompts).expect("a history");
    let seq = prompts[0]["seq"].to_string();
    for (times, args) in [["pin", &session, &seq], ["unpin", &session, &seq]].iter().enumerate() {
        let edited = annals.run(args);
        assert_eq!(edited.status, 0, "{}", edited.remarks);
        assert_eq!(processes(&annals, &session), vec!["annals ada machine"; times + 1]);
    }
    assert_eq!(annals.run(&["fork", &session]).status, 0);
    assert_eq!(processes(&annals, "@last").len(), 3, "those that it inherits, and its own");
    assert_eq!(annals.run(&["verify", "@last"]).status, 0);
}

#[test]
fn imported_sessions_are_found_by_their_branch_and_show_their_process() {
    let annals = Annals::with_fixtures();
    let found = |branch: &str| -> Vec<String> {
        let list = annals.run(&["sessions", "--branch", branch, "--children", "--json"]).out;
        let list: Value = serde_json::from_str(&list).expect("a list");
        let agents =
            list.as_array().into_iter().flatten().map(|one| one["origin"].as_str().unwrap_or_default().to_owned());
        agents.collect()
    };
    let on_master = found("master");
    for (agent, count) in [("claude-code", 4), ("codex", 2), ("opencode", 0)] {
        assert_eq!(on_master.iter().filter(|one| *one == agent).count(), count, "{agent}: {on_master:?}");
    }
    assert_eq!(found("main"), [""; 0]);
    let codex = annals.file("codex.jsonl");
    std::fs::copy(fixture("codex/one-turn.rollout.jsonl"), &codex).expect("a copy");
    let log = annals.run(&["log", &codex.to_string_lossy()]).out;
    let line = log.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(line.contains("recorded by codex_exec 0.169.0, git master at 9a74b09"), "{log}");
}
