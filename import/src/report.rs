//! What an import did, and what it could not carry over.

use annals_core::{BlobHash, SessionId};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How many places of one kind of loss are listed; the count is always exact.
pub const PLACES_MAX: usize = 20;

/// What became of one foreign Session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that the source holds is in the log: it was there already, or was appended.
    Imported,
    /// The source is not a continuation of what was imported before. Nothing was appended; import it `as_new` to have
    /// both.
    Diverged {
        /// The line (or row, from 1) where they part.
        line: u64,
        /// The form that the Session was imported from before, if it was another one.
        other_form: Option<String>,
    },
    /// The log refused a Batch. What came before it stands.
    Failed {
        /// The line (or row, from 1) whose Batch it was.
        line: u64,
        /// What the log said.
        reason: String,
    },
}

/// A kind of loss within one Session: how often, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// How often.
    pub count: u64,
    /// The first lines (or rows, from 1) where it happened, at most [`PLACES_MAX`]; 0 when it has no place.
    pub lines: Vec<u64>,
    /// The records in which it happened, kept as blobs, if originals are kept; in the order of `lines`.
    pub originals: Vec<BlobHash>,
}

impl Loss {
    /// Adds one place.
    pub fn at(&mut self, line: u64, original: Option<BlobHash>) {
        self.count += 1;
        if self.lines.len() < PLACES_MAX {
            self.lines.push(line);
            self.originals.extend(original);
        }
    }
}

/// One foreign Session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionReport {
    /// Its id here.
    pub session: SessionId,
    /// The agent that recorded it.
    pub agent: String,
    /// Its id there.
    pub foreign: String,
    /// The form that it was read from.
    pub form: String,
    /// Its title, or its first prompt in brief.
    pub title: Option<String>,
    /// Batches that were appended.
    pub new: u64,
    /// Batches that stood there already.
    pub known: u64,
    /// What became of it.
    pub outcome: Outcome,
    /// What no event says, by name.
    pub losses: BTreeMap<String, Loss>,
    /// What was damaged in the source, by name.
    pub damage: BTreeMap<String, Loss>,
}

/// A whole import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Each foreign Session, in the order of the sources.
    pub sessions: Vec<SessionReport>,
    /// Damage that belongs to no Session: file and kind.
    pub damage: BTreeMap<(PathBuf, String), Loss>,
}

impl ImportReport {
    /// Batches that were appended.
    pub fn new_batches(&self) -> u64 {
        self.sessions.iter().map(|session| session.new).sum()
    }

    /// Batches that stood there already.
    pub fn known_batches(&self) -> u64 {
        self.sessions.iter().map(|session| session.known).sum()
    }

    /// Whether something is bad news: a divergence, a refusal, or damage.
    pub fn has_bad_news(&self) -> bool {
        !self.damage.is_empty()
            || self.sessions.iter().any(|it| it.outcome != Outcome::Imported || !it.damage.is_empty())
    }

    /// Adds another import to this one.
    pub fn extend(&mut self, other: Self) {
        self.sessions.extend(other.sessions);
        for (place, loss) in other.damage {
            let sum = self.damage.entry(place).or_default();
            sum.count += loss.count;
            sum.lines.extend(loss.lines);
            sum.lines.truncate(PLACES_MAX);
        }
    }
}
