//! The last step before an append: every event of a runtime passes it, kind by kind. Text from the world is redacted; what
//! a model wrote, or a provider needs back unchanged, passes unchanged.

use super::Redactor;
use super::replacement::Redaction;
use annals_core::event::{
    ChildEvent, CompactionEvent, ContextEvent, ErasureEvent, Failure, FilesEvent, InputEvent, MessageEvent,
    PermissionEvent, ProcessInfo, ProfileEvent, RedactionApplied, SessionEvent, StepEvent, ToolEvent,
};
use annals_core::{Event, kinds};
use std::sync::Arc;

/// Takes the secrets out of facts that are about to be appended, and adds the fact that it did, once.
pub fn redact_events(redactor: &Arc<Redactor>, events: &mut Vec<Event>) {
    let mut redaction = Redaction::new(Some(redactor));
    events.iter_mut().for_each(|event| redaction.event(event));
    events.retain(|event| match event {
        Event::Message(MessageEvent::RedactionApplied(applied)) => {
            redaction.count(&applied.counts);
            false
        }
        _ => true,
    });
    events.extend(redaction.applied());
}

impl Redaction {
    /// One fact. A new kind is sorted in here, or nothing compiles.
    pub(super) fn event(&mut self, event: &mut Event) {
        match event {
            Event::Session(SessionEvent::Created(created)) => {
                self.optional(&mut created.title);
                created.process.iter_mut().for_each(|process| self.process(process));
            }
            Event::Session(SessionEvent::ProcessAttached(attached)) => self.process(&mut attached.process),
            Event::Session(SessionEvent::Forked(forked)) => self.optional(&mut forked.title),
            // A title that a model gave is the model's.
            Event::Session(SessionEvent::Titled(titled)) if titled.request.is_none() => self.string(&mut titled.title),
            Event::Input(InputEvent::Admitted(admitted)) => {
                self.text(&mut admitted.text);
                admitted.attachments.iter_mut().for_each(|attachment| self.attachment(attachment));
            }
            // Their values passed when they were observed, before they were compared.
            Event::Context(ContextEvent::EpochStarted(epoch)) => {
                epoch.parts.iter_mut().for_each(|part| self.context_text(&mut part.text));
                epoch.entries.values_mut().filter_map(|entry| entry.removed.as_mut()).for_each(|text| self.text(text));
            }
            Event::Context(ContextEvent::Admitted(message)) => self.context_text(&mut message.text),
            Event::Context(ContextEvent::SnapshotAdvanced(advance)) => {
                advance.set.values_mut().filter_map(|entry| entry.removed.as_mut()).for_each(|text| self.text(text));
            }
            Event::Step(StepEvent::Failed(failed)) => self.failure(&mut failed.error),
            Event::Step(StepEvent::RetryScheduled(retry)) => self.failure(&mut retry.error),
            Event::Compaction(CompactionEvent::Failed(failed)) => self.failure(&mut failed.error),
            Event::Session(SessionEvent::TitleFailed(failed)) => self.failure(&mut failed.error),
            Event::Files(FilesEvent::RestoreAbandoned(abandoned)) => self.failure(&mut abandoned.error),
            Event::Files(FilesEvent::DepartureEnded(ended)) => ended.error.iter_mut().for_each(|error| self.failure(error)),
            Event::Tool(ToolEvent::Progressed(progressed)) => {
                progressed.output.iter_mut().for_each(|output| self.text(output));
                progressed.structured.iter_mut().for_each(|value| self.json(value));
            }
            Event::Tool(ToolEvent::Settled(settled)) => {
                self.text(&mut settled.output);
                settled.error.iter_mut().for_each(|error| self.text(error));
                settled.structured.iter_mut().for_each(|value| self.json(value));
                settled.attachments.iter_mut().for_each(|attachment| self.attachment(attachment));
            }
            Event::Permission(PermissionEvent::Replied(replied)) => replied.feedback.iter_mut().for_each(|feedback| self.text(feedback)),
            Event::Message(MessageEvent::SyntheticAdded(added)) => self.text(&mut added.text),
            Event::Message(MessageEvent::ShellRan(shell)) => {
                self.text(&mut shell.command);
                self.text(&mut shell.output);
            }
            Event::Files(FilesEvent::RevertStaged(staged)) => staged.diff.iter_mut().for_each(|diff| self.text(diff)),
            Event::Erasure(ErasureEvent::TextsErased(erased)) => self.text(&mut erased.reason),
            Event::Erasure(ErasureEvent::Forgotten(_)) => {}
            // It passed before it was compared with what was admitted under its id, as the admission did.
            Event::Input(InputEvent::Configured(configured)) => {
                configured.system.iter_mut().for_each(|system| self.text(system));
            }
            // What shapes a request passed before its hash was taken.
            Event::Profile(ProfileEvent::AgentRecorded(_))
            | Event::Profile(ProfileEvent::ModelRecorded(_))
            | Event::Profile(ProfileEvent::ToolsRecorded(_))
            | Event::Profile(ProfileEvent::OptionsRecorded(_))
            | Event::Step(StepEvent::RequestSent(_))
            // The recorder redacts both before it takes their digests.
            | Event::Step(StepEvent::RequestRecorded(_))
            | Event::Step(StepEvent::AnswerRecorded(_))
            // What a model wrote.
            | Event::Session(SessionEvent::Titled(_))
            | Event::Step(StepEvent::TextEnded(_))
            | Event::Step(StepEvent::ReasoningEnded(_))
            | Event::Tool(ToolEvent::Called(_))
            | Event::Permission(PermissionEvent::Asked(_))
            | Event::Compaction(CompactionEvent::Ended(_))
            | Event::Compaction(CompactionEvent::Completed(_))
            | Event::Message(MessageEvent::TodoUpdated(_))
            | Event::Child(ChildEvent::Started(_))
            | Event::Child(ChildEvent::Settled(_))
            // Names, numbers, places and hashes.
            | Event::Session(SessionEvent::Moved(_))
            | Event::Session(SessionEvent::AgentSwitched(_))
            | Event::Session(SessionEvent::ModelSwitched(_))
            | Event::Input(InputEvent::Promoted(_))
            | Event::Input(InputEvent::Withdrawn(_))
            | Event::Input(InputEvent::DeliveryChanged(_))
            | Event::Context(ContextEvent::EpochReplacementBlocked(_))
            | Event::Context(ContextEvent::InstructionDiscovered(_))
            | Event::Step(StepEvent::Started(_))
            | Event::Step(StepEvent::Ended(_))
            | Event::Compaction(CompactionEvent::Started(_))
            | Event::Compaction(CompactionEvent::Undone(_))
            | Event::Compaction(CompactionEvent::ToolOutputsPruned(_))
            | Event::Compaction(CompactionEvent::ToolOutputsReduced(_) | CompactionEvent::CallsReduced(_))
            | Event::Message(MessageEvent::Pinned(_))
            | Event::Message(MessageEvent::Unpinned(_))
            | Event::Message(MessageEvent::RedactionApplied(RedactionApplied { .. }))
            // The recorder redacts a body before it reads it.
          | kinds!(Message(Edited, UnknownPart), Files(Captured, Summarised, RestoreBegun, DepartureBegun, RevertCleared, RevertCommitted)) => {}
        }
    }

    fn failure(&mut self, failure: &mut Failure) {
        self.text(&mut failure.message);
    }

    /// The names in it; the commit stays, as all hashes do.
    fn process(&mut self, process: &mut ProcessInfo) {
        self.optional(&mut process.host);
        self.optional(&mut process.user);
        if let Some(git) = &mut process.git {
            self.optional(&mut git.branch);
            self.optional(&mut git.repository);
        }
    }

    fn optional(&mut self, text: &mut Option<String>) {
        text.iter_mut().for_each(|text| self.string(text));
    }
}
