//! How a command that changes a session ends without an answer.

use annals_core::SessionId;
use annals_inspect::compactions::UndoCompactionError;
use annals_inspect::pins::PinError;
use annals_runtime::Refusal;
use std::path::PathBuf;

/// A session was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// A command that records works on the store alone.
    #[error("{} is a file, and files are never changed; import it, then name its session", file.display())]
    OnlyInTheStore {
        /// Which file.
        file: PathBuf,
    },
    /// A staged undo restored files: the same machine must put them back.
    #[error(
        "session {session}: the staged undo restored {files} files, and they cannot be changed back here: {why}; clear it \
         where it was staged, or apply it with --commit"
    )]
    FilesRestored {
        /// Which session.
        session: SessionId,
        /// How many files.
        files: usize,
        /// Why not.
        why: String,
    },
    /// What was asked for is refused, and nothing has changed unless it says so.
    #[error("session {session}: {refusal}")]
    Refused {
        /// Which session.
        session: SessionId,
        /// Why.
        #[source]
        refusal: Refusal,
    },
    /// The message cannot be pinned or unpinned.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// A title without words.
    #[error("the title is empty; give one of some words")]
    EmptyTitle,
    /// A compaction cannot be undone.
    #[error(transparent)]
    UndoCompaction(#[from] UndoCompactionError),
}

impl EditError {
    /// The exit status: 2 when the command was used wrongly, 1 when the answer is bad news.
    pub fn status(&self) -> u8 {
        match self {
            Self::OnlyInTheStore { .. }
            | Self::FilesRestored { .. }
            | Self::Pin(_)
            | Self::EmptyTitle
            | Self::UndoCompaction(UndoCompactionError::NotInForce { .. }) => 2,
            Self::Refused { .. } | Self::UndoCompaction(_) => 1,
        }
    }
}
