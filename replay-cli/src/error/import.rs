//! How an import ends without an answer.

use annals_import::{OpenFileError, RecogniseError, SourceImportError};
use annals_store::filling::FillingError;
use std::path::PathBuf;

/// Nothing was imported, or not everything.
#[derive(Debug, thiserror::Error)]
pub enum ImportCommandError {
    /// There is no folder for the import secret.
    #[error("there is no home folder to keep the import secret in; set ANNALS_IMPORT_SECRET to 64 hex digits")]
    NoFolderForSecret,
    /// The variable is set to something else.
    #[error("ANNALS_IMPORT_SECRET is not an import secret: expected 64 lower-case hex digits")]
    BadImportSecret,
    /// What another agent left cannot be imported.
    #[error(transparent)]
    Source(#[from] SourceImportError),
    /// A file is nothing that can be imported.
    #[error(transparent)]
    Recognise(#[from] RecogniseError),
    /// Withheld texts could not be filled in.
    #[error(transparent)]
    Fill(#[from] FillingError),
    /// A folder holds nothing that can be imported.
    #[error("{}: no session of OpenCode, Codex CLI, Claude Code or annals found", path.display())]
    NothingThere { path: PathBuf },
    /// Exports in a file contradict each other.
    #[error(transparent)]
    Contradiction(Box<OpenFileError>),
    /// An export of annals is imported unchanged, or not at all.
    #[error(
        "{}: an export of annals cannot be redacted, as its digests cover the original texts; import it without --redact",
        path.display()
    )]
    Unredactable { path: PathBuf },
}

impl ImportCommandError {
    /// The exit status: 2 when the command was used wrongly, 1 when the answer is bad news.
    pub fn status(&self) -> u8 {
        match self {
            Self::NoFolderForSecret
            | Self::BadImportSecret
            | Self::Recognise(_)
            | Self::NothingThere { .. }
            | Self::Unredactable { .. } => 2,
            Self::Source(_) | Self::Fill(_) | Self::Contradiction(_) => 1,
        }
    }

    /// Whether only one source is at fault: the others can be imported.
    pub fn is_of_source(&self) -> bool {
        match self {
            Self::Source(error) => error.is_of_source(),
            Self::Recognise(_) => true,
            Self::NoFolderForSecret
            | Self::BadImportSecret
            | Self::NothingThere { .. }
            | Self::Unredactable { .. }
            | Self::Contradiction(_)
            | Self::Fill(_) => false,
        }
    }
}
