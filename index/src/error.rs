//! Why an index could not be filled or read.

use annals_store::ReadError;
#[cfg(feature = "sqlite")]
use rusqlite::ErrorCode;
use std::io;
use std::path::PathBuf;

/// An index could not be filled or read. Nothing is lost: it is made of the log again.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// There is no SQLite in this build.
    #[cfg(not(feature = "sqlite"))]
    #[error("this build has no index and no SQL (the feature sqlite); searches read the whole log")]
    NotBuilt,
    /// SQLite failed.
    #[cfg(feature = "sqlite")]
    #[error("the index {} could not be used: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// The disk refused.
    #[error("the index {} could not be used: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another process is filling it.
    #[error("another process fills the index {}", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The log could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

#[cfg(feature = "sqlite")]
impl IndexError {
    pub(crate) fn of(path: PathBuf, source: rusqlite::Error) -> Self {
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            _ => Self::Sqlite { path, source },
        }
    }

    /// Whether the file is damaged or not an index: it has to be made again.
    pub(crate) fn is_damage(&self) -> bool {
        let Self::Sqlite { source, .. } = self else { return false };
        match source {
            rusqlite::Error::SqliteFailure(error, _) => matches!(
                error.code,
                ErrorCode::DatabaseCorrupt
                    | ErrorCode::NotADatabase
                    | ErrorCode::Unknown
                    | ErrorCode::ConstraintViolation
            ),
            // A row that this version did not write.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::QueryReturnedNoRows => true,
            _ => false,
        }
    }
}
