//! One event in one line: what `log` lists and `replay --step` walks through.

use super::{input_in_brief, one_line};
use crate::format::{counted, money, thousands};
use annals_core::event::{FileChange, SessionCreated, StepEnded, ToolOutcome, Usage};
use annals_core::{Blobs, Event, Text};

/// What an event says, in one line. Control characters are the reader's to escape.
pub fn brief(event: &Event, directory: &str, blobs: &dyn Blobs) -> String {
    let line = |text: &Text| one_line(&text.resolve(blobs));
    let told = match event {
        Event::SessionCreated(created) => begun(created),
        Event::SessionForked(forked) => format!("continues {} from event {}", forked.parent, forked.cut),
        Event::SessionTitled(titled) => titled.title.clone(),
        Event::TitleFailed(failed) => format!("{}: {}", failed.error.kind, line(&failed.error.message)),
        Event::SessionMoved(moved) => moved.location.directory.clone(),
        Event::AgentSwitched(switched) => switched.agent.to_string(),
        Event::ModelSwitched(switched) => switched.model.to_string(),
        Event::InputAdmitted(admitted) => format!("{}: {}", admitted.delivery, line(&admitted.text)),
        Event::InputPromoted(promoted) => promoted.input.to_string(),
        Event::InputWithdrawn(withdrawn) => withdrawn.input.to_string(),
        Event::InputDeliveryChanged(changed) => format!("{} to {}", changed.input, changed.delivery),
        Event::EpochStarted(started) => {
            let keys: Vec<&str> = started.parts.iter().map(|part| part.key.as_str()).collect();
            let what = if started.known { keys.join(", ") } else { "baseline not recorded".to_owned() };
            format!("{}: {what}", started.cause)
        }
        Event::EpochReplacementBlocked(blocked) => format!("{}: {}", blocked.cause, joined(&blocked.keys)),
        Event::ContextAdmitted(told) if told.keys.is_empty() => line(&told.text),
        Event::ContextAdmitted(told) => format!("{}: {}", joined(&told.keys), line(&told.text)),
        Event::SnapshotAdvanced(advanced) => {
            let mut parts = Vec::new();
            if !advanced.set.is_empty() {
                parts.push(format!("set {}", joined(advanced.set.keys())));
            }
            if !advanced.removed.is_empty() {
                parts.push(format!("removed {}", joined(&advanced.removed)));
            }
            parts.join("; ")
        }
        Event::InstructionDiscovered(discovered) => discovered.path.clone(),
        Event::AgentProfileRecorded(recorded) => {
            let rules = counted(recorded.profile.permissions.len() as u64, "rule");
            format!("{}, {rules}", recorded.profile.agent)
        }
        Event::ModelProfileRecorded(recorded) => {
            let profile = &recorded.profile;
            format!("{}, {} of context, {}", profile.model, thousands(profile.context), profile.protocol)
        }
        Event::ToolsRecorded(recorded) => {
            let names: Vec<&str> = recorded.tools.iter().map(|tool| tool.name.as_str()).collect();
            format!("{}: {}", counted(names.len() as u64, "tool"), names.join(", "))
        }
        Event::OptionsRecorded(recorded) => {
            let options = &recorded.options;
            joined(options.controls.keys().chain(options.options.keys()).chain(options.body.keys()))
        }
        Event::RequestSent(sent) => {
            let again = if sent.attempt > 1 { format!(", attempt {}", sent.attempt) } else { String::new() };
            format!("{}{again} to {} as {}, {}", sent.purpose, sent.model, sent.agent, sent.digest.short())
        }
        Event::StepStarted(started) => format!("{} on {}", started.agent, started.model),
        Event::StepEnded(ended) => step_end(ended),
        Event::StepFailed(failed) => format!("{}: {}", failed.error.kind, line(&failed.error.message)),
        Event::RetryScheduled(retry) => format!("attempt {}: {}", retry.attempt, line(&retry.error.message)),
        Event::TextEnded(ended) => line(&ended.text),
        Event::ReasoningEnded(ended) => line(&ended.text),
        Event::ToolCalled(called) => {
            format!("{} {}", called.name, input_in_brief(&called.input, directory, blobs))
        }
        Event::ToolProgressed(progressed) => progressed.output.as_ref().map(line).unwrap_or_default(),
        Event::ToolSettled(settled) => {
            let text = settled.error.as_ref().filter(|_| settled.outcome != ToolOutcome::Completed);
            format!("{}: {}", settled.outcome, line(text.unwrap_or(&settled.output)))
        }
        Event::PermissionAsked(asked) => format!("{} {}", asked.action, asked.resources.join(" ")),
        Event::PermissionReplied(replied) => format!("{} by {}", replied.reply, replied.by),
        Event::CompactionStarted(started) => started.reason.to_string(),
        Event::CompactionEnded(ended) => format!("{}: {}", ended.reason, line(&ended.summary)),
        Event::CompactionFailed(failed) => format!("{}: {}", failed.error.kind, line(&failed.error.message)),
        Event::CompactionUndone(undone) => format!("that of event {}", undone.compaction),
        Event::ToolOutputsPruned(pruned) => counted(pruned.calls.len() as u64, "call"),
        Event::MessagePinned(pinned) => format!("event {}", pinned.message),
        Event::MessageUnpinned(unpinned) => format!("event {}", unpinned.message),
        Event::SyntheticAdded(added) => line(&added.text),
        Event::ShellRan(ran) => format!("$ {}", line(&ran.command)),
        Event::TodoUpdated(updated) => counted(updated.items.len() as u64, "thing"),
        Event::RedactionApplied(applied) => joined(applied.counts.keys()),
        Event::FilesCaptured(captured) => captured.tree.clone(),
        Event::FilesSummarised(summarised) => changed(&summarised.files),
        Event::RestoreBegun(begun) => begun.location.directory.clone(),
        Event::RestoreAbandoned(abandoned) => line(&abandoned.error.message),
        Event::DepartureBegun(begun) => begun.location.directory.clone(),
        Event::DepartureEnded(ended) => ended.error.as_ref().map(|error| line(&error.message)).unwrap_or_default(),
        Event::RevertStaged(staged) => format!("events {} and later", staged.first_removed),
        Event::RevertCleared(_) => String::new(),
        Event::RevertCommitted(committed) => format!("events {} and later", committed.first_removed),
        Event::ChildStarted(started) => format!("{} as {}", started.agent, started.child),
        Event::ChildSettled(settled) => format!("{}: {}", settled.outcome, line(&settled.result)),
    };
    told.replace('\n', " ")
}

/// `3 files changed, +10 -4`.
pub fn changed(files: &[FileChange]) -> String {
    let lines = |count: fn(&FileChange) -> u64| files.iter().map(count).fold(0, u64::saturating_add);
    let (added, removed) = (lines(|file| file.additions), lines(|file| file.deletions));
    format!("{} changed, +{} -{}", counted(files.len() as u64, "file"), thousands(added), thousands(removed))
}

fn begun(created: &SessionCreated) -> String {
    let origin = created.origin.as_ref().map(|origin| format!(", recorded by {}", origin.agent)).unwrap_or_default();
    format!("{} on {} in {}{origin}", created.agent, created.model, created.location.directory)
}

fn step_end(ended: &StepEnded) -> String {
    let mut parts = vec![ended.finish.to_string()];
    if let Some(Usage { input, output, reasoning, cache_read, cache_write }) = ended.usage {
        let read = input.saturating_add(cache_read).saturating_add(cache_write);
        let written = output.saturating_add(reasoning);
        parts.push(format!("{} in, {} out", thousands(read), thousands(written)));
    }
    if ended.cost > 0 {
        parts.push(money(ended.cost));
    }
    parts.join(", ")
}

fn joined<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}
