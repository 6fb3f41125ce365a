//! What a reader of foreign Sessions gives: Batches, losses and damage, in order, one at a time.

use super::foreign::{JsonObject, Notes};
use super::identity::Editions;
use super::lines::{LineReader, SourceLine, TORN};
use annals_core::event::{EpochStarted, Origin, SnapshotAdvanced};
use annals_core::{Event, ModelName, Seq, SessionId, Time};
use annals_store::Draft;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Where a Batch goes that only the log can finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkPoint {
    /// The Session that is continued.
    pub parent: SessionId,
    /// The first Seq that is not inherited.
    pub cut: Seq,
}

/// One item of a source.
#[derive(Debug)]
pub enum SourceItem {
    /// A foreign Session begins; its Batches follow, possibly between those of others.
    Started {
        /// Its id here.
        session: SessionId,
        /// Its title, or its first prompt in brief.
        title: Option<String>,
        /// Where it comes from.
        origin: Origin,
    },
    /// The facts of one foreign record.
    Batch {
        /// Its line (or row), from 1.
        line: u64,
        /// The Batch.
        draft: Draft,
        /// Set when its `session.forked` still lacks the parent's digest.
        fork: Option<ForkPoint>,
    },
    /// Something that no event says.
    Lost {
        /// Whose.
        session: SessionId,
        /// The line (or row), from 1; 0 without a place.
        line: u64,
        /// What, by name.
        what: String,
        /// The record that it stood in, if originals are kept.
        original: Option<String>,
    },
    /// Something unsound in the source.
    Damaged {
        /// Whose, if a Session is known.
        session: Option<SessionId>,
        /// The line (or row), from 1; 0 without a place.
        line: u64,
        /// What, by name.
        what: String,
    },
    /// How far reading is: in bytes of a file, in Sessions of a database.
    Progress {
        /// What was read.
        done: u64,
        /// All of it.
        total: u64,
    },
}

/// Whoever receives the items went away: stop reading.
#[derive(Debug, thiserror::Error)]
#[error("nobody receives what is read")]
pub struct ReceiverGone;

/// A source cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadSourceError {
    /// The file cannot be read: check that it exists and may be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The database cannot be read: it is none of OpenCode's, or its version has another form.
    #[error("{}: {source}", path.display())]
    Database {
        /// Which.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
    /// The receiver went away.
    #[error(transparent)]
    ReceiverGone(#[from] ReceiverGone),
}

/// What the log already says of things that OpenCode keeps beside its own log, where the last state replaces the one
/// before: what was seen once is not unlearned.
#[derive(Clone, Debug, Default)]
pub struct KnownContext {
    /// The Seq after the last event here.
    pub head: Seq,
    /// Epochs that stand alone in a Batch, with its time.
    pub epochs: BTreeMap<Seq, (Time, EpochStarted)>,
    /// Snapshot advances, by the Seq of their Batch.
    pub advances: BTreeMap<Seq, SnapshotAdvanced>,
}

/// What every reader needs: where items go, who is who, what is known.
pub struct ImportSink<'a> {
    /// Receives items; blocks while the log is behind.
    pub send: &'a mut dyn FnMut(SourceItem) -> Result<(), ReceiverGone>,
    /// The model that a session of the log was created with; `None` if it is new.
    pub first_model: &'a dyn Fn(SessionId) -> Option<ModelName>,
    /// What the log holds of a Session.
    pub recall: &'a dyn Fn(SessionId) -> KnownContext,
    /// Who is who.
    pub editions: &'a Editions,
    /// Whether records that lose something are kept.
    pub keep_originals: bool,
    /// Whether a transcript is read that holds a prompt and no answer yet.
    pub prompts: bool,
}

impl ImportSink<'_> {
    /// Tells everything that was noted while a record was mapped.
    pub fn lost(&mut self, session: SessionId, line: u64, notes: &Notes, record: &str) -> Result<(), ReceiverGone> {
        for what in notes.take() {
            let original = self.keep_originals.then(|| record.to_owned());
            (self.send)(SourceItem::Lost { session, line, what, original })?;
        }
        Ok(())
    }

    /// Tells damage.
    pub fn damaged(
        &mut self,
        session: Option<SessionId>,
        line: u64,
        what: impl Into<String>,
    ) -> Result<(), ReceiverGone> {
        (self.send)(SourceItem::Damaged { session, line, what: what.into() })
    }

    /// The next line of a transcript that can be read, with its number. Damage on the way is told; a torn last line is the end.
    ///
    /// # Errors
    /// When the file at `path` cannot be read, or nobody receives what is told.
    pub fn next_line<R: BufRead>(
        &mut self,
        lines: &mut LineReader<R>,
        session: SessionId,
        path: &Path,
    ) -> Result<Option<(u64, String)>, ReadSourceError> {
        let session = Some(session);
        while let Some(line) = lines.next().map_err(|source| ReadSourceError::Io { path: path.to_owned(), source })? {
            let (number, text, lossy, last) = match line {
                SourceLine::TooLong { number, bytes } => {
                    self.damaged(session, number, format!("a line of {bytes} bytes, longer than is read"))?;
                    continue;
                }
                SourceLine::Text { number, text, lossy, last } => (number, text, lossy, last),
            };
            if lossy {
                self.damaged(session, number, "bytes that are no UTF-8, replaced")?;
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

/// The log of one foreign Session as it grows: gives every Batch its place.
#[derive(Debug)]
pub struct BatchWriter {
    /// Its id here.
    pub session: SessionId,
    next: Seq,
    fork: Option<ForkPoint>,
}

impl BatchWriter {
    /// A Session that begins at Seq 0.
    pub fn new(session: SessionId) -> Self {
        Self { session, next: Seq::ZERO, fork: None }
    }

    /// A Session that continues another one.
    pub fn forked(session: SessionId, cut: ForkPoint) -> Self {
        Self { session, next: cut.cut, fork: Some(cut) }
    }

    /// The Seq that the next event gets.
    pub fn next(&self) -> Seq {
        self.next
    }

    /// Appends the facts of one foreign record; gives the Seq of the first. No facts, no Batch.
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
        let draft = Draft { session: self.session, expected: first, at, events, digest: None };
        (sink.send)(SourceItem::Batch { line, draft, fork: self.fork.take() })?;
        Ok(first)
    }
}
