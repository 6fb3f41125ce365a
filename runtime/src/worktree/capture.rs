//! What a capture of the files holds.

use super::Tree;
use std::fmt;

/// The largest file, in bytes, that is captured without git tracking it already.
pub const LARGEST_UNTRACKED: u64 = 2 * 1024 * 1024;

/// The files at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// What `step.started`, `step.ended` and `revert.staged` name.
    pub tree: Tree,
    /// What was not taken, though no rule ignores it. An undo leaves it alone.
    pub skipped: Vec<Skipped>,
}

/// A path that a capture does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Below the project; for display only when it is not UTF-8.
    pub path: String,
    /// The reason.
    pub why: WhySkipped,
}

/// Why a path is not captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhySkipped {
    /// Untracked and above [`LARGEST_UNTRACKED`].
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// A repository of its own: a submodule, a clone, another worktree.
    Repository,
    /// No file or link, or one that cannot be read.
    Unreadable,
    /// No text, or a name that git keeps to itself: it cannot be recorded.
    Name,
}

impl fmt::Display for WhySkipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => {
                write!(f, "untracked and larger than {} MiB ({bytes} bytes)", LARGEST_UNTRACKED / (1024 * 1024))
            }
            Self::Repository => f.write_str("a repository of its own"),
            Self::Unreadable => f.write_str("it cannot be read"),
            Self::Name => f.write_str("its name is not UTF-8 text, or reserved by git"),
        }
    }
}
