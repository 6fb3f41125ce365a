//! `annals rerun`: a recorded session runs again in a fork, with the model, from a cassette, or with another model.

use crate::run::person::Person;
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

#[test]
fn runs_from_one_cassette_are_compared_in_a_table_and_are_the_same_again() {
    let (model, mut person) = record("cassette");
    let (read, touch) =
        (("d1", "read", json!({"path": "notes.md"})), ("d3", "bash", json!({"command": "echo more >> log.txt"})));
    model.then([
        // The first run: as recorded, but for the last word.
        Says::Calls("I look.", vec![read.clone(), ("d2", "read", json!({"path": "missing.md"}))]),
        Says::Text("The notes hold a plan."),
        Says::Calls("", vec![touch]),
        Says::Text("Done."),
        // The second one gives up.
        Says::Calls("I look.", vec![read]),
        Says::Refuses(400, "no more"),
    ]);
    let args = ["rerun", "@last", "-n", "2", "--recorded", "--cassette", "runs"];
    let first = person.annals(&args);
    assert_eq!(first.status, Some(1));
    assert!(
        first.out.contains("3 (2 as recorded)") && first.out.contains("differs in turn 2: call bash"),
        "{}",
        first.out
    );
    assert!(first.remarks.contains("3 calls got the recorded result, 1 others an error"), "{}", first.remarks);
    let asked = model.received().len();
    person.set("MOCK_KEY", "");
    let mut again = args.to_vec();
    again.push("--json");
    // The newest session is a run; the recorded one is named by its title.
    let of = person.json(&["sessions", "--json"]);
    let of = of.as_array().into_iter().flatten().find(|one| one["fork"].is_null() && one["parent"].is_null());
    let id = of.and_then(|one| one["id"].as_str()).expect("the recorded session").to_owned();
    again[1] = &id;
    let table = person.json(&again);
    assert_eq!(model.received().len(), asked, "nobody was asked again");
    assert_eq!((&table["tools"], &table["same"]), (&json!("recorded"), &json!(0)));
    let runs = table["runs"].as_array().cloned().unwrap_or_default();
    let outcomes: Vec<_> = runs.iter().map(|run| run["outcome"].as_str().unwrap_or_default()).collect();
    assert_eq!(outcomes, ["idle", "failed"]);
    assert_eq!(runs[0]["recorded_calls"], 2, "{}", runs[0]);
    assert_eq!(runs[0]["tools"], json!({"bash": 1, "read": 2}));
    assert_eq!((&runs[0]["first"]["turn"], &runs[0]["answer"]), (&json!(2), &json!("Done.")));
}

#[test]
fn runs_with_tools_begin_with_the_same_files() {
    let touch = |id| (id, "bash", json!({"command": "echo more >> log.txt; cat log.txt"}));
    let said = || Says::Text("One line.");
    let model = Model::start([Says::Calls("", vec![touch("c1")]), said()]).expect("a port");
    let person = Person::with_model(model.url(), "openai-chat");
    for git in [&["init", "-q"][..], &["add", "."]] {
        assert!(
            std::process::Command::new("git").args(git).current_dir(person.project()).status().expect("git").success()
        );
    }
    let recorded = person.annals(&["run", "--yes", "add a line"]);
    assert_eq!(recorded.status, Some(0), "{}", recorded.remarks);
    std::fs::remove_file(person.project().join("log.txt")).expect("it was written");
    model.then([Says::Calls("", vec![touch("d1")]), said(), Says::Calls("", vec![touch("e1")]), said()]);
    let runs = person.json(&["rerun", "@last", "-n", "2", "--yes", "--json"]);
    assert_eq!((&runs["same"], &runs["tools"]), (&json!(2), &json!("run")), "{runs}");
    let files: Vec<_> = runs["runs"].as_array().into_iter().flatten().map(|run| run["files"].clone()).collect();
    assert_eq!(files, [json!(["log.txt"]), json!(["log.txt"])]);
    assert!(!person.project().join("log.txt").exists(), "the files are as before");
}
