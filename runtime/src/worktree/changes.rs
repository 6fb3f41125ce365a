//! What differs between two captures.

use super::TreeEntry;
use annals_core::event::FileChange;
use std::collections::BTreeMap;

/// The longest diff text that is kept, in bytes. The list of changed files is always whole.
pub const DIFF_LIMIT: usize = 256 * 1024;

/// What differs. A renamed file is one deleted and one added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Captured files, in order of their paths. Lines of binary files are not counted.
    pub files: Vec<FileChange>,
    /// Paths where something not captured came, went or changed: too large, unreadable, or a repository of its own.
    pub uncaptured: Vec<String>,
    /// For display.
    pub diff: Diff,
}

/// A unified diff. Binary files are marked as such; bytes that are not UTF-8 are shown as `U+FFFD`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Whole lines, and a last one that says so if it was cut.
    pub text: String,
    /// Whether it was cut at [`DIFF_LIMIT`].
    pub cut: bool,
}

/// Both sides of a path that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// The entry in the first capture; `None` when it did not exist.
    pub before: Option<TreeEntry>,
    /// The entry in the second capture.
    pub after: Option<TreeEntry>,
}

impl Sides {
    /// Whether both captures hold the content of the path.
    pub fn is_captured(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().all(TreeEntry::is_captured)
    }
}

/// Differences, by path.
pub type Differences = BTreeMap<String, Sides>;
