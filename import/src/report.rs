//! The report of an import: what was appended, and what could not be imported.

mod json;
mod kind;

use super::lines::is_harmless;
use annals_core::{BlobHash, Seq, SessionId};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub use kind::LossKind;

/// How many lines are listed for one kind of loss; the count is always exact.
pub const PLACES_MAX: usize = 20;

/// The outcome for one foreign session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// The log contains the whole session: it was known or appended.
    Imported,
    /// The source does not continue the earlier import. Nothing was appended; `as_new` imports it as a second session.
    Diverged {
        /// The first line (or row, from 1) that differs.
        line: u64,
        /// The form of the earlier import, if it was another one.
        other_form: Option<String>,
    },
    /// Annals extended the session, and its source continued. Nothing was appended; the whole source is imported as a second
    /// session, which later imports continue.
    ChangedHere {
        /// The first event that Annals recorded.
        seq: Seq,
    },
    /// The log refused a batch. The batches before it were appended.
    Failed {
        /// The line (or row, from 1) of the batch.
        line: u64,
        /// The error of the log.
        reason: String,
    },
}

/// The occurrences of one kind of loss or damage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// The number of occurrences.
    pub count: u64,
    /// The first lines (or rows, from 1) with it, at most [`PLACES_MAX`]; 0 when it has no line.
    pub lines: Vec<u64>,
    /// The blobs of those records, in the order of `lines`, if originals are kept.
    pub originals: Vec<BlobHash>,
}

impl Loss {
    /// Adds an occurrence.
    pub fn at(&mut self, line: u64, original: Option<BlobHash>) {
        self.count += 1;
        if self.lines.len() < PLACES_MAX {
            self.lines.push(line);
            self.originals.extend(original);
        }
    }
}

/// The import of one foreign session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionReport {
    /// Its id in the log.
    pub session: SessionId,
    /// The agent that recorded it.
    pub agent: String,
    /// Its id in the source.
    pub foreign: String,
    /// The form that it was read from.
    pub form: String,
    /// Its title, or its first prompt in brief.
    pub title: Option<String>,
    /// The first session of this source, which Annals extended from that event on: this one is imported instead.
    pub instead_of: Option<(SessionId, Seq)>,
    /// The session that was imported before the source was rewritten, and the first line that differs from it.
    pub former: Option<(SessionId, u64)>,
    /// Appended batches.
    pub new: u64,
    /// Events in the appended batches.
    pub events: u64,
    /// Batches that the log contained already.
    pub known: u64,
    /// The outcome.
    pub outcome: ImportOutcome,
    /// How many of `losses` are in appended batches, those of display aside; the others were reported by an earlier import.
    pub lost: u64,
    /// Fields that no event contains, by name.
    pub losses: BTreeMap<String, Loss>,
    /// Damage in the source, by kind.
    pub damage: BTreeMap<String, Loss>,
}

/// The import of one or more sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// The foreign sessions, in the order of the sources.
    pub sessions: Vec<SessionReport>,
    /// Damage without a session, by file and kind.
    pub damage: BTreeMap<(PathBuf, String), Loss>,
    /// Files that were not imported, each with the error, which names the file.
    pub refused: Vec<(PathBuf, String)>,
    /// Whether an export may have texts or a key that the log was given without, and that was not erased.
    pub is_fuller: bool,
    /// What was filled in afterwards.
    pub filled: Vec<FilledSession>,
}

/// A session that was imported with texts withheld, and has got some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilledSession {
    /// The session.
    pub session: SessionId,
    /// How many texts.
    pub texts: u64,
    /// Whether the store has its key since then.
    pub key: bool,
}

impl SessionReport {
    /// Takes in a further import of the same session.
    fn again(&mut self, other: Self) {
        self.new += other.new;
        self.events += other.events;
        if other.new > 0 || self.outcome == ImportOutcome::Imported && other.outcome != ImportOutcome::Imported {
            let Self { outcome, losses, lost, damage, .. } = other;
            (self.outcome, self.losses, self.lost, self.damage) = (outcome, losses, lost, damage);
        }
    }

    /// Whether it makes the import fail: see [`ImportReport::has_bad_news`].
    pub fn is_bad_news(&self) -> bool {
        match &self.outcome {
            ImportOutcome::Imported | ImportOutcome::ChangedHere { .. } => self.is_damaged(),
            ImportOutcome::Diverged { other_form, .. } => other_form.is_none() || self.is_damaged(),
            ImportOutcome::Failed { .. } => true,
        }
    }

    /// Whether something in its source could not be read: more than a last line that is still being written.
    pub fn is_damaged(&self) -> bool {
        self.damage.keys().any(|what| !is_harmless(what))
    }
}

impl ImportReport {
    /// The number of appended batches.
    pub fn new_batches(&self) -> u64 {
        self.sessions.iter().map(|session| session.new).sum()
    }

    /// The number of batches that the log contained already.
    pub fn known_batches(&self) -> u64 {
        self.sessions.iter().map(|session| session.known).sum()
    }

    /// Whether a file was refused, a session diverged, the log refused a batch, or a source is damaged. A torn last line does not
    /// count (the file is being written), nor does a session that was imported from another form.
    pub fn has_bad_news(&self) -> bool {
        !self.refused.is_empty()
            || self.damage.keys().any(|(_, what)| !is_harmless(what))
            || self.sessions.iter().any(SessionReport::is_bad_news)
    }

    /// Replaces every text that comes from a source: titles, reasons, names of losses and damage. For redaction.
    pub fn map_texts(&mut self, map: &mut dyn FnMut(&str) -> String) {
        for session in &mut self.sessions {
            session.title = session.title.as_deref().map(&mut *map);
            if let ImportOutcome::Failed { reason, .. } = &mut session.outcome {
                *reason = map(reason);
            }
            for losses in [&mut session.losses, &mut session.damage] {
                let before = std::mem::take(losses);
                *losses = before.into_iter().map(|(what, loss)| (map(&what), loss)).collect();
            }
        }
        let damage = std::mem::take(&mut self.damage);
        self.damage = damage.into_iter().map(|((path, what), loss)| ((path, map(&what)), loss)).collect();
    }

    /// Adds another import to this one.
    pub fn extend(&mut self, other: Self) {
        for session in other.sessions {
            // A thread is read again with each one that continues it.
            match self.sessions.iter_mut().find(|it| it.session == session.session) {
                Some(before) => before.again(session),
                None => self.sessions.push(session),
            }
        }
        self.refused.extend(other.refused);
        self.is_fuller |= other.is_fuller;
        self.filled.extend(other.filled);
        for (place, loss) in other.damage {
            let sum = self.damage.entry(place).or_default();
            sum.count += loss.count;
            sum.lines.extend(loss.lines);
            sum.lines.truncate(PLACES_MAX);
        }
    }
}
