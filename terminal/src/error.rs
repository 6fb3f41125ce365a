//! How drawing, or a session on a terminal, ends without an answer.

use annals_host::HostError;
use annals_inspect::AskError;
use annals_inspect::reader::FindError;
use annals_runtime::host::LeasedRunError;
use annals_runtime::ports::NoEntropy;
use annals_runtime::{LogError, Refusal};
use annals_store::{ReadError, SharedError};
use std::io;

/// Nothing more can be shown.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// The session cannot continue.
    #[error(transparent)]
    Host(Box<HostError>),
    /// A question about the past has no answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The store cannot be opened.
    #[error("{0}")]
    Open(#[source] Box<SharedError>),
    /// The output cannot be written, or the terminal not be used.
    #[error("cannot write the answer: {0}")]
    Output(#[from] io::Error),
}

impl From<HostError> for TerminalError {
    fn from(error: HostError) -> Self {
        Self::Host(Box::new(error))
    }
}

impl From<ReadError> for TerminalError {
    fn from(error: ReadError) -> Self {
        HostError::from(error).into()
    }
}

impl From<FindError> for TerminalError {
    fn from(error: FindError) -> Self {
        HostError::from(error).into()
    }
}

impl From<SharedError> for TerminalError {
    fn from(error: SharedError) -> Self {
        Self::Open(Box::new(error))
    }
}

impl From<LogError> for TerminalError {
    fn from(error: LogError) -> Self {
        HostError::from(error).into()
    }
}

impl From<LeasedRunError> for TerminalError {
    fn from(error: LeasedRunError) -> Self {
        HostError::from(error).into()
    }
}

impl From<Refusal> for TerminalError {
    fn from(refusal: Refusal) -> Self {
        HostError::from(refusal).into()
    }
}

impl From<NoEntropy> for TerminalError {
    fn from(error: NoEntropy) -> Self {
        HostError::from(error).into()
    }
}
