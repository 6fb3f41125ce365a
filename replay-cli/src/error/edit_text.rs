//! Why a text of a session was not edited.

use annals_runtime::{EditRefusal, Refusal};
use std::io;
use std::path::PathBuf;

/// A fork with an edited text was not made.
#[derive(Debug, thiserror::Error)]
pub enum EditTextError {
    /// The text cannot be edited, or was not changed.
    #[error(transparent)]
    Refused(#[from] EditRefusal),
    /// The editor failed.
    #[error("the editor {editor:?} could not be used: {why}; set EDITOR, or give the text with --text or --text-file")]
    Editor { editor: String, why: String },
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The file is not UTF-8 text.
    #[error("{} is not UTF-8 text", path.display())]
    NotText { path: PathBuf },
}

impl EditTextError {
    /// The exit status: 2 when the command was used wrongly, 1 when the world is bad news.
    pub fn status(&self) -> u8 {
        match self {
            Self::Refused(EditRefusal::Refused(Refusal::Log(_))) | Self::Editor { .. } => 1,
            Self::Refused(_) | Self::File { .. } | Self::NotText { .. } => 2,
        }
    }
}
