//! How a recording ends before it begins.

use annals_record::{BodiesError, LaunchError, ProxyError};

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
