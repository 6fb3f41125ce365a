//! `annals blame` over the sessions of a project, and into sub-agents.

use crate::cli::validate::wrong;
use crate::run::person::Person;
use annals_tests::model::{Model, Says};
use serde_json::json;

const NOTES: &str = "first line\nsecond line\nthird line\n";

#[test]
fn a_line_of_an_earlier_session_is_found_where_it_was_written() {
    let model = Model::start([
        Says::Calls("", vec![("c1", "write", json!({"path": "notes.md", "content": NOTES}))]),
        Says::Text("Written."),
        Says::Calls("", vec![("d1", "read", json!({"path": "notes.md"}))]),
        Says::Calls(
            "",
            vec![(
                "d2",
                "edit",
                json!({"path": "notes.md", "old_string": "second line", "new_string": "another line"}),
            )],
        ),
        Says::Text("Changed."),
        Says::Text("Nothing to do."),
    ])
    .expect("a port");
    let person = Person::with_model(model.url(), "openai-chat");
    for prompt in ["write three lines", "change the second line", "an unrelated question"] {
        let answer = person.annals(&["run", "--yes", prompt]);
        assert_eq!(answer.status, Some(0), "{}", answer.remarks);
    }
    // The last session knows nothing of the file; the one before it changed one line.
    let first = person.json(&["blame", "notes.md:1", "--json"]);
    let line = &first["lines"][0];
    assert_eq!((&line["cause"], &line["elsewhere"]["sub_agent"]), (&json!("before"), &json!(false)), "{first}");
    assert_eq!(line["elsewhere"]["prompts"][0]["text"], "write three lines");
    let second = person.json(&["blame", "notes.md:2", "--json"]);
    assert_eq!(second["lines"][0]["prompts"][0]["text"], "change the second line", "{second}");
    assert!(second["lines"][0]["elsewhere"].is_null(), "{second}");
    let shown = person.annals(&["blame", "notes.md:3"]).out;
    assert!(shown.contains("written by write in earlier session") && shown.contains("write three lines"), "{shown}");
    let alone = person.json(&["blame", "notes.md:1", "--alone", "--json"]);
    assert!(alone["lines"][0]["elsewhere"].is_null(), "{alone}");
    let unknown = person.annals(&["blame", "nowhere.md"]);
    assert_eq!(unknown.status, Some(2), "{}", unknown.remarks);
}

/// A parent that gives the work to a sub-agent, which writes the file.
fn delegated() -> (Model, Person) {
    let task = json!({"description": "Write notes", "prompt": "write three lines", "subagent_type": "writer"});
    let parent = [Says::Calls("", vec![("t1", "task", task)]), Says::Text("They are written.")];
    let child =
        [Says::Calls("", vec![("c1", "write", json!({"path": "notes.md", "content": NOTES}))]), Says::Text("Written.")];
    let script = parent.into_iter().map(|says| says.to("take notes")).chain(child);
    let model = Model::start(script).expect("a port");
    let person = Person::with_model(model.url(), "openai-chat");
    let file = person.home().join(".config/annals/config.toml");
    let configured = std::fs::read_to_string(&file).expect("a file");
    person.configure(&format!("{configured}\n[agents.writer]\nmode = \"subagent\"\ndescription = \"Writes\"\n"));
    (model, person)
}

#[test]
fn a_line_of_a_sub_agent_leads_to_its_call_its_turn_and_the_prompt_of_the_parent() {
    let (_model, person) = delegated();
    let answer = person.annals(&["run", "--yes", "take notes"]);
    assert_eq!((answer.status, answer.out.as_str()), (Some(0), "They are written.\n"), "{}", answer.remarks);
    let tree = person.json(&["tree", "--json"]);
    // Whether the parent is named, or no session.
    let parent = tree[0]["id"].as_str().expect("an id");
    for place in [vec!["notes.md:2"], vec![parent, "notes.md:2"]] {
        let found = person.json(&[&["blame", "--json"], place.as_slice()].concat());
        let line = &found["lines"][0];
        assert_eq!((&line["cause"], &line["tool"], &line["turn"]), (&json!("written"), &json!("write"), &json!(1)));
        assert_eq!(line["prompts"][0]["text"], "write three lines", "{found}");
        let by = &line["delegated_by"][0];
        assert_eq!((&by["session"], &by["tool"], &by["turn"]), (&json!(parent), &json!("task"), &json!(1)), "{found}");
        assert_eq!(by["prompts"][0]["text"], "take notes", "{found}");
        assert_eq!(wrong(&person.json(&["schema", "blame"]), &found), None);
    }
    insta::assert_snapshot!(person.annals(&["blame", "notes.md:2"]).shown());
    assert_eq!(person.annals(&["blame", parent, "notes.md:2", "--alone"]).status, Some(2), "it has no such file");
}

#[test]
fn a_line_of_a_sub_agent_is_found_from_the_captures_of_the_parent() {
    let (_model, person) = delegated();
    for args in [["init", "-q"].as_slice(), &["commit", "-q", "--allow-empty", "-m", "begin"]] {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
        assert!(git.args(args).current_dir(person.project()).status().expect("git").success());
    }
    assert_eq!(person.annals(&["run", "--yes", "take notes"]).status, Some(0));
    let found = person.json(&["blame", "notes.md:2", "--json"]);
    let line = &found["lines"][0];
    assert_eq!((&line["cause"], &line["tool"]), (&json!("command"), &json!("task")), "{found}");
    assert_eq!(line["prompts"][0]["text"], "take notes", "{found}");
    let child = &line["elsewhere"];
    assert_eq!((&child["sub_agent"], &child["tool"], &child["turn"]), (&json!(true), &json!("write"), &json!(1)));
    assert_eq!(child["prompts"][0]["text"], "write three lines", "{found}");
    insta::assert_snapshot!(person.annals(&["blame", "notes.md:2"]).shown());
}
