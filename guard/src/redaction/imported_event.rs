//! What another agent recorded loses its secrets kind by kind: what came from the world as at the last door
//! (`batch.rs`), and what a model wrote, too.

use super::replacement::Redaction;
use annals_core::context::Entry;
use annals_core::event::{
    ChildEvent, CompactionEvent, ContextEvent, FileChange, FilesEvent, InputEvent, Location, MessageEvent,
    PermissionEvent, ProfileEvent, Rule, SessionEvent, StepEvent, ToolEvent,
};
use annals_core::{Event, kinds};

impl Redaction {
    /// One fact of another agent's session: every text in it. Ids, hashes and the names of agents, models and tools stay:
    /// other facts and a later import of the same session refer to them. The match is exhaustive, so that a new kind needs a
    /// decision.
    pub(super) fn imported(&mut self, event: &mut Event) {
        self.event(event);
        match event {
            // Its origin is what the import is known again by.
            Event::Session(SessionEvent::Created(created)) => self.location(&mut created.location),
            Event::Session(SessionEvent::Titled(titled)) => self.string(&mut titled.title),
            Event::Session(SessionEvent::Moved(moved)) => self.location(&mut moved.location),
            Event::Profile(ProfileEvent::AgentRecorded(recorded)) => {
                recorded.profile.system.iter_mut().for_each(|text| self.text(text));
                recorded.profile.permissions.iter_mut().for_each(|rule| self.rule(rule));
            }
            Event::Profile(ProfileEvent::ToolsRecorded(recorded)) => recorded.tools.iter_mut().for_each(|tool| self.definition(tool)),
            Event::Profile(ProfileEvent::OptionsRecorded(recorded)) => self.options(&mut recorded.options),
            Event::Step(StepEvent::RequestSent(sent)) => sent.prompt.iter_mut().for_each(|prompt| self.text(prompt)),
            Event::Context(ContextEvent::EpochStarted(epoch)) => {
                self.location(&mut epoch.location);
                epoch.entries.values_mut().for_each(|entry| self.entry(entry));
            }
            Event::Context(ContextEvent::SnapshotAdvanced(advance)) => advance.set.values_mut().for_each(|entry| self.entry(entry)),
            Event::Context(ContextEvent::InstructionDiscovered(discovered)) => self.string(&mut discovered.path),
            Event::Step(StepEvent::Ended(ended)) => ended.changed.iter_mut().for_each(|path| self.string(path)),
            Event::Step(StepEvent::TextEnded(ended)) => {
                self.text(&mut ended.text);
                ended.metadata.iter_mut().for_each(|json| self.json(json));
            }
            Event::Step(StepEvent::ReasoningEnded(ended)) => {
                self.text(&mut ended.text);
                ended.metadata.iter_mut().for_each(|json| self.json(json));
            }
            Event::Tool(ToolEvent::Called(called)) => {
                self.json(&mut called.input);
                called.metadata.iter_mut().for_each(|json| self.json(json));
            }
            Event::Tool(ToolEvent::Settled(settled)) => {
                settled.paths.iter_mut().for_each(|path| self.string(path));
                settled.hosted_result.iter_mut().for_each(|json| self.json(json));
                settled.metadata.iter_mut().for_each(|json| self.json(json));
            }
            Event::Permission(PermissionEvent::Asked(asked)) => asked.resources.iter_mut().for_each(|resource| self.string(resource)),
            Event::Permission(PermissionEvent::Replied(replied)) => replied.rules.iter_mut().for_each(|rule| self.rule(rule)),
            Event::Compaction(CompactionEvent::Ended(ended)) => {
                self.text(&mut ended.summary);
                self.text(&mut ended.recent);
            }
            Event::Compaction(CompactionEvent::Completed(completed)) => {
                self.text(&mut completed.summary);
                completed.replayed.iter_mut().filter_map(|input| input.text.as_mut()).for_each(|text| self.text(text));
            }
            Event::Message(MessageEvent::TodoUpdated(updated)) => updated.items.iter_mut().for_each(|todo| self.string(&mut todo.content)),
            Event::Child(ChildEvent::Settled(settled)) => self.text(&mut settled.result),
            Event::Files(FilesEvent::RevertStaged(staged)) => self.files(&mut staged.files),
            Event::Files(FilesEvent::Summarised(summarised)) => self.files(&mut summarised.files),
            Event::Files(FilesEvent::RestoreBegun(begun)) => self.location(&mut begun.location),
            Event::Files(FilesEvent::DepartureBegun(begun)) => self.location(&mut begun.location),
            Event::Message(MessageEvent::Edited(edited)) => {
                edited.edits.iter_mut().filter_map(|edit| edit.text.as_mut()).for_each(|text| self.text(text));
            }
            Event::Message(MessageEvent::UnknownPart(part)) => self.text(&mut part.text),
            // All that they hold passed above.
            Event::Session(SessionEvent::Forked(_))
            | Event::Input(InputEvent::Admitted(_) | InputEvent::Configured(_))
            | Event::Context(ContextEvent::Admitted(_))
            | Event::Step(StepEvent::Failed(_))
            | Event::Step(StepEvent::RetryScheduled(_))
            | Event::Compaction(CompactionEvent::Failed(_))
            | Event::Session(SessionEvent::TitleFailed(_))
            | Event::Session(SessionEvent::ProcessAttached(_))
            | Event::Files(FilesEvent::RestoreAbandoned(_))
            | Event::Files(FilesEvent::DepartureEnded(_))
            | Event::Tool(ToolEvent::Progressed(_))
            | Event::Message(MessageEvent::SyntheticAdded(_))
            | Event::Message(MessageEvent::ShellRan(_))
            // The recorder redacts both before it takes their digests.
            | Event::Step(StepEvent::RequestRecorded(_))
            | Event::Step(StepEvent::AnswerRecorded(_))
            // Names, numbers and hashes.
            | kinds!(Profile(ModelRecorded), Session(AgentSwitched, ModelSwitched), Input(Promoted, Withdrawn, DeliveryChanged), Context(EpochReplacementBlocked), Step(Started), Compaction(Started, Undone, ToolOutputsPruned, ToolOutputsReduced, CallsReduced), Child(Started), Erasure, Message(Pinned, Unpinned, RedactionApplied), Files(Captured, RevertCleared, RevertCommitted)) => {}
        }
    }

    fn location(&mut self, location: &mut Location) {
        self.string(&mut location.directory);
    }

    fn rule(&mut self, rule: &mut Rule) {
        self.string(&mut rule.resource);
    }

    fn entry(&mut self, entry: &mut Entry) {
        self.json(&mut entry.value);
    }

    fn files(&mut self, files: &mut [FileChange]) {
        files.iter_mut().for_each(|file| self.string(&mut file.path));
    }
}
