//! Random scenarios: what must hold whatever a script does. The scripts are a function of their seeds, so that a failure is
//! repeated by `SEEDS=FIRST..LAST`.

mod script;

use annals_scenario::{Backend, Scenario, ScenarioOutcome, ScenarioReport, play};
use script::{Crashes, scenario};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

/// The seeds of a test; `SEEDS=FIRST..LAST` chooses others.
fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(chosen) = std::env::var("SEEDS") else { return usual };
    let parsed = chosen.split_once("..").and_then(|(first, last)| Some(first.parse().ok()?..last.parse().ok()?));
    parsed.unwrap_or_else(|| panic!("SEEDS={chosen}: FIRST..LAST is expected"))
}

fn played(seed: u64, document: &Value, backend: &Backend) -> ScenarioOutcome {
    let scenario = Scenario::parse(&document.to_string(), Path::new("random"))
        .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{document:#}"));
    play("random", &scenario, backend).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{document:#}"))
}

/// The items of a list, and nothing of anything else.
fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What is wrong with a session that came to rest.
fn wrong(views: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut ids = BTreeSet::new();
    for message in items(&views["transcript"]) {
        let place = format!("{} at {}", message["type"], message["seq"]);
        if message["type"] == "user" && !ids.insert(("input", message["id"].to_string())) {
            wrong.push(format!("{place}: the input joined twice"));
        }
        if message["type"] != "assistant" {
            continue;
        }
        if message["finish"].is_null() {
            wrong.push(format!("{place}: the answer is open"));
        }
        for call in items(&message["content"]).iter().filter(|content| content["type"] == "tool") {
            if !ids.insert(("call", call["call"].to_string())) {
                wrong.push(format!("{place}: the id of call {} repeats", call["call"]));
            }
            if call["status"] != "completed" && call["status"] != "error" {
                wrong.push(format!("{place}: call {} is {}", call["call"], call["status"]));
            }
        }
    }
    for (at, request) in items(&views["requests"]).iter().enumerate() {
        let messages = items(&request["messages"]);
        for (message, next) in messages.iter().zip(messages.iter().skip(1).chain([&Value::Null])) {
            let calls: Vec<&Value> = items(&message["calls"]).iter().map(|call| &call["id"]).collect();
            let results: Vec<&Value> = items(&next["results"]).iter().map(|result| &result["id"]).collect();
            if !calls.is_empty() && calls != results {
                wrong.push(format!("request {at}: the calls {calls:?} have the results {results:?}"));
            }
        }
    }
    for run in items(&views["runs"]) {
        if ["log", "defect", "request", "halted"].iter().any(|kind| run["error"]["kind"] == *kind) {
            wrong.push(format!("a run failed: {run}"));
        }
    }
    wrong
}

#[test]
fn a_session_comes_to_rest_with_everything_settled_once() {
    let mut failures = Vec::new();
    for seed in seeds(0..150) {
        let mut document = scenario(seed, Crashes::Some);
        // A crash that was armed and has not come yet may come in the first of these.
        let script = document["script"].as_array_mut().expect("a list");
        script.extend([json!({"run": "idle"}), json!({"run": "idle"})]);
        let outcome = played(seed, &document, &Backend::Memory);
        let crashed = items(&outcome.last["runs"]).last().is_some_and(|run| run["outcome"] == "crashed");
        if !crashed {
            failures.extend(wrong(&outcome.last).into_iter().map(|wrong| format!("seed {seed}: {wrong}")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn both_backends_give_the_same_report() {
    let bytes = |outcome: ScenarioOutcome| ScenarioReport { scenarios: vec![outcome] }.to_json().to_string();
    let mut differing = Vec::new();
    for seed in seeds(1_000..1_020) {
        let document = scenario(seed, Crashes::Some);
        let folder = tempfile::tempdir().expect("a folder");
        let on_disk = played(seed, &document, &Backend::Sled(folder.path().join("store")));
        if bytes(on_disk) != bytes(played(seed, &document, &Backend::Memory)) {
            differing.push(seed);
        }
    }
    assert!(differing.is_empty(), "the reports of these seeds differ: {differing:?}");
}

#[test]
fn a_restart_after_every_action_changes_nothing() {
    let mut differing = Vec::new();
    for seed in seeds(2_000..2_080) {
        let document = scenario(seed, Crashes::None);
        let mut restarted = document.clone();
        let script = restarted["script"].as_array_mut().expect("a list");
        *script = script.iter().flat_map(|action| [action.clone(), json!({"restart": {}})]).collect();
        if played(seed, &document, &Backend::Memory).last != played(seed, &restarted, &Backend::Memory).last {
            differing.push(seed);
        }
    }
    assert!(differing.is_empty(), "the views of these seeds differ: {differing:?}");
}
