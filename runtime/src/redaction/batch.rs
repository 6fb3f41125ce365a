//! The last door: whatever a runtime appends passes it, kind by kind. What came from the world loses its secrets; what a
//! model wrote, or a provider wants back exactly, passes as it is.

use super::Redactor;
use super::doors::Door;
use annals_core::Event;
use annals_core::event::{Failure, RedactionApplied};
use std::sync::Arc;

/// Takes the secrets out of facts that are about to be appended, and adds the fact that it did, once.
pub(super) fn pass(redactor: &Arc<Redactor>, events: &mut Vec<Event>) {
    let mut door = Door::new(Some(redactor));
    events.iter_mut().for_each(|event| door.event(event));
    events.retain(|event| match event {
        Event::RedactionApplied(applied) => {
            door.count(&applied.counts);
            false
        }
        _ => true,
    });
    events.extend(door.applied());
}

impl Door {
    /// One fact. A new kind is sorted in here, or nothing compiles.
    pub(super) fn event(&mut self, event: &mut Event) {
        match event {
            Event::SessionCreated(created) => self.optional(&mut created.title),
            Event::SessionForked(forked) => self.optional(&mut forked.title),
            // A title that a model gave is the model's.
            Event::SessionTitled(titled) if titled.request.is_none() => self.string(&mut titled.title),
            Event::InputAdmitted(admitted) => {
                self.text(&mut admitted.text);
                admitted.attachments.iter_mut().for_each(|attachment| self.attachment(attachment));
            }
            // Their values passed when they were observed, before they were compared.
            Event::EpochStarted(epoch) => {
                epoch.parts.iter_mut().for_each(|part| self.told(&mut part.text));
                epoch.entries.values_mut().filter_map(|entry| entry.removed.as_mut()).for_each(|text| self.text(text));
            }
            Event::ContextAdmitted(message) => self.told(&mut message.text),
            Event::SnapshotAdvanced(advance) => {
                advance.set.values_mut().filter_map(|entry| entry.removed.as_mut()).for_each(|text| self.text(text));
            }
            Event::StepFailed(failed) => self.failure(&mut failed.error),
            Event::RetryScheduled(retry) => self.failure(&mut retry.error),
            Event::CompactionFailed(failed) => self.failure(&mut failed.error),
            Event::TitleFailed(failed) => self.failure(&mut failed.error),
            Event::RestoreAbandoned(abandoned) => self.failure(&mut abandoned.error),
            Event::DepartureEnded(ended) => ended.error.iter_mut().for_each(|error| self.failure(error)),
            Event::ToolProgressed(progressed) => {
                progressed.output.iter_mut().for_each(|output| self.text(output));
                progressed.structured.iter_mut().for_each(|value| self.json(value));
            }
            Event::ToolSettled(settled) => {
                self.text(&mut settled.output);
                settled.error.iter_mut().for_each(|error| self.text(error));
                settled.structured.iter_mut().for_each(|value| self.json(value));
                settled.attachments.iter_mut().for_each(|attachment| self.attachment(attachment));
            }
            Event::PermissionReplied(replied) => replied.feedback.iter_mut().for_each(|feedback| self.text(feedback)),
            Event::SyntheticAdded(added) => self.text(&mut added.text),
            Event::ShellRan(shell) => {
                self.text(&mut shell.command);
                self.text(&mut shell.output);
            }
            Event::RevertStaged(staged) => staged.diff.iter_mut().for_each(|diff| self.text(diff)),
            // What shapes a request passed before its hash was taken.
            Event::AgentProfileRecorded(_)
            | Event::ModelProfileRecorded(_)
            | Event::ToolsRecorded(_)
            | Event::OptionsRecorded(_)
            | Event::RequestSent(_)
            // What a model wrote.
            | Event::SessionTitled(_)
            | Event::TextEnded(_)
            | Event::ReasoningEnded(_)
            | Event::ToolCalled(_)
            | Event::PermissionAsked(_)
            | Event::CompactionEnded(_)
            | Event::TodoUpdated(_)
            | Event::ChildStarted(_)
            | Event::ChildSettled(_)
            // Names, numbers, places and hashes.
            | Event::SessionMoved(_)
            | Event::AgentSwitched(_)
            | Event::ModelSwitched(_)
            | Event::InputPromoted(_)
            | Event::InputWithdrawn(_)
            | Event::InputDeliveryChanged(_)
            | Event::EpochReplacementBlocked(_)
            | Event::InstructionDiscovered(_)
            | Event::StepStarted(_)
            | Event::StepEnded(_)
            | Event::CompactionStarted(_)
            | Event::CompactionUndone(_)
            | Event::ToolOutputsPruned(_)
            | Event::MessagePinned(_)
            | Event::MessageUnpinned(_)
            | Event::RedactionApplied(RedactionApplied { .. })
            | Event::FilesCaptured(_)
            | Event::FilesSummarised(_)
            | Event::RestoreBegun(_)
            | Event::DepartureBegun(_)
            | Event::RevertCleared(_)
            | Event::RevertCommitted(_) => {}
        }
    }

    fn failure(&mut self, failure: &mut Failure) {
        self.text(&mut failure.message);
    }

    fn optional(&mut self, text: &mut Option<String>) {
        text.iter_mut().for_each(|text| self.string(text));
    }
}
