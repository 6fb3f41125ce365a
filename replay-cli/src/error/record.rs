//! How a recording ends before it begins.

use annals_record::{BodiesError, LaunchError, ProxyError};
use std::io::ErrorKind;

/// Nothing is recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The address is taken, or not of this machine alone.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// The command cannot be pointed to the recorder.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Bodies that an agent wrote cannot be recorded.
    #[error(transparent)]
    Bodies(#[from] BodiesError),
    /// The command cannot be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        program: String,
        /// What the system reported.
        #[source]
        source: std::io::Error,
    },
    /// The files cannot be captured.
    #[error("--files captures nothing here: {0}")]
    Files(String),
    /// The address of a provider is not a URL.
    #[error("--upstream takes a URL such as https://api.anthropic.com, not {0}")]
    Upstream(String),
}

impl RecordingError {
    /// The exit status: that of a shell for a command that is not there (127) or cannot be executed (126), otherwise 2.
    pub fn status(&self) -> u8 {
        match self {
            Self::Start { source, .. } if source.kind() == ErrorKind::NotFound => 127,
            Self::Start { .. } => 126,
            Self::Proxy(_) | Self::Launch(_) | Self::Bodies(_) | Self::Files(_) | Self::Upstream(_) => 2,
        }
    }
}
