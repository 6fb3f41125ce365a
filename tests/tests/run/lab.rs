//! `annals dev lab`: an agent is killed at every point and resumes; a provider that fails.

use crate::cli::validate::wrong;
use crate::run::person::Person;
use annals_tests::deadline::{Watched, WithDeadline};
use annals_tests::model::{Model, Says};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// A provider of the laboratory. It ends with the test.
struct Provider {
    child: Watched,
    url: String,
}

impl Provider {
    fn start(args: &[&str]) -> Self {
        let person = Person::new();
        let args = ["lab", "provider"].iter().chain(args);
        let mut child =
            person.command(args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn_watched().expect("it runs");
        let mut url = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut url).expect("an address");
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// `annals dev lab` over `annals run` with one call and one answer.
fn laboratory(options: &[&str]) -> (Provider, Person, Value) {
    let provider = Provider::start(&["--call", r#"bash={"command":"echo x >> log.txt"}"#, "--text", "Done."]);
    let person = Person::with_model(&provider.url, "openai-chat");
    let program = env!("CARGO_BIN_EXE_annals-test");
    // A checkout may be in a folder with a space in its name.
    let resume = format!("'{program}' run -c --yes");
    let mut args = vec!["lab", "--json", "--copy", ".", "--resume", &resume];
    args.extend(options);
    args.extend(["--", program, "run", "--yes", "add a line"]);
    let report = person.json(&args);
    (provider, person, report)
}

#[test]
fn a_run_that_is_killed_at_any_point_is_resumed_by_the_laws() {
    let (_provider, person, report) = laboratory(&[]);
    assert_eq!(report["failures"], json!([]), "{report}");
    assert!(report["killed"].as_u64() > Some(12), "{report}");
    assert_eq!((&report["resumed"], &report["not_reached"]), (&report["killed"], &json!(0)), "{report}");
    let places: Vec<_> = report["places"].as_array().into_iter().flatten().map(|it| it["place"].clone()).collect();
    let all = ["before-append", "before-flush", "after-flush", "after-append", "before-tool", "after-tool"];
    assert_eq!(places, all, "each kind of place is met");
    assert_eq!(wrong(&person.json(&["schema", "lab"]), &report), None);
}

#[test]
fn an_agent_of_an_embedder_is_killed_and_resumes_by_itself() {
    let person = Person::new();
    let program = env!("CARGO_BIN_EXE_annals-test");
    // A runtime over a store of its own, with a scripted model and one tool that is called one after the other.
    let report =
        person.json(&["lab", "--json", "--", program, "crash-session", "{store}", "3", "{store}.calls", "never", "0"]);
    assert_eq!((&report["failures"], &report["resumed"]), (&json!([]), &report["killed"]), "{report}");
    let tools = report["places"].as_array().into_iter().flatten().find(|it| it["place"] == "before-tool");
    assert_eq!(tools.map(|it| &it["killed"]), Some(&json!(3)), "{report}");
}

#[test]
fn an_agent_that_does_not_resume_is_explained_by_the_point_at_which_it_was_killed() {
    let provider = Provider::start(&["--text", "Done."]);
    let person = Person::with_model(&provider.url, "openai-chat");
    let program = env!("CARGO_BIN_EXE_annals-test");
    // It begins another session and forgets the one that was killed.
    let answer = person.annals(&["lab", "--keep", "kept", "--", program, "run", "--yes", "hello"]);
    assert_eq!(answer.status, Some(1), "{}", answer.remarks);
    assert!(answer.out.contains("after append: ") && answer.out.contains("has no answer"), "{}", answer.out);
    assert!(answer.out.contains("kept in TMP/project/kept/point-"), "{}", answer.out);
    let nothing = person.annals(&["lab", "--", "true"]);
    assert_eq!(nothing.status, Some(2));
    assert!(nothing.remarks.contains("appended nothing to the store"), "{}", nothing.remarks);
    let fails = person.annals(&["lab", "--", "false"]);
    assert_eq!(fails.status, Some(1));
    assert!(fails.remarks.contains("fails without a crash"), "{}", fails.remarks);
}

#[test]
fn a_provider_of_the_laboratory_fails_in_three_protocols_and_then_answers() {
    for protocol in ["openai-chat", "openai-responses", "anthropic-messages"] {
        let provider = Provider::start(&["cut", "malformed", "--text", "All is well."]);
        let person = Person::with_model(&provider.url, protocol);
        let answer = person.annals(&["run", "--yes", "hello"]);
        assert_eq!(answer.status, Some(0), "{protocol}: {}", answer.remarks);
        assert!(answer.out.contains("All is well."), "{protocol}: {}", answer.out);
        assert_eq!(person.annals(&["verify", "--requests", "--wire"]).status, Some(0));
        let call = r#"bash={"command":"echo called"}"#;
        let provider = Provider::start(&["slow", "bytes", "--pause", "1", "--call", call, "--text", "Called."]);
        let person = Person::with_model(&provider.url, protocol);
        let answer = person.annals(&["run", "--yes", "hello"]);
        assert_eq!((answer.status, answer.out.as_str()), (Some(0), "Called.\n"), "{protocol}: {}", answer.remarks);
    }
}

#[test]
fn the_environment_of_the_laboratory_changes_nothing_without_a_point() {
    let model = Model::start([Says::Text("Hello.")]).expect("a port");
    let mut person = Person::with_model(model.url(), "openai-chat");
    let points = person.folder().join("points");
    person.set("ANNALS_LAB_POINTS", &points.to_string_lossy());
    assert_eq!(person.annals(&["run", "--yes", "hello"]).status, Some(0));
    let lines = std::fs::read_to_string(points).expect("points");
    let numbers = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["point"].as_u64());
    assert!(numbers.eq((1..=lines.lines().count() as u64).map(Some)), "{lines}");
}
