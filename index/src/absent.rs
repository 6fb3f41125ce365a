//! What this crate gives without SQLite (the feature `sqlite`): no index, so that searches read the log, and no SQL.

use crate::{FillReport, IndexError, IndexPlace, SqlError, SqlValue};
use annals_core::{Seq, SessionId};
use annals_inspect::search::{CandidateQuery, IndexedUpTo, SearchCandidate, SearchIndex};
use annals_store::EventLog;
use std::collections::BTreeSet;

/// Fills nothing.
///
/// # Errors
/// Always [`IndexError::NotBuilt`].
pub async fn fill(_: &dyn EventLog, _: &IndexPlace, _: impl Fn(u64) + Send) -> Result<FillReport, IndexError> {
    Err(IndexError::NotBuilt)
}

/// An index, of which there is none.
#[derive(Debug)]
pub enum NoIndexReader {}

impl NoIndexReader {
    /// Opens no index.
    pub fn open(_: &IndexPlace) -> Option<Self> {
        None
    }
}

impl SearchIndex for NoIndexReader {
    fn indexed_up_to(&self) -> IndexedUpTo {
        match *self {}
    }

    fn candidates(&self, _: &CandidateQuery<'_>) -> Option<Vec<SearchCandidate>> {
        match *self {}
    }

    fn touching(&self, _: &str) -> Option<Vec<(SessionId, Seq)>> {
        match *self {}
    }
}

/// Tables, of which there are none.
#[derive(Debug)]
pub enum NoSqlTables {}

impl NoSqlTables {
    /// Opens no tables.
    ///
    /// # Errors
    /// Always [`IndexError::NotBuilt`].
    pub async fn open(_: &dyn EventLog, _: Option<&IndexPlace>) -> Result<Self, IndexError> {
        Err(IndexError::NotBuilt)
    }

    /// As with SQLite.
    pub fn of_directories(self, _: &BTreeSet<String>) -> Result<Self, IndexError> {
        match self {}
    }

    /// As with SQLite.
    pub fn limited(self, _: impl FnMut() -> bool + Send + 'static) -> Result<Self, IndexError> {
        match self {}
    }

    /// As with SQLite.
    pub fn query(
        &self,
        _: &str,
        _: impl FnMut(&[String], &[SqlValue]) -> std::io::Result<()>,
    ) -> Result<Vec<String>, SqlError> {
        match *self {}
    }
}
