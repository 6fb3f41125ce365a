//! How the views of a session change from cut to cut.

use super::pool::{Pool, Runs};
use annals_core::{Blobs, Event, Record, Seq};
use annals_projections::{Body, Epochs, History, Messages, Projection, ToJson, Transcript, UsageTotals};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// The changes of each view that is shown, oldest first. A view at a cut is what the changes up to it give.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct ViewChanges {
    /// The cut, how many messages stay, and those that follow them.
    history: Vec<(Seq, usize, Runs)>,
    /// The cut, the message, and its state since then.
    transcript: Vec<(Seq, Seq, u32)>,
    /// The cut, and what the view is since then.
    baseline: Vec<(Seq, u32)>,
    snapshot: Vec<(Seq, u32)>,
    epochs: Vec<(Seq, u32)>,
    usage: Vec<(Seq, u32)>,
    #[serde(skip)]
    folds: Folds,
}

#[derive(Debug, Default)]
struct Folds {
    history: History,
    messages: Messages,
    transcript: Transcript,
    epochs: Epochs,
    usage: UsageTotals,
    /// Selected messages before it are as they were.
    changed_from: Option<Seq>,
    /// What `history` lists: each message and its value.
    selected: Vec<(Seq, u32)>,
    changed: BTreeSet<Seq>,
}

impl ViewChanges {
    /// Takes in a record.
    pub(super) fn take(&mut self, record: &Record<'_>) {
        let folds = &mut self.folds;
        if let Some(seq) = folds.history.take(record) {
            folds.changed_from = Some(folds.changed_from.map_or(seq, |before| before.min(seq)));
        }
        folds.changed.extend(folds.messages.apply(record));
        folds.transcript.apply(record);
        folds.epochs.apply(record);
        folds.usage.apply(record);
        match record.event {
            // The state of open calls changes.
            Event::Permission(_) => folds.changed.extend(folds.messages.open()),
            // Any message may be undone by it.
            Event::Files(_) => folds.changed.extend(folds.messages.list().iter().map(|message| message.seq)),
            _ => {}
        }
    }

    /// Notes what changed up to a cut that is shown.
    pub(super) fn cut(&mut self, cut: Seq, pool: &mut Pool, blobs: &dyn Blobs) {
        let folds = &mut self.folds;
        if let Some(from) = folds.changed_from.take() {
            // Those at `from` or later are at the end, or all may have changed.
            let changed = folds.selected.iter().rev().take_while(|(seq, _)| *seq >= from).count();
            let same = folds.selected.len() - changed;
            folds.selected.truncate(same);
            for message in folds.history.selected_from(from) {
                folds.selected.push((message.seq, pool.add(&folds.history.message_json(message, blobs))));
            }
            let ids: Vec<u32> = folds.selected.iter().skip(same).map(|(_, id)| *id).collect();
            self.history.push((cut, same, Runs::of(&ids)));
        }
        for seq in std::mem::take(&mut folds.changed) {
            let Some(message) = folds.messages.get(seq) else { continue };
            if !matches!(message.body, Body::System { .. }) {
                let marked = folds.transcript.marked(message);
                let id = pool.add(&folds.transcript.message_json(&marked, blobs));
                self.transcript.push((cut, seq, id));
            }
        }
        let mut note = |changes: &mut Vec<(Seq, u32)>, value: Value| {
            let id = pool.add(&value);
            if changes.last().is_none_or(|(_, last)| *last != id) {
                changes.push((cut, id));
            }
        };
        note(&mut self.baseline, folds.epochs.baseline_json(blobs));
        note(&mut self.snapshot, folds.epochs.snapshot_json(blobs));
        note(&mut self.epochs, folds.epochs.marks_json());
        note(&mut self.usage, folds.usage.to_json(blobs));
    }
}
