//! Notes of a timeline in words.

use super::{changed, question, reply};
use crate::format::{counted, duration};
use annals_core::event::{Failure, FileChange, Todo};
use annals_core::{Key, Text, Time};
use annals_projections::{TimelineNote, UNKNOWN_PART};

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The session.
    Session,
    /// System context.
    Context,
    /// Something to check.
    Warning,
    /// A failure.
    Failure,
}

/// A note in words: a label, a line, and perhaps a text to quote below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteLine {
    /// One word, such as `title`.
    pub label: &'static str,
    /// What the note is about.
    pub topic: Topic,
    /// The line; empty when `more` says everything.
    pub line: String,
    /// A text to quote.
    pub more: Option<Text>,
}

/// The words of a note that was recorded at `at`.
pub fn note_line(note: &TimelineNote, at: Time) -> NoteLine {
    use Topic::{Context, Session, Warning};
    let (label, topic, line, more): (&'static str, Topic, String, Option<Text>) = match note {
        TimelineNote::Forked { parent, cut } => {
            ("fork", Session, format!("continues session {parent} after event {}", cut.0.saturating_sub(1)), None)
        }
        TimelineNote::Titled { title } => ("title", Session, title.clone(), None),
        TimelineNote::TitleFailed { error } => {
            let line = format!("no title from the model ({})", error.kind);
            ("title", Warning, line, Some(error.message.clone()))
        }
        TimelineNote::Moved { directory } => {
            ("moved", Session, format!("to {directory}; the next request gets a new system prompt"), None)
        }
        TimelineNote::AgentSwitched { from, to } => ("agent", Session, format!("switched to {to} from {from}"), None),
        TimelineNote::ModelSwitched { from, to } => ("model", Session, format!("switched to {to} from {from}"), None),
        TimelineNote::ProcessAttached { process } => ("process", Session, process.to_string(), None),
        TimelineNote::Withdrawn => ("withdrawn", Session, "a waiting input was withdrawn".to_owned(), None),
        TimelineNote::DeliveryChanged { delivery } => {
            ("input", Session, format!("the delivery of a waiting input is now {delivery}"), None)
        }
        TimelineNote::Configured { system, tools } => {
            let text = system.as_ref().map(|_| "a system text of its own".to_owned());
            let tools =
                tools.iter().map(|(name, offered)| format!("{} {name}", if *offered { "with" } else { "without" }));
            let parts: Vec<String> = text.into_iter().chain(tools).collect();
            ("input", Session, format!("the next input has {}", parts.join(", ")), system.clone())
        }
        TimelineNote::EpochStarted { cause, known: false, .. } => {
            ("epoch", Context, format!("system prompt ({cause}): not recorded"), None)
        }
        TimelineNote::EpochStarted { cause, chars, keys, .. } => {
            let line = format!("system prompt ({cause}): {} from {}", counted(*chars, "character"), listed(keys));
            ("epoch", Context, line, None)
        }
        TimelineNote::EpochBlocked { cause, keys } => {
            let line = format!("a new system prompt is due ({cause}), but {} cannot be read", listed(keys));
            ("blocked", Warning, line, None)
        }
        TimelineNote::ContextUpdate { keys, text } => {
            if keys.iter().any(|key| key.as_str() == UNKNOWN_PART) {
                return NoteLine {
                    label: "unknown",
                    topic: Context,
                    line: "part of a message that no reader knows".to_owned(),
                    more: Some(text.clone()),
                };
            }
            // An import may not know which sources a message is about.
            let sources = if keys.is_empty() { String::new() } else { format!(": {}", listed(keys)) };
            ("context", Context, format!("context update sent to the model{sources}"), Some(text.clone()))
        }
        TimelineNote::InstructionDiscovered { path } => ("context", Context, format!("discovered {path}"), None),
        TimelineNote::RetryScheduled { attempt, follows, error } => {
            let after = duration(follows.millis().saturating_sub(at.millis()));
            let line = format!("attempt {attempt} in {after}: {}", error.kind);
            ("retry", Warning, line, Some(error.message.clone()))
        }
        TimelineNote::StepFailed { error } => ("failed", Topic::Failure, failure(error), Some(error.message.clone())),
        TimelineNote::PermissionAsked { action, resources } => ("asks", Warning, question(action, resources), None),
        TimelineNote::PermissionReplied(replied) => ("answer", Session, reply(replied), None),
        TimelineNote::CompactionUndone { compaction } => {
            ("undone", Session, format!("compaction at event {compaction} undone"), None)
        }
        TimelineNote::MessagesEdited { replaced, left_out } => {
            let made = [(*replaced, "replaced"), (*left_out, "left out")];
            let made: Vec<String> = made
                .into_iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, verb)| format!("{verb} {}", counted(count, "part")))
                .collect();
            ("edited", Context, format!("the agent {} in what it sends", made.join(", ")), None)
        }
        TimelineNote::OutputsPruned { calls, shortened } => {
            let made = [(*calls, "cleared", "old tool output"), (*shortened, "shortened", "tool output")];
            let made: Vec<String> = made
                .into_iter()
                .filter(|(count, ..)| *count > 0)
                .map(|(count, verb, noun)| format!("{verb} {}", counted(count, noun)))
                .collect();
            ("pruned", Context, format!("{} in what the model reads", made.join(", ")), None)
        }
        TimelineNote::Pinned { message } => ("pinned", Session, format!("the message at event {message}"), None),
        TimelineNote::Unpinned { message } => ("unpinned", Session, format!("the message at event {message}"), None),
        TimelineNote::Synthetic { text } => ("runtime", Session, String::new(), Some(text.clone())),
        TimelineNote::Shell(ran) => {
            let exit = ran.exit.filter(|exit| *exit != 0).map(|exit| format!("  (exit {exit})")).unwrap_or_default();
            let command = ran.command.inline().unwrap_or("a long command");
            ("shell", Session, format!("$ {command}{exit}"), Some(ran.output.clone()))
        }
        TimelineNote::Todos { items } => {
            let lines: Vec<String> = items.iter().map(todo).collect();
            let done = items.iter().filter(|item| item.status == "completed").count();
            let line = format!("{done} of {} done", counted(items.len() as u64, "item"));
            ("todo", Session, line, Some(lines.join("\n").into()))
        }
        TimelineNote::Redacted { counts } => {
            let kinds: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            ("redacted", Warning, kinds.join(", "), None)
        }
        TimelineNote::TextsErased { texts, reason, by } => {
            ("erased", Warning, format!("{} erased by {by}", counted(*texts, "text")), Some(reason.clone()))
        }
        TimelineNote::Forgotten => ("forgotten", Warning, "lists of sessions leave it out".to_owned(), None),
        TimelineNote::FilesChanged { files } => {
            let lines: Vec<String> = files.iter().map(file).collect();
            ("files", Session, format!("so far {}", changed(files)), Some(lines.join("\n").into()))
        }
        TimelineNote::RestoreAbandoned { error } => {
            let line = "restoring files failed; they are unchanged".to_owned();
            ("files", Warning, line, Some(error.message.clone()))
        }
        TimelineNote::DepartureFailed { error } => {
            let line = "the moved changes could not be removed from the old directory".to_owned();
            ("files", Warning, line, Some(error.message.clone()))
        }
        TimelineNote::RevertStaged { first_removed, files } => {
            let files = if *files == 0 { String::new() } else { format!("; {} restored", counted(*files, "file")) };
            ("revert", Warning, format!("undo staged: events {first_removed} and later{files}"), None)
        }
        TimelineNote::RevertCleared => ("revert", Session, "the staged undo was cleared".to_owned(), None),
        TimelineNote::RevertCommitted { first_removed } => {
            ("revert", Warning, format!("undone: events {first_removed} and later"), None)
        }
        TimelineNote::ChildStarted(started) => {
            let how = if started.background { " in the background" } else { "" };
            ("child", Session, format!("{} started as session {}{how}", started.agent, started.child), None)
        }
        TimelineNote::ChildSettled(settled) => {
            let line = format!("session {} {}", settled.child, settled.outcome);
            ("child", Session, line, Some(settled.result.clone()))
        }
    };
    NoteLine { label, topic, line, more }
}

fn failure(failure: &Failure) -> String {
    let status = failure.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
    format!("{}{status}", failure.kind)
}

fn file(file: &FileChange) -> String {
    format!("{:<8} {} +{} -{}", file.status, file.path, file.additions, file.deletions)
}

fn todo(item: &Todo) -> String {
    let mark = match item.status.as_str() {
        "completed" => "✓",
        "in_progress" => "▸",
        "cancelled" => "✗",
        _ => "·",
    };
    format!("{mark} {}", item.content)
}

/// Keys for people, separated by commas.
fn listed(keys: &[Key]) -> String {
    let keys: Vec<&str> = keys.iter().map(Key::as_str).collect();
    if keys.is_empty() { "no source".to_owned() } else { keys.join(", ") }
}
