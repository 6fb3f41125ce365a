//! The form in which compactions are saved: by position, without names.

use super::{LedgerEntry, LedgerOutcome};
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{CompactionReason, Usage};
use annals_core::{CallId, Digest, ModelName, Seq, Time};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a compaction is and how it ended: start, end, time, reason, model, request, tokens before and after, usage, cost, outcome;
/// tokens that the provider counted before and after.
type SavedEnd = (
    Seq,
    Option<Seq>,
    Time,
    CompactionReason,
    Option<ModelName>,
    Option<Digest>,
    u64,
    u64,
    Option<Usage>,
    u64,
    SavedOutcome,
    [Option<u64>; 2],
);

/// What it covered and what stayed: messages, calls, context messages; pinned, replayed and kept messages.
type SavedCover = (Vec<Seq>, Vec<CallId>, Vec<Seq>, Vec<Seq>, Vec<Seq>, Vec<Seq>);

/// An outcome whose variants have numbers instead of names.
#[derive(Clone, Serialize, Deserialize)]
enum SavedOutcome {
    Open,
    Completed,
    Failed(String),
    Undone(Seq),
    Reverted(Seq),
}

impl From<LedgerOutcome> for SavedOutcome {
    fn from(outcome: LedgerOutcome) -> Self {
        match outcome {
            LedgerOutcome::Open => Self::Open,
            LedgerOutcome::Completed => Self::Completed,
            LedgerOutcome::Failed { kind } => Self::Failed(kind),
            LedgerOutcome::Undone { by } => Self::Undone(by),
            LedgerOutcome::Reverted { by } => Self::Reverted(by),
        }
    }
}

impl From<SavedOutcome> for LedgerOutcome {
    fn from(outcome: SavedOutcome) -> Self {
        match outcome {
            SavedOutcome::Open => Self::Open,
            SavedOutcome::Completed => Self::Completed,
            SavedOutcome::Failed(kind) => Self::Failed { kind },
            SavedOutcome::Undone(by) => Self::Undone { by },
            SavedOutcome::Reverted(by) => Self::Reverted { by },
        }
    }
}

fn row(entry: LedgerEntry) -> (SavedEnd, SavedCover) {
    let LedgerEntry { seq, ended, at, reason, model, request, before, after, usage, cost, outcome, .. } = entry;
    let LedgerEntry { counted_before, counted_after, .. } = entry;
    let LedgerEntry { messages, tool_outputs, context_messages, pinned, replayed, kept, .. } = entry;
    let counted = [counted_before, counted_after];
    (
        (seq, ended, at, reason, model, request, before, after, usage, cost, outcome.into(), counted),
        (messages, tool_outputs, context_messages, pinned, replayed, kept),
    )
}

fn entry((end, cover): (SavedEnd, SavedCover)) -> LedgerEntry {
    let (seq, ended, at, reason, model, request, before, after, usage, cost, outcome, counted) = end;
    let [counted_before, counted_after] = counted;
    let (messages, tool_outputs, context_messages, pinned, replayed, kept) = cover;
    LedgerEntry {
        seq,
        ended,
        at,
        reason,
        model,
        request,
        before,
        after,
        counted_before,
        counted_after,
        usage,
        cost,
        outcome: outcome.into(),
        messages,
        tool_outputs,
        context_messages,
        pinned,
        replayed,
        kept,
    }
}

pub(super) fn serialize<S: Serializer>(entries: &[LedgerEntry], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().cloned().map(row))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LedgerEntry>, D::Error> {
    let rows: Vec<(SavedEnd, SavedCover)> = Deserialize::deserialize(deserializer)?;
    Ok(rows.into_iter().map(entry).collect())
}
