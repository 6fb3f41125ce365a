//! The bodies that OpenCode sent for logs that we import, beside those that we make of the imported logs: what differs is
//! listed here, all of it, and explained in `docs/wire.md`.

use annals_core::event::*;
use annals_core::{Digest, Event, Json, Record, RequestId, Seq, SessionId};
use annals_import::{ImportOptions, import, recognise};
use annals_projections::{Projection, Request, SessionView, rebuild};
use annals_providers::wire::{Protocol, encode};
use annals_store::{EventLog, MemoryLog};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/opencode/v2").join(name)
}

/// The recorded bodies, in order, each with its tools: a later one that offers the same ones only says so.
fn recorded(name: &str) -> Vec<Value> {
    let lines = std::fs::read_to_string(fixture(&format!("{name}.requests.jsonl"))).unwrap();
    let mut tools = Value::Null;
    lines
        .lines()
        .map(|line| {
            let mut body = serde_json::from_str::<Value>(line).unwrap()["body"].take();
            match &mut body["tools"] {
                Value::Array(given) => tools = Value::Array(given.clone()),
                Value::String(_) => body["tools"] = tools.clone(),
                _ => drop(body.as_object_mut().unwrap().remove("tools")),
            }
            body
        })
        .collect()
}

/// What their first body says before the baseline: the agent's own text.
fn agent_text(body: &Value, list: &str) -> String {
    let system = body[list][0]["content"].as_str().unwrap();
    system.split_once("\nHere is some useful information").unwrap().0.to_owned()
}

fn tools(body: &Value) -> Vec<ToolDefinition> {
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let tool = |tool: Value| {
        let function = if tool["function"].is_object() { &tool["function"] } else { &tool };
        ToolDefinition {
            name: function["name"].as_str().unwrap().into(),
            description: function["description"].as_str().unwrap().into(),
            schema: Json::received(function["parameters"].to_string()),
        }
    };
    tools.into_iter().map(tool).collect()
}

fn model(protocol: Protocol, body: &Value, model: &annals_core::ModelName) -> ModelProfile {
    ModelProfile {
        model: model.clone(),
        id: body["model"].as_str().unwrap().into(),
        context: 0,
        output: 0,
        system_messages: SystemMessages::Wrapped,
        media: vec!["image/*".into()],
        prices: Prices::default(),
        protocol: protocol.as_str().into(),
        encoding: protocol.encoding(),
    }
}

/// The request of a turn as the imported log gives it, with what such a log does not hold taken from the body.
fn request(view: &SessionView, started: &StepStarted, text: &str, body: &Value, protocol: Protocol) -> Request {
    let mut view = view.clone();
    let agent =
        AgentProfile { agent: started.agent.clone(), system: Some(text.into()), steps: None, permissions: Vec::new() };
    let (model, tools) = (model(protocol, body, &started.model), ToolsRecorded { tools: tools(body) });
    let sent = RequestSent {
        request: RequestId([0; 16]),
        purpose: Purpose::Turn,
        attempt: 1,
        digest: Digest([0; 32]),
        wire: None,
        agent: started.agent.clone(),
        model: started.model.clone(),
        agent_profile: agent.digest().unwrap(),
        model_profile: model.digest().unwrap(),
        tools: Some(tools.digest().unwrap()),
        options: RequestOptions::default().digest().unwrap(),
        last_step: false,
        prompt: None,
    };
    view.profiles.agents.insert(sent.agent_profile, agent);
    view.profiles.models.insert(sent.model_profile, model);
    view.profiles.tools.insert(sent.tools.unwrap(), tools.tools);
    view.profiles.options.insert(sent.options, RequestOptions::default());
    rebuild(&view, &sent, &annals_core::NoBlobs).unwrap()
}

/// Where two texts differ, line by line: what stands between their common beginning and their common end.
fn between(theirs: &str, ours: &str, out: &mut String) {
    let (a, b): (Vec<&str>, Vec<&str>) = (theirs.split('\n').collect(), ours.split('\n').collect());
    let before = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let longest = a.len().min(b.len()) - before;
    let after = a.iter().rev().zip(b.iter().rev()).take(longest).take_while(|(a, b)| a == b).count();
    a[before..a.len() - after].iter().for_each(|line| writeln!(out, "    theirs {line:?}").unwrap());
    b[before..b.len() - after].iter().for_each(|line| writeln!(out, "    ours   {line:?}").unwrap());
}

/// Every place where two values differ.
fn differences(path: &str, theirs: &Value, ours: &Value, out: &mut String) {
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let null = Value::Null;
                differences(&format!("{path}/{name}"), a.get(name).unwrap_or(&null), b.get(name).unwrap_or(&null), out);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}/{at}"), a, b, out);
            }
        }
        _ if theirs == ours => {}
        (Value::String(a), Value::String(b)) => {
            writeln!(out, "  {path}").unwrap();
            between(a, b, out);
        }
        _ => writeln!(out, "  {path}\n    theirs {theirs}\n    ours   {ours}").unwrap(),
    }
}

/// All differences between the bodies that OpenCode sent for a log and those that we make of it.
async fn compared(name: &str, protocol: Protocol, list: &str) -> String {
    let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
    let source = recognise(&fixture(&format!("{name}.events.jsonl"))).unwrap();
    let report = import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    let session: SessionId = report.sessions[0].session;
    let bodies = recorded(name);
    let text = agent_text(&bodies[0], list);
    // A summary has one message and no tools. Logs hold no request of one, so that there is nothing to make it of.
    let turns: Vec<(usize, &Value)> = bodies.iter().enumerate().filter(|(_, body)| body["tools"].is_array()).collect();
    let mut ahead = turns.iter();
    let (mut view, mut out, mut equal) = (SessionView::default(), String::new(), 0);
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut visit = |record: &Record<'_>| {
        if let Event::Step(StepEvent::Started(started)) = record.event {
            let (at, theirs) = ahead.next().expect("a body for each answer");
            let request = request(&view, started, &text, theirs, protocol);
            let ours = encode(&request, session).unwrap().unwrap();
            let ours: Value = serde_json::from_slice(&ours.bytes).unwrap();
            let mut found = String::new();
            differences("", theirs, &ours, &mut found);
            equal += usize::from(found.is_empty());
            match seen.get(&found) {
                _ if found.is_empty() => {}
                Some(earlier) => writeln!(out, "body {} as body {earlier}", at + 1).unwrap(),
                None => {
                    write!(out, "body {}\n{found}", at + 1).unwrap();
                    seen.insert(found, at + 1);
                }
            }
        }
        view.apply(record);
    };
    for slice in log.read(session, Seq::ZERO, usize::MAX).await.unwrap() {
        slice.records().for_each(|record| visit(&record));
    }
    assert_eq!(ahead.next().map(|(at, _)| at), None, "an answer for each body");
    format!("{equal} of {} bodies are equal\n{out}", turns.len()).replace(&session.to_string(), "SESSION")
}

#[tokio::test]
async fn chat_completions_as_opencode_sent_them() {
    insta::assert_snapshot!(compared("wire-chat", Protocol::OpenAiChat, "messages").await);
}

#[tokio::test]
async fn responses_as_opencode_sent_them() {
    insta::assert_snapshot!(compared("wire-responses", Protocol::OpenAiResponses, "input").await);
}

#[tokio::test]
async fn chat_completions_across_compactions_as_opencode_sent_them() {
    insta::assert_snapshot!(compared("compaction", Protocol::OpenAiChat, "messages").await);
}
