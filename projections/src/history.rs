//! Session History: the messages chosen for a turn, after compaction and epoch cuts
//! (`docs/reference/context.md#which-context-messages-a-request-contains`).

use crate::Projection;
use crate::message::{Body, Content, Message};
use crate::messages::Messages;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use annals_core::event::{CompactionEvent, ContextEvent, EpochCause, FilesEvent, MessageEvent, SessionEvent};
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
        let compaction = self.standing();
        self.messages.list().iter().filter(move |message| self.selects(message, compaction))
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

    fn mark_pruned(&mut self) {
        let pruned = &self.pruned;
        for message in &mut self.messages.list {
            let Body::Assistant(assistant) = &mut message.body else { continue };
            for content in &mut assistant.content {
                if let Content::Tool(tool) = content {
                    tool.pruned = pruned.get(&tool.call).copied();
                }
            }
        }
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
        self.messages.apply(record);
        match record.event {
            Event::Context(ContextEvent::EpochStarted(started)) => {
                // Messages between a compaction and the epoch that it caused are not part of that epoch's baseline.
                let compaction = self.standing().filter(|_| started.cause == EpochCause::Compaction);
                self.baseline = Some(compaction.unwrap_or(record.seq));
            }
            Event::Session(SessionEvent::Moved(_)) => self.baseline = None,
            Event::Compaction(CompactionEvent::Ended(_)) => self.compactions.push((record.seq, None)),
            Event::Compaction(CompactionEvent::Undone(undone)) => self.undo(undone.compaction, record.seq),
            Event::Compaction(CompactionEvent::ToolOutputsPruned(pruned)) => {
                for call in &pruned.calls {
                    self.pruned.entry(call.clone()).or_insert(record.seq);
                }
                self.mark_pruned();
            }
            Event::Message(MessageEvent::Pinned(pinned)) => {
                self.pins.push((pinned.message, record.seq, true));
                self.note_reach();
            }
            Event::Message(MessageEvent::Unpinned(unpinned)) => self.pins.push((unpinned.message, record.seq, false)),
            Event::Files(FilesEvent::RevertCommitted(committed)) => self.remove_from(committed.first_removed),
            Event::Session(
                SessionEvent::Created(_)
                | SessionEvent::Forked(_)
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
            | Event::Permission(_)
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
            | Event::Child(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
