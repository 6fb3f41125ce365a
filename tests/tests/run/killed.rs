//! What is left of a run whose process was killed: nothing that it started, and calls that are shown as interrupted.

use crate::run::person::Person;
use crate::run::terminal::Terminal;
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

const CHAT: &str = "openai-chat";

/// How long something may take: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process runs. One that has ended and that its parent does not ask for is listed until then.
fn runs(process: &str) -> bool {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    line.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// A run whose commands wait, killed; and the processes that it had started.
fn killed(person: &Person, processes: &[&str]) -> Vec<String> {
    let mut child = person.command(["run", "--yes", "wait"]).spawn_watched().expect("it runs");
    let read = |name: &&str| fs::read_to_string(person.project().join(name)).unwrap_or_default().trim().to_owned();
    let all = || processes.iter().map(read).collect::<Vec<_>>();
    wait_until("its commands did not start", || all().iter().all(|process| !process.is_empty()));
    let started = all();
    assert!(cfg!(not(target_os = "linux")) || started.iter().all(|process| runs(process)), "{started:?}");
    child.kill().expect("a signal");
    child.wait().expect("it ends");
    started
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_run_had_started_ends() {
    let call = |id, command: &str, more: serde_json::Value| {
        let mut input = json!({ "command": command });
        input.as_object_mut().zip(more.as_object()).into_iter().for_each(|(input, more)| input.extend(more.clone()));
        (id, "bash", input)
    };
    let calls = vec![
        call("c1", "echo $$ > behind; sleep 1000; true", json!({"background": true})),
        call("c2", "echo $$ > typed; sleep 1000; true", json!({"background": true, "pty": true})),
        call("c3", "trap '' HUP TERM; sleep 1000 & echo $! > inner; echo $$ > outer; wait", json!({})),
    ];
    let model = Model::start([Says::Calls("", calls)]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    for process in killed(&person, &["behind", "typed", "inner", "outer"]) {
        wait_until(&format!("process {process} still runs"), || !runs(&process));
    }
    assert_eq!(person.annals(&["verify"]).status, Some(0));
}

#[test]
fn a_chat_shows_the_calls_that_were_interrupted() {
    annals_tests::needs!("python3");
    let wait = |id| Says::Calls("I wait.", vec![(id, "bash", json!({"command": "echo $$ > process; sleep 1000"}))]);
    let model = Model::start([wait("c1"), Says::Text("It was cut off."), wait("c2")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    killed(&person, &["process"]);
    let continued = |said: &str| {
        let mut chat = Terminal::open(&person, &["chat", "-c", "--yes"]);
        chat.expect(&format!("› {said}"));
        chat.expect("I wait.");
        chat.expect("✗ bash  echo $$ > process; sleep 1000  Tool execution interrupted");
        chat
    };
    // Nothing is recorded of it yet. It is not shown again when it is.
    let mut chat = continued("wait");
    chat.send("and now?\r");
    chat.expect("It was cut off.");
    assert_eq!(chat.shown().matches("✗ bash").count(), 1, "{}", chat.shown());
    chat.send("again\r");
    chat.expect("bash  echo $$");
    chat.send("\u{1b}");
    chat.expect("interrupted; type what to do instead");
    chat.send("/quit\r");
    assert_eq!(chat.ended(), 0);
    continued("again").send("/quit\r");
    assert_eq!(person.annals(&["verify"]).status, Some(0));
}
