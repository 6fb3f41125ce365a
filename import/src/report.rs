//! What an import did, and what it could not carry over.

use super::lines::TORN;
use annals_core::{BlobHash, Seq, SessionId};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How many places of one kind of loss are listed; the count is always exact.
pub const PLACES_MAX: usize = 20;

/// What became of one foreign Session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
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
    /// The session was changed here, and its source continued. Nothing was appended; the whole source is imported as a second
    /// session, which later imports continue.
    ChangedHere {
        /// The first event that was recorded here.
        seq: Seq,
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
    /// The session that was imported from this source before and changed here: this one is imported in its place.
    pub instead_of: Option<(SessionId, Seq)>,
    /// Batches that were appended.
    pub new: u64,
    /// Events in those Batches.
    pub events: u64,
    /// Batches that stood there already.
    pub known: u64,
    /// What became of it.
    pub outcome: ImportOutcome,
    /// How many of `losses` are in what was appended; the others were there when the source was imported before.
    pub lost: u64,
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
    /// Files that were not imported, each with the reason in one line, which names it.
    pub refused: Vec<(PathBuf, String)>,
}

impl SessionReport {
    /// Whether it is bad news by itself: see [`ImportReport::has_bad_news`].
    pub fn is_bad_news(&self) -> bool {
        match &self.outcome {
            ImportOutcome::Imported | ImportOutcome::ChangedHere { .. } => self.is_damaged(),
            ImportOutcome::Diverged { other_form, .. } => other_form.is_none() || self.is_damaged(),
            ImportOutcome::Failed { .. } => true,
        }
    }

    /// Whether its source is damaged: more than a last line that is still being written.
    pub fn is_damaged(&self) -> bool {
        self.damage.keys().any(|what| what != TORN)
    }
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

    /// Whether something is bad news: a file that was refused, a divergence, a refusal by the log, or damage. A torn last line is
    /// not: the file is being written. Nor is a session that is here already in another form.
    pub fn has_bad_news(&self) -> bool {
        !self.refused.is_empty()
            || self.damage.keys().any(|(_, what)| what != TORN)
            || self.sessions.iter().any(SessionReport::is_bad_news)
    }

    /// Adds another import to this one.
    pub fn extend(&mut self, other: Self) {
        self.sessions.extend(other.sessions);
        self.refused.extend(other.refused);
        for (place, loss) in other.damage {
            let sum = self.damage.entry(place).or_default();
            sum.count += loss.count;
            sum.lines.extend(loss.lines);
            sum.lines.truncate(PLACES_MAX);
        }
    }
}
