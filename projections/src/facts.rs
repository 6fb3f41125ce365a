//! Events for unit tests, with as little in them as a fold needs.

use crate::Projection;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use annals_core::context::Entry;
use annals_core::event::*;
use annals_core::{Event, Json, Key, Record, Seq, SessionId, Text, Time};

/// Folds events with Seqs from 0 on.
pub fn fold<P: Projection>(events: &[Event]) -> P {
    let mut view = P::default();
    more(&mut view, 0, events);
    view
}

/// Folds further events, the first of which has the Seq `from`.
pub fn more<P: Projection>(view: &mut P, from: u64, events: &[Event]) {
    let session = SessionId::from_parts(1_780_488_000_000, 1);
    for (seq, event) in (from..).zip(events) {
        view.apply(&Record { session, seq: Seq(seq), at: Time(seq), event });
    }
}

pub fn created(agent_switch: Switch, model_switch: Switch) -> Event {
    SessionCreated {
        location: location(),
        agent: "build".into(),
        model: "test/alpha".into(),
        policy: Policy { agent_switch, model_switch },
        title: None,
        parent: None,
        origin: None,
        process: None,
        key: annals_core::SessionKey([0x0f; 32]).into(),
    }
    .into()
}

pub fn location() -> Location {
    Location { directory: "/project".into(), workspace: None }
}

pub fn admitted(id: &str, delivery: Delivery) -> Event {
    InputAdmitted { input: id.into(), text: id.into(), attachments: Vec::new(), delivery }.into()
}

pub fn promoted(id: &str) -> Event {
    InputPromoted { input: id.into() }.into()
}

/// A user message: two events.
pub fn user(id: &str) -> Vec<Event> {
    vec![admitted(id, Delivery::Steer), promoted(id)]
}

pub fn step() -> Event {
    StepStarted { agent: "build".into(), model: "test/alpha".into(), files: None, answer: None }.into()
}

pub fn ended() -> Event {
    StepEnded { finish: Finish::Stop, usage: None, cost: 0, files: None, changed: Vec::new() }.into()
}

pub fn text(index: u32, text: &str) -> Event {
    TextEnded { index, text: text.into(), metadata: None }.into()
}

pub fn called(call: &str, name: &str) -> Event {
    ToolCalled {
        index: 0,
        call: call.into(),
        name: name.into(),
        input: Json::received(r#"{"a":1}"#),
        hosted: false,
        metadata: None,
    }
    .into()
}

pub fn settled(call: &str, output: &str) -> Event {
    ToolSettled { output: output.into(), ..ToolSettled::bare(call.into(), ToolOutcome::Completed) }.into()
}

pub fn failed(call: &str, error: Option<&str>) -> Event {
    let error = error.map(Text::from);
    ToolSettled { error, ..ToolSettled::bare(call.into(), ToolOutcome::Failed) }.into()
}

/// An answer with one completed call: four events.
pub fn answer(call: &str, name: &str, output: &str) -> Vec<Event> {
    vec![step(), called(call, name), settled(call, output), ended()]
}

pub fn key(name: &str) -> Key {
    name.parse().expect("a legal key")
}

pub fn epoch(cause: EpochCause, keys: &[&str]) -> Event {
    EpochStarted {
        cause,
        agent: "build".into(),
        location: location(),
        parts: keys.iter().map(|name| Part { key: key(name), text: (*name).into() }).collect(),
        entries: entries(keys),
        known: true,
    }
    .into()
}

fn entries(keys: &[&str]) -> BTreeMap<Key, Entry> {
    let entry = |name: &&str| (key(name), Entry { value: Json::received(r#""value""#), removed: None });
    keys.iter().map(entry).collect()
}

pub fn context(text: &str) -> Event {
    ContextAdmitted { keys: Vec::new(), text: text.into() }.into()
}

pub fn advanced(set: &[&str], removed: &[&str]) -> Event {
    SnapshotAdvanced { set: entries(set), removed: removed.iter().map(|name| key(name)).collect() }.into()
}

pub fn blocked(keys: &[&str]) -> Event {
    EpochReplacementBlocked { cause: EpochCause::Moved, keys: keys.iter().map(|name| key(name)).collect() }.into()
}

pub fn compacted(summary: &str, recent: &str) -> Event {
    CompactionEnded {
        reason: CompactionReason::Manual,
        summary: summary.into(),
        recent: recent.into(),
        estimate: 0,
        usage: None,
        cost: 0,
    }
    .into()
}

/// A compaction that keeps messages from `first_kept` on and replays inputs.
pub fn completed(summary: &str, first_kept: u64, replayed: &[(u64, Option<&str>)]) -> Event {
    let replayed = replayed.iter().map(|(seq, text)| ReplayedInput { seq: Seq(*seq), text: text.map(Text::from) });
    CompactionCompleted {
        reason: CompactionReason::Manual,
        summary: summary.into(),
        truncated: false,
        ends: 0,
        first_kept: Seq(first_kept),
        replayed: replayed.collect(),
        estimate: 0,
        usage: None,
        cost: 0,
    }
    .into()
}

/// Outputs that are cleared and shortened.
pub fn reduced(cleared: &[&str], shortened: &[&str]) -> Event {
    let calls = |calls: &[&str]| calls.iter().map(|call| (*call).into()).collect();
    let (inputs, hosted) = (Vec::new(), Vec::new());
    CallsReduced { calls: calls(cleared), shortened: calls(shortened), inputs, hosted }.into()
}

/// The model that the answers here are of, with a window of unknown size.
pub fn model() -> ModelProfile {
    let protocol = crate::SCRIPTED_PROTOCOL.into();
    ModelProfile { protocol, encoding: 1, ..ModelProfile::of_name("test/alpha".into()) }
}

pub fn undone(compaction: u64) -> Event {
    CompactionUndone { compaction: Seq(compaction) }.into()
}

pub fn pruned(calls: &[&str]) -> Event {
    ToolOutputsPruned { calls: calls.iter().map(|call| (*call).into()).collect() }.into()
}

pub fn pinned(message: u64) -> Event {
    MessagePinned { message: Seq(message) }.into()
}

pub fn unpinned(message: u64) -> Event {
    MessageUnpinned { message: Seq(message) }.into()
}

pub fn reverted(first_removed: u64) -> Event {
    RevertCommitted { first_removed: Seq(first_removed) }.into()
}

pub fn moved() -> Event {
    SessionMoved { location: Location { directory: "/other".into(), workspace: None } }.into()
}

/// A text of that many characters.
pub fn long(chars: usize) -> String {
    "x".repeat(chars)
}
