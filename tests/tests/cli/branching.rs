//! What `annals fork`, `annals revert` and `annals tree` answer, at 80 columns, for eyes.

use crate::cli::command::{Annals, fixture};
use annals_core::Time;

/// A store with one imported session, "the source".
fn imported(name: &str) -> Annals {
    let annals = Annals::new();
    let answer = annals.run(&["import", &fixture(name)]);
    assert_eq!(answer.status, 0, "{}", answer.remarks);
    annals
}

/// Forks, a millisecond later than what was done before; gives the id and what was shown, the id cut to its time.
fn fork(annals: &mut Annals, args: &[&str]) -> (String, String) {
    annals.now = Time(annals.now.millis() + 1);
    let mut all = vec!["fork"];
    all.extend(args);
    let shown = annals.show(&all);
    let id = shown.split_whitespace().next().unwrap_or_default().to_owned();
    assert_eq!(id.len(), 26, "{shown}");
    let shown = [id.as_str(), args[0]]
        .into_iter()
        .filter(|name| name.len() == 26)
        .fold(shown.clone(), |shown, id| shown.replace(id, &format!("{}…", &id[..10])));
    (id, shown)
}

/// What a command gives as JSON.
fn json(annals: &Annals, args: &[&str]) -> serde_json::Value {
    let mut all = args.to_vec();
    all.push("--json");
    let answer = annals.run(&all);
    assert_eq!(answer.status, 0, "{args:?}: {}", answer.remarks);
    serde_json::from_str(&answer.out).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", answer.out))
}

#[test]
fn a_fork_of_an_imported_session_is_named_after_it_and_shown_in_its_tree() {
    let mut annals = imported("opencode/v1/tools.json");
    let (one, first) = fork(&mut annals, &["@last"]);
    let (two, second) = fork(&mut annals, &[&one]);
    let (_, third) = fork(&mut annals, &[&two, "--before", "turn:1"]);
    let tree = annals.show(&["tree", &one]);
    let at = annals.show(&["fork", &one, "--at", "90000"]).replace(&one, "FORK");
    insta::assert_snapshot!([first, second, third, tree, at].join("\n"));
}

#[test]
fn a_fork_at_an_event_reads_what_its_parent_reads_there() {
    let mut annals = imported("opencode/v2/tools.events.jsonl");
    let source = json(&annals, &["sessions"])[0]["id"].as_str().unwrap_or_default().to_owned();
    let log = json(&annals, &["log", &source]);
    let events = log.as_array().map_or(0, Vec::len);
    assert!(events > 20, "{events}");
    for at in (0..events).step_by(7) {
        let at = at.to_string();
        let (child, _) = fork(&mut annals, &[&source, "--at", &at]);
        for view in ["history", "transcript"] {
            let (parent, child) = (json(&annals, &[view, &source, "--at", &at]), json(&annals, &[view, &child]));
            assert_eq!(settled(parent), settled(child), "{view} at {at}");
        }
        assert_eq!(annals.run(&["verify", &child]).status, 0);
    }
}

/// The same messages with every open call as a fork has it: settled as interrupted.
fn settled(messages: serde_json::Value) -> Vec<String> {
    let list = messages.as_array().cloned().unwrap_or_default();
    list.iter().map(|message| format!("{} {} {}", message["seq"], message["type"], message["text"])).collect()
}

#[test]
fn a_fork_exports_with_its_ancestors() {
    let mut annals = imported("opencode/v2/tools.events.jsonl");
    let (one, _) = fork(&mut annals, &["@last"]);
    let (two, _) = fork(&mut annals, &[&one]);
    let file = annals.file("fork.jsonl").to_string_lossy().into_owned();
    assert_eq!(annals.run(&["export", &two, &file]).status, 0);
    let there = Annals::new();
    assert_eq!(there.run(&["import", &file]).status, 0);
    assert_eq!(there.run(&["verify"]).status, 0);
    assert_eq!(json(&annals, &["history", &two]), json(&there, &["history", &two]));
}

#[test]
fn a_revert_shows_what_goes_and_says_that_imported_files_stay() {
    let annals = imported("opencode/v2/steer-and-queue.events.jsonl");
    let before = json(&annals, &["history", "@last"]);
    let staged = annals.show(&["revert", "@last", "--to", "turn:2"]);
    assert_eq!(before, json(&annals, &["history", "@last"]), "what is staged changes nothing yet");
    let cleared = annals.show(&["revert", "@last", "--clear"]);
    assert_eq!(before, json(&annals, &["history", "@last"]));
    let again = annals.show(&["revert", "@last", "--clear"]);
    let fork = json(&annals, &["sessions"])[0]["id"].as_str().unwrap_or_default().to_owned();
    insta::assert_snapshot!([staged, cleared, again].join("\n").replace(&fork, "FORK"));
}

#[test]
fn a_session_of_ones_own_is_reverted_and_forked_like_an_imported_one() {
    let mut annals = Annals::new();
    let store = annals.store().to_string_lossy().into_owned();
    let scenario = fixture("scenarios/first-turn-renders-the-baseline.json");
    let played = annals.run(&["scenario", "run", &scenario, "--store", &store]);
    assert_eq!(played.status, 0, "{}", played.remarks);
    let (child, _) = fork(&mut annals, &["@last"]);
    let staged = annals.show(&["revert", &child, "--to", "turn:1"]);
    let committed = annals.show(&["revert", &child, "--commit"]);
    assert_eq!(json(&annals, &["history", &child]), serde_json::json!([]));
    insta::assert_snapshot!([staged, committed].join("\n"));
}

#[test]
fn a_committed_revert_leaves_the_history_and_stays_in_the_transcript() {
    let annals = imported("opencode/v2/steer-and-queue.events.jsonl");
    let imported = json(&annals, &["sessions"])[0]["id"].as_str().unwrap_or_default().to_owned();
    let usage = json(&annals, &["usage", &imported]);
    annals.run(&["revert", "@last", "--to", "turn:2"]);
    let committed = annals.show(&["revert", "@last", "--commit"]);
    let history = annals.show(&["history", "@last"]);
    let messages = json(&annals, &["transcript", "@last"]);
    let undone = messages.as_array().into_iter().flatten().filter(|message| message["reverted"] == true).count();
    assert!(undone > 1, "{messages}");
    assert_eq!(usage, json(&annals, &["usage", &imported]), "usage stays");
    let missing = annals.show(&["revert", "@last", "--to", "turn:9"]);
    let missing = missing.split_once(": ").map(|(_, rest)| rest.to_owned()).unwrap_or(missing);
    let fork = json(&annals, &["sessions"])[0]["id"].as_str().unwrap_or_default().to_owned();
    insta::assert_snapshot!([committed, history, missing].join("\n").replace(&fork, "FORK"));
}

#[test]
fn a_file_is_never_changed() {
    let annals = Annals::new();
    let file = fixture("opencode/v2/tools.events.jsonl");
    let printed = annals.show(&["fork", &file]) + &annals.show(&["revert", &file, "--to", "turn:1"]);
    assert!(!annals.store().exists());
    insta::assert_snapshot!(printed);
}

#[test]
fn a_tree_shows_forks_and_children_of_all_agents() {
    insta::assert_snapshot!(Annals::with_fixtures().show(&["tree"]));
}

#[test]
fn a_revert_or_fork_asks_for_one_thing() {
    let annals = Annals::new();
    for args in [
        &["revert", "@last"][..],
        &["revert", "@last", "--clear", "--commit"],
        &["fork", "x", "--at", "1", "--before", "turn:1"],
    ] {
        assert_eq!(annals.run(args).status, 2, "{args:?}");
    }
}
