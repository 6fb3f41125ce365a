//! Commands that take a message take any event of it, or its turn.

use crate::cli::command::{Annals, fixture};
use serde_json::Value;

#[test]
fn any_event_of_a_message_means_that_message() {
    let annals = Annals::new();
    assert_eq!(annals.run(&["import", &fixture("opencode/v2/tools.events.jsonl")]).status, 0);
    let log: Vec<Value> = serde_json::from_str(&annals.run(&["log", "--json"]).out).expect("a log");
    let history: Vec<Value> = serde_json::from_str(&annals.run(&["history", "--json"]).out).expect("a history");
    let sessions: Vec<Value> = serde_json::from_str(&annals.run(&["sessions", "--json"]).out).expect("a list");
    let session = sessions[0]["id"].as_str().expect("an id");
    let seq = |value: &Value| value["seq"].as_u64().expect("a number");
    let answer = history.iter().find(|message| message["type"] == "assistant").map(seq).expect("an answer");
    let prompt = history.iter().find(|message| message["type"] == "user").map(seq).expect("a prompt");
    let inside =
        log.iter().find(|event| seq(event) > answer && event["type"] == "tool.called").map(seq).expect("a call");
    let admitted = log.iter().find(|event| event["type"] == "input.admitted").map(seq).expect("an admission");
    for (event, message) in [(inside, answer), (answer, answer), (admitted, prompt), (prompt, prompt)] {
        let event = event.to_string();
        for word in ["pin", "unpin"] {
            let outcome = annals.run(&[word, session, &event]);
            assert_eq!(outcome.status, 0, "{word} {event}: {}", outcome.remarks);
            assert!(outcome.remarks.contains(&format!("the message at event {message} ")), "{}", outcome.remarks);
        }
        let staged = annals.run(&["revert", session, "--to", &event, "--json"]);
        let staged: Value = serde_json::from_str(&staged.out).expect("JSON");
        assert_eq!(staged["first_removed"], message);
        assert_eq!(annals.run(&["revert", session, "--clear"]).status, 0);
        let forked = annals.run(&["fork", session, "--before", &event, "--json"]);
        assert_eq!(serde_json::from_str::<Value>(&forked.out).expect("JSON")["cut"], message);
    }
}

#[test]
fn an_event_outside_of_messages_is_told_with_the_nearest_one() {
    let annals = Annals::new();
    assert_eq!(annals.run(&["import", &fixture("codex/one-turn.rollout.jsonl")]).status, 0);
    for args in [&["pin", "@last", "0"][..], &["revert", "@last", "--to", "0"], &["fork", "@last", "--before", "0"]] {
        let answer = annals.run(args);
        assert_eq!(answer.status, 2);
        assert!(answer.remarks.contains("annals: event 0 is not in a message; nearest: "), "{}", answer.remarks);
    }
    let answer = annals.run(&["revert", "@last", "--to", "turn:9"]);
    assert!(answer.remarks.contains("annals: there is no turn 9: "), "{}", answer.remarks);
    assert_eq!(annals.run(&["revert", "@last", "--to", "9th"]).status, 2);
}
