//! `annals blame` over the sessions of a project, and into sub-agents.

use crate::person::Person;
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
