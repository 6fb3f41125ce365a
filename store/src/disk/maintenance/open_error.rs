//! Why a store cannot be opened.

use crate::disk::folder::relative::Unexpected;
use crate::displaced::Displaced;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no store, and the command only looks: record something first, or name another folder.
    #[error("there is no store in {}; a command that writes makes one, or name another folder", dir.display())]
    NoStore {
        /// Where it was looked for.
        dir: PathBuf,
    },
    /// The folder holds other things: name an empty one.
    #[error("{} is not a store and not empty; nothing was touched; name another folder", dir.display())]
    Foreign {
        /// Which folder.
        dir: PathBuf,
    },
    /// Another process owns the store: ask it over its socket.
    #[error("another process owns the store in {}", dir.display())]
    Locked {
        /// Which store.
        dir: PathBuf,
    },
    /// Another version wrote the store.
    #[error(
        "the store in {} has format {found:?}, this version reads format {supported}; nothing was touched; open it \
         with the version that wrote it, export its sessions, and import them here", dir.display()
    )]
    Format {
        /// Which store.
        dir: PathBuf,
        /// What its file `FORMAT` says.
        found: String,
        /// What this version reads.
        supported: u32,
    },
    /// The file `FORMAT` cannot be used although the folder holds a log: repair the store, which writes the file again.
    #[error("the file FORMAT of the store in {} is {state}; nothing was touched; `annals doctor --repair --yes` restores it", dir.display())]
    FormatFile {
        /// Which store.
        dir: PathBuf,
        /// What is wrong with it.
        state: FormatFile,
    },
    /// The folder is a symbolic link to nothing: make what it points to, or name another folder.
    #[error("{} is a symbolic link to {}, which does not exist", dir.display(), to.display())]
    Dangling {
        /// The link.
        dir: PathBuf,
        /// What it says.
        to: PathBuf,
    },
    /// Another store, or none, is where this process opened one before.
    #[error(transparent)]
    Displaced(#[from] Displaced),
    /// Something in the folder is not what belongs there: remove it.
    #[error(transparent)]
    Unexpected(Unexpected),
    /// The disk refused.
    #[error("{}: {source}{}", path.display(), crate::log::advice(source))]
    Io {
        /// At which path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl OpenError {
    /// What the disk said about a path.
    pub(in crate::disk) fn at(path: &Path, source: io::Error) -> Self {
        match source.get_ref().and_then(|error| error.downcast_ref::<Unexpected>()) {
            Some(unexpected) => Self::Unexpected(unexpected.clone()),
            None => match Displaced::of(&source) {
                Some(displaced) => Self::Displaced(displaced),
                None => Self::Io { path: path.to_owned(), source },
            },
        }
    }
}

/// What is wrong with the file `FORMAT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatFile {
    /// Its checksum does not match.
    Damaged,
    /// It is not there, or is not a regular file.
    Missing,
}

impl fmt::Display for FormatFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Damaged => "damaged",
            Self::Missing => "missing",
        })
    }
}
