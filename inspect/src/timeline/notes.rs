//! What is told in a line or left out: everything but messages, calls and compactions.

use super::{Sort, Tale};
use crate::format::counted;
use annals_core::event::{DepartureEnded, FileChange};
use annals_core::{Event, Key, Record, Text};

impl Tale {
    /// Takes in a record that is no message, call or compaction.
    pub(super) fn aside(&mut self, record: &Record<'_>) {
        use Sort::{Context, Session, Warning};
        let (label, sort, line, more): (&'static str, Sort, String, Option<Text>) = match record.event {
            Event::SessionCreated(created) => {
                self.agent = created.agent.to_string();
                self.model = created.model.clone();
                return;
            }
            Event::SessionForked(forked) => {
                self.answered();
                let line = format!("continues session {} from event {}", forked.parent, forked.cut);
                ("fork", Session, line, None)
            }
            Event::SessionTitled(titled) => ("title", Session, titled.title.clone(), None),
            Event::TitleFailed(failed) => {
                let line = format!("a model was asked for a title and gave none ({})", failed.error.kind);
                ("title", Warning, line, Some(failed.error.message.clone()))
            }
            Event::FilesSummarised(summarised) => {
                let line = format!("so far {}", super::changed(&summarised.files));
                let file = |file: &FileChange| {
                    format!("{:<8} {} +{} -{}", file.status, file.path, file.additions, file.deletions)
                };
                let files: Vec<String> = summarised.files.iter().map(file).collect();
                ("files", Session, line, Some(files.join("\n").into()))
            }
            Event::RestoreAbandoned(abandoned) => {
                let line = "a restore of files came to nothing; they are as before it".to_owned();
                ("files", Warning, line, Some(abandoned.error.message.clone()))
            }
            Event::DepartureEnded(DepartureEnded { error: Some(error) }) => {
                let line = "the changes that a move took along stay at the source as well".to_owned();
                ("files", Warning, line, Some(error.message.clone()))
            }
            Event::SessionMoved(moved) => {
                ("moved", Session, format!("to {}; its Context Epoch ended", moved.location.directory), None)
            }
            Event::AgentSwitched(switched) => {
                let line = format!("{} takes over from {}", switched.agent, self.agent);
                self.agent = switched.agent.to_string();
                ("agent", Session, line, None)
            }
            Event::ModelSwitched(switched) => {
                let line = format!("{} takes over from {}", switched.model, self.model);
                self.model = switched.model.clone();
                ("model", Session, line, None)
            }
            Event::InputWithdrawn(withdrawn) => {
                self.waiting.retain(|waiting| waiting.input != withdrawn.input);
                ("withdrawn", Session, "a waiting input was taken back".to_owned(), None)
            }
            Event::InputDeliveryChanged(changed) => {
                ("input", Session, format!("a waiting input is now delivered as {}", changed.delivery), None)
            }
            Event::EpochStarted(started) if !started.known => {
                let line = format!("system prompt ({}): not recorded", started.cause);
                ("epoch", Context, line, None)
            }
            Event::EpochStarted(started) => {
                let chars: u64 = started.parts.iter().map(|part| part.text.chars()).sum();
                let keys = keys(started.parts.iter().map(|part| &part.key));
                let line = format!("system prompt ({}): {} from {keys}", started.cause, counted(chars, "character"));
                ("epoch", Context, line, None)
            }
            Event::EpochReplacementBlocked(blocked) => {
                let keys = keys(&blocked.keys);
                let line = format!("a new system prompt is due ({}), but {keys} cannot be read", blocked.cause);
                ("blocked", Warning, line, None)
            }
            Event::ContextAdmitted(told) => {
                // Agents that Sessions are imported from may not say which sources a message speaks of.
                let place = if told.keys.is_empty() { String::new() } else { format!(": {}", keys(&told.keys)) };
                let line = format!("context update sent to the model{place}");
                ("context", Context, line, Some(told.text.clone()))
            }
            Event::InstructionDiscovered(discovered) => {
                ("context", Context, format!("discovered {}", discovered.path), None)
            }
            Event::CompactionUndone(undone) => {
                ("undone", Session, format!("compaction at event {} undone", undone.compaction), None)
            }
            Event::ToolOutputsPruned(pruned) => {
                let line = format!("{} left the model's view", counted(pruned.calls.len() as u64, "old tool output"));
                ("pruned", Context, line, None)
            }
            Event::MessagePinned(pinned) => {
                ("pinned", Session, format!("the message at event {}", pinned.message), None)
            }
            Event::MessageUnpinned(unpinned) => {
                ("unpinned", Session, format!("the message at event {}", unpinned.message), None)
            }
            Event::SyntheticAdded(added) => ("runtime", Session, String::new(), Some(added.text.clone())),
            Event::ShellRan(ran) => {
                let exit =
                    ran.exit.filter(|exit| *exit != 0).map(|exit| format!("  (exit {exit})")).unwrap_or_default();
                let command = ran.command.inline().unwrap_or("a long command");
                ("shell", Session, format!("$ {command}{exit}"), Some(ran.output.clone()))
            }
            Event::TodoUpdated(updated) => {
                let done = updated.items.iter().filter(|item| item.status == "completed").count();
                let line = format!("{done} of {} done", counted(updated.items.len() as u64, "thing"));
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
            Event::RedactionApplied(applied) => {
                let kinds: Vec<String> = applied.counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
                ("redacted", Warning, kinds.join(", "), None)
            }
            Event::RevertStaged(staged) => {
                let line =
                    format!("undo staged: events {} and later{}", staged.first_removed, files(staged.files.len()));
                ("revert", Warning, line, None)
            }
            Event::RevertCleared(_) => ("revert", Session, "the staged undo was cleared".to_owned(), None),
            Event::RevertCommitted(committed) => {
                self.answered();
                let line = format!("undone: events {} and later", committed.first_removed);
                ("revert", Warning, line, None)
            }
            Event::ChildStarted(started) => {
                let how = if started.background { " in the background" } else { "" };
                ("child", Session, format!("{} began Session {}{how}", started.agent, started.child), None)
            }
            Event::ChildSettled(settled) => {
                let line = format!("Session {} {}", settled.child, settled.outcome);
                ("child", Session, line, Some(settled.result.clone()))
            }
            // Told with the message that they came with, or by the commands that show requests and profiles.
            Event::SnapshotAdvanced(_)
            | Event::AgentProfileRecorded(_)
            | Event::ModelProfileRecorded(_)
            | Event::ToolsRecorded(_)
            | Event::OptionsRecorded(_)
            | Event::RequestSent(_)
            | Event::ToolProgressed(_)
            | Event::RestoreBegun(_)
            | Event::DepartureBegun(_)
            | Event::DepartureEnded(_)
            | Event::FilesCaptured(_) => return,
            // Told by `Tale::apply`.
            Event::InputAdmitted(_)
            | Event::InputPromoted(_)
            | Event::StepStarted(_)
            | Event::StepEnded(_)
            | Event::StepFailed(_)
            | Event::RetryScheduled(_)
            | Event::TextEnded(_)
            | Event::ReasoningEnded(_)
            | Event::ToolCalled(_)
            | Event::ToolSettled(_)
            | Event::PermissionAsked(_)
            | Event::PermissionReplied(_)
            | Event::CompactionStarted(_)
            | Event::CompactionEnded(_)
            | Event::CompactionFailed(_) => return,
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
