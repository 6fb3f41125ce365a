//! Captures as they are, for one who only looks: nothing is written, no lock is taken.

use super::git::Contents;
use super::keeping::shadow_folder;
use super::shadow::Shadow;
use annals_runtime::ports::StorePath;
use annals_runtime::worktree::{Changes, FilesError, Tree, TreeEntries, TreeEntry};
use std::fs;
use std::path::Path;

/// The captures of a worktree that hosts of a store have made.
#[derive(Debug)]
pub struct CapturedFiles {
    shadow: Shadow,
    below: String,
}

impl CapturedFiles {
    /// The captures for a location in a worktree. Runs git, so call it where blocking is allowed.
    ///
    /// # Errors
    /// When the location is in no worktree, or no host of the store has captured files there.
    pub fn open(store: impl Into<StorePath>, location: &Path) -> Result<Self, FilesError> {
        let folder = shadow_folder(store, location)?;
        let folder = folder.reach().map_err(FilesError::io(&folder.shown()))?;
        if !folder.is_dir() {
            return Err(FilesError::ConversationOnly { why: "no host of this store has captured files there".into() });
        }
        let location = fs::canonicalize(location).map_err(FilesError::io(location))?;
        let root = location.ancestors().find(|above| above.join(".git").exists()).map(Path::to_path_buf);
        let root = root.ok_or_else(|| FilesError::NoWorktree { location: location.clone() })?;
        let below = location.strip_prefix(&root).unwrap_or(Path::new("")).to_string_lossy().into_owned();
        Ok(Self { shadow: Shadow::at(folder, root, location)?, below })
    }

    /// The location below the root of the worktree; empty for the root itself.
    pub fn below(&self) -> &str {
        &self.below
    }

    /// What a capture holds, by path below the root of the worktree.
    ///
    /// # Errors
    /// When it is not there.
    pub fn entries(&self, tree: &Tree) -> Result<TreeEntries, FilesError> {
        self.shadow.listing(&tree.files())
    }

    /// The bytes of a file, or the target of a link; `None` for what is not captured.
    ///
    /// # Errors
    /// When git fails.
    pub fn content(&self, entry: &TreeEntry) -> Result<Option<Vec<u8>>, FilesError> {
        match entry {
            TreeEntry::File { id, .. } | TreeEntry::Link { id } => {
                Contents::open(self.shadow.git.shadow("cat-file"))?.read(id)
            }
            TreeEntry::Uncaptured { .. } => Ok(None),
        }
    }

    /// What differs between two captures.
    ///
    /// # Errors
    /// When one is not there.
    pub fn changes(&self, from: &Tree, to: &Tree) -> Result<Changes, FilesError> {
        self.shadow.changes(&from.files(), &to.files())
    }
}
