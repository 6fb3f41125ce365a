//! Why the laboratory gave no answer.

use annals_lab::LabError;
use std::io;
use std::net::SocketAddr;

/// The laboratory gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LabCommandError {
    /// The command cannot be tried.
    #[error(transparent)]
    Crash(#[from] LabError),
    /// The server cannot be reached.
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
}

impl LabCommandError {
    /// The exit status: 2 when the command was used wrongly, 1 when the world is bad news.
    pub fn status(&self) -> u8 {
        match self {
            Self::Crash(error) if error.is_wrong_use() => 2,
            Self::Listen { .. } => 2,
            Self::Crash(_) => 1,
        }
    }
}
