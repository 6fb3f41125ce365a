//! In the place of OpenCode's database in a build without SQLite (the feature `sqlite`): it is refused by name.

use super::super::sink::{ImportSink, ReadSourceError};
use super::info::OpenCodeSession;
use std::collections::BTreeSet;
use std::path::Path;

/// A row of the table `session`.
#[derive(Clone, Debug, PartialEq)]
pub struct NoSessionRow {
    /// Its description.
    pub info: OpenCodeSession,
    /// The time of its last change (ms).
    pub updated: u64,
    /// How many event rows it has, if it has any.
    pub rows: Option<u64>,
}

/// Whether a database may be OpenCode's: this build does not know.
pub fn is_database(_: &Path) -> bool {
    true
}

/// Lists nothing.
///
/// # Errors
/// Always [`ReadSourceError::NoSqlite`].
pub fn list(path: &Path) -> Result<Vec<NoSessionRow>, ReadSourceError> {
    Err(ReadSourceError::NoSqlite { path: path.to_owned() })
}

/// Reads nothing.
///
/// # Errors
/// Always [`ReadSourceError::NoSqlite`].
pub fn read(path: &Path, _: Option<&BTreeSet<String>>, _: &mut ImportSink<'_>) -> Result<(), ReadSourceError> {
    Err(ReadSourceError::NoSqlite { path: path.to_owned() })
}
