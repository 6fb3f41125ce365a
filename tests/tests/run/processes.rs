//! A run records once per session which program continues it, for whom, and from which git state.

use crate::run::person::Person;
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};
use serde_json::{Value, json};
use std::process::Command;

/// A project in a git repository, and a model that says so many words.
fn project(answers: usize) -> (Model, Person) {
    let model = Model::start((0..answers).map(|_| Says::Text("Yes."))).expect("a port");
    let person = Person::with_model(model.url(), "openai-chat");
    git(&person, &["init", "-q", "-b", "trunk"]);
    (model, person)
}

fn git(person: &Person, args: &[&str]) {
    let identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"];
    let command = Command::new("git").args(identity).args(args).current_dir(person.project()).output_watched();
    assert!(command.expect("git runs").status.success(), "git {args:?}");
}

/// The processes of the last session, each with the number of its event.
fn processes(person: &Person) -> Vec<(u64, Value)> {
    let log = person.json(&["log", "--json"]);
    let processes = log.as_array().expect("a list").iter().filter_map(|event| {
        let process = event["process"].as_object()?;
        Some((event["seq"].as_u64().expect("a number"), Value::Object(process.clone())))
    });
    processes.collect()
}

#[test]
fn a_run_names_itself_in_the_first_event_and_each_later_one_once() {
    let (_model, person) = project(5);
    person.annals(&["run", "first"]);
    let created = processes(&person);
    let version = env!("CARGO_PKG_VERSION");
    let text = |text: &str| json!(text);
    let git_state = json!({"branch": text("trunk"), "commit": null, "dirty": null, "repository": null});
    let mut expected = json!({
        "program": "annals", "version": version, "build": option_env!("ANNALS_BUILD"),
        "host": text("machine"), "user": text("ada"), "git": git_state,
    });
    assert_eq!(created, [(0, expected.clone())]);

    git(&person, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&person, &["switch", "-q", "-c", "fix"]);
    person.annals(&["run", "-c", "second"]);
    let continued = processes(&person);
    assert_eq!(continued.len(), 2, "{continued:?}");
    let state = &continued[1].1["git"];
    assert_eq!(state["branch"], text("fix"));
    assert_eq!(state["commit"].as_str().map(str::len), Some(40), "{state}");

    // A chat of several turns is one process.
    let chat = person.annals_reading(&["chat", "-c"], "third\nfourth\n");
    assert_eq!(chat.status, Some(0), "{}", chat.remarks);
    let continued = processes(&person);
    assert_eq!(continued.len(), 3, "{continued:?}");
    assert_eq!(continued[2].1["git"]["branch"], text("fix"));

    // Looking is no writing.
    for looks in [&["replay"][..], &["verify", "--requests", "--wire"], &["sessions", "--branch", "fix"]] {
        assert_eq!(person.annals(looks).status, Some(0), "{looks:?}");
    }
    assert_eq!(processes(&person).len(), 3);
    expected["git"]["branch"] = text("fix");
    let found = person.json(&["sessions", "--branch", "fix", "--json"]);
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(person.json(&["sessions", "--branch", "trunk", "--json"]), json!([]));
}
