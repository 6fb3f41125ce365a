//! What may follow what: the rules that every log of a correct runtime obeys, on one page.
//!
//! A [`Legality`] is fed the events of one session in order. [`Legality::may_follow`] says whether the next event is legal,
//! [`Legality::apply`] takes it in, legal or not, so that one defect in a log is reported once and reading continues. It
//! knows only what legality needs: what is open, what is pending, which ids are used up. `docs/reference/events.md`.
//!
//! ```text
//! created ──► idle ──► step open ──► idle        calls are made inside a step; it ends when each is settled, or fails
//!               │ ▲──── compaction open ──► idle
//!               │ ▲──── restore open ─────► idle  ended by revert.staged, revert.cleared, session.moved or abandoned
//!               └─────► revert staged ────► idle  cleared or committed
//! ```

mod apply;

use crate::context::Key;
use crate::digest::Digest;
use crate::event::{
    ChildEvent, CompactionEvent, ContextEvent, ErasureEvent, Event, FilesEvent, InputEvent, MessageEvent,
    PermissionEvent, SessionEvent, StepEvent, ToolEvent,
};
use crate::id::{CallId, InputId, PermissionId, RequestId, SessionId};
use crate::seq::Seq;
use alloc::collections::{BTreeMap, BTreeSet};

/// An event that no correct runtime appends here. The log is not damaged by it: every fold has a defined answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Illegal {
    /// The first event creates or forks the session; no later one does.
    #[error("only the first event may be session.created or session.forked, and it must be one of them")]
    Beginning,
    /// An input id is used up by its first admission.
    #[error("the input id was admitted before")]
    InputUsed,
    /// Only a pending input is promoted, withdrawn or changed.
    #[error("the input is not pending")]
    InputNotPending,
    /// Only one step is open at a time.
    #[error("a step starts while another one is open")]
    StepOpen,
    /// Fragments, calls and ends belong to an open step.
    #[error("no step is open")]
    NoStep,
    /// A step ends when its calls are settled.
    #[error("a step ends while one of its calls is open")]
    CallOpen,
    /// A call id is used once.
    #[error("the call id was used before")]
    CallUsed,
    /// Only an open call progresses or is settled, once.
    #[error("the call is not open")]
    CallNotOpen,
    /// A reply answers a question that is waiting.
    #[error("no such permission question is waiting")]
    NoQuestion,
    /// Context changes inside an epoch.
    #[error("no system prompt is in force")]
    NoEpoch,
    /// Only a source in the Context Snapshot is removed.
    #[error("the source is not in the context snapshot")]
    NoSource,
    /// Only one compaction is open at a time, and none begins inside a step.
    #[error("a compaction starts while a step or another compaction is open")]
    CompactionOpen,
    /// A compaction ends that began.
    #[error("no compaction is open")]
    NoCompaction,
    /// A compaction is undone once, by the number of the event that ended it.
    #[error("no such compaction is in force")]
    NotCompacted,
    /// A pin or a compaction names an event of this session that came before.
    #[error("it refers to a later event")]
    Later,
    /// Only a staged undo is cleared or committed.
    #[error("this undo is not staged")]
    NotStaged,
    /// A restore begins once and is abandoned once.
    #[error("a restore is already open, or none is open")]
    Restore,
    /// A departure begins once and ends once.
    #[error("a departure is already open, or none is open")]
    Departure,
    /// A child is settled that began, once.
    #[error("no such child session is open")]
    NoChild,
    /// A title answers a title request that is open.
    #[error("no such title request is open")]
    NoTitle,
}

/// What legality needs to know of a session so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Legality {
    next: Seq,
    inputs: BTreeMap<InputId, Seq>,
    used_inputs: BTreeSet<InputId>,
    step: Option<Seq>,
    calls: BTreeMap<CallId, Seq>,
    used_calls: BTreeSet<Digest>,
    questions: BTreeMap<PermissionId, (Option<CallId>, Seq)>,
    /// Keys of the Context Snapshot; `None` where no epoch is in force.
    snapshot: Option<BTreeSet<Key>>,
    compaction: bool,
    compacted: BTreeSet<Seq>,
    staged: Option<Seq>,
    restore: bool,
    departure: bool,
    children: BTreeSet<SessionId>,
    titles: BTreeSet<RequestId>,
}

/// The place of a call id: ids are compared by their hash, so that long ones cost no memory.
fn place(call: &CallId) -> Digest {
    Digest::of(call.as_str().as_bytes())
}

fn when(holds: bool, illegal: Illegal) -> Result<(), Illegal> {
    if holds { Ok(()) } else { Err(illegal) }
}

impl Legality {
    /// A session whose first `next` events are inherited or known otherwise; only what follows them is judged.
    pub fn from(next: Seq) -> Self {
        Self { next, ..Self::default() }
    }

    /// The number of the next event.
    pub fn next(&self) -> Seq {
        self.next
    }

    /// Whether an event may come next.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn may_follow(&self, event: &Event) -> Result<(), Illegal> {
        let begins = matches!(event, Event::Session(SessionEvent::Created(_) | SessionEvent::Forked(_)));
        when(
            begins == (self.next == Seq::ZERO) || matches!(event, Event::Session(SessionEvent::Forked(_))),
            Illegal::Beginning,
        )?;
        match event {
            Event::Session(event) => self.session(event),
            Event::Input(event) => self.input(event),
            Event::Context(event) => self.context(event),
            Event::Step(event) => self.step(event),
            Event::Tool(event) => self.tool(event),
            Event::Permission(event) => match event {
                PermissionEvent::Asked(_) => Ok(()),
                PermissionEvent::Replied(replied) => {
                    when(self.questions.contains_key(&replied.permission), Illegal::NoQuestion)
                }
            },
            Event::Compaction(event) => self.compaction(event),
            Event::Message(event) => match event {
                MessageEvent::Pinned(pinned) => when(pinned.message < self.next, Illegal::Later),
                MessageEvent::Unpinned(unpinned) => when(unpinned.message < self.next, Illegal::Later),
                MessageEvent::SyntheticAdded(_)
                | MessageEvent::ShellRan(_)
                | MessageEvent::TodoUpdated(_)
                | MessageEvent::RedactionApplied(_)
                | MessageEvent::UnknownPart(_) => Ok(()),
                MessageEvent::Edited(edited) => when(
                    edited.edits.iter().all(|edit| edit.place < self.next && edit.message < self.next),
                    Illegal::Later,
                ),
            },
            Event::Files(event) => self.files(event),
            Event::Child(event) => match event {
                ChildEvent::Started(_) => Ok(()),
                ChildEvent::Settled(settled) => when(self.children.contains(&settled.child), Illegal::NoChild),
            },
            Event::Profile(_) => Ok(()),
            Event::Erasure(event) => match event {
                ErasureEvent::TextsErased(erased) => {
                    when(erased.what.iter().all(|text| text.seq < self.next), Illegal::Later)
                }
                ErasureEvent::Forgotten(_) => Ok(()),
            },
        }
    }

    fn session(&self, event: &SessionEvent) -> Result<(), Illegal> {
        let asked = |request: Option<&RequestId>| request.is_none_or(|request| self.titles.contains(request));
        match event {
            SessionEvent::Titled(titled) => when(asked(titled.request.as_ref()), Illegal::NoTitle),
            SessionEvent::TitleFailed(failed) => when(asked(Some(&failed.request)), Illegal::NoTitle),
            SessionEvent::Created(_)
            | SessionEvent::Forked(_)
            | SessionEvent::Moved(_)
            | SessionEvent::AgentSwitched(_)
            | SessionEvent::ModelSwitched(_)
            | SessionEvent::ProcessAttached(_) => Ok(()),
        }
    }

    fn input(&self, event: &InputEvent) -> Result<(), Illegal> {
        let pending = |input: &InputId| when(self.inputs.contains_key(input), Illegal::InputNotPending);
        match event {
            InputEvent::Admitted(admitted) => when(!self.used_inputs.contains(&admitted.input), Illegal::InputUsed),
            InputEvent::Promoted(promoted) => pending(&promoted.input),
            InputEvent::Withdrawn(withdrawn) => pending(&withdrawn.input),
            InputEvent::DeliveryChanged(changed) => pending(&changed.input),
            InputEvent::Configured(configured) => pending(&configured.input),
        }
    }

    fn context(&self, event: &ContextEvent) -> Result<(), Illegal> {
        match event {
            ContextEvent::EpochReplacementBlocked(_) => when(self.snapshot.is_some(), Illegal::NoEpoch),
            ContextEvent::SnapshotAdvanced(advanced) => {
                let snapshot = self.snapshot.as_ref().ok_or(Illegal::NoEpoch)?;
                when(advanced.removed.iter().all(|key| snapshot.contains(key)), Illegal::NoSource)
            }
            ContextEvent::EpochStarted(_) | ContextEvent::Admitted(_) | ContextEvent::InstructionDiscovered(_) => {
                Ok(())
            }
        }
    }

    fn step(&self, event: &StepEvent) -> Result<(), Illegal> {
        match event {
            StepEvent::Started(_) => when(self.step.is_none(), Illegal::StepOpen),
            StepEvent::Ended(_) => {
                when(self.step.is_some(), Illegal::NoStep)?;
                when(self.calls.is_empty(), Illegal::CallOpen)
            }
            // The calls of an answer that failed are still awaited.
            StepEvent::Failed(_) | StepEvent::TextEnded(_) | StepEvent::ReasoningEnded(_) => {
                when(self.step.is_some(), Illegal::NoStep)
            }
            StepEvent::RequestSent(_)
            | StepEvent::RequestRecorded(_)
            | StepEvent::AnswerRecorded(_)
            | StepEvent::RetryScheduled(_) => Ok(()),
        }
    }

    fn tool(&self, event: &ToolEvent) -> Result<(), Illegal> {
        let open = |call: &CallId| when(self.calls.contains_key(call), Illegal::CallNotOpen);
        match event {
            ToolEvent::Called(called) => {
                when(self.step.is_some(), Illegal::NoStep)?;
                when(!self.used_calls.contains(&place(&called.call)), Illegal::CallUsed)
            }
            ToolEvent::Progressed(progressed) => open(&progressed.call),
            ToolEvent::Settled(settled) => open(&settled.call),
        }
    }

    fn compaction(&self, event: &CompactionEvent) -> Result<(), Illegal> {
        match event {
            CompactionEvent::Started(_) => when(!self.compaction && self.step.is_none(), Illegal::CompactionOpen),
            CompactionEvent::Ended(_) | CompactionEvent::Failed(_) => when(self.compaction, Illegal::NoCompaction),
            CompactionEvent::Completed(completed) => {
                when(self.compaction, Illegal::NoCompaction)?;
                let earlier = completed.replayed.iter().all(|input| input.seq < self.next);
                when(earlier && completed.first_kept < self.next, Illegal::Later)
            }
            CompactionEvent::Undone(undone) => when(self.compacted.contains(&undone.compaction), Illegal::NotCompacted),
            CompactionEvent::ToolOutputsPruned(_)
            | CompactionEvent::ToolOutputsReduced(_)
            | CompactionEvent::CallsReduced(_) => Ok(()),
        }
    }

    fn files(&self, event: &FilesEvent) -> Result<(), Illegal> {
        match event {
            FilesEvent::RevertStaged(staged) => when(staged.first_removed < self.next, Illegal::Later),
            FilesEvent::RevertCleared(_) => when(self.staged.is_some(), Illegal::NotStaged),
            FilesEvent::RevertCommitted(committed) => {
                when(self.staged == Some(committed.first_removed), Illegal::NotStaged)
            }
            FilesEvent::RestoreBegun(_) => when(!self.restore, Illegal::Restore),
            FilesEvent::RestoreAbandoned(_) => when(self.restore, Illegal::Restore),
            FilesEvent::DepartureBegun(_) => when(!self.departure, Illegal::Departure),
            FilesEvent::DepartureEnded(_) => when(self.departure, Illegal::Departure),
            FilesEvent::Captured(_) | FilesEvent::Summarised(_) => Ok(()),
        }
    }
}
