//! The log as everyone sees it: append at an expected Seq, read, follow (`docs/reference/store.md#eventlog`).

mod cursor;
mod leases;
mod pages;
mod promises;
pub(crate) mod session_pages;

use crate::displaced::Displaced;
use crate::hung_owner::HungOwner;
use annals_core::{Batch, BlobHash, Blobs, Digest, Event, Record, SealError, Seq, SessionId, TextStates, Time};
#[cfg(feature = "nats")]
pub(crate) use cursor::PartGaps;
pub use cursor::{NoCursor, StoreCursor};
use futures_core::Stream;
use futures_util::StreamExt;
pub use leases::{HeldLease, SessionLeases};
pub use pages::{Pages, PagesBack};
pub use promises::{Acknowledged, Promises};
pub use session_pages::{PageToken, SessionList, SessionListPage};
use std::future::Future;
use std::io::ErrorKind;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

/// A boxed future: what makes [`EventLog`] dyn-compatible.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a follower receives, in order.
pub type Following = Pin<Box<dyn Stream<Item = Result<Followed, ReadError>> + Send>>;

/// The number of a batch in its store: unique, and higher for each later batch of a session. In a folder and in memory it is dense over all
/// sessions, from 0, so that a lost tail shows. It means nothing inside a session and is in no digest. To follow: [`StoreCursor`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// A batch to append.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The session to extend. A first batch creates it: it starts with `session.created` at seq 0, or with
    /// `session.forked` at seq = cut, whose parent wrote what holds `cut - 1`, with the named digest.
    pub session: SessionId,
    /// The Seq that the decision was made at: that of the batch's first event.
    pub expected: Seq,
    /// The time of the batch.
    pub at: Time,
    /// The facts; not empty. Large texts move to blobs when the batch is sealed.
    pub events: Vec<Event>,
    /// When given (import), the digest that the sealed batch must have.
    pub digest: Option<Digest>,
    /// The texts that are withheld, or have keys of their own (import). Empty for new facts.
    pub states: TextStates,
}

/// Where a session's log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The Seq that the next event gets.
    pub next: Seq,
    /// The digest of the last batch.
    pub digest: Digest,
    /// The time of the last batch.
    pub at: Time,
}

/// A Batch is durable.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    /// The batch in the log.
    pub batch: Arc<Batch>,
    /// Its place in the store.
    pub position: Position,
    /// True when exactly this batch was there already: nothing was written.
    pub known: bool,
}

/// A Session and where its log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionHead {
    /// The session.
    pub session: SessionId,
    /// Where it ends.
    pub head: Head,
}

/// A Batch as read through a session: of an inherited one, only the part below the fork's cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// The batch in the log of the session that wrote it.
    pub batch: Arc<Batch>,
    /// Records before this are left out (a read that starts inside a batch).
    pub from: Seq,
    /// Records from this on are left out (a cut inside a batch).
    pub until: Seq,
}

impl Slice {
    /// The records in view.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = Record<'_>> {
        self.batch.records().filter(|record| record.seq >= self.from && record.seq < self.until)
    }
}

/// What to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One session, from a Seq on, inherited facts included.
    Session {
        /// The session.
        session: SessionId,
        /// The first Seq wanted.
        from: Seq,
    },
    /// Every session, each in its own order, from a place in the store on.
    All {
        /// Behind everything that is not wanted: [`StoreCursor::START`], or one that a follower of this store got.
        from: StoreCursor,
    },
}

/// What a follower sees: everything that was there, one [`Followed::Synced`], then everything new; nothing lost,
/// nothing twice.
#[derive(Clone, Debug, PartialEq)]
pub enum Followed {
    /// A Batch.
    Batch {
        /// What is in view.
        slice: Slice,
        /// Where it is in the store; `None` when one session is followed.
        place: Option<StorePlace>,
    },
    /// Everything that was there when following began has been delivered.
    Synced,
}

/// Where a batch is in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorePlace {
    /// Its number.
    pub position: Position,
    /// Behind it, and behind all that this follower got before it.
    pub cursor: StoreCursor,
}

impl StorePlace {
    /// In a store whose positions are dense.
    pub fn dense(position: u64) -> Self {
        Self { position: Position(position), cursor: StoreCursor::behind(Position(position)) }
    }
}

/// Something among the batches of a log that is not a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// The session that it is stored with, if it is any.
    pub session: Option<SessionId>,
    /// A description of it and of its place.
    pub what: String,
}

/// Nothing was written, unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another writer extended the session first: fold what was missed and decide again.
    #[error("session {session} is at {actual}, but the batch expected {expected}")]
    Conflict {
        /// Which session.
        session: SessionId,
        /// Where the decision was made.
        expected: Seq,
        /// Where the log ends.
        actual: Seq,
    },
    /// Another append to the session is on its way: this batch was not written, and the other one may fail. Append it again.
    #[error("session {session} is being appended to by another writer; append again")]
    Contended {
        /// Which session.
        session: SessionId,
    },
    /// The session does not exist and the batch does not create it, or it exists and the batch would create it.
    #[error("session {session}: {reason}")]
    Misplaced {
        /// Which session.
        session: SessionId,
        /// What does not fit.
        reason: &'static str,
    },
    /// The batch does not have the digest that it should have: the source was altered or damaged.
    #[error("session {session}, event {seq}: the batch has digest {found}, expected {expected}")]
    Diverged {
        /// Which session.
        session: SessionId,
        /// The batch's first Seq.
        seq: Seq,
        /// What was expected.
        expected: Digest,
        /// What it has.
        found: Digest,
    },
    /// The batch names a blob that the store does not hold: put the blob first.
    #[error("session {session}, event {seq}: blob {blob} is not in the store")]
    MissingBlob {
        /// Which session.
        session: SessionId,
        /// The batch's first Seq.
        seq: Seq,
        /// Which blob.
        blob: BlobHash,
    },
    /// The events do not make a batch.
    #[error("session {session}: {source}")]
    Seal {
        /// Which session.
        session: SessionId,
        /// The error that caused it.
        source: SealError,
    },
    /// The disk refused. Nothing is acknowledged; reads continue; try again when the cause is gone.
    #[error("the log could not be written: {source}{}", advice(source))]
    Io {
        /// What the system said.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// The process that owns the store does not answer. It may have written the batch, or write it when it continues: then
    /// append the same batch again to find out.
    #[error("{0}; it is unknown whether the batch was written")]
    OwnerHung(HungOwner),
    /// The store was removed or replaced while it was open. Its owner wrote nothing; for a guest of an owner that is gone it
    /// is unknown whether the batch was written.
    #[error(transparent)]
    Displaced(Displaced),
    /// The answer was lost after the batch may have been written: append the same batch again to find out.
    #[error("it is unknown whether the batch was written; append it again to find out")]
    Unknown,
    /// The log was opened for reading alone: open it for writing.
    #[error("the store was opened for reading only")]
    ReadOnly,
    /// The store was shut down.
    #[error("the store is closed")]
    Closed,
}

/// Something could not be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such session.
    #[error("no session {0} in this store")]
    NoSession(SessionId),
    /// The place is damaged in every copy. What is around it can be read.
    #[error("session {session}, event {seq}: {reason}")]
    Damaged {
        /// Which session.
        session: SessionId,
        /// The first Seq.
        seq: Seq,
        /// What was found.
        reason: String,
    },
    /// The disk refused.
    #[error("the log could not be read: {source}")]
    Io {
        /// What the system said.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// The cursor is of a store of another form: follow from [`StoreCursor::START`].
    #[error("the place to follow from ({0}) is of another store; follow from the start")]
    ForeignCursor(StoreCursor),
    /// The process that owns the store does not answer: resume it, or end it, and read again.
    #[error(transparent)]
    OwnerHung(HungOwner),
    /// The store was shut down.
    #[error("the store is closed")]
    Closed,
}

/// The results of several drafts that were appended together.
#[derive(Debug, Default)]
pub struct Appended {
    /// The batches that are durable, in the order of their Drafts.
    pub committed: Vec<Committed>,
    /// Why the Draft after them was refused; nothing behind it was tried.
    pub refused: Option<AppendError>,
}

/// A log of sessions. Every backend passes the same public conformance suite.
///
/// **Invariant**: an acknowledged batch is durable, never changes, and is visible to every later call.
pub trait EventLog: Send + Sync {
    /// Appends a batch at the Seq that its writer decided at. Appending exactly what is there already gives
    /// `known`; anything else there is a [`AppendError::Conflict`].
    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>>;

    /// Appends batches one after another, as separate calls of [`EventLog::append`] would, and stops at the first that is
    /// refused. For imports: Drafts of one session that follow each other can become durable together.
    fn append_all(&self, drafts: Vec<Draft>) -> Boxed<'_, Appended> {
        Box::pin(append_each(drafts, |draft| self.append(draft)))
    }

    /// Where a session ends; `None` when there is no such session.
    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>>;

    /// What an acknowledgement of this log means.
    fn promises(&self) -> Promises;

    /// Up to `limit` sessions, from the start or from where an earlier page ended. A session that exists during the whole walk is in
    /// exactly one page; pages come in the order of the ids where one machine holds the store.
    fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Boxed<'_, Result<SessionListPage, ReadError>>;

    /// Every session, page by page.
    fn sessions(&self) -> SessionList<'_> {
        SessionList::new(Box::new(move |from, limit| self.sessions_page(from, limit)))
    }

    /// Up to `limit` Batches of a session from `from` on, oldest first; reads through to a fork's ancestors. Empty at
    /// the end.
    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>>;

    /// Up to `limit` Batches of a session that hold something before `before`, newest first.
    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>>;

    /// The batches of a session that hold something of `range`, read page by page, oldest first.
    fn pages(&self, session: SessionId, range: Range<Seq>) -> Pages<'_> {
        Pages::new(range, Box::new(move |from, limit| self.read(session, from, limit)))
    }

    /// The batches of a session that hold something before `before`, read page by page, newest first.
    fn pages_back(&self, session: SessionId, before: Seq) -> PagesBack<'_> {
        PagesBack::new(before, Box::new(move |before, limit| self.read_back(session, before, limit)))
    }

    /// The batch that holds an event, as the session sees it; `None` behind the end.
    fn batch_at(&self, session: SessionId, seq: Seq) -> Boxed<'_, Result<Option<Slice>, ReadError>> {
        Box::pin(async move {
            let slices = self.read(session, seq, 1).await?;
            Ok(slices.into_iter().next().filter(|slice| slice.from <= seq && seq < slice.until))
        })
    }

    /// Everything from a place on, one marker, then everything new. A slow follower never blocks a writer.
    fn follow(&self, scope: Scope) -> Following;

    /// The batch that a cursor is just behind, which shows whether the cursor is of this log: `None` at the start, or when there is no
    /// such batch (any more).
    fn last_before(&self, cursor: &StoreCursor) -> Boxed<'_, Result<Option<Slice>, ReadError>> {
        let before = cursor.one_back();
        Box::pin(async move {
            let Some(before) = before else { return Ok(None) };
            let position = before.dense()?;
            let first = self.follow(Scope::All { from: before }).next().await.transpose()?;
            Ok(match first {
                Some(Followed::Batch { slice, place: Some(place) }) if place.position == position => Some(slice),
                _ => None,
            })
        })
    }

    /// Makes a text durable under its content hash.
    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>>;

    /// Where blobs are read.
    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync>;

    /// Messages among the batches of a session, or of all, that are not batches: foreign ones, and damaged ones that are
    /// unrecognisable. Other reads skip them; verification reports them.
    fn strays(&self, session: Option<SessionId>) -> Boxed<'_, Result<Vec<Stray>, ReadError>> {
        let _ = session;
        Box::pin(async { Ok(Vec::new()) })
    }

    /// The rights to run sessions, for a log that several machines share; `None`: the folder of the store has them.
    fn leases(&self) -> Option<Arc<dyn SessionLeases>> {
        None
    }
}

/// Appends Drafts by `append`, one after another, up to the first that is refused.
pub(crate) async fn append_each<'a>(
    drafts: Vec<Draft>,
    append: impl Fn(Draft) -> Boxed<'a, Result<Committed, AppendError>>,
) -> Appended {
    let mut appended = Appended::default();
    for draft in drafts {
        match append(draft).await {
            Ok(committed) => appended.committed.push(committed),
            Err(error) => {
                appended.refused = Some(error);
                break;
            }
        }
    }
    appended
}

/// What to do about an error of the disk, where that is known.
pub(crate) fn advice(error: &std::io::Error) -> &'static str {
    const OPEN_FILES: [i32; 2] = [rustix::io::Errno::MFILE.raw_os_error(), rustix::io::Errno::NFILE.raw_os_error()];
    if error.raw_os_error().is_some_and(|number| OPEN_FILES.contains(&number)) {
        return "; close other programs or raise the limit on open files (`ulimit -n`)";
    }
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; free disk space",
        ErrorKind::FileTooLarge => "; raise the limit on the length of files (`ulimit -f`)",
        _ => "",
    }
}
