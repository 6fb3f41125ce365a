//! Outcomes: how runs end, refusals, failures of runs (`docs/reference/turn.md#errors-of-a-run`).

use crate::context::ContextError;
use crate::ports::{ProviderError, ProviderErrorKind};
use crate::tools::RepeatedCall;
use crate::worktree::FilesError;
use annals_core::context::ReconcileError;
use annals_core::event::{Failure, Location};
use annals_core::{AgentName, InputId, Key, ModelName, Seq, SessionId};
use annals_projections::{ANSWER_INTERRUPTED, BuildError, NothingToCompact, RequestParts};
use annals_providers::wire::BodyError;
use annals_store::{AppendError, ReadError};
use std::sync::Arc;

/// How a run ended when nothing failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is left to do.
    Idle,
    /// It was interrupted, a permission was declined, or the session moved while it ran.
    Interrupted,
}

impl Outcome {
    /// The word that views use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The result of an admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// It is pending now.
    New,
    /// The same input was admitted before: nothing was recorded.
    Known,
}

impl Admitted {
    /// The word that views use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "admitted",
            Self::Known => "known",
        }
    }
}

/// The log refused. Clones share the cause.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LogError {
    /// See [`ReadError`].
    #[error(transparent)]
    Read(#[from] ReadError),
    /// See [`AppendError`].
    #[error("{0}")]
    Append(#[source] Arc<AppendError>),
    /// The session is imported: only an import extends it. Append to [`crate::Session::local`].
    #[error("session {0} is imported, and only an import extends it; change a fork of it (annals fork {0})")]
    Imported(SessionId),
}

impl From<AppendError> for LogError {
    fn from(error: AppendError) -> Self {
        Self::Append(Arc::new(error))
    }
}

/// What a caller named that the session does not contain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingItem {
    /// A Session.
    #[error("session {0}")]
    Session(SessionId),
    /// A user message of the transcript, counted from 1.
    #[error("user message {0}")]
    UserMessage(u64),
    /// A message that the event at this Seq made.
    #[error("message at seq {0}")]
    Message(Seq),
    /// An event that a fork at this Seq would inherit.
    #[error("event before seq {0}")]
    EventBefore(Seq),
    /// An input.
    #[error("input {0}")]
    Input(InputId),
    /// A pending input.
    #[error("pending input {0}")]
    PendingInput(InputId),
}

/// A request was refused; nothing was recorded.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Refusal {
    /// The id was used before with another text or delivery: choose another id.
    #[error("input {0} was admitted before with another text or delivery")]
    Conflict(InputId),
    /// It names something that the session does not contain.
    #[error("there is no {0}")]
    NotFound(MissingItem),
    /// The session runs: interrupt it, or wait until it is idle.
    #[error("the session is running; interrupt it or wait until it is idle")]
    Busy,
    /// The session has new events since the plan was made: plan again.
    #[error("the session has changed since this was planned; try again")]
    Outdated,
    /// The destination is not another checkout of the same project.
    #[error("the destination is not another checkout of the same project")]
    OtherProject,
    /// Changes of an earlier move have not left its source, and only one departure can be open. Run or undo something in the
    /// session where its files can be changed, then plan again; or move without changes.
    #[error(
        "the changes that an earlier move took along are still to leave {}; see that this place can be reached and changed, \
         then plan again, or move without changes", .0.directory
    )]
    Departing(Location),
    /// Files cannot be restored; none was changed, except as [`FilesError::Torn`] says.
    #[error("{0}")]
    Files(#[source] Arc<FilesError>),
    /// Files were restored, that could not be recorded, and taking it back failed: undo again, or mend them by hand.
    #[error("files were restored, but {refusal}; putting them back failed: {source}")]
    Unrecorded {
        /// Why it could not be recorded.
        refusal: Box<Refusal>,
        /// Why they could not be put back.
        source: Arc<FilesError>,
    },
    /// The log refused.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl From<FilesError> for Refusal {
    fn from(error: FilesError) -> Self {
        Self::Files(Arc::new(error))
    }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        Self::Log(error.into())
    }
}

impl Refusal {
    /// The word that views use.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Conflict(_) => "conflict",
            Self::NotFound(_) => "not-found",
            Self::Busy => "busy",
            Self::Outdated => "outdated",
            Self::OtherProject => "other-project",
            Self::Departing(_) => "departing",
            Self::Files(_) | Self::Unrecorded { .. } => "files",
            Self::Log(_) => "log",
        }
    }
}

/// A compaction made no summary: the request failed, or its answer was incomplete or empty. The text is recorded in
/// `compaction.failed`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CompactionError(pub String);

/// A run failed. What it had recorded stays; what it had not promoted stays pending.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// The System Context cannot be started or updated: sources are unavailable, or one of them is wrong.
    #[error(transparent)]
    Reconcile(#[from] ReconcileError),
    /// A System Context cannot be composed or observed: mend the contribution that it names.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// Another agent was selected, and its baseline cannot be made yet: the turn does not run on the former agent's.
    #[error("the baseline of agent {previous} cannot be replaced for agent {current} while sources are unavailable: {}",
        keys.iter().map(Key::as_str).collect::<Vec<_>>().join(", "))]
    AgentReplacementBlocked {
        /// The agent of the current baseline.
        previous: AgentName,
        /// The selected agent.
        current: AgentName,
        /// The admitted sources that are unavailable.
        keys: Vec<Key>,
    },
    /// The provider failed, and no retry or recovery is left.
    #[error("{message}")]
    Provider {
        /// The kind of the failure.
        kind: ProviderErrorKind,
        /// The provider's message, with the number of attempts if there was more than one.
        message: String,
        /// The error of the last attempt.
        source: ProviderError,
    },
    /// The request exceeds the limit of the model and nothing makes it smaller; it was not sent. Shorten or unpin what the
    /// message names as large, or select a model with a larger context.
    #[error("{0}")]
    TooLarge(RequestParts),
    /// The window of the model cannot hold the session: system text and the smallest set of tools leave too little to the
    /// conversation. Select a model with a larger context, or shorten the instructions.
    #[error(
        "the context of {model} is too small: a request may have {limit} tokens, of which the system prompt takes {system} \
         and the tools take {tools}"
    )]
    WindowTooSmall {
        /// The model.
        model: ModelName,
        /// The largest request, in tokens.
        limit: u64,
        /// The system text, in tokens.
        system: u64,
        /// The tool definitions, in tokens.
        tools: u64,
    },
    /// The model made one call again and again. Say what to do instead in a new prompt.
    #[error("the turn was ended: {} {input} {}, and the model asked for it {refused} more times",
        call.name, repeated(call))]
    Repeated {
        /// The call.
        call: RepeatedCall,
        /// The beginning of its input, without secrets.
        input: String,
        /// How often it was not made again.
        refused: u64,
    },
    /// The steps of one prompt are used up. Run the session again for more, or raise the limit.
    #[error("the turn was ended after {0} steps, before the model was done")]
    StepLimit(u32),
    /// Everything fits what a compaction would keep.
    #[error(transparent)]
    NothingToCompact(#[from] NothingToCompact),
    /// A compaction gave no summary.
    #[error("the compaction failed: {0}")]
    CompactionFailed(#[source] CompactionError),
    /// The selected model is not defined: select another one.
    #[error("no model {0} is defined")]
    UnknownModel(ModelName),
    /// The log does not hold what shapes a request.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The request asks for what its model's protocol cannot say: correct the definition that the message names.
    #[error("the request cannot be encoded: {0}")]
    Encode(#[from] BodyError),
    /// A profile cannot be named by its hash: a number in it is not below 2^53.
    #[error("a profile cannot be recorded: {0}")]
    Profile(#[from] annals_core::canonical::CanonicalError),
    /// The log refused.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The runtime was halted while it ran: the next run settles what is open.
    #[error("the runtime was halted")]
    Halted,
    /// Code of the runtime or of a port panicked.
    #[error("the run ended in a defect: {0}")]
    Defect(String),
}

impl RunError {
    /// The word that views use.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Reconcile(ReconcileError::Blocked(_)) => "initialization-blocked",
            Self::Reconcile(ReconcileError::DuplicateKey(_)) | Self::Context(ContextError::DuplicateSource { .. }) => {
                "duplicate-source"
            }
            Self::Reconcile(ReconcileError::EmptyRendering { .. }) => "empty-rendering",
            Self::Context(_) => "context",
            Self::AgentReplacementBlocked { .. } => "agent-replacement-blocked",
            Self::Provider { kind, .. } => kind.as_str(),
            Self::TooLarge(_) => ProviderErrorKind::Overflow.as_str(),
            Self::WindowTooSmall { .. } => "window-too-small",
            Self::Repeated { .. } => "repeated-call",
            Self::StepLimit(_) => "step-limit",
            Self::NothingToCompact(_) => "nothing-to-compact",
            Self::CompactionFailed(_) => "compaction-failed",
            Self::UnknownModel(_) => "unknown-model",
            Self::Build(_) | Self::Encode(_) | Self::Profile(_) => "request",
            Self::Log(_) => "log",
            Self::Halted => "halted",
            Self::Defect(_) => "defect",
        }
    }

    /// The Context Sources that it is about, in order; `None` when it is about something else.
    pub fn keys(&self) -> Option<Vec<Key>> {
        match self {
            Self::Reconcile(ReconcileError::Blocked(blocked)) => Some(blocked.keys.clone()),
            Self::Reconcile(ReconcileError::DuplicateKey(key) | ReconcileError::EmptyRendering { key, .. })
            | Self::Context(ContextError::DuplicateSource { key, .. } | ContextError::Source { key, .. }) => {
                Some(vec![key.clone()])
            }
            Self::AgentReplacementBlocked { keys, .. } => Some(keys.clone()),
            _ => None,
        }
    }
}

fn repeated(call: &RepeatedCall) -> String {
    let count = call.repeats.count;
    match call.repeats.failed {
        true => format!("failed {count} times with the same result"),
        false => format!("gave the same result {count} times"),
    }
}

/// The failure that an interruption records.
pub(crate) fn interrupted() -> Failure {
    Failure { kind: "interrupted".into(), message: ANSWER_INTERRUPTED.into(), status: None }
}
