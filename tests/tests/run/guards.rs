//! What guards a run: secrets stay out, calls that keep failing end, what killed and earlier processes left is dealt with.

use crate::run::person::Person;
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant, SystemTime};

const CHAT: &str = "openai-chat";
const PASSWORD: &str = "Tr0ub4dor3xyz1";

fn model(script: impl IntoIterator<Item = Says>) -> Model {
    Model::start(script).expect("a port")
}

fn call(tool: &'static str, input: Value) -> Says {
    Says::Calls("", vec![("c1", tool, input)])
}

/// What the model was told of its last call.
fn received_text(model: &Model) -> String {
    let received = model.received();
    let messages = received.last().and_then(|body| body["messages"].as_array().cloned()).unwrap_or_default();
    messages.iter().rev().find(|message| message["role"] == "tool").map(Value::to_string).unwrap_or_default()
}

#[test]
fn secrets_of_files_reach_neither_the_log_nor_the_model() {
    let model = model([
        call("read", json!({"path": "requests.json"})),
        call("bash", json!({"command": "cat requests.json"})),
        call("read", json!({"path": ".env"})),
        call("bash", json!({"command": "cat .env"})),
        Says::Text("Seen."),
    ]);
    let person = Person::with_model(model.url(), CHAT);
    let recorded = json!({"cells": [{"source": format!("curl -v\nAuthorization: Bearer {PASSWORD}{PASSWORD}\nDB_PASSWORD={PASSWORD}")}]});
    person.write("requests.json", &recorded.to_string());
    person.write(".env", &format!("PORT=3000\nDB_PASSWORD={PASSWORD}\nGREETING=\"{PASSWORD} and more\"\n"));
    let answer = person.annals(&["run", "--yes", "look at the files"]);
    assert_eq!(answer.status, Some(0), "{}", answer.remarks);
    let sent: String = model.received().iter().map(Value::to_string).collect();
    assert!(!sent.contains(PASSWORD), "{sent}");
    assert!(sent.contains("[redacted:authorization]") && sent.contains("PORT=3000"), "{sent}");
    let exported = person.annals(&["export", "@last"]).out;
    assert!(exported.contains("redaction.applied") && !exported.contains(PASSWORD), "{exported}");
    assert_eq!(person.annals(&["verify", "--requests", "--wire"]).status, Some(0));
}

#[test]
fn a_call_that_keeps_failing_is_not_made_again() {
    let failing = || call("bash", json!({"command": "echo tried >> tries; false", "description": "Tries again"}));
    let model = model((0..7).map(|_| failing()).chain([Says::Text("I give up.")]));
    let person = Person::with_model(model.url(), CHAT);
    let answer = person.annals(&["run", "--yes", "try"]);
    assert_eq!((answer.status, answer.out.as_str()), (Some(0), "I give up.\n"), "{}", answer.remarks);
    let tries = || fs::read_to_string(person.project().join("tries")).map(|tries| tries.lines().count()).ok();
    assert_eq!(tries(), Some(5), "the sixth and the seventh were not made");
    assert!(
        received_text(&model).contains("Repeated call: bash failed 5 times with this input"),
        "{}",
        received_text(&model)
    );
    // A new prompt begins anew.
    model.then([failing(), Says::Text("Once more.")]);
    assert_eq!(person.annals(&["run", "-c", "--yes", "once more"]).status, Some(0));
    assert_eq!(tries(), Some(6));
}

#[test]
fn with_the_third_call_that_is_not_made_again_the_turn_ends() {
    let failing = || call("bash", json!({"command": "echo tried >> tries; false", "description": "Tries again"}));
    let model = model((0..8).map(|_| failing()));
    let person = Person::with_model(model.url(), CHAT);
    let answer = person.annals(&["run", "--yes", "try"]);
    assert_eq!(answer.status, Some(1), "{}", answer.remarks);
    let tried = r#"bash {"command":"echo tried >> tries; false","description":"Tries again"} failed 5 times with the same result"#;
    let remarks = answer.remarks.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(remarks.contains(tried) && remarks.contains("asked for it 3 more times"), "{remarks}");
    assert_eq!(model.received().len(), 8, "five calls were made, three were not");
    let history = person.annals(&["history"]).out.replace('│', " ");
    let history = history.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(history.contains("it was asked for 3 more times, and this turn was ended"), "{history}");
    assert_eq!(person.annals(&["verify", "--requests", "--wire"]).status, Some(0));
    // The turn has an end: a new prompt begins anew.
    model.then([Says::Text("Another way.")]);
    let answer = person.annals(&["run", "-c", "--yes", "stop that"]);
    assert_eq!(answer.status, Some(0), "{}", answer.remarks);
}

#[test]
fn equal_calls_that_succeed_end_the_turn_later() {
    let reading = || call("read", json!({"path": "a.txt"}));
    let model = model((0..60).map(|_| reading()));
    let person = Person::with_model(model.url(), CHAT);
    person.write("a.txt", "one\n");
    let answer = person.annals(&["run", "read it"]);
    assert_eq!(answer.status, Some(1), "{}", answer.remarks);
    let remarks = answer.remarks.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(remarks.contains(r#"read {"path":"a.txt"} gave the same result 25 times"#), "{remarks}");
    assert_eq!(model.received().len(), 28);
}

#[test]
fn a_prompt_has_as_many_steps_as_are_allowed_and_can_be_continued() {
    let different = |n: usize| call("bash", json!({"command": format!("echo {n}")}));
    let model = model((0..9).map(different));
    let person = Person::with_model(model.url(), CHAT);
    let answer = person.annals(&["run", "--yes", "--max-steps", "4", "count"]);
    assert_eq!(answer.status, Some(1), "{}", answer.remarks);
    let remarks = answer.remarks.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(remarks.contains("ended after 4 steps, before the model was done"), "{remarks}");
    assert_eq!(model.received().len(), 4);
    let ended = person.annals(&["run", "-c", "--yes", "--json", "--max-steps", "2"]);
    assert!(ended.status == Some(1) && ended.out.contains(r#""kind":"step-limit""#), "{}", ended.out);
    assert_eq!(model.received().len(), 6);
}

#[test]
fn a_run_whose_answer_nobody_reads_does_not_end_well() {
    let model = model((0..9).map(|n| call("bash", json!({"command": format!("echo {n}")}))));
    let person = Person::with_model(model.url(), CHAT);
    let mut run = person.command(["run", "--yes", "--json", "count"]).spawn_watched().expect("it runs");
    let mut lines = BufReader::new(run.stdout.take().expect("a pipe"));
    lines.read_line(&mut String::new()).expect("a line");
    drop(lines);
    assert_eq!(run.wait().expect("it ends").code(), Some(141));
}

#[test]
fn a_model_that_names_no_tool_reads_which_there_are() {
    let model = model([
        call("run_terminal", json!({})),
        call("read", "[]".into()),
        call("read", "null".into()),
        Says::Text("Sorry."),
    ]);
    let person = Person::with_model(model.url(), CHAT);
    assert_eq!(person.annals(&["run", "go"]).status, Some(0));
    let received = model.received();
    let results = received.last().and_then(|body| body["messages"].as_array().cloned()).unwrap_or_default();
    let results: Vec<String> = results.iter().filter(|one| one["role"] == "tool").map(Value::to_string).collect();
    assert!(results[0].contains("Unknown tool: run_terminal. Available: apply_patch, bash, "), "{results:?}");
    assert!(results[1].contains("the arguments must be a JSON object, not an array"), "{results:?}");
    assert!(results[2].contains("the arguments must be a JSON object, not null"), "{results:?}");
}

#[test]
fn an_agent_without_a_shell_is_not_offered_the_tools_for_its_commands() {
    let model = model([Says::Text("Seen.")]);
    let person = Person::with_model(model.url(), CHAT);
    assert_eq!(person.annals(&["run", "--agent", "explore", "look"]).status, Some(0));
    let tools = model.received().first().map(|body| body["tools"].clone()).unwrap_or_default();
    let names: Vec<&str> =
        tools.as_array().into_iter().flatten().filter_map(|tool| tool["function"]["name"].as_str()).collect();
    assert!(names.contains(&"read") && !names.iter().any(|name| name.starts_with("bash")), "{names:?}");
}

#[test]
fn a_prompt_is_durable_before_servers_of_tools_are_started() {
    let model = model([Says::Text("Never.")]);
    let person = Person::with_model(model.url(), CHAT);
    let (store, copy) = (person.store(), person.folder().join("copy"));
    // A server that never answers, and keeps what the store has when it is started.
    let script = format!(
        "until cp -r '{0}' '{1}'; do rm -r '{1}'; done; touch '{1}/done'; exec cat > /dev/null",
        store.display(),
        copy.display(),
    );
    let config = fs::read_to_string(person.home().join(".config/annals/config.toml")).expect("a file");
    person.configure(&format!("{config}\n[mcp.slow]\ncommand = [\"sh\", \"-c\", {script:?}]\n"));
    let mut run = person.command(["run", "remember the milk"]).spawn_watched().expect("it runs");
    let until = Instant::now() + Duration::from_secs(60);
    while !copy.join("done").exists() {
        assert!(Instant::now() < until, "the server was not started");
        std::thread::sleep(Duration::from_millis(10));
    }
    run.kill().expect("a process");
    run.wait().expect("its end");
    let seen = person.annals(&["log", "@last", "--all", "--store", &copy.to_string_lossy()]);
    assert!(seen.out.contains("remember the milk"), "{seen:?}");
}

#[test]
fn arguments_that_are_cut_off_are_refused_as_what_they_are() {
    let cut = r#"{"path": "a.txt", "content": "abc"#;
    let model = model([call("write", cut.into()), Says::Text("Sorry.")]);
    let person = Person::with_model(model.url(), CHAT);
    let answer = person.annals(&["run", "--yes", "write it"]);
    assert_eq!(answer.status, Some(0), "{}", answer.remarks);
    assert!(
        received_text(&model).contains("the arguments are not valid JSON: EOF at column 33"),
        "{}",
        received_text(&model)
    );
    assert!(!received_text(&model).contains("unknown field"), "{}", received_text(&model));
}

#[test]
fn a_file_that_an_earlier_run_wrote_may_be_replaced() {
    let write = |content: &str| call("write", json!({"path": "b.txt", "content": content}));
    let model = model([write("one\n"), Says::Text("Made.")]);
    let person = Person::with_model(model.url(), CHAT);
    assert_eq!(person.annals(&["run", "--yes", "write b.txt"]).status, Some(0));
    model.then([write("two\n"), Says::Text("Replaced.")]);
    assert_eq!(person.annals(&["run", "-c", "--yes", "write it again"]).status, Some(0));
    assert_eq!(
        fs::read_to_string(person.project().join("b.txt")).ok().as_deref(),
        Some("two\n"),
        "{}",
        received_text(&model)
    );
    // Somebody else changed it: it must be read first.
    person.write("b.txt", "mine\n");
    model.then([write("three\n"), Says::Text("Not replaced.")]);
    assert_eq!(person.annals(&["run", "-c", "--yes", "and again"]).status, Some(0));
    assert!(received_text(&model).contains("changed since you read it"), "{}", received_text(&model));
    assert_eq!(fs::read_to_string(person.project().join("b.txt")).ok().as_deref(), Some("mine\n"));
}

#[test]
fn a_run_removes_expired_outputs_and_what_a_killed_edit_left() {
    let model = model([Says::Text("Hello."), Says::Text("Hello again.")]);
    let person = Person::with_model(model.url(), CHAT);
    assert_eq!(person.annals(&["run", "hello"]).status, Some(0));
    let (outputs, edits) = (person.store().join("outputs"), person.store().join("edits"));
    for folder in [&outputs, &edits] {
        fs::create_dir_all(folder).expect("a folder");
    }
    let days = |days: u64| SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
    for (name, age) in [("tool_old", 8), ("tool_new", 6), ("mine", 60)] {
        let file = fs::File::create(outputs.join(name)).expect("a file");
        file.set_modified(days(age)).expect("a time");
    }
    person.write(".annals-0123456789ab", "half");
    person.write(".annals-notes", "mine");
    let left = person.project().join(".annals-0123456789ab");
    fs::write(edits.join("0123456789ab"), left.to_string_lossy().as_bytes()).expect("a file");
    let answer = person.annals(&["run", "-c", "hello"]);
    assert_eq!(answer.status, Some(0), "{}", answer.remarks);
    let there = ["tool_old", "tool_new", "mine"].map(|name| outputs.join(name).exists());
    assert_eq!(there, [false, true, true]);
    assert!(!left.exists() && person.project().join(".annals-notes").exists());
    assert_eq!(fs::read_dir(&edits).map(Iterator::count).ok(), Some(0));
}
