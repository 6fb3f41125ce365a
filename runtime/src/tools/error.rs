//! What a model sees of a call that gave no result.

use annals_projections::{REPEATED, Repeats};
use std::fmt;

/// A tool's own error: its text is the result that the model reads, and the turn continues.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl<T: Into<String>> From<T> for ToolError {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

/// A call that had the same result again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedCall {
    /// The tool.
    pub name: String,
    /// How often it had this result, and whether that was a failure.
    pub repeats: Repeats,
}

impl fmt::Display for RepeatedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, count) = (&self.name, self.repeats.count);
        match self.repeats.failed {
            true => write!(f, "{REPEATED}{name} failed {count} times with this input"),
            false => write!(f, "{REPEATED}{name} gave the same result {count} times with this input"),
        }
    }
}

/// A call ended without a result. The model reads its text; the turn continues.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The request offered no tool of that name; also one that the agent is denied altogether.
    #[error("Unknown tool: {0}")]
    Unknown(String),
    /// The tool was removed, replaced or shadowed since the request.
    #[error("Stale tool call: {0}")]
    Stale(String),
    /// The input does not have the tool's shape.
    #[error("Invalid tool input: {0}")]
    InvalidInput(String),
    /// The same call had the same result so often in a row that it was not made again.
    #[error("{0}")]
    Repeated(RepeatedCall),
    /// The same call was not made again for the last time: the turn ends.
    #[error("{call}; it was asked for {refused} more times, and this turn was ended")]
    GivenUp {
        /// The call.
        call: RepeatedCall,
        /// How often it was not made again.
        refused: u64,
    },
    /// A rule denies this call.
    #[error("Permission denied: {action} on {resource}")]
    Denied {
        /// What it would do.
        action: String,
        /// The resource that the action concerns.
        resource: String,
    },
    /// A hook of the host refused the call.
    #[error("A hook refused this call: {0}")]
    Hooked(String),
    /// The user rejected the call with this feedback.
    #[error("{0}")]
    Rejected(String),
    /// The tool's own error text.
    #[error("{0}")]
    Declared(String),
    /// The turn was interrupted, or the process ended, before the call did. It is never made again.
    #[error("Tool execution interrupted")]
    Interrupted,
    /// The call took longer than the configured limit of its tool.
    #[error("{name} was ended at its time limit of {ms} ms")]
    Late {
        /// The tool.
        name: String,
        /// The limit in milliseconds.
        ms: u64,
    },
    /// The step allowance had ended.
    #[error("Tools are disabled after the maximum agent steps")]
    StepsExhausted,
    /// The provider ended its answer without the result of its own call.
    #[error("Provider did not return a tool result")]
    NoHostedResult,
    /// The structured value of a tool is not JSON: a mistake in the tool.
    #[error("Tool returned an invalid value for its output schema: {0}")]
    InvalidOutput(String),
    /// The tool panicked: a mistake in it.
    #[error("Tool execution failed: {0}")]
    Defect(String),
}

impl From<ToolError> for CallError {
    fn from(error: ToolError) -> Self {
        Self::Declared(error.0)
    }
}
