//! An owner that is there and says nothing.

use super::client::Lost;
use crate::disk::Layout;
use std::path::{Path, PathBuf};

/// A process owns a store and does not answer: it was stopped, or hangs. Let it go on, or end it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{} owns the store in {} and does not answer; let it go on, or end it", named(*owner), dir.display())]
pub struct Silence {
    /// The store's folder.
    pub dir: PathBuf,
    /// The id of the process, if it could be told.
    pub owner: Option<u32>,
}

fn named(owner: Option<u32>) -> String {
    owner.map_or_else(|| "a process".to_owned(), |owner| format!("process {owner}"))
}

impl Silence {
    /// The owner of the store in a folder, as it told when it took the lock.
    pub(super) fn of(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), owner: Layout::new(dir).owner() }
    }

    /// What a broken call tells of it, if it broke for that.
    pub(super) fn told_by(lost: &Lost) -> Option<Self> {
        lost.get_ref()?.downcast_ref::<Self>().cloned()
    }
}
