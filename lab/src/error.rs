//! Why the laboratory gives no answer.

use annals_store::ReadError;
use std::io;
use std::path::PathBuf;

/// The laboratory gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The command cannot be started.
    #[error("{command} cannot be started: {source}")]
    Start {
        /// Which program.
        command: String,
        /// The error that caused it.
        source: io::Error,
    },
    /// It fails without a crash.
    #[error("the command fails without a crash ({status}), so there is nothing to compare with: {output}")]
    Fails {
        /// How it ended.
        status: String,
        /// The last lines of its output.
        output: String,
    },
    /// It appended nothing.
    #[error(
        "the command appended nothing to the store: it must keep its log in the folder that ANNALS_STORE, or {{store}} in its \
         arguments, names"
    )]
    NoPoints,
    /// There is no such point.
    #[error("there is no point {point}: without a crash the command reaches {points}")]
    NoPoint {
        /// The number.
        point: u64,
        /// How many there are.
        points: u64,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The error that caused it.
        source: io::Error,
    },
    /// A store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl LabError {
    /// Whether the command was used wrongly.
    pub fn is_wrong_use(&self) -> bool {
        matches!(self, Self::Start { .. } | Self::NoPoint { .. } | Self::NoPoints)
    }
}
