//! Why a question has no answer.

use annals_core::{Seq, SessionId};
use annals_projections::BuildError;
use annals_store::ReadError;
use annals_store::exchange::ExportError;
use std::io;
use std::path::PathBuf;

/// A question about the past has no answer. Each message says what to ask instead.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The session has no such request: `annals cache` lists them.
    #[error("session {session} has {count} requests; there is no request {wanted}")]
    NoStep {
        /// Which session.
        session: SessionId,
        /// What was asked for, from 1.
        wanted: u64,
        /// How many there are.
        count: u64,
    },
    /// The request cannot be rebuilt.
    #[error("session {session}, event {seq}: {source}")]
    Build {
        /// Which session.
        session: SessionId,
        /// The Seq of `request.sent`.
        seq: Seq,
        /// What the log lacks.
        #[source]
        source: BuildError,
    },
    /// The session ends earlier: `annals log` lists its events.
    #[error("session {session} has no event {seq} (see annals log)")]
    NoEvent {
        /// Which session.
        session: SessionId,
        /// The event.
        seq: Seq,
    },
    /// A view has another name.
    #[error("no view named {name:?}; views: {}", known.join(", "))]
    NoView {
        /// What was asked for.
        name: String,
        /// The names of views.
        known: Vec<&'static str>,
    },
    /// The pattern is not one; the message names the place.
    #[error("the pattern is wrong at {0}")]
    Pattern(String),
    /// The pattern is not JSON.
    #[error("the pattern is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// A search needs a place where it does not hold before one where it does.
    #[error("{what}")]
    Ends {
        /// What is wrong with the ends, and what would be right.
        what: String,
    },
    /// The command that judges views could not judge one.
    #[error("{command:?} {outcome}")]
    Judge {
        /// The command.
        command: String,
        /// What happened.
        outcome: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The session cannot be exported.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A report is not one.
    #[error("{}: not a report of `annals dev certify`: {source}", path.display())]
    NotAReport {
        /// Which file.
        path: PathBuf,
        /// What the parser found.
        #[source]
        source: serde_json::Error,
    },
    /// Golden files are there already.
    #[error("{} exists; --force replaces it", path.display())]
    Exists {
        /// Which file.
        path: PathBuf,
    },
}

impl AskError {
    /// The exit status: 2 when the question was put wrongly, 1 when the log is bad news.
    pub fn status(&self) -> u8 {
        match self {
            Self::Read(ReadError::NoSession(_))
            | Self::NoStep { .. }
            | Self::NoEvent { .. }
            | Self::NoView { .. }
            | Self::Pattern(_)
            | Self::NotJson(_)
            | Self::Ends { .. }
            | Self::Judge { .. }
            | Self::File { .. }
            | Self::NotAReport { .. }
            | Self::Exists { .. } => 2,
            Self::Read(_) | Self::Build { .. } | Self::Export(_) => 1,
        }
    }
}
