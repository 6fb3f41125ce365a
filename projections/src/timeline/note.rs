//! The facts that a timeline shows in a line: everything but messages, calls and compactions.

use super::Timeline;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{
    ChildEvent, ChildSettled, ChildStarted, CompactionEvent, ContextEvent, Delivery, EpochCause, ErasureEvent, Failure,
    FileChange, FilesEvent, MessageEvent, PermissionReplied, ProcessInfo, SessionEvent, ShellRan, Todo,
};
use annals_core::{AgentName, Key, ModelName, Record, Seq, SessionId, Text, Time};
use serde::{Deserialize, Serialize};

/// A fact that a timeline shows in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TimelineNote {
    /// The session continues another one.
    Forked {
        /// The session that it continues.
        parent: SessionId,
        /// The first event that is not inherited.
        cut: Seq,
    },
    /// The session has a title.
    Titled {
        /// The title.
        title: String,
    },
    /// A title request gave no title.
    TitleFailed {
        /// The error.
        error: Failure,
    },
    /// The session moved; its context epoch ended.
    Moved {
        /// The directory that it moved to.
        directory: String,
    },
    /// Another agent was selected.
    AgentSwitched {
        /// The agent before.
        from: AgentName,
        /// The agent from here on.
        to: AgentName,
    },
    /// A process began to append.
    ProcessAttached {
        /// Which one.
        process: ProcessInfo,
    },
    /// Another model was selected.
    ModelSwitched {
        /// The model before.
        from: ModelName,
        /// The model from here on.
        to: ModelName,
    },
    /// A waiting input was withdrawn.
    Withdrawn,
    /// A waiting input is delivered in another way.
    DeliveryChanged {
        /// How, from here on.
        delivery: Delivery,
    },
    /// A waiting input brought a system text, or a choice of tools.
    Configured {
        /// Its system text.
        system: Option<Text>,
        /// Whether tools are offered, by name or pattern.
        tools: BTreeMap<String, bool>,
    },
    /// A context epoch began.
    EpochStarted {
        /// The cause.
        cause: EpochCause,
        /// Whether its baseline was recorded.
        known: bool,
        /// The length of the baseline's parts in Unicode scalar values.
        chars: u64,
        /// The sources of the baseline.
        keys: Vec<Key>,
    },
    /// A new baseline was due, but some sources could not be read.
    EpochBlocked {
        /// Why it was due.
        cause: EpochCause,
        /// The sources that could not be read.
        keys: Vec<Key>,
    },
    /// A context message was sent to the model.
    ContextUpdate {
        /// The sources that changed; an import may not know them.
        keys: Vec<Key>,
        /// The exact text.
        text: Text,
    },
    /// An instruction file was discovered.
    InstructionDiscovered {
        /// The file.
        path: String,
    },
    /// An attempt failed, and another one follows.
    RetryScheduled {
        /// The number of the attempt that follows.
        attempt: u32,
        /// When it follows.
        follows: Time,
        /// Why it is needed.
        error: Failure,
    },
    /// An answer failed.
    StepFailed {
        /// The error.
        error: Failure,
    },
    /// A permission question that belongs to no open call.
    PermissionAsked {
        /// The action that needs permission.
        action: String,
        /// The resources that the action concerns.
        resources: Vec<String>,
    },
    /// A reply to a permission question that belongs to no open call.
    PermissionReplied(PermissionReplied),
    /// A compaction was undone.
    CompactionUndone {
        /// Its end.
        compaction: Seq,
    },
    /// Tool outputs were made smaller in the model's view.
    OutputsPruned {
        /// How many were cleared.
        calls: u64,
        /// How many were shortened to their two ends.
        shortened: u64,
    },
    /// The agent changed what it sends of the conversation.
    MessagesEdited {
        /// How many parts were replaced.
        replaced: u64,
        /// How many are left out.
        left_out: u64,
    },
    /// A message was pinned.
    Pinned {
        /// The event that made the message.
        message: Seq,
    },
    /// A message is no longer pinned.
    Unpinned {
        /// The event that made the message.
        message: Seq,
    },
    /// The runtime added a message in the user's place.
    Synthetic {
        /// The exact text.
        text: Text,
    },
    /// The user ran a shell command.
    Shell(ShellRan),
    /// The todo list changed.
    Todos {
        /// The whole list.
        items: Vec<Todo>,
    },
    /// Secrets were replaced.
    Redacted {
        /// How many, by kind of secret.
        counts: BTreeMap<String, u64>,
    },
    /// What the session changed in its project so far.
    FilesChanged {
        /// What differs, in order of paths.
        files: Vec<FileChange>,
    },
    /// Files could not be restored; they are as before.
    RestoreAbandoned {
        /// The error.
        error: Failure,
    },
    /// Changes that a move took along stay at the source, too.
    DepartureFailed {
        /// The error.
        error: Failure,
    },
    /// An undo was staged.
    RevertStaged {
        /// The first event that it removes.
        first_removed: Seq,
        /// How many files were restored.
        files: u64,
    },
    /// A staged undo was dropped.
    RevertCleared,
    /// An undo was committed.
    RevertCommitted {
        /// The first event that it removed.
        first_removed: Seq,
    },
    /// A child session began.
    ChildStarted(ChildStarted),
    /// A child session ended.
    ChildSettled(ChildSettled),
    /// Texts of the session were erased.
    TextsErased {
        /// How many.
        texts: u64,
        /// Why.
        reason: Text,
        /// Who asked for it.
        by: String,
    },
    /// The session was forgotten.
    Forgotten,
}

impl Timeline {
    pub(super) fn session(&mut self, record: &Record<'_>, event: &SessionEvent) {
        let note = match event {
            SessionEvent::Created(created) => {
                self.agent = created.agent.clone();
                self.model = created.model.clone();
                return;
            }
            SessionEvent::Forked(forked) => {
                self.end_turn();
                TimelineNote::Forked { parent: forked.parent, cut: forked.cut }
            }
            SessionEvent::Titled(titled) => TimelineNote::Titled { title: titled.title.clone() },
            SessionEvent::TitleFailed(failed) => TimelineNote::TitleFailed { error: failed.error.clone() },
            SessionEvent::Moved(moved) => TimelineNote::Moved { directory: moved.location.directory.clone() },
            SessionEvent::AgentSwitched(switched) => {
                let from = core::mem::replace(&mut self.agent, switched.agent.clone());
                TimelineNote::AgentSwitched { from, to: switched.agent.clone() }
            }
            SessionEvent::ModelSwitched(switched) => {
                let from = core::mem::replace(&mut self.model, switched.model.clone());
                TimelineNote::ModelSwitched { from, to: switched.model.clone() }
            }
            SessionEvent::ProcessAttached(attached) => {
                TimelineNote::ProcessAttached { process: attached.process.clone() }
            }
        };
        self.note(record, note);
    }

    pub(super) fn context(&mut self, record: &Record<'_>, event: &ContextEvent) {
        let note = match event {
            ContextEvent::EpochStarted(started) => TimelineNote::EpochStarted {
                cause: started.cause,
                known: started.known,
                chars: started.parts.iter().map(|part| part.text.chars()).fold(0, u64::saturating_add),
                keys: started.parts.iter().map(|part| part.key.clone()).collect(),
            },
            ContextEvent::EpochReplacementBlocked(blocked) => {
                TimelineNote::EpochBlocked { cause: blocked.cause, keys: blocked.keys.clone() }
            }
            ContextEvent::Admitted(admitted) => {
                TimelineNote::ContextUpdate { keys: admitted.keys.clone(), text: admitted.text.clone() }
            }
            ContextEvent::InstructionDiscovered(discovered) => {
                TimelineNote::InstructionDiscovered { path: discovered.path.clone() }
            }
            // Shown by the message of the same batch.
            ContextEvent::SnapshotAdvanced(_) => return,
        };
        self.note(record, note);
    }

    pub(super) fn message(&mut self, record: &Record<'_>, event: &MessageEvent) {
        let note = match event {
            MessageEvent::Pinned(pinned) => TimelineNote::Pinned { message: pinned.message },
            MessageEvent::Unpinned(unpinned) => TimelineNote::Unpinned { message: unpinned.message },
            MessageEvent::SyntheticAdded(added) => TimelineNote::Synthetic { text: added.text.clone() },
            MessageEvent::ShellRan(ran) => TimelineNote::Shell(ran.clone()),
            MessageEvent::TodoUpdated(updated) => TimelineNote::Todos { items: updated.items.clone() },
            MessageEvent::RedactionApplied(applied) => TimelineNote::Redacted { counts: applied.counts.clone() },
            MessageEvent::Edited(edited) => {
                let left_out = edited.edits.iter().filter(|edit| edit.text.is_none() && !edit.without_media).count();
                let replaced = (edited.edits.len() - left_out) as u64;
                TimelineNote::MessagesEdited { replaced, left_out: left_out as u64 }
            }
            MessageEvent::UnknownPart(part) => TimelineNote::ContextUpdate {
                keys: crate::messages::UNKNOWN_PART.parse().into_iter().collect(),
                text: part.text.clone(),
            },
        };
        self.note(record, note);
    }

    pub(super) fn files(&mut self, record: &Record<'_>, event: &FilesEvent) {
        let note = match event {
            FilesEvent::Summarised(summarised) => TimelineNote::FilesChanged { files: summarised.files.clone() },
            FilesEvent::RestoreAbandoned(abandoned) => {
                TimelineNote::RestoreAbandoned { error: abandoned.error.clone() }
            }
            FilesEvent::DepartureEnded(ended) => match &ended.error {
                Some(error) => TimelineNote::DepartureFailed { error: error.clone() },
                None => return,
            },
            FilesEvent::RevertStaged(staged) => {
                TimelineNote::RevertStaged { first_removed: staged.first_removed, files: staged.files.len() as u64 }
            }
            FilesEvent::RevertCleared(_) => TimelineNote::RevertCleared,
            FilesEvent::RevertCommitted(committed) => {
                self.end_turn();
                TimelineNote::RevertCommitted { first_removed: committed.first_removed }
            }
            // Shown by the note that each of them leads to.
            FilesEvent::Captured(_) | FilesEvent::RestoreBegun(_) | FilesEvent::DepartureBegun(_) => return,
        };
        self.note(record, note);
    }

    pub(super) fn child(&mut self, record: &Record<'_>, event: &ChildEvent) {
        let note = match event {
            ChildEvent::Started(started) => TimelineNote::ChildStarted(started.clone()),
            ChildEvent::Settled(settled) => TimelineNote::ChildSettled(settled.clone()),
        };
        self.note(record, note);
    }

    pub(super) fn erasure(&mut self, record: &Record<'_>, event: &ErasureEvent) {
        let note = match event {
            ErasureEvent::TextsErased(erased) => TimelineNote::TextsErased {
                texts: erased.what.len() as u64,
                reason: erased.reason.clone(),
                by: erased.by.clone(),
            },
            ErasureEvent::Forgotten(_) => TimelineNote::Forgotten,
        };
        self.note(record, note);
    }

    pub(super) fn other_compaction(&mut self, record: &Record<'_>, event: &CompactionEvent) {
        let note = match event {
            CompactionEvent::Undone(undone) => TimelineNote::CompactionUndone { compaction: undone.compaction },
            CompactionEvent::ToolOutputsPruned(pruned) => {
                TimelineNote::OutputsPruned { calls: pruned.calls.len() as u64, shortened: 0 }
            }
            CompactionEvent::ToolOutputsReduced(reduced) => TimelineNote::OutputsPruned {
                calls: reduced.calls.len() as u64,
                shortened: reduced.shortened.len() as u64,
            },
            CompactionEvent::CallsReduced(reduced) => TimelineNote::OutputsPruned {
                calls: reduced.calls.len() as u64,
                shortened: reduced.shortened().count() as u64,
            },
            CompactionEvent::Started(_)
            | CompactionEvent::Ended(_)
            | CompactionEvent::Completed(_)
            | CompactionEvent::Failed(_) => return,
        };
        self.note(record, note);
    }
}
