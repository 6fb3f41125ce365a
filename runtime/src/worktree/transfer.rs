//! Uncommitted changes on their way from one checkout of a project to another.

use super::{Changes, FileRestore, Skipped};

/// The uncommitted changes below a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// What it brings, for people.
    pub changes: Changes,
    /// What stays behind, since it could not be captured. A departure leaves it alone.
    pub left_behind: Vec<Skipped>,
    /// All of it as a patch in git's format, binary files included.
    pub patch: Vec<u8>,
    /// What discarding the changes at their source restores.
    pub back: Vec<FileRestore>,
}

impl Transfer {
    /// Whether there is nothing to bring.
    pub fn is_empty(&self) -> bool {
        self.patch.is_empty()
    }
}
