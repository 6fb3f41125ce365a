//! Where the index of a store is.

#[cfg(feature = "sqlite")]
mod opening;

use crate::IndexError;
use annals_store::disk::Layout;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The file of the index in the folder of a store: with the saved views, so that an erasure removes it with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPlace {
    folder: PathBuf,
}

impl IndexPlace {
    /// The index of the store in a folder.
    pub fn in_store(store: &Path) -> Self {
        // SQLite is made to follow no link, so what leads to the store is resolved here.
        let store = fs::canonicalize(store).unwrap_or_else(|_| store.to_owned());
        Self { folder: Layout::new(&store).cache() }
    }

    /// The file.
    pub fn file(&self) -> PathBuf {
        self.folder.join("index.sqlite")
    }

    /// What an unfinished change would have overwritten. While it is there, the file itself is not whole.
    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.join("index.sqlite-journal")
    }

    /// Removes the index.
    ///
    /// # Errors
    /// When the disk refuses; an index that is not there is none.
    pub fn remove(&self) -> Result<(), IndexError> {
        // The file first: without it the journal means nothing, but without the journal the file may not be whole.
        for path in [self.file(), self.journal()] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(IndexError::Io { path, source: error });
                }
                _ => {}
            }
        }
        Ok(())
    }
}
