//! What is told in a line or left out: everything but messages, calls and compactions.

use super::{Sort, Tale};
use crate::format::counted;
use annals_core::event::{
    ChildEvent, CompactionEvent, ContextEvent, DepartureEnded, FileChange, FilesEvent, InputEvent, MessageEvent,
    PermissionEvent, ProfileEvent, SessionEvent, StepEvent, ToolEvent,
};
use annals_core::{Event, Key, Record, Text};

impl Tale {
    /// Takes in a record that is no message, call or compaction.
    pub(super) fn aside(&mut self, record: &Record<'_>) {
        use Sort::{Context, Session, Warning};
        let (label, sort, line, more): (&'static str, Sort, String, Option<Text>) = match record.event {
            Event::Session(SessionEvent::Created(created)) => {
                self.agent = created.agent.to_string();
                self.model = created.model.clone();
                return;
            }
            Event::Session(SessionEvent::Forked(forked)) => {
                self.answered();
                let line =
                    format!("continues session {} after event {}", forked.parent, forked.cut.0.saturating_sub(1));
                ("fork", Session, line, None)
            }
            Event::Session(SessionEvent::Titled(titled)) => ("title", Session, titled.title.clone(), None),
            Event::Session(SessionEvent::TitleFailed(failed)) => {
                let line = format!("no title from the model ({})", failed.error.kind);
                ("title", Warning, line, Some(failed.error.message.clone()))
            }
            Event::Files(FilesEvent::Summarised(summarised)) => {
                let line = format!("so far {}", super::changed(&summarised.files));
                let file = |file: &FileChange| {
                    format!("{:<8} {} +{} -{}", file.status, file.path, file.additions, file.deletions)
                };
                let files: Vec<String> = summarised.files.iter().map(file).collect();
                ("files", Session, line, Some(files.join("\n").into()))
            }
            Event::Files(FilesEvent::RestoreAbandoned(abandoned)) => {
                let line = "restoring files failed; they are unchanged".to_owned();
                ("files", Warning, line, Some(abandoned.error.message.clone()))
            }
            Event::Files(FilesEvent::DepartureEnded(DepartureEnded { error: Some(error) })) => {
                let line = "the moved changes could not be removed from the old directory".to_owned();
                ("files", Warning, line, Some(error.message.clone()))
            }
            Event::Session(SessionEvent::Moved(moved)) => (
                "moved",
                Session,
                format!("to {}; the next request gets a new system prompt", moved.location.directory),
                None,
            ),
            Event::Session(SessionEvent::AgentSwitched(switched)) => {
                let line = format!("switched to {} from {}", switched.agent, self.agent);
                self.agent = switched.agent.to_string();
                ("agent", Session, line, None)
            }
            Event::Session(SessionEvent::ModelSwitched(switched)) => {
                let line = format!("switched to {} from {}", switched.model, self.model);
                self.model = switched.model.clone();
                ("model", Session, line, None)
            }
            Event::Input(InputEvent::Withdrawn(withdrawn)) => {
                self.waiting.retain(|waiting| waiting.input != withdrawn.input);
                ("withdrawn", Session, "a waiting input was withdrawn".to_owned(), None)
            }
            Event::Input(InputEvent::DeliveryChanged(changed)) => {
                ("input", Session, format!("the delivery of a waiting input is now {}", changed.delivery), None)
            }
            Event::Context(ContextEvent::EpochStarted(started)) if !started.known => {
                let line = format!("system prompt ({}): not recorded", started.cause);
                ("epoch", Context, line, None)
            }
            Event::Context(ContextEvent::EpochStarted(started)) => {
                let chars: u64 = started.parts.iter().map(|part| part.text.chars()).sum();
                let keys = keys(started.parts.iter().map(|part| &part.key));
                let line = format!("system prompt ({}): {} from {keys}", started.cause, counted(chars, "character"));
                ("epoch", Context, line, None)
            }
            Event::Context(ContextEvent::EpochReplacementBlocked(blocked)) => {
                let keys = keys(&blocked.keys);
                let line = format!("a new system prompt is due ({}), but {keys} cannot be read", blocked.cause);
                ("blocked", Warning, line, None)
            }
            Event::Context(ContextEvent::Admitted(told)) => {
                // Agents that Sessions are imported from may not say which sources a message speaks of.
                let place = if told.keys.is_empty() { String::new() } else { format!(": {}", keys(&told.keys)) };
                let line = format!("context update sent to the model{place}");
                ("context", Context, line, Some(told.text.clone()))
            }
            Event::Context(ContextEvent::InstructionDiscovered(discovered)) => {
                ("context", Context, format!("discovered {}", discovered.path), None)
            }
            Event::Compaction(CompactionEvent::Undone(undone)) => {
                ("undone", Session, format!("compaction at event {} undone", undone.compaction), None)
            }
            Event::Compaction(CompactionEvent::ToolOutputsPruned(pruned)) => {
                let line = format!(
                    "cleared {} in what the model reads",
                    counted(pruned.calls.len() as u64, "old tool output")
                );
                ("pruned", Context, line, None)
            }
            Event::Message(MessageEvent::Pinned(pinned)) => {
                ("pinned", Session, format!("the message at event {}", pinned.message), None)
            }
            Event::Message(MessageEvent::Unpinned(unpinned)) => {
                ("unpinned", Session, format!("the message at event {}", unpinned.message), None)
            }
            Event::Message(MessageEvent::SyntheticAdded(added)) => {
                ("runtime", Session, String::new(), Some(added.text.clone()))
            }
            Event::Message(MessageEvent::ShellRan(ran)) => {
                let exit =
                    ran.exit.filter(|exit| *exit != 0).map(|exit| format!("  (exit {exit})")).unwrap_or_default();
                let command = ran.command.inline().unwrap_or("a long command");
                ("shell", Session, format!("$ {command}{exit}"), Some(ran.output.clone()))
            }
            Event::Message(MessageEvent::TodoUpdated(updated)) => {
                let done = updated.items.iter().filter(|item| item.status == "completed").count();
                let line = format!("{done} of {} done", counted(updated.items.len() as u64, "item"));
                let mark = |status: &str| match status {
                    "completed" => "✓",
                    "in_progress" => "▸",
                    "cancelled" => "✗",
                    _ => "·",
                };
                let items: Vec<String> =
                    updated.items.iter().map(|item| format!("{} {}", mark(&item.status), item.content)).collect();
                ("todo", Session, line, Some(items.join("\n").into()))
            }
            Event::Message(MessageEvent::RedactionApplied(applied)) => {
                let kinds: Vec<String> = applied.counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
                ("redacted", Warning, kinds.join(", "), None)
            }
            Event::Files(FilesEvent::RevertStaged(staged)) => {
                let line =
                    format!("undo staged: events {} and later{}", staged.first_removed, files(staged.files.len()));
                ("revert", Warning, line, None)
            }
            Event::Files(FilesEvent::RevertCleared(_)) => {
                ("revert", Session, "the staged undo was cleared".to_owned(), None)
            }
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.answered();
                let line = format!("undone: events {} and later", committed.first_removed);
                ("revert", Warning, line, None)
            }
            Event::Child(ChildEvent::Started(started)) => {
                let how = if started.background { " in the background" } else { "" };
                ("child", Session, format!("{} started as session {}{how}", started.agent, started.child), None)
            }
            Event::Child(ChildEvent::Settled(settled)) => {
                let line = format!("session {} {}", settled.child, settled.outcome);
                ("child", Session, line, Some(settled.result.clone()))
            }
            // Told with the message that they came with, or by the commands that show requests and profiles.
            Event::Context(ContextEvent::SnapshotAdvanced(_))
            | Event::Profile(ProfileEvent::AgentRecorded(_))
            | Event::Profile(ProfileEvent::ModelRecorded(_))
            | Event::Profile(ProfileEvent::ToolsRecorded(_))
            | Event::Profile(ProfileEvent::OptionsRecorded(_))
            | Event::Step(StepEvent::RequestSent(_))
            | Event::Tool(ToolEvent::Progressed(_))
            | Event::Files(FilesEvent::RestoreBegun(_))
            | Event::Files(FilesEvent::DepartureBegun(_))
            | Event::Files(FilesEvent::DepartureEnded(_))
            | Event::Files(FilesEvent::Captured(_)) => return,
            // Told by `Tale::apply`.
            Event::Input(InputEvent::Admitted(_))
            | Event::Input(InputEvent::Promoted(_))
            | Event::Step(StepEvent::Started(_))
            | Event::Step(StepEvent::Ended(_))
            | Event::Step(StepEvent::Failed(_))
            | Event::Step(StepEvent::RetryScheduled(_))
            | Event::Step(StepEvent::TextEnded(_))
            | Event::Step(StepEvent::ReasoningEnded(_))
            | Event::Tool(ToolEvent::Called(_))
            | Event::Tool(ToolEvent::Settled(_))
            | Event::Permission(PermissionEvent::Asked(_))
            | Event::Permission(PermissionEvent::Replied(_))
            | Event::Compaction(CompactionEvent::Started(_))
            | Event::Compaction(CompactionEvent::Ended(_))
            | Event::Compaction(CompactionEvent::Failed(_)) => return,
        };
        self.note(record, label, sort, line, more);
    }
}

fn files(count: usize) -> String {
    if count == 0 { String::new() } else { format!("; {} restored", counted(count as u64, "file")) }
}

/// Keys for people, separated by commas.
fn keys<'a>(keys: impl IntoIterator<Item = &'a Key>) -> String {
    let keys: Vec<&str> = keys.into_iter().map(Key::as_str).collect();
    if keys.is_empty() { "no source".to_owned() } else { keys.join(", ") }
}
