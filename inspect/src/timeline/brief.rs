//! One event in one line: what `log` lists and `replay --step` walks through.

use super::{input_in_brief, one_line};
use crate::format::{counted, money, thousands};
use annals_core::event::{
    ChildEvent, CompactionEvent, ContextEvent, ErasureEvent, FileChange, FilesEvent, InputEvent, MessageEvent,
    PermissionEvent, ProfileEvent, SessionCreated, SessionEvent, StepEnded, StepEvent, ToolEvent, ToolOutcome, Usage,
};
use annals_core::{Blobs, Event, Text};

/// What an event says, in one line. Control characters are the reader's to escape.
pub fn brief(event: &Event, directory: &str, blobs: &dyn Blobs) -> String {
    let line = |text: &Text| one_line(&text.resolve(blobs));
    let summary = match event {
        Event::Session(SessionEvent::Created(created)) => begun(created),
        Event::Session(SessionEvent::Forked(forked)) => {
            format!("continues {} after event {}", forked.parent, forked.cut.0.saturating_sub(1))
        }
        Event::Session(SessionEvent::Titled(titled)) => titled.title.clone(),
        Event::Session(SessionEvent::TitleFailed(failed)) => {
            format!("{}: {}", failed.error.kind, line(&failed.error.message))
        }
        Event::Session(SessionEvent::Moved(moved)) => moved.location.directory.clone(),
        Event::Session(SessionEvent::AgentSwitched(switched)) => switched.agent.to_string(),
        Event::Session(SessionEvent::ModelSwitched(switched)) => switched.model.to_string(),
        Event::Session(SessionEvent::ProcessAttached(attached)) => attached.process.to_string(),
        Event::Input(InputEvent::Admitted(admitted)) => format!("{}: {}", admitted.delivery, line(&admitted.text)),
        Event::Input(InputEvent::Promoted(promoted)) => promoted.input.to_string(),
        Event::Input(InputEvent::Withdrawn(withdrawn)) => withdrawn.input.to_string(),
        Event::Input(InputEvent::DeliveryChanged(changed)) => format!("{} to {}", changed.input, changed.delivery),
        Event::Input(InputEvent::Configured(configured)) => {
            let system = configured.system.as_ref().map(|system| format!("system text: {}", line(system)));
            let tools =
                configured.tools.iter().map(|(name, offered)| format!("{}{name}", if *offered { "+" } else { "-" }));
            let parts: Vec<String> = system.into_iter().chain(tools).collect();
            format!("{}: {}", configured.input, parts.join(" "))
        }
        Event::Context(ContextEvent::EpochStarted(started)) => {
            let keys: Vec<&str> = started.parts.iter().map(|part| part.key.as_str()).collect();
            let what = if started.known { keys.join(", ") } else { "baseline not recorded".to_owned() };
            format!("{}: {what}", started.cause)
        }
        Event::Context(ContextEvent::EpochReplacementBlocked(blocked)) => {
            format!("{}: {}", blocked.cause, joined(&blocked.keys))
        }
        Event::Context(ContextEvent::Admitted(admitted)) if admitted.keys.is_empty() => line(&admitted.text),
        Event::Context(ContextEvent::Admitted(admitted)) => {
            format!("{}: {}", joined(&admitted.keys), line(&admitted.text))
        }
        Event::Context(ContextEvent::SnapshotAdvanced(advanced)) => {
            let mut parts = Vec::new();
            if !advanced.set.is_empty() {
                parts.push(format!("set {}", joined(advanced.set.keys())));
            }
            if !advanced.removed.is_empty() {
                parts.push(format!("removed {}", joined(&advanced.removed)));
            }
            parts.join("; ")
        }
        Event::Context(ContextEvent::InstructionDiscovered(discovered)) => discovered.path.clone(),
        Event::Profile(ProfileEvent::AgentRecorded(recorded)) => {
            let rules = counted(recorded.profile.permissions.len() as u64, "rule");
            format!("{}, {rules}", recorded.profile.agent)
        }
        Event::Profile(ProfileEvent::ModelRecorded(recorded)) => {
            let profile = &recorded.profile;
            format!("{}, {} of context, {}", profile.model, thousands(profile.context), profile.protocol)
        }
        Event::Profile(ProfileEvent::ToolsRecorded(recorded)) => {
            let names: Vec<&str> = recorded.tools.iter().map(|tool| tool.name.as_str()).collect();
            format!("{}: {}", counted(names.len() as u64, "tool"), names.join(", "))
        }
        Event::Profile(ProfileEvent::OptionsRecorded(recorded)) => {
            let options = &recorded.options;
            joined(options.controls.keys().chain(options.options.keys()).chain(options.body.keys()))
        }
        Event::Step(StepEvent::RequestSent(sent)) => {
            let again = if sent.attempt > 1 { format!(", attempt {}", sent.attempt) } else { String::new() };
            format!("{}{again} to {} as {}, {}", sent.purpose, sent.model, sent.agent, sent.digest.short())
        }
        Event::Step(StepEvent::RequestRecorded(recorded)) => {
            let pieces = recorded.pieces.iter().map(|piece| piece.bytes()).sum::<u64>();
            format!("{}, {} new pieces of {pieces} bytes", recorded.target, recorded.pieces.len())
        }
        Event::Step(StepEvent::AnswerRecorded(answer)) => {
            let status = answer.status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
            let bytes = answer.body.as_ref().map_or(0, |body| body.bytes());
            format!("{status}, {bytes} bytes{}", if answer.complete { "" } else { ", broken off" })
        }
        Event::Step(StepEvent::Started(started)) => format!("{} on {}", started.agent, started.model),
        Event::Step(StepEvent::Ended(ended)) => step_end(ended),
        Event::Step(StepEvent::Failed(failed)) => format!("{}: {}", failed.error.kind, line(&failed.error.message)),
        Event::Step(StepEvent::RetryScheduled(retry)) => {
            format!("attempt {}: {}", retry.attempt, line(&retry.error.message))
        }
        Event::Step(StepEvent::TextEnded(ended)) => line(&ended.text),
        Event::Step(StepEvent::ReasoningEnded(ended)) => line(&ended.text),
        Event::Tool(ToolEvent::Called(called)) => {
            format!("{} {}", called.name, input_in_brief(&called.input, directory, blobs))
        }
        Event::Tool(ToolEvent::Progressed(progressed)) => progressed.output.as_ref().map(line).unwrap_or_default(),
        Event::Tool(ToolEvent::Settled(settled)) => {
            let text = settled.error.as_ref().filter(|_| settled.outcome != ToolOutcome::Completed);
            format!("{}: {}", settled.outcome, line(text.unwrap_or(&settled.output)))
        }
        Event::Permission(PermissionEvent::Asked(asked)) => format!("{} {}", asked.action, asked.resources.join(" ")),
        Event::Permission(PermissionEvent::Replied(replied)) => format!("{} by {}", replied.reply, replied.by),
        Event::Compaction(CompactionEvent::Started(started)) => started.reason.to_string(),
        Event::Compaction(CompactionEvent::Ended(ended)) => format!("{}: {}", ended.reason, line(&ended.summary)),
        Event::Compaction(CompactionEvent::Completed(ended)) => format!("{}: {}", ended.reason, line(&ended.summary)),
        Event::Compaction(CompactionEvent::Failed(failed)) => {
            format!("{}: {}", failed.error.kind, line(&failed.error.message))
        }
        Event::Compaction(CompactionEvent::Undone(undone)) => format!("that of event {}", undone.compaction),
        Event::Compaction(CompactionEvent::ToolOutputsPruned(pruned)) => counted(pruned.calls.len() as u64, "call"),
        Event::Compaction(CompactionEvent::ToolOutputsReduced(reduced)) => {
            counted((reduced.calls.len() + reduced.shortened.len()) as u64, "call")
        }
        Event::Compaction(CompactionEvent::CallsReduced(reduced)) => {
            counted(reduced.calls.iter().chain(reduced.shortened()).count() as u64, "call")
        }
        Event::Message(MessageEvent::Pinned(pinned)) => format!("event {}", pinned.message),
        Event::Message(MessageEvent::Unpinned(unpinned)) => format!("event {}", unpinned.message),
        Event::Message(MessageEvent::SyntheticAdded(added)) => line(&added.text),
        Event::Message(MessageEvent::ShellRan(ran)) => format!("$ {}", line(&ran.command)),
        Event::Message(MessageEvent::TodoUpdated(updated)) => counted(updated.items.len() as u64, "item"),
        Event::Message(MessageEvent::RedactionApplied(applied)) => joined(applied.counts.keys()),
        Event::Message(MessageEvent::Edited(edited)) => counted(edited.edits.len() as u64, "part"),
        Event::Message(MessageEvent::UnknownPart(part)) => format!("{}: {}", part.pointer, line(&part.text)),
        Event::Files(FilesEvent::Captured(captured)) => captured.tree.clone(),
        Event::Files(FilesEvent::Summarised(summarised)) => changed(&summarised.files),
        Event::Files(FilesEvent::RestoreBegun(begun)) => begun.location.directory.clone(),
        Event::Files(FilesEvent::RestoreAbandoned(abandoned)) => line(&abandoned.error.message),
        Event::Files(FilesEvent::DepartureBegun(begun)) => begun.location.directory.clone(),
        Event::Files(FilesEvent::DepartureEnded(ended)) => {
            ended.error.as_ref().map(|error| line(&error.message)).unwrap_or_default()
        }
        Event::Files(FilesEvent::RevertStaged(staged)) => format!("events {} and later", staged.first_removed),
        Event::Files(FilesEvent::RevertCleared(_)) => String::new(),
        Event::Files(FilesEvent::RevertCommitted(committed)) => format!("events {} and later", committed.first_removed),
        Event::Child(ChildEvent::Started(started)) => format!("{} as {}", started.agent, started.child),
        Event::Child(ChildEvent::Settled(settled)) => format!("{}: {}", settled.outcome, line(&settled.result)),
        Event::Erasure(ErasureEvent::TextsErased(erased)) => {
            format!("{} by {}: {}", counted(erased.what.len() as u64, "text"), erased.by, line(&erased.reason))
        }
        Event::Erasure(ErasureEvent::Forgotten(_)) => String::new(),
    };
    summary.replace('\n', " ")
}

/// `3 files changed, +10 -4`.
pub fn changed(files: &[FileChange]) -> String {
    let lines = |count: fn(&FileChange) -> u64| files.iter().map(count).fold(0, u64::saturating_add);
    let (added, removed) = (lines(|file| file.additions), lines(|file| file.deletions));
    format!("{} changed, +{} -{}", counted(files.len() as u64, "file"), thousands(added), thousands(removed))
}

fn begun(created: &SessionCreated) -> String {
    let recorded = match (&created.process, &created.origin) {
        (Some(process), Some(_)) => format!(", recorded by {process}"),
        (Some(process), None) => format!(", {process}"),
        (None, Some(origin)) => format!(", recorded by {}", origin.agent),
        (None, None) => String::new(),
    };
    format!("{} on {} in {}{recorded}", created.agent, created.model, created.location.directory)
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
