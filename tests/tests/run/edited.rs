//! `annals fork --edit`: a fork with another wording of a prompt, a tool result or a system text, and what the model is sent.

use crate::run::person::{Answer, Person};
use annals_tests::model::{Model, Says};
use serde_json::{Value, json};

/// One prompt, one call, one answer.
fn recorded() -> (Model, Person) {
    let read = ("c1", "read", json!({"path": "notes.md"}));
    let model =
        Model::start([Says::Calls("I look.", vec![read]), Says::Text("The notes hold a plan.")]).expect("a port");
    let person = Person::with_model(model.url(), "openai-chat");
    person.write("notes.md", "# Plan\n");
    person.write("AGENTS.md", "Be brief.\n");
    let first = person.annals(&["run", "--yes", "what do the notes hold?"]);
    assert_eq!(first.status, Some(0), "{}", first.remarks);
    (model, person)
}

/// The number of the only event of a kind.
fn event(person: &Person, kind: &str) -> String {
    let log = person.json(&["log", "@last", "--kind", kind, "--json"]);
    log.as_array().and_then(|all| all.first()).map(|event| event["seq"].to_string()).expect("an event")
}

fn forked(person: &Person, event: &str, text: &str) -> Value {
    let fork = person.json(&["fork", "@last", "--edit", event, "--text", text, "--json"]);
    assert_eq!(fork["edited"]["event"].to_string(), event, "{fork}");
    fork
}

fn continued(person: &Person, fork: &Value) -> Answer {
    let answer = person.annals(&["run", "--yes", "-s", fork["id"].as_str().expect("an id")]);
    assert_eq!(answer.status, Some(0), "{}", answer.remarks);
    assert_eq!(person.annals(&["verify", "--requests", "--wire"]).status, Some(0));
    answer
}

/// The texts of the messages that the model was sent last, by role.
fn sent(model: &Model, role: &str) -> Vec<String> {
    let body = model.received().pop().expect("a request");
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    messages.iter().filter(|message| message["role"] == role).map(|message| message["content"].to_string()).collect()
}

#[test]
fn a_fork_with_another_result_continues_as_if_the_tool_had_returned_it() {
    let (model, person) = recorded();
    model.then([Says::Text("The notes are empty.")]);
    let fork = forked(&person, &event(&person, "tool.settled"), "(no content)");
    assert_eq!(fork["edited"]["what"], "tool result");
    let title = fork["title"].as_str().unwrap_or_default();
    assert!(title.contains("tool result of event") && title.contains("edited"), "{title}");
    let requests = model.received().len();
    let answer = continued(&person, &fork);
    assert_eq!(answer.out, "The notes are empty.\n");
    assert_eq!(model.received().len(), requests + 1, "what was answered is not asked again");
    assert_eq!(sent(&model, "tool"), ["\"(no content)\""]);
    // Only the session that asked paid.
    let usage = person.json(&["usage", fork["id"].as_str().expect("an id"), "--json"]);
    assert_eq!(usage["input"], 120, "{usage}");
}

#[test]
fn a_fork_with_another_prompt_sends_it_in_the_place_of_the_recorded_one() {
    let (model, person) = recorded();
    model.then([Says::Text("Nothing.")]);
    let fork = forked(&person, &event(&person, "input.admitted"), "is there a plan?");
    let answer = continued(&person, &fork);
    assert_eq!(answer.out, "Nothing.\n");
    assert_eq!(sent(&model, "user"), ["\"is there a plan?\""]);
    let before = person.json(&["history", "@last", "--json"]);
    assert!(!before.to_string().contains("what do the notes hold?"), "{before}");
}

#[test]
fn a_fork_with_another_system_prompt_sends_it_with_the_recorded_prompt() {
    let (model, mut person) = recorded();
    model.then([Says::Text("So long.")]);
    let epoch = event(&person, "epoch.started");
    let shown = person.json(&["log", "@last", "--kind", "epoch.started", "--json"]);
    let parts = shown[0]["parts"].as_array().cloned().unwrap_or_default();
    person.set("EDITOR", "sed -i 's/Be brief/Be long/'");
    let fork = person.json(&["fork", "@last", "--edit", &epoch, "--json"]);
    assert_eq!(fork["edited"]["what"], "system prompt");
    continued(&person, &fork);
    let system = sent(&model, "system").concat();
    assert!(system.contains("Be long.") && !system.contains("Be brief."), "{system}");
    assert_eq!(sent(&model, "user"), ["\"what do the notes hold?\""]);
    let log = person.json(&["log", fork["id"].as_str().expect("an id"), "--kind", "epoch.started", "--json"]);
    let edited = log.as_array().and_then(|all| all.last()).map(|epoch| epoch["parts"].clone()).unwrap_or_default();
    let changed = edited.as_array().into_iter().flatten().zip(&parts).filter(|(new, old)| new != old).count();
    assert_eq!((edited.as_array().map(Vec::len), changed), (Some(parts.len()), 1), "only that part is another one");
}

#[test]
fn the_editor_of_the_user_writes_the_other_wording() {
    let (model, mut person) = recorded();
    model.then([Says::Text("Well.")]);
    person.set("EDITOR", "sed -i s/notes/papers/");
    let fork = person.json(&["fork", "@last", "--edit", "turn:1", "--json"]);
    continued(&person, &fork);
    assert_eq!(sent(&model, "user"), ["\"what do the papers hold?\""]);
}

#[test]
fn what_has_no_text_is_not_edited_and_an_unchanged_text_makes_no_fork() {
    let (_model, person) = recorded();
    let request = event(&person, "request.sent");
    let refused = person.annals(&["fork", "@last", "--edit", &request, "--text", "x"]);
    assert_eq!(refused.status, Some(2));
    assert!(
        refused.remarks.contains(&format!("event {request} (request.sent) cannot be edited")),
        "{}",
        refused.remarks
    );
    let same = person.annals(&["fork", "@last", "--edit", "turn:1", "--text", "what do the notes hold?"]);
    assert_eq!(same.status, Some(2));
    assert!(same.remarks.contains("was not changed"), "{}", same.remarks);
    assert_eq!(person.json(&["sessions", "--json"]).as_array().map(Vec::len), Some(1));
    let nothing = person.annals(&["fork", "@last", "--edit", "9999", "--text", "x"]);
    assert_eq!(nothing.status, Some(2), "{}", nothing.remarks);
}
