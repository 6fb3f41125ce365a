//! Claude Code as it writes since 2026: requests, notifications, kept messages, copies.

mod lines;

use crate::import::harness::{events, fixture, memory, run, scratch, view, write};
use annals_core::event::{ChildEvent, CompactionEvent, ContextEvent, MessageEvent, SessionEvent, StepEvent, ToolEvent};
use annals_core::{Event, Seq, SessionId};
use annals_import::{Homes, ImportReport};
use annals_inspect::prove::{AgentProofs, RequestProofs, Wire, prove_all};
use annals_inspect::{SessionAt, when, why};
use annals_projections::{Body, Content};
use annals_store::EventLog;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

const SESSION: &str = "297e9b5d-8cf2-49c4-9e29-60c54d4fcab8";

fn recorded() -> PathBuf {
    fixture("claude-code-requests").join(format!("{SESSION}.jsonl"))
}

async fn past(log: &Arc<dyn EventLog>, session: SessionId) -> SessionAt {
    let until = log.head(session).await.unwrap().unwrap().next;
    SessionAt::new(Arc::clone(log), None, session, until)
}

async fn proofs(log: &Arc<dyn EventLog>, session: SessionId) -> RequestProofs {
    let mut proofs = RequestProofs::default();
    proofs.add(&past(log, session).await, false).await.unwrap();
    assert_eq!(proofs.flaws, Vec::<String>::new());
    proofs
}

/// What the model would see next, in short.
async fn said(log: &Arc<dyn EventLog>, session: SessionId) -> Vec<String> {
    let (view, blobs) = (view(log, session).await, log.blobs());
    assert!(view.anomalies().is_empty(), "{:?}", view.anomalies());
    let text = |body: &Body| match body {
        Body::User { text, .. } => Some(format!("user {}", text.resolve(&*blobs))),
        Body::Synthetic { text } => Some(format!("program {}", text.resolve(&*blobs))),
        Body::Compaction { summary, .. } => Some(format!("summary {}", summary.resolve(&*blobs))),
        Body::Assistant(answer) => answer.content.iter().find_map(|content| match content {
            Content::Text { text, .. } => Some(format!("model {}", text.resolve(&*blobs))),
            _ => None,
        }),
        _ => None,
    };
    view.history.selected().filter_map(|message| text(&message.body)).collect()
}

/// Lines of a transcript, one a second, each under the one before it.
fn transcript(lines: &[(&str, Value)]) -> String {
    let mut text = String::new();
    for (second, (uuid, fields)) in (1_usize..).zip(lines) {
        let parent = second.checked_sub(2).and_then(|at| lines.get(at)).map(|(uuid, _)| *uuid);
        let mut line = json!({
            "parentUuid": parent, "isSidechain": false, "uuid": uuid, "sessionId": "s", "version": "2.1.332", "cwd": "/w",
            "timestamp": format!("2026-11-01T09:00:{second:02}.000Z"),
        });
        for (name, value) in fields.as_object().unwrap() {
            line[name] = value.clone();
        }
        text.push_str(&format!("{line}\n"));
    }
    text
}

fn user(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

fn answer(text: &str) -> Value {
    let usage = json!({"input_tokens": 1, "output_tokens": 2});
    let content = json!([{"type": "text", "text": text}]);
    let id = format!("msg_{text}");
    json!({"type": "assistant", "message": {"id": id, "role": "assistant", "model": "m", "stop_reason": "end_turn", "content": content, "usage": usage}})
}

async fn imported(lines: &[(&str, Value)]) -> (Arc<dyn EventLog>, SessionId, ImportReport) {
    let (log, folder) = (memory(), scratch());
    let report = run(&log, &write(&folder, "s.jsonl", &transcript(lines))).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    (log, report.sessions[0].session, report)
}

#[tokio::test]
async fn requests_of_a_transcript_are_rebuilt_and_proved_by_the_hashes_in_it() {
    let log = memory();
    let session = run(&log, &recorded()).await.sessions[0].session;
    let agent = recorded().with_extension("").join("subagents/agent-a1446e29ad9ca2a13.jsonl");
    let child = run(&log, &agent).await.sessions[0].session;
    for (session, count) in [(session, 11), (child, 2)] {
        let proofs = proofs(&log, session).await;
        // Texts of the product were replaced in the fixture, so that the hashes of the whole are other ones.
        let expected = AgentProofs { proved: count, whole_differs: count, ..AgentProofs::default() };
        assert_eq!(proofs.agents.get("claude-code"), Some(&expected));
        assert_eq!(proofs.count, count, "each answer follows a recorded request");
    }
    let past = past(&log, session).await;
    let steps = past.steps().await.unwrap();
    assert!(steps.requests.iter().all(|step| step.recorded), "no request is inferred");
    let first = why::ask(&past, Some(1), None).await.unwrap();
    assert!(first.lacks.is_empty(), "{:?}", first.lacks);
    let texts: Vec<&str> = first.spans.iter().map(|origin| origin.span.text.as_str()).collect();
    for wanted in
        ["You work in a test. Do what the prompt says.", "One. @@ think Look first. || shell ls @@ say Two files."]
    {
        assert!(texts.contains(&wanted), "{wanted} is in {texts:#?}");
    }
    let rule = when::ask(&past, "A text of the product, removed: 2544 characters (text 9b2ec237).").await.unwrap();
    assert_eq!(rule.sightings.len(), 1, "a reminder that is sent with each request entered once");
    assert!(rule.lacks.is_empty());
    let unknown = when::ask(&past, "never said").await.unwrap();
    assert!(unknown.sightings.is_empty() && unknown.lacks.is_empty(), "all is recorded");
}

#[tokio::test]
async fn an_altered_request_and_one_that_lacks_a_message_are_not_proved() {
    let text = std::fs::read_to_string(recorded()).unwrap();
    let folder = scratch();
    // The blob of the first reminder is gone: each request up to the compaction lacks that message.
    let without: String =
        text.split_inclusive('\n').filter(|line| !line.contains(r#""hash":"b70fca7bbbda621e"#)).collect();
    let log = memory();
    let session = run(&log, &write(&folder, "s.jsonl", &without)).await.sessions[0].session;
    let agent = proofs(&log, session).await.agents["claude-code"].clone();
    assert_eq!((agent.proved, agent.lacking.len()), (1, 10));
    assert!(agent.lacking[0].ends_with("message 1"), "{}", agent.lacking[0]);
    let proof = &prove_all(&past(&log, session).await, true).await.unwrap()[0];
    assert!(matches!(&proof.wire, Some(Wire::Agent(..))));
    // A message that does not have its hash is no proof.
    let altered = text.replace("A text of the product, removed: 2544 characters (text 9b2ec237)", "Another text");
    let log = memory();
    let report = run(&log, &write(&folder, "t.jsonl", &altered)).await;
    let losses = &report.sessions[0].losses;
    assert!(losses.keys().any(|what| what.contains("hash that it names")), "{losses:#?}");
    assert_eq!(proofs(&log, report.sessions[0].session).await.agents["claude-code"].lacking.len(), 10);
}

#[tokio::test]
async fn a_transcript_with_requests_only_appends_while_it_grows() {
    let text = std::fs::read_to_string(recorded()).unwrap();
    let folder = scratch();
    let (whole, log) = (memory(), memory());
    let session = run(&whole, &write(&folder, "whole.jsonl", &text)).await.sessions[0].session;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for end in (1..lines.len()).step_by(3).chain([lines.len()]) {
        let report = run(&log, &write(&folder, "part.jsonl", &lines[..end].concat())).await;
        assert!(!report.has_bad_news(), "after {end} lines: {report:#?}");
    }
    assert_eq!(log.head(session).await.unwrap(), whole.head(session).await.unwrap());
}

#[tokio::test]
async fn what_a_transcript_does_not_record_is_not_denied() {
    let log = memory();
    let session = run(&log, &fixture("claude-code/one-turn.jsonl")).await.sessions[0].session;
    let answer = when::ask(&past(&log, session).await, "Be kind").await.unwrap();
    let lacks: Vec<&str> = answer.lacks.iter().map(|lack| lack.words()).collect();
    assert_eq!(
        lacks,
        ["the request itself", "the agent's own system text", "the system prompt", "the tools that were offered"]
    );
}

#[tokio::test]
async fn what_attachments_were_rendered_to_is_context_without_requests_too() {
    let rendered = json!({"type": "attachment", "attachment": {"type": "instructions", "files": []}, "renderedRole": "system",
        "rendered": [{"content": "<system-reminder>\nBe kind to the reader.\n</system-reminder>"}]});
    let prompt =
        json!({"type": "attachment", "attachment": {"type": "prompt_snapshot", "systemPrompt": ["You help."]}});
    let (log, session, _) = imported(&[
        ("u1", user("hi")),
        ("r1", rendered),
        ("p1", prompt.clone()),
        ("a1", answer("one")),
        ("u2", user("more")),
        ("p2", prompt),
        ("a2", answer("two")),
    ])
    .await;
    let events = events(&log, session).await;
    let given: Vec<(u64, String)> = (events.iter())
        .filter_map(|(seq, event)| match event {
            Event::Context(ContextEvent::EpochStarted(epoch)) => {
                Some((seq.0, epoch.parts[0].text.inline()?.to_owned()))
            }
            Event::Context(ContextEvent::Admitted(it)) => {
                Some((seq.0, format!("{} {}", it.keys[0], it.text.inline()?)))
            }
            _ => None,
        })
        .collect();
    let texts: Vec<&str> = given.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["You help.", "claude-code/instructions Be kind to the reader."]);
}

#[tokio::test]
async fn no_event_of_a_request_is_in_a_transcript_without_them() {
    let (log, session, _) = imported(&[("u1", user("hi")), ("a1", answer("one"))]).await;
    let is_request = |(_, event): &(Seq, Event)| {
        matches!(event, Event::Step(StepEvent::RequestSent(_) | StepEvent::RequestRecorded(_)))
    };
    assert!(!events(&log, session).await.iter().any(is_request));
    assert!(
        !events(&log, session).await.iter().any(|(_, event)| matches!(event, Event::Message(MessageEvent::Pinned(_))))
    );
}
