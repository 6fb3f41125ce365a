//! The entries of a timeline.

use super::note::TimelineNote;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{
    Attachment, CompactionReason, Delivery, Failure, Finish, PermissionReplied, ToolOutcome, Usage,
};
use annals_core::{AgentName, CallId, InputId, Json, ModelName, PermissionId, Seq, Text, Time};
use serde::{Deserialize, Serialize};

/// One entry of a timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelineEntry {
    /// The event that it begins with.
    pub seq: Seq,
    /// The time of that event. A turn that waited for the one before it begins when that one ended.
    pub at: Time,
    /// The message, call, compaction or note.
    pub kind: EntryKind,
    /// For content of an answer: the number of its step, and its index in it.
    pub place: Option<(u64, u32)>,
    /// Whether later events still belong to it: it and what follows it are not given yet.
    pub open: bool,
}

/// The kinds of entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EntryKind {
    /// An input was promoted while the model was idle: what follows answers it.
    Turn {
        /// The number of its user message, from 1.
        number: u64,
    },
    /// A user message, whole.
    User {
        /// What the user wrote.
        text: Text,
        /// Files and images that came with it.
        attachments: Vec<Attachment>,
        /// The number of a user message that was promoted while the model worked; it begins no turn.
        joined: Option<u64>,
    },
    /// Text of an answer, whole.
    Answer {
        /// The agent that answers.
        agent: AgentName,
        /// What the model wrote.
        text: Text,
    },
    /// Reasoning of the model, as far as the provider shows it.
    Reasoning {
        /// What the provider showed.
        text: Text,
    },
    /// An input waits while other things happen.
    Waiting {
        /// The input.
        input: InputId,
        /// What the user wrote.
        text: Text,
        /// When it is promoted.
        delivery: Delivery,
    },
    /// A tool call and its result.
    Call(Box<TimelineCall>),
    /// A compaction and its outcome.
    Compaction(Box<TimelineCompaction>),
    /// Any other fact worth a line.
    Note(Box<TimelineNote>),
    /// The model's answer to a turn was complete.
    TurnEnded(Box<TurnSummary>),
    /// The log contains something impossible here.
    Anomaly {
        /// What is wrong.
        what: String,
    },
}

/// A tool call and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelineCall {
    /// Its id.
    pub call: CallId,
    /// The name of the tool.
    pub name: String,
    /// The arguments.
    pub input: Json,
    /// How it ended; `None` while it is open.
    pub result: Option<CallResult>,
    /// The permission question about it.
    pub question: Option<CallQuestion>,
    /// How long it waited for replies to questions, in milliseconds.
    pub waited_ms: u64,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallResult {
    /// Completed, failed, interrupted or exhausted.
    pub outcome: ToolOutcome,
    /// Time since the call, in milliseconds, without what it waited for a person.
    pub ms: u64,
    /// The Model Tool Output.
    pub output: Text,
    /// What the model reads of a failure.
    pub error: Option<Text>,
    /// The structured value.
    pub structured: Option<Json>,
    /// Whether the output was shortened.
    pub truncated: bool,
    /// Files that contain the whole output.
    pub paths: Vec<String>,
}

/// A permission question about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallQuestion {
    /// Its id.
    pub permission: PermissionId,
    /// When it was asked.
    pub at: Time,
    /// What the call wants to do.
    pub action: String,
    /// The resources that the action concerns.
    pub resources: Vec<String>,
    /// The reply; `None` while the question is open.
    pub reply: Option<PermissionReplied>,
}

/// A compaction and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimelineCompaction {
    /// Who asked for it.
    pub reason: CompactionReason,
    /// How it ended; `None` while it runs.
    pub outcome: Option<CompactionOutcome>,
    /// Time since its start, in milliseconds.
    pub ms: u64,
    /// Estimate of the history before it, in tokens; 0 when unknown.
    pub before: u64,
    /// Estimate of the history after it, in tokens; 0 when unknown.
    pub after: u64,
    /// In nano-dollars.
    pub cost: u64,
}

/// How a compaction ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CompactionOutcome {
    /// A summary replaced older history.
    Summary(Text),
    /// There is no summary.
    Failed(Failure),
}

/// What the model did since a turn began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnSummary {
    /// When the turn began.
    pub began: Time,
    /// When its last step ended.
    pub ended: Time,
    /// How many steps it took.
    pub steps: u64,
    /// The model of the last step.
    pub model: ModelName,
    /// Tokens of all attempts that reported usage.
    pub usage: Usage,
    /// In nano-dollars.
    pub cost: u64,
    /// How the last step ended.
    pub finish: Option<Finish>,
    /// Paths that changed, if files were captured.
    pub changed: Vec<String>,
}

impl TurnSummary {
    pub(super) fn starting(at: Time) -> Self {
        Self { began: at, ended: at, ..Self::default() }
    }
}
