//! Taking in events: what they open, end, use up and inherit.

use super::{Legality, place};
use crate::event::{
    ChildEvent, CompactionEvent, ContextEvent, FilesEvent, InputEvent, PermissionEvent, Purpose, SessionEvent,
    StepEvent, ToolEvent,
};
use crate::{Event, Seq, kinds};

impl Legality {
    /// Takes in the next event, legal or not.
    pub fn apply(&mut self, event: &Event) {
        let seq = self.next;
        self.next = seq.plus(1);
        match event {
            Event::Session(SessionEvent::Forked(_)) => self.forked(),
            Event::Session(SessionEvent::Moved(_)) => (self.snapshot, self.restore) = (None, false),
            Event::Session(SessionEvent::Titled(titled)) => {
                if let Some(request) = &titled.request {
                    self.titles.remove(request);
                }
            }
            Event::Session(SessionEvent::TitleFailed(failed)) => {
                self.titles.remove(&failed.request);
            }
            Event::Input(InputEvent::Admitted(admitted)) => {
                self.used_inputs.insert(admitted.input.clone());
                self.inputs.insert(admitted.input.clone(), seq);
            }
            Event::Input(InputEvent::Promoted(promoted)) => {
                self.inputs.remove(&promoted.input);
            }
            Event::Input(InputEvent::Withdrawn(withdrawn)) => {
                self.inputs.remove(&withdrawn.input);
            }
            Event::Context(ContextEvent::EpochStarted(started)) => {
                self.snapshot = Some(started.entries.keys().cloned().collect());
            }
            Event::Context(ContextEvent::SnapshotAdvanced(advanced)) => {
                if let Some(snapshot) = &mut self.snapshot {
                    snapshot.extend(advanced.set.keys().cloned());
                    for key in &advanced.removed {
                        snapshot.remove(key);
                    }
                }
            }
            Event::Step(StepEvent::RequestSent(sent)) if sent.purpose == Purpose::Title => {
                self.titles.insert(sent.request);
            }
            Event::Step(StepEvent::Started(_)) => self.step = Some(seq),
            Event::Step(StepEvent::Ended(_) | StepEvent::Failed(_)) => self.step = None,
            Event::Tool(ToolEvent::Called(called)) => {
                self.used_calls.insert(place(&called.call));
                self.calls.insert(called.call.clone(), seq);
            }
            Event::Tool(ToolEvent::Settled(settled)) => {
                self.calls.remove(&settled.call);
                // A question ends with the call that asked it.
                self.questions.retain(|_, (call, _)| call.as_ref() != Some(&settled.call));
            }
            Event::Permission(PermissionEvent::Asked(asked)) => {
                self.questions.insert(asked.permission.clone(), (asked.call.clone(), seq));
            }
            Event::Permission(PermissionEvent::Replied(replied)) => {
                self.questions.remove(&replied.permission);
            }
            Event::Compaction(event) => self.compacted(seq, event),
            Event::Files(event) => self.filed(event),
            Event::Child(ChildEvent::Started(started)) => {
                self.children.insert(started.child);
            }
            Event::Child(ChildEvent::Settled(settled)) => {
                self.children.remove(&settled.child);
            }
            kinds!(
                Session(Created, AgentSwitched, ModelSwitched, ProcessAttached),
                Input(DeliveryChanged, Configured),
                Context(EpochReplacementBlocked, Admitted, InstructionDiscovered),
                Profile,
                Step(RequestSent, RequestRecorded, AnswerRecorded, RetryScheduled, TextEnded, ReasoningEnded),
                Tool(Progressed),
                Message,
                Erasure
            ) => {}
        }
    }

    /// A fork inherits the past, but nothing that was open in its parent.
    fn forked(&mut self) {
        self.inputs.clear();
        self.calls.clear();
        self.questions.clear();
        self.children.clear();
        self.titles.clear();
        (self.step, self.staged) = (None, None);
        (self.compaction, self.restore, self.departure) = (false, false, false);
    }

    fn compacted(&mut self, seq: Seq, event: &CompactionEvent) {
        match event {
            CompactionEvent::Started(_) => self.compaction = true,
            CompactionEvent::Ended(_) | CompactionEvent::Completed(_) => {
                self.compaction = false;
                self.compacted.insert(seq);
            }
            CompactionEvent::Failed(_) => self.compaction = false,
            CompactionEvent::Undone(undone) => {
                self.compacted.remove(&undone.compaction);
            }
            CompactionEvent::ToolOutputsPruned(_)
            | CompactionEvent::ToolOutputsReduced(_)
            | CompactionEvent::CallsReduced(_) => {}
        }
    }

    fn filed(&mut self, event: &FilesEvent) {
        match event {
            FilesEvent::RevertStaged(staged) => (self.staged, self.restore) = (Some(staged.first_removed), false),
            FilesEvent::RevertCleared(_) => (self.staged, self.restore) = (None, false),
            FilesEvent::RevertCommitted(committed) => self.removed(committed.first_removed),
            FilesEvent::RestoreBegun(_) => self.restore = true,
            FilesEvent::RestoreAbandoned(_) => self.restore = false,
            FilesEvent::DepartureBegun(_) => self.departure = true,
            FilesEvent::DepartureEnded(_) => self.departure = false,
            FilesEvent::Captured(_) | FilesEvent::Summarised(_) => {}
        }
    }

    /// What a committed undo takes with it.
    fn removed(&mut self, first: Seq) {
        self.staged = None;
        self.snapshot = None;
        self.inputs.retain(|_, seq| *seq < first);
        self.calls.retain(|_, seq| *seq < first);
        self.questions.retain(|_, (_, seq)| *seq < first);
        self.compacted.retain(|seq| *seq < first);
        self.step = self.step.filter(|step| *step < first);
    }
}
