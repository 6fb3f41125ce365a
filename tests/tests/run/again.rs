//! `annals rerun`: a recorded session runs again in a fork, with the model, from a cassette, or with another model.

use crate::person::Person;
use annals_tests::model::{Model, Says};
use serde_json::json;

/// Two prompts: parallel calls, one of which fails, a command, and instructions that change in between.
fn record(cassette: &str) -> (Model, Person) {
    let read = ("c1", "read", json!({"path": "notes.md"}));
    let missing = ("c2", "read", json!({"path": "missing.md"}));
    let touch = ("c3", "bash", json!({"command": "echo more >> log.txt; cat log.txt"}));
    let model = Model::start([
        Says::Calls("I look.", vec![read, missing]),
        Says::Text("The notes hold a plan."),
        Says::Calls("", vec![touch]),
        Says::Text("One line is there now."),
    ])
    .expect("a port");
    let person = Person::with_model(model.url(), "openai-chat");
    person.write("notes.md", "# Plan\n");
    person.write("AGENTS.md", "Be brief.\n");
    let first = person.annals(&["run", "--yes", "--record", cassette, "what do the notes hold?"]);
    assert_eq!((first.status, first.out.as_str()), (Some(0), "The notes hold a plan.\n"), "{}", first.remarks);
    person.write("AGENTS.md", "Be exact.\n");
    let second = person.annals(&["run", "-c", "--yes", "--record", cassette, "add a line to the log"]);
    assert_eq!((second.status, second.out.as_str()), (Some(0), "One line is there now.\n"), "{}", second.remarks);
    (model, person)
}

#[test]
fn a_recorded_session_runs_again_from_its_cassette_with_nobody_there() {
    let (model, mut person) = record("cassette");
    let asked = model.received().len();
    // Nothing of the world that it met is left.
    for name in ["notes.md", "AGENTS.md", "log.txt"] {
        std::fs::remove_file(person.project().join(name)).expect("it was there");
    }
    person.set("MOCK_KEY", "");
    let again = person.annals(&["rerun", "@last", "--replay", "cassette"]);
    insta::assert_snapshot!(again.shown());
    assert_eq!(again.status, Some(0));
    assert_eq!(model.received().len(), asked, "nobody was asked");
    assert!(!person.project().join("log.txt").exists(), "nothing ran");
    let sessions = person.json(&["sessions", "--json"]);
    assert_eq!(sessions.as_array().map(Vec::len), Some(2));
    let digests = |session: &str| -> Vec<String> {
        let log = person.json(&["log", session, "--kind", "request.sent", "--json"]);
        let events = log.as_array().cloned().unwrap_or_default();
        events.iter().map(|event| format!("{} {}", event["digest"], event["wire"])).collect()
    };
    let ids: Vec<&str> = sessions.as_array().into_iter().flatten().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(digests(ids[0]).len(), 4);
    assert_eq!(digests(ids[0]), digests(ids[1]), "every request is the same, to the byte");
    assert_eq!(person.annals(&["verify", "--requests", "--wire"]).status, Some(0));
}

#[test]
fn a_rerun_tells_where_another_answer_was_given() {
    let (model, person) = record("cassette");
    let touch = ("d3", "bash", json!({"command": "echo other >> log.txt"}));
    model.then([Says::Calls("", vec![touch]), Says::Text("I could not do that here.")]);
    let log = person.json(&["log", "@last", "--kind", "input.promoted", "--json"]);
    let second = log.as_array().and_then(|all| all.last()).map(|event| event["seq"].to_string()).expect("a prompt");
    let again = person.annals(&["rerun", "@last", "--recorded", "--from", &second]);
    insta::assert_snapshot!(again.shown());
    assert_eq!(again.status, Some(1));
    let lines = std::fs::read_to_string(person.project().join("log.txt")).expect("it was written once");
    assert_eq!(lines, "more\n", "nothing ran again");
}

#[test]
fn a_cassette_that_lacks_a_request_says_what_differs() {
    let (_model, person) = record("cassette");
    person.write("AGENTS.md", "Be brief.\n");
    let other = person.annals(&["run", "--replay", "cassette", "what do the notes say?"]);
    assert_eq!(other.status, Some(1));
    assert!(other.remarks.contains("what do the notes say?"), "{}", other.remarks);
    let none = person.annals(&["run", "--replay", "nowhere", "hello"]);
    insta::assert_snapshot!(none.shown());
}

#[test]
fn a_session_whose_model_is_unknown_here_says_that_another_one_may_be_chosen() {
    let (model, person) = record("cassette");
    person.configure("titles = false\n");
    for args in [["rerun", "@last", "--recorded"].as_slice(), &["run", "-c", "and now?"]] {
        let answer = person.annals(args);
        assert_eq!(answer.status, Some(2));
        assert!(
            answer.remarks.contains("\"mock/one\", is not configured here; choose another one with --model"),
            "{}",
            answer.remarks
        );
    }
    assert_eq!(model.received().len(), 4, "nobody was asked");
}
