//! The transcript: every message ever shown to the user, in order. An index: pages are folds of records
//! (`docs/reference/events.md#folds`).

use crate::Projection;
use crate::message::{Body, Message};
use crate::messages::Messages;
use crate::reduced::ReducedOutputs;
use crate::shared::SharedVec;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use annals_core::event::{
    CompactionEvent, FilesEvent, InputEvent, PermissionEvent, SessionEvent, StepEvent, ToolEvent,
};
use annals_core::{CallId, Event, InputId, Record, Seq, Time, kinds};
use serde::{Deserialize, Serialize};

/// One message of the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptItem {
    /// The Seq of the event that made it.
    pub seq: Seq,
    /// The Seq of the first event that it is made of: for a user message, its input's admission.
    pub first: Seq,
    /// The Seq of the last event that changed it.
    pub last: Seq,
    /// Time of creation.
    pub at: Time,
    /// Whether it is a user message: what a revert and a fork count.
    pub user: bool,
}

/// The transcript as an index. [`Transcript::reach`] says which records give the messages of a range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// Every message, by Seq; after [`Transcript::evict`] the newest ones.
    pub items: SharedVec<TranscriptItem>,
    /// How many older items were evicted.
    pub dropped: u64,
    /// Ranges `[from, until)` that committed reverts removed.
    reverted: Vec<(Seq, Seq)>,
    /// The first message that a staged revert would remove.
    staged: Option<Seq>,
    step: Option<Seq>,
    /// Whether the newest step has no end yet.
    step_open: bool,
    /// Open calls and the message that holds each.
    open: Vec<(CallId, Seq)>,
    /// Where each waiting input was admitted.
    waiting: Vec<(InputId, Seq)>,
    reduced: ReducedOutputs,
}

impl Transcript {
    /// Whether a staged or committed revert undid the message at `seq`.
    pub fn is_reverted(&self, seq: Seq) -> bool {
        self.staged.is_some_and(|staged| seq >= staged) || self.is_removed(seq)
    }

    /// Whether a committed revert removed the message at `seq`.
    pub fn is_removed(&self, seq: Seq) -> bool {
        self.reverted.iter().any(|(from, until)| seq >= *from && seq < *until)
    }

    /// Keeps the newest `keep` items: all that a first screen needs. Bounds a saved view, changes no item it keeps.
    pub fn evict(&mut self, keep: usize) {
        let old = self.items.len().saturating_sub(keep);
        self.items.drain_front(old);
        self.dropped += old as u64;
    }

    /// The Seq of the `n`-th user message, counted from 1, without what a committed revert removed. `None` when there is
    /// no such message, and when items were evicted.
    pub fn user_message(&self, n: u64) -> Option<Seq> {
        if self.dropped > 0 {
            return None;
        }
        let at = usize::try_from(n.checked_sub(1)?).ok()?;
        self.items.iter().filter(|item| item.user && !self.is_removed(item.seq)).map(|item| item.seq).nth(at)
    }

    /// The range of Seqs `[from, until)` that must be read to show the items `range`.
    pub fn reach(&self, range: core::ops::Range<usize>) -> Option<(Seq, Seq)> {
        if range.end > self.items.len() {
            return None;
        }
        let items = self.items.range(range);
        let first = items.clone().map(|item| item.first).min()?;
        let last = items.map(|item| item.last).max()?;
        Some((first, last.plus(1)))
    }

    /// The messages that the user is shown, out of folded ones, with marks on the outputs that were made smaller for the
    /// model.
    pub fn shown<'a>(&'a self, messages: &'a Messages) -> impl Iterator<Item = Cow<'a, Message>> {
        let shown = messages.list().iter().filter(|message| !matches!(message.body, Body::System { .. }));
        shown.map(|message| self.marked(message))
    }

    /// A folded message with marks on the outputs that were made smaller for the model.
    pub fn marked<'a>(&self, message: &'a Message) -> Cow<'a, Message> {
        if !self.reduced.concerns(message) {
            return Cow::Borrowed(message);
        }
        let mut marked = message.clone();
        self.reduced.mark(&mut marked);
        Cow::Owned(marked)
    }

    fn make(&mut self, record: &Record<'_>, first: Option<Seq>) {
        let (seq, user) = (record.seq, matches!(record.event, Event::Input(InputEvent::Promoted(_))));
        self.items.push(TranscriptItem { seq, first: first.unwrap_or(seq), last: seq, at: record.at, user });
    }

    /// Where an input was admitted; it waits no longer.
    fn admission(&mut self, input: &InputId) -> Option<Seq> {
        let at = self.waiting.iter().position(|(waiting, _)| waiting == input)?;
        Some(self.waiting.remove(at).1)
    }

    fn holder(&self, call: &CallId) -> Option<Seq> {
        self.open.iter().rev().find(|(open, _)| open == call).map(|(_, holder)| *holder)
    }

    /// What is open from a Seq on ends with the record at `seq`: calls, and the answer of the newest step.
    fn interrupt_from(&mut self, first: Seq, seq: Seq) {
        let (ended, open) = core::mem::take(&mut self.open).into_iter().partition(|(_, holder)| *holder >= first);
        self.open = open;
        for (_, holder) in ended {
            self.touch(Some(holder), seq);
        }
        let step = self.step.take_if(|step| *step >= first);
        if core::mem::take(&mut self.step_open) {
            self.touch(step, seq);
        }
    }

    fn touch(&mut self, holder: Option<Seq>, seq: Seq) {
        let Some(holder) = holder else { return };
        if let Some(at) = self.items.find_by_key(&holder, |item| item.seq)
            && let Some(item) = self.items.get_mut(at)
        {
            item.last = seq;
        }
    }
}

impl Projection for Transcript {
    const NAME: &'static str = "transcript";
    const VERSION: u32 = 4;

    fn apply(&mut self, record: &Record<'_>) {
        let seq = record.seq;
        match record.event {
            Event::Input(InputEvent::Admitted(admitted)) => self.waiting.push((admitted.input.clone(), seq)),
            Event::Input(InputEvent::Withdrawn(withdrawn)) => {
                self.admission(&withdrawn.input);
            }
            Event::Input(InputEvent::Promoted(promoted)) => {
                let first = self.admission(&promoted.input);
                self.make(record, first);
            }
            kinds!(
                Message(SyntheticAdded, ShellRan),
                Compaction(Ended, Completed),
                Session(AgentSwitched, ModelSwitched)
            ) => self.make(record, None),
            Event::Step(StepEvent::Started(_)) => {
                self.make(record, None);
                self.step = Some(seq);
                self.step_open = true;
            }
            Event::Step(StepEvent::TextEnded(_)) | Event::Step(StepEvent::ReasoningEnded(_)) => {
                self.touch(self.step, seq);
            }
            Event::Step(StepEvent::Ended(_)) | Event::Step(StepEvent::Failed(_)) => {
                self.touch(self.step, seq);
                self.step_open = false;
            }
            Event::Tool(ToolEvent::Called(called)) => {
                self.touch(self.step, seq);
                if let Some(step) = self.step {
                    self.open.push((called.call.clone(), step));
                }
            }
            Event::Tool(ToolEvent::Progressed(progressed)) => self.touch(self.holder(&progressed.call), seq),
            Event::Tool(ToolEvent::Settled(settled)) => {
                self.touch(self.holder(&settled.call), seq);
                self.open.retain(|(call, _)| *call != settled.call);
            }
            Event::Permission(PermissionEvent::Asked(asked)) => {
                self.touch(asked.call.as_ref().and_then(|call| self.holder(call)), seq);
            }
            Event::Session(SessionEvent::Forked(_)) => {
                self.staged = None;
                self.waiting.clear();
                self.interrupt_from(Seq::ZERO, seq);
            }
            Event::Compaction(
                event @ (CompactionEvent::ToolOutputsPruned(_)
                | CompactionEvent::ToolOutputsReduced(_)
                | CompactionEvent::CallsReduced(_)),
            ) => {
                self.reduced.apply(seq, event);
            }
            Event::Files(FilesEvent::RevertStaged(staged)) => self.staged = Some(staged.first_removed),
            Event::Files(FilesEvent::RevertCleared(_)) => self.staged = None,
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.interrupt_from(committed.first_removed, seq);
                self.staged = None;
                self.reverted.push((committed.first_removed, seq));
                self.reduced.remove_from(committed.first_removed);
            }
            kinds!(
                Session(Created, Titled, Moved, TitleFailed, ProcessAttached),
                Input(DeliveryChanged, Configured),
                Context,
                Profile,
                Step(RequestSent, RequestRecorded, AnswerRecorded, RetryScheduled),
                Permission(Replied),
                Compaction(Started, Failed, Undone),
                Message(Pinned, Unpinned, TodoUpdated, RedactionApplied, Edited, UnknownPart),
                Files(Captured, Summarised, RestoreBegun, RestoreAbandoned, DepartureBegun, DepartureEnded),
                Child,
                Erasure
            ) => {}
        }
    }
}
