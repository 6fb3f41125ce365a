//! Why a server gives no answer.

use std::io;

/// A server could not be started, or did not answer a request.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The program cannot be started.
    #[error("{program} could not be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The process ended or broke the protocol.
    #[error("the server ended{0}")]
    Ended(String),
    /// It did not answer in time.
    #[error("no answer to {method} within {ms} ms")]
    Late {
        /// The request.
        method: &'static str,
        /// The limit.
        ms: u128,
    },
    /// It answered with an error.
    #[error("{message} (error {code})")]
    Refused {
        /// The number of the error.
        code: i64,
        /// Its message.
        message: String,
    },
    /// The answer does not have the form that the protocol gives it.
    #[error("the answer to {method} is not valid: {why}")]
    Invalid {
        /// The request.
        method: &'static str,
        /// What is wrong.
        why: String,
    },
    /// It speaks no version of the protocol that is known here.
    #[error("it speaks version {0:?} of the protocol, which is not supported")]
    Version(String),
}
