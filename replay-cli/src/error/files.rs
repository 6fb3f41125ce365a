//! Why files of a session cannot be shown.

use annals_core::Seq;
use annals_runtime::worktree::FilesError;

/// The files of a session at an event cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum FilesQuestionError {
    /// Nothing captured the files before that event.
    #[error("the files were not captured up to there (annals record --files captures them)")]
    NoCapture,
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
