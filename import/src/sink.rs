//! The interface between readers and the driver: a reader sends batches, losses and damage in order, one at a time.

use super::foreign::{JsonObject, Notes};
use super::identity::Editions;
use super::lines::{LineReader, SourceLine, TORN};
use annals_core::event::{EpochStarted, Origin, SessionCreated, SnapshotAdvanced};
use annals_core::{CallId, Event, Json, Seq, SessionId, Time};
use annals_store::Draft;
use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// The parent of a fork. The driver adds the digest of the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkPoint {
    /// The session that the fork continues.
    pub parent: SessionId,
    /// The first sequence number that is not inherited.
    pub cut: Seq,
}

/// How a session of the log begins. What an earlier import recorded stays, also if the source says more or less by now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedStart {
    /// By itself.
    Created(Box<SessionCreated>),
    /// As a fork.
    Forked(ForkPoint),
}

/// One item of a source.
#[derive(Debug)]
pub enum SourceItem {
    /// The start of a foreign session. Its batches follow, possibly between those of others.
    Started {
        /// Its id in the log.
        session: SessionId,
        /// Its title, or its first prompt in brief.
        title: Option<String>,
        /// Its agent, foreign id and form.
        origin: Origin,
    },
    /// The events of one foreign record.
    Batch {
        /// Its line (or row), from 1.
        line: u64,
        /// The batch.
        draft: Draft,
        /// Set when its `session.forked` still needs the parent's digest.
        fork: Option<ForkPoint>,
    },
    /// A field that no event contains.
    Lost {
        /// The session of the record.
        session: SessionId,
        /// The line (or row), from 1; 0 without a place.
        line: u64,
        /// The name of the field, such as `session.next.moved.subdirectory`.
        what: String,
        /// The whole record, if originals are kept.
        original: Option<String>,
    },
    /// Damage in the source.
    Damaged {
        /// The session, if it is known.
        session: Option<SessionId>,
        /// The line (or row), from 1; 0 without a place.
        line: u64,
        /// The kind of damage.
        what: String,
    },
    /// Progress: in bytes of a file, in sessions of a database.
    Progress {
        /// Read so far.
        done: u64,
        /// The total.
        total: u64,
    },
}

/// The receiver of the items is gone: stop reading.
#[derive(Debug, thiserror::Error)]
#[error("the import was stopped")]
pub struct ReceiverGone;

/// A source cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadSourceError {
    /// The file cannot be read: check that it exists, and its permissions.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// There is no SQLite in this build.
    #[cfg(not(feature = "sqlite"))]
    #[error("{}: this build cannot read databases of SQLite (the feature sqlite)", path.display())]
    NoSqlite {
        /// The database.
        path: PathBuf,
    },
    /// The database cannot be read: it is not OpenCode's, or from a version with other tables.
    #[cfg(feature = "sqlite")]
    #[error("{}: {source}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        source: rusqlite::Error,
    },
    /// The receiver is gone.
    #[error(transparent)]
    ReceiverGone(#[from] ReceiverGone),
}

/// Context that an earlier import recorded. OpenCode stores it outside its event log and overwrites it, so that the log may
/// know more than the source does now.
#[derive(Clone, Debug, Default)]
pub struct KnownContext {
    /// The end of the log.
    pub head: Seq,
    /// Epochs that are the only event of their batch, with the time of the batch.
    pub epochs: BTreeMap<Seq, (Time, EpochStarted)>,
    /// Snapshot advances, by the first sequence number of their batch.
    pub advances: BTreeMap<Seq, SnapshotAdvanced>,
    /// Structured results of calls of which the model read a preview.
    pub outputs: HashMap<CallId, Json>,
}

/// What every reader is given: the receiver of its items, the ids of sessions, and what the log contains already.
pub struct ImportSink<'a> {
    /// Receives items; blocks while too many wait for the log.
    pub send: &'a mut dyn FnMut(SourceItem) -> Result<(), ReceiverGone>,
    /// How a session of the log begins; `None` if it is new.
    pub start: &'a dyn Fn(SessionId) -> Option<RecordedStart>,
    /// Reads the recorded context of a session from the log.
    pub recall: &'a dyn Fn(SessionId) -> KnownContext,
    /// Maps foreign ids to session ids.
    pub editions: &'a Editions,
    /// Whether records with losses are kept as blobs.
    pub keep_originals: bool,
    /// Whether to read a transcript that has a prompt and no answer yet.
    pub prompts: bool,
    /// Whether requests that the source records are left out.
    pub without_requests: bool,
}

impl ImportSink<'_> {
    /// Sends every note of a record as a loss.
    pub fn lost(&mut self, session: SessionId, line: u64, notes: &Notes, record: &str) -> Result<(), ReceiverGone> {
        for what in notes.take() {
            let original = self.keep_originals.then(|| record.to_owned());
            (self.send)(SourceItem::Lost { session, line, what, original })?;
        }
        Ok(())
    }

    /// Sends damage.
    pub fn damaged(
        &mut self,
        session: Option<SessionId>,
        line: u64,
        what: impl Into<String>,
    ) -> Result<(), ReceiverGone> {
        (self.send)(SourceItem::Damaged { session, line, what: what.into() })
    }

    /// The next readable line with its number. Damage before it is sent; a torn last line ends the file.
    ///
    /// # Errors
    /// When the file at `path` cannot be read, or the receiver is gone.
    pub fn next_line<R: BufRead>(
        &mut self,
        lines: &mut LineReader<R>,
        session: impl Into<Option<SessionId>>,
        path: &Path,
    ) -> Result<Option<(u64, String)>, ReadSourceError> {
        let session = session.into();
        while let Some(line) = lines.next().map_err(|source| ReadSourceError::Io { path: path.to_owned(), source })? {
            let (number, text, lossy, last, repaired) = match line {
                SourceLine::Lost { number, what } => {
                    self.damaged(session, number, what)?;
                    continue;
                }
                SourceLine::TooLong { number, bytes } => {
                    self.damaged(session, number, format!("a line of {bytes} bytes, longer than the limit"))?;
                    continue;
                }
                SourceLine::Text { number, text, lossy, last, repaired } => (number, text, lossy, last, repaired),
            };
            if let Some(repaired) = repaired {
                self.damaged(session, number, repaired)?;
            }
            if lossy {
                self.damaged(session, number, "invalid UTF-8, replaced")?;
            }
            if last && JsonObject::parse(&text, "", &Notes::default()).is_err() {
                self.damaged(session, number, TORN)?;
                break;
            }
            return Ok(Some((number, text)));
        }
        Ok(None)
    }
}

/// The events of one foreign record, to be appended as one batch: line or row (from 1), time, events.
pub type MappedBatch = (u64, Time, Vec<Event>);

/// Numbers the batches of one foreign session and sends them.
#[derive(Debug)]
pub struct BatchWriter {
    /// Its id in the log.
    pub session: SessionId,
    next: Seq,
    fork: Option<ForkPoint>,
}

impl BatchWriter {
    /// A new session, from sequence number 0.
    pub fn new(session: SessionId) -> Self {
        Self { session, next: Seq::ZERO, fork: None }
    }

    /// A fork.
    pub fn forked(session: SessionId, cut: ForkPoint) -> Self {
        Self { session, next: cut.cut, fork: Some(cut) }
    }

    /// The sequence number of the next event.
    pub fn next(&self) -> Seq {
        self.next
    }

    /// Sends the events of one foreign record; returns the sequence number of the first. Without events nothing is sent.
    pub fn batch(
        &mut self,
        sink: &mut ImportSink<'_>,
        line: u64,
        at: Time,
        events: Vec<Event>,
    ) -> Result<Seq, ReceiverGone> {
        let first = self.next;
        if events.is_empty() {
            return Ok(first);
        }
        self.next = first.plus(events.len() as u64);
        let draft = Draft { session: self.session, expected: first, at, events, digest: None, states: Vec::new() };
        (sink.send)(SourceItem::Batch { line, draft, fork: self.fork.take() })?;
        Ok(first)
    }
}
