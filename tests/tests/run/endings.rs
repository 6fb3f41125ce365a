//! How a run ends that has no answer, and what is said of it.

use crate::run::person::Person;
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};
use serde_json::{Value, json};

const CHAT: &str = "openai-chat";

fn person(script: impl IntoIterator<Item = Says>) -> (Model, Person) {
    let model = Model::start(script).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    (model, person)
}

#[test]
fn an_answer_without_a_word_is_no_answer() {
    let cases = [("stop", "empty-answer"), ("content_filter", "refused"), ("length", "output-limit")];
    for (finish, kind) in cases {
        let (_model, person) = person([Says::Nothing(finish), Says::Nothing(finish)]);
        let answer = person.annals(&["run", "hello"]);
        assert_eq!((answer.status, answer.out.as_str()), (Some(1), ""), "{finish}: {}", answer.remarks);
        insta::assert_snapshot!(format!("{kind}"), answer.shown());
        let outcome = person.annals(&["run", "--json", "hello"]);
        assert_eq!(outcome.status, Some(1));
        let end: Value = serde_json::from_str(outcome.out.lines().last().unwrap_or_default()).expect("JSON");
        assert_eq!((end["outcome"].as_str(), end["error"]["kind"].as_str()), (Some("empty"), Some(kind)), "{end}");
    }
}

#[test]
fn calls_without_a_last_word_are_no_answer_either() {
    let calls = Says::Calls("I look.", vec![("c1", "ls", json!({}))]);
    let (_model, person) = person([calls, Says::Nothing("stop")]);
    let answer = person.annals(&["run", "look around"]);
    assert_eq!(answer.status, Some(1), "{}", answer.remarks);
    assert!(answer.remarks.contains("the model returned an empty answer"), "{}", answer.remarks);
}

#[test]
fn a_spent_quota_is_about_billing_and_not_about_the_key() {
    let (model, person) = person([Says::Refuses(429, "You exceeded your current quota, please check your plan")]);
    let answer = person.annals(&["run", "hello"]);
    assert_eq!(answer.status, Some(1));
    assert!(answer.remarks.contains("check plan and billing"), "{}", answer.remarks);
    assert!(!answer.remarks.contains("key"), "{}", answer.remarks);
    assert_eq!(model.received().len(), 1, "it is not tried again");
}

#[test]
fn a_server_that_is_not_there_leaves_no_session() {
    let person = Person::with_model("http://127.0.0.1:9/v1", CHAT);
    let answer = person.annals(&["run", "hello"]);
    insta::assert_snapshot!(answer.shown());
    assert!(!person.store().exists(), "nothing was made");
}

#[test]
fn what_was_allowed_for_everybody_says_what() {
    let touch = |id, name| (id, "bash", json!({"command": format!("touch {name}")}));
    let (_model, person) = person([Says::Calls("", vec![touch("c1", "one"), touch("c2", "two")]), Says::Text("Done.")]);
    let answer = person.annals(&["run", "--yes", "make two files"]);
    assert_eq!(answer.status, Some(0), "{}", answer.remarks);
    for name in ["one", "two"] {
        assert!(answer.remarks.contains(&format!("allowed (--yes) bash  touch {name}")), "{}", answer.remarks);
    }
}

#[test]
fn a_lost_output_is_said_and_kept_in_a_file_that_looking_never_makes() {
    let print = ("c1", "bash", json!({"command": "seq 100000"}));
    let (_model, person) = person([Says::Text("Hello."), Says::Calls("", vec![print]), Says::Text("Done.")]);
    assert_eq!(person.annals(&["run", "hello"]).status, Some(0));
    // The folder for whole outputs is a file: nothing can be kept in it.
    drop(std::fs::remove_dir_all(person.store().join("outputs")));
    std::fs::write(person.store().join("outputs"), "").expect("a file");
    for args in [["sessions"].as_slice(), &["replay", "@last"], &["move", "@last", "..", "--dry-run"]] {
        assert_eq!(person.annals(args).status, Some(0), "{args:?}");
    }
    let file = person.store().join("annals.log");
    assert!(!file.exists(), "who looks keeps nothing");
    let answer = person.annals(&["run", "-c", "--yes", "count"]);
    assert_eq!(answer.status, Some(0), "{}", answer.remarks);
    assert!(answer.remarks.contains("warning: a tool output could not be kept whole (call: c1"), "{}", answer.remarks);
    let kept = std::fs::read_to_string(&file).expect("it was kept");
    assert!(kept.contains("a tool output could not be kept whole"), "{kept}");
    let quiet =
        person.command(["run", "-c", "more"]).env("ANNALS_LOG", "nonsense=[").output_watched().expect("it runs");
    assert_eq!(quiet.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&quiet.stderr).contains("is not a filter"));
}
