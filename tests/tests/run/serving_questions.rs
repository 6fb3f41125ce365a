//! Questions of models to the user, answered through `annals serve --write`: of sessions that the server runs, and those that a terminal
//! asks.

use crate::run::person::Person;
use crate::run::serving::{CHAT, PATIENCE, Served, text};
use crate::run::terminal::Terminal;
use annals_tests::model::{Model, Says};
use serde_json::{Value, json};
use std::thread;
use std::time::Instant;

impl Served {
    /// The questions of models that wait, once there are so many.
    fn questions(&self, count: usize) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let answer = self.get("/questions");
            let waiting = answer["questions"].as_array().expect("a list");
            if waiting.len() == count {
                return waiting.clone();
            }
            assert!(began.elapsed() < PATIENCE, "{answer}");
            thread::yield_now();
        }
    }
}

fn asks(id: &'static str, question: &str) -> Says {
    let input = json!({"question": question, "options": ["red", "blue"], "multiple": true});
    Says::Calls("", vec![(id, "question", input)])
}

fn path(question: &Value) -> String {
    format!("/sessions/{}/questions/{}", text(question, "session"), text(question, "id"))
}

/// The last request that the model received.
fn last(model: &Model) -> String {
    model.received().last().map(ToString::to_string).unwrap_or_default()
}

#[test]
fn a_question_of_a_session_that_the_server_runs_is_answered_or_left_to_the_model() {
    let script = [asks("c1", "Which colours?"), asks("c2", "And the lid?"), Says::Text("Done.")];
    let model = Model::start(script).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let served = Served::start(&person, &["--write"]);
    let made = served.post("/sessions", &json!({"prompt": {"text": "Paint the jars."}}));
    let [question] = served.questions(1).try_into().expect("one");
    assert_eq!((text(&question, "question"), text(&question, "call")), ("Which colours?", "c1"));
    assert_eq!((&question["options"], &question["multiple"]), (&json!(["red", "blue"]), &json!(true)));
    assert_eq!((&question["elsewhere"], &question["session"]), (&json!(false), &made["session"]));
    let run = served.get(&format!("/sessions/{}/run", text(&made, "session")));
    assert_eq!(run["questions"], json!([question]));
    let other = path(&json!({"session": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "id": question["id"]}));
    assert_eq!(served.tried(&other, &json!({"answer": "green"})).0, 404, "another session did not ask");
    served.post(&path(&question), &json!({"answer": "red, blue"}));
    assert_eq!(served.tried(&path(&question), &json!({"answer": "green"})).0, 404, "the first answer counts");
    let began = Instant::now();
    let second = loop {
        let [second] = served.questions(1).try_into().expect("one");
        if second["call"] == "c2" {
            break second;
        }
        assert!(began.elapsed() < PATIENCE, "{second}");
    };
    assert!(last(&model).contains("red, blue"), "{}", last(&model));
    served.post(&path(&second), &json!({"answer": null}));
    served.questions(0);
    while model.received().len() < 3 {
        assert!(began.elapsed() < PATIENCE);
        thread::yield_now();
    }
    assert!(last(&model).contains("The user cannot be asked now"), "{}", last(&model));
}

#[test]
fn a_question_that_a_terminal_asks_is_answered_over_http_or_there() {
    annals_tests::needs!("python3");
    let script = [asks("c1", "Which colours?"), asks("c2", "And the lid?"), Says::Text("Done.")];
    let model = Model::start(script).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let mut terminal = Terminal::open(&person, &["run", "Paint the jars."]);
    terminal.expect("Which colours?");
    let served = Served::start(&person, &["--write"]);
    let [question] = served.questions(1).try_into().expect("one");
    assert_eq!((text(&question, "question"), &question["elsewhere"]), ("Which colours?", &json!(true)));
    served.post(&path(&question), &json!({"answer": "blue"}));
    assert_eq!(served.tried(&path(&question), &json!({"answer": "red"})).0, 404, "the first answer counts");
    terminal.expect("And the lid?");
    assert!(last(&model).contains("blue"), "{}", last(&model));
    let [second] = served.questions(1).try_into().expect("one");
    terminal.send("1\r");
    terminal.expect("Done.");
    assert_eq!(terminal.ended(), 0);
    served.questions(0);
    assert_eq!(served.tried(&path(&second), &json!({"answer": "red"})).0, 404, "it was answered in the terminal");
    let left = std::fs::read_dir(person.store().join("asked")).expect("a folder");
    assert_eq!(left.count(), 0, "nothing is left in the store");
}
