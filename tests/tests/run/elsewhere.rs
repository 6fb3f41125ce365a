//! Sessions that continue in another directory than the one that they worked in.

use crate::run::person::Person;
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};
use std::path::Path;
use std::process::Command;

const CHAT: &str = "openai-chat";

/// A Session in a folder that is gone.
fn without_its_folder(then: impl IntoIterator<Item = Says>) -> (Model, Person) {
    let script = [Says::Text("Hello Ada.")].into_iter().chain(then);
    let model = Model::start(script).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let gone = person.project().join("gone");
    std::fs::create_dir(&gone).expect("a folder");
    assert_eq!(person.annals(&["run", "--directory", "gone", "I am Ada."]).status, Some(0));
    std::fs::remove_dir_all(&gone).expect("it was there");
    (model, person)
}

#[test]
fn a_session_whose_directory_is_gone_continues_in_another_one() {
    let (model, person) = without_its_folder([Says::Text("You are Ada.")]);
    let refused = person.annals(&["run", "-s", "@last", "who am I?"]);
    insta::assert_snapshot!(refused.shown());
    assert_eq!(model.received().len(), 1);
    let answer = person.annals(&["run", "-s", "@last", "--directory", ".", "who am I?"]);
    assert_eq!((answer.status, answer.out.as_str()), (Some(0), "You are Ada.\n"), "{}", answer.remarks);
    assert!(answer.remarks.contains("it continues in TMP/project"), "{}", answer.remarks);
    assert_eq!(person.json(&["sessions", "--json"])[0]["directory"].as_str(), Some("TMP/project"));
    assert!(model.received()[1].to_string().contains("I am Ada."));
    assert_eq!(person.annals(&["verify", "--requests", "--wire"]).status, Some(0));
    let missing = person.annals(&["run", "-s", "@last", "--directory", "nowhere", "hello"]);
    assert_eq!(missing.status, Some(2), "{}", missing.remarks);
}

#[test]
fn a_fork_works_where_it_is_told_to() {
    let (_model, person) = without_its_folder([Says::Text("You are Ada.")]);
    let silent = person.annals(&["fork", "@last"]);
    assert!(silent.remarks.contains("--directory DIR"), "{}", silent.remarks);
    let fork = person.annals(&["fork", "@last", "--directory", "."]);
    assert_eq!(fork.status, Some(0), "{}", fork.remarks);
    let id = fork.out.split_whitespace().next().unwrap_or_default().to_owned();
    let answer = person.annals(&["run", "-s", &id, "who am I?"]);
    assert_eq!((answer.status, answer.out.as_str()), (Some(0), "You are Ada.\n"), "{}", answer.remarks);
}

#[test]
fn a_chat_continues_elsewhere_too() {
    let (_model, person) = without_its_folder([Says::Text("You are Ada.")]);
    let answer = person.annals_reading(&["chat", "-s", "@last", "--directory", "."], "who am I?\n");
    assert_eq!((answer.status, answer.out.as_str()), (Some(0), "You are Ada.\n"), "{}", answer.remarks);
}

#[test]
fn a_session_moves_with_what_is_not_committed_between_worktrees_of_a_repository() {
    let model = Model::start([Says::Text("Hello."), Says::Text("Hello again.")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(args);
        let done = git.current_dir(person.project()).env("HOME", person.home()).output_watched().expect("git");
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    person.write("kept.txt", "one\n");
    for args in [["init", "-q"].as_slice(), &["add", "."], &["commit", "-qm", "first"]] {
        git(args);
    }
    git(&["worktree", "add", "-q", "../other"]);
    assert_eq!(person.annals(&["run", "hello"]).status, Some(0));
    person.write("kept.txt", "one\ntwo\n");
    person.write("new.txt", "new\n");
    let other = person.folder().join("other");
    let planned = person.annals(&["move", "@last", "../other", "--dry-run"]);
    insta::assert_snapshot!(planned.shown());
    assert!(!other.join("new.txt").exists() && person.project().join("new.txt").exists(), "nothing was changed");
    let moved = person.annals(&["move", "@last", "../other"]);
    assert_eq!(moved.status, Some(0), "{}", moved.remarks);
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(
        (read(&other.join("kept.txt")).as_str(), read(&other.join("new.txt")).as_str()),
        ("one\ntwo\n", "new\n")
    );
    assert_eq!(read(&person.project().join("kept.txt")), "one\n");
    assert!(!person.project().join("new.txt").exists(), "it left");
    let again = person.annals(&["move", "@last", "../other"]);
    assert!(again.remarks.contains("already"), "{}", again.remarks);
    assert_eq!(person.annals(&["run", "-s", "@last", "hello"]).out, "Hello again.\n");
    // A folder of no project.
    let alone = person.annals(&["move", "@last", "../home"]);
    assert!(alone.out.contains("no files move: files are moved only between"), "{alone:?}");
}

#[test]
fn what_waits_in_a_session_is_listed_withdrawn_and_queued() {
    let model = Model::start([Says::Refuses(401, "No."), Says::Text("Here.")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    person.annals(&["run", "hello"]);
    assert!(person.annals(&["inbox", "@last"]).remarks.contains("no input is waiting"));
    // Another source waits: AGENTS.md is a folder, so the first baseline of a new session is blocked and its prompt stays.
    std::fs::create_dir(person.project().join("AGENTS.md")).expect("a folder");
    let blocked = person.annals(&["run", "wait here"]);
    assert_eq!(blocked.status, Some(1), "{}", blocked.remarks);
    let waiting = person.json(&["inbox", "@last", "--json"]);
    let input = waiting[0]["input"].as_str().expect("one waits").to_owned();
    assert_eq!((waiting[0]["delivery"].as_str(), waiting[0]["text"].as_str()), (Some("steer"), Some("wait here")));
    assert_eq!(person.annals(&["inbox", "@last", "--queue", &input]).status, Some(0));
    assert_eq!(person.json(&["inbox", "@last", "--json"])[0]["delivery"].as_str(), Some("queue"));
    assert_eq!(person.annals(&["inbox", "@last", "--withdraw", &input]).status, Some(0));
    assert!(person.annals(&["inbox", "@last"]).remarks.contains("no input is waiting"));
    assert_eq!(person.annals(&["inbox", "@last", "--withdraw", &input]).status, Some(1));
    assert_eq!(model.received().len(), 1, "nothing ran");
}

#[test]
fn an_imported_session_continues_with_a_model_that_is_configured_here() {
    let model = Model::start([Says::Text("As we said.")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/claude-code/one-turn.jsonl");
    assert_eq!(person.annals(&["import", file]).status, Some(0));
    let refused = person.annals(&["run", "-s", "@last", "and now?"]);
    assert_eq!(refused.status, Some(2), "{}", refused.remarks);
    assert!(refused.remarks.contains("--directory DIR"), "{}", refused.remarks);
    let answer = person.annals(&["run", "-s", "@last", "--directory", ".", "and now?"]);
    assert_eq!((answer.status, answer.out.as_str()), (Some(0), "As we said.\n"), "{}", answer.remarks);
    assert!(answer.remarks.contains("continuing as a fork with mock/one"), "{}", answer.remarks);
    assert_eq!(model.received()[0]["model"].as_str(), Some("one"));
}

#[test]
fn a_session_that_was_imported_without_its_key_continues_as_a_fork() {
    let says = ["Hello Ada.", "You are somebody.", "You are Ada.", "Still you."].map(Says::Text);
    let model = Model::start(says).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    assert_eq!(person.annals(&["run", "I am Ada."]).status, Some(0));
    let withheld = ["export", "@last", "withheld.jsonl", "--withhold", "text:I am Ada"];
    assert_eq!(person.annals(&withheld).status, Some(0));
    let there = ["--store", "elsewhere"];
    assert_eq!(person.annals(&[&["import", "withheld.jsonl"], &there[..]].concat()).status, Some(0));
    let sessions = || person.json(&[&["sessions", "--json"], &there[..]].concat()).as_array().map_or(0, Vec::len);
    assert_eq!(sessions(), 1);
    let original = person.json(&[&["sessions", "--json"], &there[..]].concat())[0].clone();
    let id = original["id"].as_str().expect("an id").to_owned();
    for refused in [
        person.annals(&[&["run", "-s", &id, "who am I?"], &there[..]].concat()),
        person.annals_reading(&[&["chat", "-s", &id], &there[..]].concat(), "who am I?\n"),
    ] {
        assert_eq!((refused.status, refused.out.as_str()), (Some(2), ""));
        assert!(refused.remarks.contains("annals fork"), "{}", refused.remarks);
    }
    assert_eq!(model.received().len(), 1, "nothing was sent");
    let fork = person.annals(&[&["fork", &id], &there[..]].concat());
    let fork = fork.out.split_whitespace().next().unwrap_or_default().to_owned();
    for (at, answer) in ["You are somebody.", "You are Ada."].into_iter().enumerate() {
        let run = match at {
            0 => person.annals(&[&["run", "-s", &fork, "who am I?"], &there[..]].concat()),
            _ => person.annals_reading(&[&["chat", "-s", &fork], &there[..]].concat(), "and now?\n"),
        };
        assert_eq!((run.status, run.out.trim()), (Some(0), answer), "{}", run.remarks);
    }
    // The original is as it was, and all that is in the store is proved.
    let now = person.json(&[&["sessions", "--json"], &there[..]].concat());
    let same = now.as_array().into_iter().flatten().find(|row| row["id"] == id.as_str());
    assert_eq!(same.map(|row| &row["next"]), Some(&original["next"]));
    assert_eq!(sessions(), 2, "{now}");
    let sent = model.received()[1].to_string();
    assert!(sent.contains("withheld: 9 characters") && !sent.contains("I am Ada"), "{sent}");
    assert_eq!(person.annals(&[&["verify"], &there[..]].concat()).status, Some(0));
}
