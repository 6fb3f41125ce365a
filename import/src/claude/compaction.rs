//! Compactions of a transcript: a boundary with what it keeps, then the summary.

use super::mapping::TranscriptBranch;
use crate::foreign::JsonObject;
use annals_core::event::*;
use annals_core::{Event, Seq};

/// A boundary that waits for its summary.
#[derive(Clone, Debug)]
pub(super) struct CompactBoundary {
    reason: CompactionReason,
    /// Tokens before and after it; 0 when unknown.
    before: u64,
    after: u64,
    /// Messages that the model still sees.
    kept: Vec<Seq>,
    /// Whether they precede the summary.
    precede: bool,
}

/// The lines that a boundary keeps, and whether they precede the summary.
pub(super) fn kept_lines(object: &JsonObject<'_>) -> (Vec<String>, bool) {
    let kept = object.object("compactMetadata").and_then(|metadata| {
        metadata.skip_all();
        metadata.object("preservedMessages")
    });
    let Some(kept) = kept else { return (Vec::new(), false) };
    kept.skip_all();
    let precede = kept.text("anchorUuid").is_some_and(|anchor| object.text("uuid").as_ref() == Some(&anchor));
    (kept.texts("uuids"), precede)
}

impl TranscriptBranch {
    /// Takes in a boundary; `kept` are the messages that the model still sees.
    pub(super) fn compact_boundary(&mut self, object: &JsonObject<'_>, kept: Vec<Seq>) {
        let metadata = object.object("compactMetadata");
        metadata.iter().for_each(JsonObject::skip_all);
        let number = |name: &str| metadata.as_ref().and_then(|metadata| metadata.number(name)).unwrap_or(0);
        let trigger = metadata.as_ref().and_then(|metadata| metadata.text("trigger"));
        let (_, precede) = kept_lines(object);
        object.skip_all();
        let reason = match trigger.as_deref() {
            Some("manual") => CompactionReason::Manual,
            Some("auto") => CompactionReason::Auto,
            _ => CompactionReason::Unknown,
        };
        let (before, after) = (number("preTokens"), number("postTokens"));
        self.boundary = Some(CompactBoundary { reason, before, after, kept, precede });
    }

    /// The summary of a compaction replaces the history but for what the boundary before it keeps.
    pub(super) fn summary(&mut self, uuid: &str, text: String, events: &mut Vec<Event>) {
        let unknown = CompactBoundary {
            reason: CompactionReason::Unknown,
            before: 0,
            after: 0,
            kept: Vec::new(),
            precede: false,
        };
        let CompactBoundary { reason, before, after, mut kept, precede } = self.boundary.take().unwrap_or(unknown);
        kept.sort_unstable();
        kept.dedup();
        // What precedes a summary is pinned: a compaction keeps only what follows it.
        let pinned = if precede { std::mem::take(&mut kept) } else { Vec::new() };
        for message in std::mem::replace(&mut self.pinned, pinned.clone()) {
            if !pinned.contains(&message) {
                events.push(MessageUnpinned { message }.into());
            }
        }
        events.extend(pinned.into_iter().map(|message| Event::from(MessagePinned { message })));
        let started = self.next().plus(events.len() as u64);
        events.push(CompactionStarted { reason, model: None, estimate: before }.into());
        self.message(uuid, events);
        events.push(
            CompactionCompleted {
                reason,
                summary: text.into(),
                truncated: false,
                ends: 0,
                first_kept: kept.first().copied().unwrap_or(started),
                replayed: Vec::new(),
                estimate: after,
                usage: None,
                cost: 0,
            }
            .into(),
        );
        self.context.end(EpochCause::Compaction);
        if let Some(state) = &mut self.requests {
            state.forget();
        }
    }
}
