//! The files of a store's tree: `checkpoints/<id of the store>/`.
//!
//! ```text
//! heads              one line per signed head, oldest first; lines behind the newest checkpoint were never signed
//! 12.checkpoint      the checkpoint over the first 12 heads, a signed note
//! 12.text, .text.sig its text, and a signature by an SSH key of it, for `ssh-keygen -Y verify`
//! allowed_signers    the public keys that signed here
//! ```
//! Heads are on the device before the checkpoint over them is written. A crash in between leaves lines that the next signing
//! replaces.

mod locked;
mod reading;

use super::checkpoint::{CheckpointError, SignedCheckpoint};
use super::files;
use super::heads::{HeadList, NotAHead};
use super::tree::TreeHash;
use crate::disk::StorePath;
use crate::store_id::StoreId;
pub use locked::LockedTree;
use reading::{read_in, read_newest};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder in a store that has a folder for each tree.
pub const CHECKPOINTS: &str = "checkpoints";

/// The tree of a store as it is on the disk.
#[derive(Clone, Debug, Default)]
pub struct SignedTree {
    /// What the newest checkpoint covers.
    pub heads: HeadList,
    /// The checkpoints that are there, by size.
    pub checkpoints: Vec<SignedCheckpoint>,
    /// The public keys that signed here, as allowed signers.
    pub signers: String,
}

/// The files of a tree cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SignedTreeError {
    /// The disk refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The list of heads is damaged.
    #[error("{}: {source}", path.display())]
    Heads {
        /// Which file.
        path: PathBuf,
        /// The error that caused it.
        #[source]
        source: NotAHead,
    },
    /// A checkpoint is damaged.
    #[error("{}: {source}", path.display())]
    Checkpoint {
        /// Which file.
        path: PathBuf,
        /// The error that caused it.
        #[source]
        source: CheckpointError,
    },
    /// The heads are not those that were signed.
    #[error("{}: the heads have the root {found}, but {signed} was signed: heads or checkpoint were altered", path.display())]
    Root {
        /// The checkpoint.
        path: PathBuf,
        /// The root that was signed.
        signed: TreeHash,
        /// The root of the heads.
        found: TreeHash,
    },
    /// A file next to a checkpoint differs from the checkpoint.
    #[error("{}: it differs from the checkpoint: one of them was altered", path.display())]
    Differs {
        /// Which file.
        path: PathBuf,
    },
}

/// The folder of one tree.
#[derive(Clone, Debug)]
pub struct TreeFolder {
    dir: StorePath,
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> SignedTreeError {
    let path = path.to_owned();
    move |source| SignedTreeError::Io { path, source }
}

impl TreeFolder {
    /// The tree of `store` in a store's folder.
    pub fn new(folder: &StorePath, store: StoreId) -> Self {
        Self { dir: folder.join(CHECKPOINTS).join(store.to_string()) }
    }

    /// All trees in a store's folder: its own, and those of the stores that it was copied from.
    pub fn all(folder: &StorePath) -> Result<Vec<Self>, SignedTreeError> {
        let checkpoints = folder.join(CHECKPOINTS);
        let shown = checkpoints.shown();
        let dir = checkpoints.reach().map_err(at(&shown))?;
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(at(&shown))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(at(&shown))?;
            if entry.file_type().map_err(at(&shown))?.is_dir() {
                names.push(entry.file_name());
            }
        }
        names.sort();
        Ok(names.into_iter().map(|name| Self { dir: checkpoints.join(name) }).collect())
    }

    /// Where a person finds it.
    pub fn shown(&self) -> PathBuf {
        self.dir.shown()
    }

    /// Reads everything and checks that each checkpoint has the root of its heads, and that the files next to it agree. The
    /// signatures are verified elsewhere.
    ///
    /// # Errors
    /// For the first file that is damaged or was altered.
    pub fn read(&self) -> Result<SignedTree, SignedTreeError> {
        let shown = self.shown();
        let dir = self.dir.reach().map_err(at(&shown))?;
        read_in(&dir).map_err(|error| error.shown_in(&dir, &shown))
    }

    /// Keeps other processes out, and reads the newest checkpoint and its heads. Makes the folder if need be.
    ///
    /// # Errors
    /// As [`TreeFolder::read`].
    pub fn lock(&self) -> Result<LockedTree, SignedTreeError> {
        let shown = self.shown();
        let dir = self.dir.reach().map_err(at(&shown))?;
        files::make_folder(&dir).map_err(at(&shown))?;
        let lock = files::lock(&dir).map_err(at(&shown))?;
        let tree = read_newest(&dir).map_err(|error| error.shown_in(&dir, &shown))?;
        Ok(LockedTree { folder: self.clone(), dir, tree, _lock: lock })
    }

    /// The same in a thread that may wait for other processes.
    ///
    /// # Errors
    /// As [`TreeFolder::lock`].
    pub async fn locked(&self) -> Result<LockedTree, SignedTreeError> {
        let (folder, shown) = (self.clone(), self.shown());
        let lost = |error| SignedTreeError::Io { path: shown, source: io::Error::other(error) };
        tokio::task::spawn_blocking(move || folder.lock()).await.map_err(lost)?
    }
}

impl SignedTreeError {
    /// The same with the path that a person knows, where the folder was reached by another one.
    fn shown_in(mut self, dir: &Path, shown: &Path) -> Self {
        let (Self::Io { path, .. }
        | Self::Heads { path, .. }
        | Self::Checkpoint { path, .. }
        | Self::Root { path, .. }
        | Self::Differs { path }) = &mut self;
        if let Ok(inside) = path.strip_prefix(dir) {
            *path = shown.join(inside);
        }
        self
    }
}

#[cfg(test)]
mod tests;
