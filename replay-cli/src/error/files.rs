//! Why files of a session cannot be shown.

use annals_core::Seq;
use annals_runtime::worktree::FilesError;
use std::path::PathBuf;

/// The files of a session at an event cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum FilesQuestionError {
    /// Nothing captured the files before that event.
    #[error("the files were not captured before this event (annals record --files captures them)")]
    NoCapture,
    /// No call wrote, edited or showed a file.
    #[error(
        "no file is known at this event: no capture and no call before it names one (annals record --files captures them)"
    )]
    NoFacts,
    /// Only edits of it are known.
    #[error("{0} was edited, but no call shows all of it; annals blame shows what was written")]
    Partly(String),
    /// Files would be mixed with others.
    #[error("{} is not empty; name a folder that is, or that does not exist", dir.display())]
    NotEmpty { dir: PathBuf },
    /// The capture has no such file.
    #[error("there is no {path} among the files at event {seq}")]
    NoFile { path: String, seq: Seq },
    /// Its bytes were not taken.
    #[error("{0} was there, but its content was not captured")]
    NotCaptured(String),
    /// The captures cannot be read.
    #[error("the captured files cannot be read: {0}")]
    Files(#[from] FilesError),
}
