//! Session History: the messages chosen for a turn, after compaction and epoch cuts
//! (`docs/reference/context.md#which-context-messages-a-request-contains`).

use crate::Projection;
use crate::message::{Body, Content, Message};
use crate::messages::Messages;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use annals_core::event::{
    CompactionEvent, ContextEvent, EpochCause, FilesEvent, MessageEvent, PermissionEvent, SessionEvent,
};
use annals_core::{CallId, Event, Record, Seq};
use serde::{Deserialize, Serialize};

/// Session History.
///
/// A message is selected iff
/// - no completed compaction is in force, or it is not older than the newest one, or it is pinned, or it is a system message
///   newer than the baseline of the current epoch;
/// - and there is no current epoch, or it is no system message, or it is newer than that epoch's baseline.
///
/// History is a function of the surviving messages: what a committed revert removed takes prunes, compactions and pins
/// after the boundary with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History {
    messages: Messages,
    /// Completed compactions, oldest first: the Seq of each one's message, and of its undoing.
    compactions: Vec<(Seq, Option<Seq>)>,
    /// The Seq up to which system messages are part of the baseline of the current epoch.
    baseline: Option<Seq>,
    /// What was pinned (true) and unpinned, in order: message, Seq of the event. The last word on a message counts.
    pins: Vec<(Seq, Seq, bool)>,
    /// Pruned calls, and where each was pruned first.
    pruned: BTreeMap<CallId, Seq>,
    /// Messages that are not selected and older than this were evicted: see [`History::evict`].
    complete_from: Seq,
    /// Set when something evicted is needed again.
    stale: bool,
}

impl History {
    /// The selected messages, oldest first.
    pub fn selected(&self) -> impl Iterator<Item = &Message> {
        self.selected_from(Seq::ZERO)
    }

    /// The selected messages from a place on, oldest first. What a compaction covered is not looked at, except for what is
    /// pinned.
    pub fn selected_from(&self, from: Seq) -> impl Iterator<Item = &Message> {
        let compaction = self.standing();
        // Of what is older, only pinned messages are selected: system messages must be newer than the baseline.
        let covered = compaction.map_or(Seq::ZERO, |seq| self.baseline.map_or(seq, |baseline| seq.min(baseline)));
        let pinned: BTreeSet<Seq> = self.pins.iter().map(|(message, ..)| *message).collect();
        let pinned = pinned.into_iter().filter(move |seq| *seq >= from && *seq < covered);
        let begin = self.messages.list().partition_point(|message| message.seq < covered.max(from));
        let rest = self.messages.list().get(begin..).unwrap_or_default();
        pinned
            .filter_map(|seq| self.messages.get(seq))
            .chain(rest)
            .filter(move |message| self.selects(message, compaction))
    }

    /// The messages since the newest compaction, that one excluded: what the next one would cover. Not among them are
    /// older ones that are still selected (pinned ones, and system messages until the epoch is replaced): it covered them.
    pub fn since_compaction(&self) -> impl Iterator<Item = &Message> {
        let compaction = self.standing();
        self.selected().filter(move |message| compaction.is_none_or(|compaction| message.seq > compaction))
    }

    /// The newest completed compaction that was not undone.
    pub fn compaction(&self) -> Option<&Message> {
        self.messages.get(self.standing()?)
    }

    /// Every completed compaction that was not undone, oldest first.
    pub fn compactions(&self) -> impl DoubleEndedIterator<Item = Seq> {
        self.compactions.iter().filter(|(_, undone)| undone.is_none()).map(|(seq, _)| *seq)
    }

    fn standing(&self) -> Option<Seq> {
        self.compactions().next_back()
    }

    /// Whether a message is pinned.
    pub fn is_pinned(&self, message: Seq) -> bool {
        self.pins.iter().rev().find(|(pinned, ..)| *pinned == message).is_some_and(|(.., pinned)| *pinned)
    }

    /// A message that this view still holds, selected or not.
    pub fn message(&self, seq: Seq) -> Option<&Message> {
        self.messages.get(seq)
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

    /// Evicts what is not selected, which a saved view need not contain. Answers stay the same until a revert or an undo
    /// reaches behind the newest compaction; then the view is stale.
    pub fn evict(&mut self) {
        let Some(compaction) = self.standing() else { return };
        let selected: BTreeSet<Seq> = self.selected().map(|message| message.seq).collect();
        self.messages.list.retain(|message| message.seq >= compaction || selected.contains(&message.seq));
        self.complete_from = compaction;
    }

    fn selects(&self, message: &Message, compaction: Option<Seq>) -> bool {
        let told_since = |seq: Seq| self.baseline.is_some_and(|baseline| seq > baseline);
        match message.body {
            Body::AgentSwitched { .. } | Body::ModelSwitched { .. } => false,
            Body::Compaction { .. } => compaction == Some(message.seq),
            Body::System { .. } => {
                let old = compaction.is_some_and(|compaction| message.seq < compaction);
                (!old || told_since(message.seq)) && (self.baseline.is_none() || told_since(message.seq))
            }
            Body::User { .. } | Body::Assistant(_) | Body::Synthetic { .. } | Body::Shell { .. } => {
                compaction.is_none_or(|compaction| message.seq > compaction) || self.is_pinned(message.seq)
            }
        }
    }

    fn undo(&mut self, compaction: Seq, at: Seq) {
        for (_, undone) in self.compactions.iter_mut().filter(|(seq, _)| *seq == compaction) {
            *undone = Some(at);
        }
        self.note_reach();
    }

    /// What is selected now may include evicted messages.
    fn note_reach(&mut self) {
        self.stale |= self.standing().unwrap_or(Seq::ZERO) < self.complete_from;
        let pinned = self.pins.iter().map(|(message, ..)| *message);
        let gone = |seq: Seq| seq < self.complete_from && self.is_pinned(seq) && self.messages.get(seq).is_none();
        self.stale |= pinned.into_iter().any(gone);
    }

    /// Marks the outputs of pruned calls; returns the oldest message in which a mark changed.
    fn mark_pruned(&mut self) -> Option<Seq> {
        let pruned = &self.pruned;
        let mut oldest = None;
        for message in &mut self.messages.list {
            let Body::Assistant(assistant) = &mut message.body else { continue };
            for content in &mut assistant.content {
                if let Content::Tool(tool) = content {
                    let mark = pruned.get(&tool.call).copied();
                    if tool.pruned != mark {
                        tool.pruned = mark;
                        oldest = oldest.or(Some(message.seq));
                    }
                }
            }
        }
        oldest
    }

    fn remove_from(&mut self, first_removed: Seq) {
        self.messages.list.retain(|message| message.seq < first_removed);
        self.compactions.retain(|(seq, _)| *seq < first_removed);
        for (_, undone) in &mut self.compactions {
            *undone = undone.filter(|undone| *undone < first_removed);
        }
        self.pins.retain(|(_, at, _)| *at < first_removed);
        let before = self.pruned.len();
        self.pruned.retain(|_, pruned| *pruned < first_removed);
        if self.pruned.len() != before {
            self.mark_pruned();
        }
        self.baseline = None;
        self.note_reach();
    }
}

impl Projection for History {
    const NAME: &'static str = "history";
    const VERSION: u32 = 3;

    fn apply(&mut self, record: &Record<'_>) {
        self.take(record);
    }
}

impl History {
    /// Applies a record; returns a place such that all selected messages before it are the same ones as before, with the same
    /// content. `None` when nothing changed.
    pub fn take(&mut self, record: &Record<'_>) -> Option<Seq> {
        let changed = self.messages.apply(record);
        // What is selected may change anywhere.
        let all = Some(Seq::ZERO);
        match record.event {
            Event::Context(ContextEvent::EpochStarted(started)) => {
                // Messages between a compaction and the epoch that it caused are not part of that epoch's baseline.
                let compaction = self.standing().filter(|_| started.cause == EpochCause::Compaction);
                self.baseline = Some(compaction.unwrap_or(record.seq));
                all
            }
            Event::Session(SessionEvent::Moved(_)) => {
                self.baseline = None;
                all
            }
            Event::Compaction(CompactionEvent::Ended(_)) => {
                self.compactions.push((record.seq, None));
                all
            }
            Event::Compaction(CompactionEvent::Undone(undone)) => {
                self.undo(undone.compaction, record.seq);
                all
            }
            Event::Compaction(CompactionEvent::ToolOutputsPruned(pruned)) => {
                for call in &pruned.calls {
                    self.pruned.entry(call.clone()).or_insert(record.seq);
                }
                self.mark_pruned()
            }
            Event::Message(MessageEvent::Pinned(pinned)) => {
                self.pins.push((pinned.message, record.seq, true));
                self.note_reach();
                all
            }
            Event::Message(MessageEvent::Unpinned(unpinned)) => {
                self.pins.push((unpinned.message, record.seq, false));
                all
            }
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.remove_from(committed.first_removed);
                all
            }
            // Open calls end, in messages of any age.
            Event::Session(SessionEvent::Forked(_)) => all,
            // The state of open calls changes, which may be in messages of any age.
            Event::Permission(PermissionEvent::Replied(_)) => self.messages.open().min(),
            Event::Session(
                SessionEvent::Created(_)
                | SessionEvent::Titled(_)
                | SessionEvent::AgentSwitched(_)
                | SessionEvent::ProcessAttached(_)
                | SessionEvent::ModelSwitched(_)
                | SessionEvent::TitleFailed(_),
            )
            | Event::Input(_)
            | Event::Context(
                ContextEvent::EpochReplacementBlocked(_)
                | ContextEvent::Admitted(_)
                | ContextEvent::SnapshotAdvanced(_)
                | ContextEvent::InstructionDiscovered(_),
            )
            | Event::Profile(_)
            | Event::Step(_)
            | Event::Tool(_)
            | Event::Permission(PermissionEvent::Asked(_))
            | Event::Compaction(CompactionEvent::Started(_) | CompactionEvent::Failed(_))
            | Event::Message(
                MessageEvent::SyntheticAdded(_)
                | MessageEvent::ShellRan(_)
                | MessageEvent::TodoUpdated(_)
                | MessageEvent::RedactionApplied(_),
            )
            | Event::Files(
                FilesEvent::Captured(_)
                | FilesEvent::Summarised(_)
                | FilesEvent::RevertStaged(_)
                | FilesEvent::RevertCleared(_)
                | FilesEvent::RestoreBegun(_)
                | FilesEvent::RestoreAbandoned(_)
                | FilesEvent::DepartureBegun(_)
                | FilesEvent::DepartureEnded(_),
            )
            | Event::Child(_)
            | Event::Erasure(_) => changed,
        }
    }
}

#[cfg(test)]
mod tests;
