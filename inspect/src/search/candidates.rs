//! What an index does for a search: it gives the events that may match, each of which is verified in the log.

use super::TextAuthor;
use super::requirement::TextRequirement;
use annals_core::{Digest, Seq, SessionId, Time};
use annals_store::StoreCursor;
use serde::Serialize;
use std::collections::BTreeSet;

/// An event that may match, and by whom the text in it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SearchCandidate {
    /// The session that wrote it.
    pub session: SessionId,
    /// The event.
    pub seq: Seq,
    /// Whose texts of the event may match.
    pub by: TextAuthor,
    /// Whether they have every word of the search as a whole word.
    pub whole: bool,
}

/// What an index is asked.
#[derive(Clone, Debug)]
pub struct CandidateQuery<'a> {
    /// What the texts must contain.
    pub required: &'a TextRequirement,
    /// Words for the order: `whole` says whether a text has them all.
    pub words: &'a BTreeSet<String>,
    /// Texts of these authors only; of all if it is empty.
    pub authors: &'a [TextAuthor],
    /// Calls and results of this tool only.
    pub tool: Option<&'a str>,
    /// Events from this time on.
    pub since: Option<Time>,
}

/// Up to where an index covers the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedUpTo {
    /// Behind everything that it covers.
    pub cursor: StoreCursor,
    /// The digest of the batch before it, which shows whether the index belongs to this log.
    pub digest: Digest,
}

/// An index of the texts of a store.
///
/// **Invariant**: every event before [`SearchIndex::indexed_up_to`] that matches is among the candidates; others may be, too.
pub trait SearchIndex: Send + Sync {
    /// Up to where it covers the log.
    fn indexed_up_to(&self) -> IndexedUpTo;

    /// The events that may match, in any order; `None` when the index cannot be used: then the log is scanned.
    fn candidates(&self, query: &CandidateQuery<'_>) -> Option<Vec<SearchCandidate>>;

    /// The events that name a file whose path ends with one that was asked for (`is_path`); `None` as above.
    fn touching(&self, path: &str) -> Option<Vec<(SessionId, Seq)>>;
}

/// An index that was brought up to date: what `annals index --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexStatus {
    /// The file, an SQLite database.
    pub path: String,
    /// How many events it covers.
    pub events: u64,
    /// How many of them are new.
    pub added: u64,
    /// Its size.
    pub bytes: u64,
}
