//! What keeps files from being captured or restored.

use std::io;
use std::path::PathBuf;

/// An operation on files did not happen. Unless a variant says otherwise, no file was changed.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// No files can be restored here: undo the talk alone, and say why.
    #[error("only the conversation can be undone here: {why}")]
    ConversationOnly {
        /// The reason, for the user.
        why: String,
    },
    /// The place is in no git worktree.
    #[error("{} is not in a git worktree", location.display())]
    NoWorktree {
        /// The place.
        location: PathBuf,
    },
    /// Install git, or put it on the `PATH`.
    #[error("the git command is missing")]
    NoGit,
    /// The shadow repository must not be captured by itself: choose a folder outside the project.
    #[error("the folder {} for file captures lies inside the project {}", folder.display(), root.display())]
    FolderInside {
        /// The folder.
        folder: PathBuf,
        /// The worktree.
        root: PathBuf,
    },
    /// git failed; its own words say why.
    #[error("git {command}: {message}")]
    Git {
        /// The git command.
        command: String,
        /// What it said.
        message: String,
    },
    /// git gave an answer that is not what its documentation says.
    #[error("git {command} gave an answer that cannot be read")]
    Answer {
        /// The git command.
        command: &'static str,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The error that caused it.
        source: io::Error,
    },
    /// The id names no capture of this place: the folder was removed, or the session comes from elsewhere.
    #[error("there is no capture {id} of these files here")]
    NoTree {
        /// The id.
        id: String,
    },
    /// A stored file is missing or damaged in the shadow repository.
    #[error("the stored content {id} of {path} is missing")]
    NoContent {
        /// The path it belongs to.
        path: String,
        /// Its id.
        id: String,
    },
    /// A path that leads out of the project, into `.git`, or nowhere.
    #[error("{path:?} is not a path of a project file")]
    BadPath {
        /// The path.
        path: String,
    },
    /// A path's place is taken by something that the plan may not touch: move that away and try again.
    #[error("{path} cannot be restored: {by} is in the way")]
    InTheWay {
        /// What should be restored.
        path: String,
        /// What is there.
        by: String,
    },
    /// A file changed after the plan was made: plan again.
    #[error("{path} changed in the meantime")]
    Changed {
        /// The path.
        path: String,
    },
    /// The changes do not fit the destination: commit them, or bring both checkouts to the same commit.
    #[error("the changes do not apply: {message}")]
    DoesNotApply {
        /// git's reasons.
        message: String,
    },
    /// A restore failed, and so did undoing it. The next capture or restore tries again; until then the originals
    /// are in `staging`.
    #[error("{why}; putting the files back failed too: {source}; the originals are in {}", staging.display())]
    Torn {
        /// Why the restore failed.
        why: String,
        /// Where the originals are: `old/N`, numbered as in the file `restore.json` next to the shadow repository.
        staging: PathBuf,
        /// Why they could not be put back.
        source: io::Error,
    },
    /// The thread that did the work ended early.
    #[error("the work on the files was cut short")]
    CutShort,
}

impl FilesError {
    /// Whether it cannot pass: what is missing is gone for good.
    pub fn is_lasting(&self) -> bool {
        match self {
            Self::NoWorktree { .. } | Self::NoTree { .. } | Self::NoContent { .. } | Self::BadPath { .. } => true,
            Self::ConversationOnly { .. }
            | Self::NoGit
            | Self::FolderInside { .. }
            | Self::Git { .. }
            | Self::Answer { .. }
            | Self::Io { .. }
            | Self::InTheWay { .. }
            | Self::Changed { .. }
            | Self::DoesNotApply { .. }
            | Self::Torn { .. }
            | Self::CutShort => false,
        }
    }

    /// An I/O error with its path.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
