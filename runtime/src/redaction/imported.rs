//! What another agent recorded loses its secrets kind by kind: what came from the world as at the last door
//! (`batch.rs`), and what a model wrote, too.

use super::doors::Door;
use annals_core::Event;
use annals_core::context::Entry;
use annals_core::event::{FileChange, Location, Rule};

impl Door {
    /// One fact of another agent's Session: every text in it. Ids, hashes and the names of agents, models and tools stay:
    /// other facts, and whoever imports it again, refer to them. A new kind is sorted in here, or nothing compiles.
    pub(super) fn imported(&mut self, event: &mut Event) {
        self.event(event);
        match event {
            // Its origin is what the import is known again by.
            Event::SessionCreated(created) => self.location(&mut created.location),
            Event::SessionTitled(titled) => self.string(&mut titled.title),
            Event::SessionMoved(moved) => self.location(&mut moved.location),
            Event::AgentProfileRecorded(recorded) => {
                recorded.profile.system.iter_mut().for_each(|text| self.text(text));
                recorded.profile.permissions.iter_mut().for_each(|rule| self.rule(rule));
            }
            Event::ToolsRecorded(recorded) => recorded.tools.iter_mut().for_each(|tool| self.definition(tool)),
            Event::OptionsRecorded(recorded) => self.options(&mut recorded.options),
            Event::RequestSent(sent) => sent.prompt.iter_mut().for_each(|prompt| self.text(prompt)),
            Event::EpochStarted(epoch) => {
                self.location(&mut epoch.location);
                epoch.entries.values_mut().for_each(|entry| self.entry(entry));
            }
            Event::SnapshotAdvanced(advance) => advance.set.values_mut().for_each(|entry| self.entry(entry)),
            Event::InstructionDiscovered(discovered) => self.string(&mut discovered.path),
            Event::StepEnded(ended) => ended.changed.iter_mut().for_each(|path| self.string(path)),
            Event::TextEnded(ended) => {
                self.text(&mut ended.text);
                ended.metadata.iter_mut().for_each(|json| self.json(json));
            }
            Event::ReasoningEnded(ended) => {
                self.text(&mut ended.text);
                ended.metadata.iter_mut().for_each(|json| self.json(json));
            }
            Event::ToolCalled(called) => {
                self.json(&mut called.input);
                called.metadata.iter_mut().for_each(|json| self.json(json));
            }
            Event::ToolSettled(settled) => {
                settled.paths.iter_mut().for_each(|path| self.string(path));
                settled.hosted_result.iter_mut().for_each(|json| self.json(json));
                settled.metadata.iter_mut().for_each(|json| self.json(json));
            }
            Event::PermissionAsked(asked) => asked.resources.iter_mut().for_each(|resource| self.string(resource)),
            Event::PermissionReplied(replied) => replied.rules.iter_mut().for_each(|rule| self.rule(rule)),
            Event::CompactionEnded(ended) => {
                self.text(&mut ended.summary);
                self.text(&mut ended.recent);
            }
            Event::TodoUpdated(updated) => updated.items.iter_mut().for_each(|todo| self.string(&mut todo.content)),
            Event::ChildSettled(settled) => self.text(&mut settled.result),
            Event::RevertStaged(staged) => self.files(&mut staged.files),
            Event::FilesSummarised(summarised) => self.files(&mut summarised.files),
            Event::RestoreBegun(begun) => self.location(&mut begun.location),
            Event::DepartureBegun(begun) => self.location(&mut begun.location),
            // All that they hold passed above.
            Event::SessionForked(_)
            | Event::InputAdmitted(_)
            | Event::ContextAdmitted(_)
            | Event::StepFailed(_)
            | Event::RetryScheduled(_)
            | Event::CompactionFailed(_)
            | Event::TitleFailed(_)
            | Event::RestoreAbandoned(_)
            | Event::DepartureEnded(_)
            | Event::ToolProgressed(_)
            | Event::SyntheticAdded(_)
            | Event::ShellRan(_)
            // Names, numbers and hashes.
            | Event::ModelProfileRecorded(_)
            | Event::AgentSwitched(_)
            | Event::ModelSwitched(_)
            | Event::InputPromoted(_)
            | Event::InputWithdrawn(_)
            | Event::InputDeliveryChanged(_)
            | Event::EpochReplacementBlocked(_)
            | Event::StepStarted(_)
            | Event::CompactionStarted(_)
            | Event::CompactionUndone(_)
            | Event::ToolOutputsPruned(_)
            | Event::ChildStarted(_)
            | Event::MessagePinned(_)
            | Event::MessageUnpinned(_)
            | Event::RedactionApplied(_)
            | Event::FilesCaptured(_)
            | Event::RevertCleared(_)
            | Event::RevertCommitted(_) => {}
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
