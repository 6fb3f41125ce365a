//! The stories of `fixtures/stories`, drawn for eyes.

use annals_core::{Batch, Digest, Event, NoBlobs, Seq, SessionId, Text, Time};
use annals_projections::{Body, Content, Message, Messages, Projection, SessionView, Status};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    at: u64,
    events: Vec<serde_json::Value>,
}

/// Seals a hand-written log: one line a batch.
fn log(story: &str) -> Vec<Batch> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/stories").join(story).join("log.jsonl");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let session = SessionId::from_parts(1_780_488_000_000, 7);
    let mut batches: Vec<Batch> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{}:{}", path.display(), number + 1);
        let line: Line = serde_json::from_str(line).unwrap_or_else(|error| panic!("{place}: {error}"));
        let mut events: Vec<Event> = line
            .events
            .into_iter()
            .map(|json| Event::from_json(json).unwrap_or_else(|error| panic!("{place}: {error}")))
            .collect();
        let first = batches.last().map_or(Seq::ZERO, Batch::next);
        let prev: Option<Digest> = batches.last().map(|batch| batch.digest);
        let key = annals_core::SessionKey([0x0f; 32]);
        events.iter_mut().for_each(|event| event.set_key(key));
        let sealed = Batch::seal(&key, &NoBlobs, session, first, Time(line.at), prev, events);
        batches.push(sealed.unwrap_or_else(|error| panic!("{place}: {error}")).batch);
    }
    batches
}

fn draw(story: &str) -> String {
    let batches = log(story);
    let mut view = SessionView::default();
    let mut messages = Messages::default();
    for record in batches.iter().flat_map(Batch::records) {
        view.apply(&record);
        messages.apply(&record);
    }
    let mut out = String::new();
    let _ = writeln!(out, "history");
    view.history.selected().for_each(|message| line(&mut out, message, false));
    let _ = writeln!(out, "transcript");
    for message in view.transcript.shown(&messages) {
        line(&mut out, &message, view.transcript.is_reverted(message.seq));
    }
    let _ = writeln!(out, "epochs");
    for mark in &view.epochs.marks {
        let _ = writeln!(out, "{:>4} {} {}", mark.seq, mark.epoch, mark.cause);
    }
    if let Some(epoch) = &view.epochs.current {
        let _ = writeln!(out, "baseline\n     {}", epoch.text(&NoBlobs));
    }
    if !view.anomalies().is_empty() {
        let _ = writeln!(out, "anomalies");
        view.anomalies().iter().for_each(|anomaly| {
            let _ = writeln!(out, "{:>4} {}", anomaly.seq, anomaly.what);
        });
    }
    out
}

fn line(out: &mut String, message: &Message, reverted: bool) {
    let shown = |text: &Text| text.resolve(&NoBlobs).replace('\n', " / ");
    let (kind, text) = match &message.body {
        Body::User { text, .. } => ("user", shown(text)),
        Body::System { text, .. } => ("system", shown(text)),
        Body::Synthetic { text } => ("synthetic", shown(text)),
        Body::Shell { command, .. } => ("shell", shown(command)),
        Body::Compaction { summary, .. } => ("summary", shown(summary)),
        Body::AgentSwitched { agent } => ("agent", agent.to_string()),
        Body::ModelSwitched { model } => ("model", model.to_string()),
        Body::Assistant(assistant) => {
            let mut parts: Vec<String> = assistant.content.iter().map(content).collect();
            parts.extend(assistant.error.as_ref().map(|error| format!("! {}", shown(&error.message))));
            ("assistant", parts.join(" | "))
        }
    };
    let mark = if reverted { "  (reverted)" } else { "" };
    let _ = writeln!(out, "{:>4} {kind:<9} {text}{mark}", message.seq);
}

fn content(content: &Content) -> String {
    match content {
        Content::Text { text, .. } => text.resolve(&NoBlobs).into_owned(),
        Content::Reasoning { text, .. } => format!("({})", text.resolve(&NoBlobs)),
        Content::Tool(call) => {
            let result = match (call.status, &call.error) {
                (Status::Error, Some(error)) => format!("! {}", error.resolve(&NoBlobs)),
                (Status::Completed, _) => call.output.resolve(&NoBlobs).into_owned(),
                _ => call.status.as_str().to_owned(),
            };
            format!("{}({}) -> {result}", call.name, call.input.0.resolve(&NoBlobs))
        }
    }
}

#[test]
fn a_compaction_opens_an_epoch_and_retires_earlier_context_messages() {
    insta::assert_snapshot!(draw("compaction-after-date-change"));
}

#[test]
fn a_revert_brings_back_what_a_later_compaction_had_covered() {
    insta::assert_snapshot!(draw("revert-across-a-compaction"));
}

#[test]
fn a_call_that_was_open_at_a_crash_is_an_error_afterwards() {
    insta::assert_snapshot!(draw("a-call-that-was-open-at-a-crash"));
}

#[test]
fn a_pinned_message_survives_every_compaction_before_the_summary() {
    insta::assert_snapshot!(draw("pinned-before-two-compactions"));
}

#[test]
fn the_impossible_is_shown_with_an_anomaly_in_its_place() {
    insta::assert_snapshot!(draw("impossible"));
}
