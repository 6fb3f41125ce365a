//! Session History: the messages chosen for a turn, after compaction and epoch cuts
//! (`docs/reference/context.md#which-context-messages-a-request-contains`).

use crate::Projection;
use crate::edited;
use crate::message::{Body, Message};
use crate::messages::Messages;
use crate::reduced::ReducedOutputs;
use crate::shared::{SharedMap, SharedVec};
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use annals_core::event::{
    CompactionEvent, ContextEvent, EpochCause, FilesEvent, MessageEvent, PartEdit, PermissionEvent, ReplayedInput,
    SessionEvent,
};
use annals_core::{Event, Record, Seq, kinds};
use core::ops::Range;
use serde::{Deserialize, Serialize};

/// Session History.
///
/// Without a compaction every message is selected but switches. The newest completed compaction that is in force replaces
/// what is older than its kept tail: before its message are the pinned ones of that and the system messages that wait for a
/// new baseline, after it the inputs that it replays, then all messages from the first kept one on. Of system messages
/// those are selected that are newer than the baseline of the current epoch, if there is one.
///
/// History is a function of the surviving messages: what a committed revert removed takes prunes, compactions and pins
/// after the boundary with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    messages: Messages,
    /// Completed compactions, oldest first.
    compactions: Vec<Compacted>,
    /// The Seq up to which system messages are part of the baseline of the current epoch.
    baseline: Option<Seq>,
    /// What was pinned (true) and unpinned, in order: message, Seq of the event. The last word on a message counts.
    pins: Vec<(Seq, Seq, bool)>,
    reduced: ReducedOutputs,
    /// Parts that the agent sends otherwise than the events have them, or not at all: the event of each, and that of the newest change.
    edited: SharedMap<Seq, Seq>,
    /// Messages that are not selected and older than this were evicted: see [`History::evict`].
    complete_from: Seq,
    /// Set when something evicted is needed again.
    stale: bool,
}

/// A completed compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Compacted {
    /// Its message.
    seq: Seq,
    /// The event that undid it.
    undone: Option<Seq>,
    /// The first message that stays.
    first_kept: Seq,
    /// The covered inputs that follow its message again, oldest first.
    replayed: Vec<ReplayedInput>,
}

impl History {
    /// The selected messages in the order in which they are sent.
    pub fn selected(&self) -> impl Iterator<Item = &Message> {
        self.selected_from(Seq::ZERO)
    }

    /// The selected messages from a place on that [`History::take`] returned; all of them from `Seq::ZERO` on.
    pub fn selected_from(&self, from: Seq) -> impl Iterator<Item = &Message> {
        let whole = from == Seq::ZERO;
        let first = (whole).then(|| self.selected_before_kept()).into_iter().flatten();
        first.chain(self.kept_from(from))
    }

    /// Whether a message is selected.
    pub fn selects(&self, seq: Seq) -> bool {
        let Some(message) = self.messages.get(seq) else { return false };
        let standing = self.standing();
        let is_kept = standing.is_none_or(|compacted| seq >= compacted.first_kept);
        // A context message before the kept tail is selected only where a baseline exists that it is newer than: without one the
        // summary covers it. A pinned input is sent before the summary, and must not be replayed after it as well.
        match &message.body {
            Body::System { .. } if is_kept => self.baseline.is_none_or(|baseline| seq > baseline),
            Body::System { .. } => self.baseline.is_some_and(|baseline| seq > baseline),
            body if is_kept && is_said(body) => true,
            body => {
                let Some(compacted) = standing else { return false };
                let is_pinned = self.is_pinned(seq);
                let is_replayed = || compacted.replayed.iter().any(|input| input.seq == seq);
                compacted.seq == seq || (!is_kept && is_said(body) && is_pinned) || (!is_pinned && is_replayed())
            }
        }
    }

    fn selected_before_kept(&self) -> impl Iterator<Item = &Message> {
        let standing = self.standing();
        let older = standing.map_or(0, |compacted| self.older_than(compacted.first_kept));
        let before = self.list(0..older).filter(|message| match message.body {
            Body::System { .. } => self.baseline.is_some_and(|baseline| message.seq > baseline),
            _ => self.is_pinned(message.seq) && is_said(&message.body),
        });
        let compaction = standing.and_then(|compacted| self.messages.get(compacted.seq));
        before.chain(compaction).chain(self.replayed())
    }

    /// The inputs that the compaction in force replays, as they are sent. Pinned ones are sent before it.
    pub fn replayed(&self) -> impl DoubleEndedIterator<Item = &Message> {
        let replayed = self.standing().map_or(&[][..], |compacted| &compacted.replayed);
        replayed.iter().filter(|input| !self.is_pinned(input.seq)).filter_map(|input| self.messages.get(input.seq))
    }

    /// The selected messages from the first one on that the compaction in force keeps; all of them without one. They are in
    /// the order of their Seqs.
    pub fn kept(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.kept_from(Seq::ZERO)
    }

    fn kept_from(&self, from: Seq) -> impl DoubleEndedIterator<Item = &Message> {
        let from = self.standing().map_or(from, |compacted| compacted.first_kept.max(from));
        let kept = self.older_than(from)..self.messages.list().len();
        self.list(kept).filter(|message| match message.body {
            Body::System { .. } => self.baseline.is_none_or(|baseline| message.seq > baseline),
            _ => is_said(&message.body),
        })
    }

    /// The newest completed compaction that was not undone.
    pub fn compaction(&self) -> Option<&Message> {
        self.messages.get(self.standing()?.seq)
    }

    /// Every completed compaction that was not undone, oldest first.
    pub fn compactions(&self) -> impl DoubleEndedIterator<Item = Seq> {
        self.in_force().map(|compacted| compacted.seq)
    }

    fn in_force(&self) -> impl DoubleEndedIterator<Item = &Compacted> {
        self.compactions.iter().filter(|compacted| compacted.undone.is_none())
    }

    fn standing(&self) -> Option<&Compacted> {
        self.in_force().next_back()
    }

    /// How many messages are older than a Seq.
    fn older_than(&self, seq: Seq) -> usize {
        self.messages.list().partition_point(|message| message.seq < seq)
    }

    fn list(&self, range: Range<usize>) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages.list().range(range).map(|message| &**message)
    }

    /// Whether a message is pinned.
    pub fn is_pinned(&self, message: Seq) -> bool {
        self.pins.iter().rev().find(|(pinned, ..)| *pinned == message).is_some_and(|(.., pinned)| *pinned)
    }

    /// A message that this view still holds, selected or not.
    pub fn message(&self, seq: Seq) -> Option<&Message> {
        self.messages.get(seq)
    }

    /// Every message that this view still holds, selected or not, by Seq.
    pub fn messages(&self) -> &SharedVec<Arc<Message>> {
        self.messages.list()
    }

    /// Everything that would be selected without the compaction `undone`, if this view still holds it.
    pub fn without(&self, undone: Seq) -> Option<Self> {
        let mut other = self.clone();
        other.undo(undone, Seq(u64::MAX));
        (!other.stale).then_some(other)
    }

    /// Whether something evicted is needed again: fold the log from its start, or from an earlier saved view.
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// Evicts what is not selected, which a saved view need not contain. Answers stay the same until a revert, an undo or a
    /// pin reaches behind the newest compaction; then the view is stale.
    pub fn evict(&mut self) {
        let Some(first_kept) = self.standing().map(|compacted| compacted.first_kept) else { return };
        let selected: BTreeSet<Seq> = self.selected().map(|message| message.seq).collect();
        self.messages.list.retain(|message| message.seq >= first_kept || selected.contains(&message.seq));
        self.complete_from = first_kept;
    }

    fn undo(&mut self, compaction: Seq, at: Seq) {
        for compacted in self.compactions.iter_mut().filter(|compacted| compacted.seq == compaction) {
            compacted.undone = Some(at);
        }
        self.mark_replayed();
    }

    /// Marks the inputs that are sent without their middle, and notes whether what is selected now was evicted.
    ///
    /// Everything is marked anew, since the compaction in force alone decides: after an undo an earlier one is in force again, and a
    /// pin sends an input whole. Such a change can also select messages that [`History::evict`] dropped as superseded.
    fn mark_replayed(&mut self) {
        let standing = self.standing().cloned();
        let sent = |seq: Seq| {
            let input = standing.iter().flat_map(|compacted| &compacted.replayed).find(|input| input.seq == seq)?;
            input.text.clone().filter(|_| !self.is_pinned(seq))
        };
        // Only what differs is touched: the rest stays shared with earlier views.
        let marks = self.messages.list().iter().filter_map(|message| match &message.body {
            Body::User { shortened, .. } => {
                let mark = sent(message.seq);
                (mark != *shortened).then_some((message.seq, mark))
            }
            _ => None,
        });
        for (seq, mark) in marks.collect::<Vec<_>>() {
            if let Some(Message { body: Body::User { shortened, .. }, .. }) = self.messages.get_mut(seq) {
                *shortened = mark;
            }
        }
        let reach = standing.as_ref().map_or(Seq::ZERO, |compacted| compacted.first_kept);
        let replayed = standing.iter().flat_map(|compacted| &compacted.replayed).map(|input| input.seq);
        let pinned = self.pins.iter().map(|(message, ..)| *message).filter(|message| self.is_pinned(*message));
        let gone = |seq: Seq| seq < self.complete_from && self.messages.get(seq).is_none();
        self.stale |= reach < self.complete_from || replayed.chain(pinned).any(gone);
    }

    fn mark_reduced(&mut self) {
        let marked =
            self.messages.list().iter().filter(|message| self.reduced.changes(message)).map(|message| message.seq);
        for seq in marked.collect::<Vec<_>>() {
            if let Some(message) = self.messages.get_mut(seq) {
                self.reduced.mark(message);
            }
        }
    }

    /// The event with which the agent last changed what it sends of a part.
    pub fn edited(&self, place: Seq) -> Option<Seq> {
        self.edited.get(&place).copied()
    }

    /// Changes what is sent; returns the first message that changed.
    fn edit(&mut self, seq: Seq, edits: &[PartEdit]) -> Option<Seq> {
        for edit in edits {
            self.edited.insert(edit.place, seq);
            let is_left = self.messages.get_mut(edit.message).is_none_or(|message| edited::edit(message, edit));
            if !is_left {
                self.messages.list.retain(|message| message.seq != edit.message);
            }
        }
        edits.iter().map(|edit| edit.message).min()
    }

    fn remove_from(&mut self, first_removed: Seq) {
        let kept = self.older_than(first_removed);
        self.messages.list.truncate(kept);
        self.compactions.retain(|compacted| compacted.seq < first_removed);
        for compacted in &mut self.compactions {
            compacted.undone = compacted.undone.filter(|undone| *undone < first_removed);
        }
        self.pins.retain(|(_, at, _)| *at < first_removed);
        if self.reduced.remove_from(first_removed) {
            self.mark_reduced();
        }
        self.baseline = None;
        self.mark_replayed();
    }

    fn compact(&mut self, seq: Seq, first_kept: Seq, replayed: &[ReplayedInput]) {
        self.compactions.push(Compacted { seq, undone: None, first_kept, replayed: replayed.to_vec() });
        self.mark_replayed();
    }
}

/// Whether a message was said in the conversation: switches, system messages and compactions were not.
fn is_said(body: &Body) -> bool {
    match body {
        Body::User { .. } | Body::Assistant(_) | Body::Synthetic { .. } | Body::Shell { .. } => true,
        Body::System { .. } | Body::Compaction { .. } | Body::AgentSwitched { .. } | Body::ModelSwitched { .. } => {
            false
        }
    }
}

impl Projection for History {
    const NAME: &'static str = "history";
    const VERSION: u32 = 6;

    fn apply(&mut self, record: &Record<'_>) {
        self.take(record);
    }
}

impl History {
    /// Applies a record; returns a place such that all selected messages before it are the same ones as before, in the same
    /// order and with the same content. `Seq::ZERO` where any may have changed; `None` when nothing changed.
    pub fn take(&mut self, record: &Record<'_>) -> Option<Seq> {
        let changed = match self.messages.apply(record) {
            None if let Event::Message(MessageEvent::Edited(edited)) = record.event => {
                self.edit(record.seq, &edited.edits)
            }
            // The state of open calls changes, which may be in messages of any age.
            None if matches!(record.event, Event::Permission(PermissionEvent::Replied(_))) => {
                self.messages.open().min()
            }
            changed => changed,
        };
        let changed = if self.turn(record) { Some(Seq::ZERO) } else { changed };
        // What the compaction in force keeps is sent after it, also what is older.
        let compaction = self.standing().map(|compacted| compacted.seq);
        changed.map(|seq| if compaction.is_some_and(|compaction| seq <= compaction) { Seq::ZERO } else { seq })
    }

    /// Applies what changes the selection or marks; returns whether the record may do so anywhere.
    fn turn(&mut self, record: &Record<'_>) -> bool {
        match record.event {
            Event::Context(ContextEvent::EpochStarted(started)) => {
                // Messages between a compaction and the epoch that it caused are not part of that epoch's baseline.
                let compaction = self.standing().filter(|_| started.cause == EpochCause::Compaction);
                self.baseline = Some(compaction.map_or(record.seq, |compacted| compacted.seq));
            }
            Event::Session(SessionEvent::Moved(_)) => self.baseline = None,
            Event::Compaction(CompactionEvent::Ended(_)) => self.compact(record.seq, record.seq, &[]),
            Event::Compaction(CompactionEvent::Completed(completed)) => {
                self.compact(record.seq, completed.first_kept, &completed.replayed);
            }
            Event::Compaction(CompactionEvent::Undone(undone)) => self.undo(undone.compaction, record.seq),
            Event::Compaction(
                event @ (CompactionEvent::ToolOutputsPruned(_)
                | CompactionEvent::ToolOutputsReduced(_)
                | CompactionEvent::CallsReduced(_)),
            ) => {
                if self.reduced.apply(record.seq, event) {
                    self.mark_reduced();
                }
            }
            Event::Message(MessageEvent::Pinned(pinned)) => {
                self.pins.push((pinned.message, record.seq, true));
                self.mark_replayed();
            }
            Event::Message(MessageEvent::Unpinned(unpinned)) => {
                self.pins.push((unpinned.message, record.seq, false));
                self.mark_replayed();
            }
            Event::Files(FilesEvent::RevertCommitted(committed)) => self.remove_from(committed.first_removed),
            // Open calls end, in messages of any age.
            Event::Session(SessionEvent::Forked(_)) => {}
            kinds!(
                Session(Created, Titled, AgentSwitched, ProcessAttached, ModelSwitched, TitleFailed),
                Input,
                Context(EpochReplacementBlocked, Admitted, SnapshotAdvanced, InstructionDiscovered),
                Profile,
                Step,
                Tool,
                Permission,
                Compaction(Started, Failed),
                Message(SyntheticAdded, ShellRan, TodoUpdated, RedactionApplied, Edited, UnknownPart),
                Files(
                    Captured,
                    Summarised,
                    RevertStaged,
                    RevertCleared,
                    RestoreBegun,
                    RestoreAbandoned,
                    DepartureBegun,
                    DepartureEnded
                ),
                Child,
                Erasure
            ) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests;
