//! What happened to the folder of an open store.

use crate::store_id::StoreId;
use std::path::PathBuf;

/// The store that a process uses is no longer where the process opened it. Nothing is written to what is there now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Displaced {
    /// The owner's folder was deleted, or its content was. What was not copied before is lost.
    #[error(
        "the store in {} was removed, or moved to another file system, while this process had it open; nothing more is \
         written to it", dir.display()
    )]
    Removed {
        /// Where it was opened.
        dir: PathBuf,
    },
    /// Another process owned the store, and its folder is not there any more: start again with the folder where it is now.
    #[error("the store in {} was moved or removed while it was open; run the command again with its new folder", dir.display())]
    Gone {
        /// Where it was opened.
        dir: PathBuf,
    },
    /// Another store is there now, or a copy of the same one: start again to use that.
    #[error(
        "{} is now another store than the one that was opened there (id {expected}{}); nothing was written to it; run the \
         command again to use it", dir.display(), found.map(|found| format!(", now {found}")).unwrap_or_default()
    )]
    Replaced {
        /// Where it was opened.
        dir: PathBuf,
        /// The id of the store that was opened.
        expected: StoreId,
        /// The id of the store that is there now. `None` when it cannot be read, or is the same in a copy.
        found: Option<StoreId>,
    },
}

impl Displaced {
    /// As the error of a call to the disk.
    pub(crate) fn error(self) -> std::io::Error {
        std::io::Error::other(self)
    }

    /// What an error of the disk says of it.
    pub(crate) fn of(error: &std::io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Self>().cloned()
    }
}
