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
    /// The address does not answer, or not in the protocol.
    #[error("{url} does not answer as an MCP server: {why}")]
    Unreachable {
        /// The address.
        url: String,
        /// What went wrong.
        why: String,
    },
    /// It answers only users who are logged in.
    #[error("it wants a login: run `annals mcp login {server}`")]
    LoginNeeded {
        /// The server's name.
        server: String,
    },
    /// The login failed, or what it gave is of no use any more.
    #[error("the login at {server} failed: {why}; run `annals mcp login {server}`")]
    Login {
        /// The server's name.
        server: String,
        /// Why.
        why: String,
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
