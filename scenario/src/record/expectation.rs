//! The current views of a recorded session, as the expectation of its scenario.

use super::{RecordedEvent, RecordedSession};
use annals_core::event::SessionEvent;
use annals_core::{Event, Key, Seq};
use annals_projections::{Messages, Projection, ToJson, UsageTotals};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// What a scenario cannot reproduce exactly.
#[derive(Default)]
pub(super) struct Tolerances {
    /// Messages whose content has another order, or more parts, than a scripted attempt.
    pub content: BTreeSet<Seq>,
    /// Sources whose stored value differs.
    pub values: BTreeSet<Key>,
}

/// Fields about when and where something happened.
const INCIDENTAL: &[&str] =
    &["seq", "at", "cost", "truncated", "lossy", "status", "reason", "blocked", "epoch", "known"];

pub(super) fn of(recording: &RecordedSession, facts: &[RecordedEvent], tolerances: &Tolerances) -> Value {
    let view = recording.view(facts);
    let blobs = recording.blobs.as_ref();
    let mut messages = Messages::default();
    for fact in facts {
        messages.apply(&fact.record(recording.session));
    }
    // A scenario requests no title.
    let mut usage = UsageTotals::default();
    let titles = |fact: &&RecordedEvent| {
        matches!(fact.event, Event::Session(SessionEvent::Titled(_)) | Event::Session(SessionEvent::TitleFailed(_)))
    };
    facts.iter().filter(|fact| !titles(fact)).for_each(|fact| usage.apply(&fact.record(recording.session)));

    let session = json!({
        "agent": view.session.agent,
        "model": view.session.model,
        "location": view.session.location.as_ref().map(|location| location.directory.as_str()),
        "revert": if view.session.revert.is_some() { json!({ "$not": null }) } else { Value::Null },
    });
    let mut snapshot = view.epochs.snapshot_json(blobs);
    if let Value::Object(fields) = &mut snapshot {
        tolerances.values.iter().for_each(|key| drop(fields.remove(key.as_str())));
    }
    json!({
        "session": session,
        "history": shown(view.history.to_json(blobs), tolerances),
        "transcript": shown(view.transcript.page_json(&messages, blobs), tolerances),
        "baseline": plain(view.epochs.baseline_json(blobs)),
        // Not filtered: a value of a source may have a field named `seq`.
        "snapshot": snapshot,
        "pending": view.inbox.to_json(blobs),
        "epochs": plain(view.epochs.marks_json()),
        "usage": plain(usage.to_json(blobs)),
    })
}

/// Messages without what is incidental, and without content that cannot be compared.
fn shown(messages: Value, tolerances: &Tolerances) -> Value {
    let Value::Array(messages) = messages else { return messages };
    let message = |message: Value| {
        let seq = message.get("seq").and_then(Value::as_u64).map(Seq);
        let mut message = plain(message);
        if let (true, Value::Object(fields)) = (seq.is_some_and(|seq| tolerances.content.contains(&seq)), &mut message)
        {
            fields.remove("content");
        }
        message
    };
    messages.into_iter().map(message).collect()
}

fn plain(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(fields) => {
            let tool = fields.get("type").is_some_and(|kind| kind == "tool");
            let kept = |name: &str| !INCIDENTAL.contains(&name) || tool && name == "status";
            let error = fields.contains_key("kind") && fields.contains_key("message");
            let mut plainer = Map::new();
            for (name, value) in fields.into_iter().filter(|(name, _)| kept(name)) {
                // Messages of failures are up to the provider; inputs and values of tools are not filtered.
                if error && name == "message" && value != "Provider turn interrupted" {
                    continue;
                }
                let foreign = tool && matches!(name.as_str(), "input" | "structured");
                plainer.insert(name, if foreign { value } else { plain(value) });
            }
            Value::Object(plainer)
        }
        other => other,
    }
}
