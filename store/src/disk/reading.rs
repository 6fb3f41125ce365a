//! Reading one session's own log: what sled lacks from memory, long pages from the blocks of the journal, single places from
//! sled or from one chunk of a packed segment. What one copy lacks or has damaged is looked up in the other.
//!
//! ```text
//! in memory? ─ yes ─► served
//!    └ no ─► page of more than FEW, or packed ─► journal ─ damaged ─► sled ─ damaged ─► `Damaged` (first batch), else the page ends
//!            └ one place ────────────────────► sled ─ lacks it, damaged, out of use ─► journal ─► the same
//! ```
//!
//! A record that sled lost is given back when a reader finds it in the journal. A damaged segment is not written here: it is
//! kept as a remark, and restored by the next opening.

pub(in crate::disk) mod following;

use crate::disk::index::record;
use crate::disk::index::sled_tree;
use crate::disk::journal::StoredBatch;
use crate::disk::journal::frame;
use crate::disk::journal::segment_index::IndexedBlock;
use crate::disk::maintenance::report::{Copy, Remark};
use crate::disk::sessions::SessionState;
use crate::disk::state::StoreState;
use crate::lineage::{Birth, Lineage, slice};
use crate::log::{ReadError, Slice};
use annals_core::{Seq, SessionId, codec};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Reads of no more batches than this are of single places: they are served on the caller's thread.
pub const FEW: usize = 32;

/// A reader of at least this many batches probably continues: the blocks after them are read ahead.
const MANY: usize = 128;

/// How many batches of a session a packed block must hold to be cheaper than as many reads in sled.
const WORTH_UNPACKING: usize = 48;

/// The same for a block that is not packed.
const WORTH_READING: usize = 12;

/// What a block of the journal gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JournalRead {
    /// Some batches.
    Given,
    /// None: it should hold them and does not.
    Damaged,
    /// None: it is not worth opening for the little that it holds of the session, or cannot be read now.
    Left,
}

impl StoreState {
    /// How a session reads through to its ancestors.
    pub(super) fn lineage(&self, session: SessionId) -> Result<Lineage, ReadError> {
        if self.is_closed() {
            return Err(ReadError::Closed);
        }
        let state = self.lock();
        Lineage::of(session, |session| Ok(state.sessions.own.get(&session).map(|own| own.birth)))
    }

    /// See [`crate::EventLog::read`].
    pub(super) fn read(&self, session: SessionId, from: Seq, limit: usize) -> Result<Vec<Slice>, ReadError> {
        if self.is_closed() {
            return Err(ReadError::Closed);
        }
        let own = self.own(session).ok_or(ReadError::NoSession(session))?;
        if from >= own.birth.first {
            // Nothing of it is inherited.
            let found = self.own_of(session, own, from, limit)?;
            return Ok(found.into_iter().map(|stored| slice(stored.batch, from, Seq(u64::MAX))).collect());
        }
        let lineage = self.lineage(session)?;
        lineage.read(from, limit, |session, from, limit| Ok(batches(self.own_from(session, from, limit)?)))
    }

    /// The same of what is the session's own and before a position of the store.
    pub(super) fn read_before(
        &self,
        session: SessionId,
        from: Seq,
        limit: usize,
        end: u64,
    ) -> Result<Vec<Slice>, ReadError> {
        let own = self.own(session).ok_or(ReadError::NoSession(session))?;
        let first = if from >= own.birth.first { self.own_of(session, own, from, 1)?.pop() } else { None };
        if first.is_none_or(|first| first.position >= end) {
            return Ok(Vec::new());
        }
        let found = self.own_of(session, own, from, limit)?.into_iter().take_while(|stored| stored.position < end);
        Ok(found.map(|stored| slice(stored.batch, from, Seq(u64::MAX))).collect())
    }

    /// See [`crate::EventLog::read_back`].
    pub(super) fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Result<Vec<Slice>, ReadError> {
        let lineage = self.lineage(session)?;
        lineage.read_back(before, limit, |session, before, limit| Ok(batches(self.own_before(session, before, limit)?)))
    }

    /// Up to `limit` Batches of a session's own log that end after `from`, oldest first. Ends before a damaged place,
    /// which is an error when it comes first.
    pub(super) fn own_from(&self, session: SessionId, from: Seq, limit: usize) -> Result<Vec<StoredBatch>, ReadError> {
        let own = self.own(session).ok_or(ReadError::NoSession(session))?;
        self.own_of(session, own, from, limit)
    }

    fn own_of(
        &self,
        session: SessionId,
        own: SessionState,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<StoredBatch>, ReadError> {
        let from = from.max(own.birth.first);
        if from >= own.head.next || limit == 0 {
            return if own.lost && limit > 0 { Err(lost(session, own.head.next)) } else { Ok(Vec::new()) };
        }
        // First how far sled goes, so that what it lacks is not taken for damage.
        let filled = self.filled.load(Ordering::Acquire);
        // Then what it lacks, then the files: what moves from one to the other in between is in both.
        let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
        let unwritten = recent.unwritten(session, from, own.head.next, limit);
        drop(recent);
        let mut page =
            PageBuilder { shared: self, session, filled, records: VecDeque::new(), unwritten, room: Vec::new() };
        let (mut found, mut next, mut hurt) = (Vec::with_capacity(limit.min(1024)), from, None);
        while found.len() < limit && next < own.head.next {
            let wanted = limit - found.len();
            if page.records.is_empty() && !page.lacks(next) {
                let run = match limit > FEW {
                    true => self.run_in_journal(session, next, wanted, &mut found),
                    false => self.few_in_journal(session, next, wanted, &mut found),
                };
                match run {
                    JournalRead::Given => {
                        next = found.last().map_or(next, |stored| stored.batch.next());
                        continue;
                    }
                    JournalRead::Damaged => hurt = Some(next),
                    JournalRead::Left => {}
                }
                page.fetch(next, wanted);
            }
            match page.holding(next) {
                Ok(Some(stored)) => {
                    if hurt.take_if(|hurt| *hurt == next).is_some() {
                        self.remark(Remark::Hurt { session, seq: stored.batch.first });
                    }
                    next = stored.batch.next();
                    found.push(stored);
                }
                Ok(None) | Err(_) if self.open_copy() => hurt = Some(next),
                Ok(None) if found.is_empty() => return Err(lost(session, next)),
                Err(error) if found.is_empty() => return Err(error),
                Ok(None) | Err(_) => break,
            }
        }
        Ok(found)
    }

    /// Gives batches of a session from `seq` on out of the block of the journal that holds it, up to `limit`.
    fn run_in_journal(&self, session: SessionId, seq: Seq, limit: usize, found: &mut Vec<StoredBatch>) -> JournalRead {
        let mut run = || {
            let Some(view) = self.journal.holding(session, seq)? else { return Ok(JournalRead::Left) };
            let Some(part) = view.index.sessions.get(&session) else { return Ok(JournalRead::Left) };
            let Some(span) = part.spans_from(seq).first() else { return Ok(JournalRead::Left) };
            let worth = if view.packed { WORTH_UNPACKING } else { WORTH_READING };
            let number = span.block as usize;
            if (span.batches as usize) < worth && !self.journal.is_loaded(&view, number) {
                return Ok(JournalRead::Left);
            }
            // Found without a directory, which takes long: sled first.
            if view.packed && !view.index.blocks.get(number).is_some_and(IndexedBlock::is_placed) {
                return Ok(JournalRead::Left);
            }
            if limit > MANY {
                self.read_ahead(session, seq, &view);
            }
            let before = found.len();
            self.journal.block(&view, number)?.run(session, seq, limit, found);
            Ok(if found.len() > before { JournalRead::Given } else { JournalRead::Damaged })
        };
        run().unwrap_or_else(|error: std::io::Error| {
            tracing::warn!(%session, %error, "the journal could not be read; sled serves");
            JournalRead::Left
        })
    }

    /// The same for a few events: out of one chunk of a packed segment.
    fn few_in_journal(&self, session: SessionId, seq: Seq, limit: usize, found: &mut Vec<StoredBatch>) -> JournalRead {
        let before = found.len();
        match self.journal.few(session, seq, limit, found) {
            Ok(true) if found.len() > before => JournalRead::Given,
            Ok(true) => JournalRead::Damaged,
            Ok(false) => JournalRead::Left,
            Err(error) => {
                tracing::warn!(%session, %error, "the journal could not be read; sled serves");
                JournalRead::Left
            }
        }
    }

    /// Up to `limit` Batches of a session's own log that begin before `before`, newest first.
    pub(super) fn own_before(
        &self,
        session: SessionId,
        before: Seq,
        limit: usize,
    ) -> Result<Vec<StoredBatch>, ReadError> {
        let own = self.own(session).ok_or(ReadError::NoSession(session))?;
        let SessionState { birth: Birth { first, .. }, head, .. } = own;
        let end = before.min(head.next);
        if end <= first || limit == 0 {
            return Ok(Vec::new());
        }
        let filled = self.filled.load(Ordering::Acquire);
        let recent = self.recent.read().unwrap_or_else(PoisonError::into_inner);
        let unwritten = recent.unwritten_before(session, end, limit);
        drop(recent);
        let (records, _) = match unwritten.len() >= limit {
            true => (Vec::new(), None),
            false => self.sled().map_or((Vec::new(), None), |sled| sled.backwards(session, end, limit)),
        };
        let mut page =
            PageBuilder { shared: self, session, filled, records: records.into(), unwritten, room: Vec::new() };
        let (mut found, mut end) = (Vec::with_capacity(limit.min(1024)), end);
        while found.len() < limit && end > first {
            match page.ending(Seq(end.0 - 1)) {
                Ok(None) | Err(_) if self.open_copy() => {
                    let wanted = limit - found.len();
                    page.records = self.sled().map_or(Vec::new(), |sled| sled.backwards(session, end, wanted).0).into();
                    self.remark(Remark::Hurt { session, seq: Seq(end.0 - 1) });
                }
                Ok(Some(stored)) => {
                    end = stored.batch.first;
                    found.push(stored);
                }
                Ok(None) if found.is_empty() => return Err(lost(session, Seq(end.0 - 1))),
                Err(error) if found.is_empty() => return Err(error),
                Ok(None) | Err(_) => break,
            }
        }
        Ok(found)
    }

    /// The batch of a session that holds `seq`, from the journal; if sled had it before it was asked, it gets it back.
    fn look_in_journal(&self, session: SessionId, seq: Seq, filled: u64) -> Result<Option<StoredBatch>, ReadError> {
        let io = |error: std::io::Error| ReadError::Io { source: Arc::new(error) };
        let Some(bytes) = self.journal.find(session, seq).map_err(io)? else { return Ok(None) };
        let Some(stored) = decode(&bytes) else { return Ok(None) };
        if stored.position < filled
            && let Some(sled) = self.sled()
        {
            match sled.replace(session, stored.batch.first, &bytes) {
                Ok(()) => self.remark(Remark::Mended { session, seq: stored.batch.first, damaged: Copy::Sled }),
                Err(error) => tracing::warn!(%session, %seq, %error, "the record in sled could not be restored"),
            }
        }
        Ok(Some(stored))
    }
}

/// The batch of a frame, if the frame is whole and its batch can be decoded.
pub(super) fn decode(bytes: &[u8]) -> Option<StoredBatch> {
    let frame = frame::parse(bytes).ok().filter(|frame| frame.kind == frame::FrameKind::Batch)?;
    let batch = codec::decode(frame.payload).ok()?;
    Some(StoredBatch { batch: Arc::new(batch), position: frame.position })
}

fn batches(stored: Vec<StoredBatch>) -> Vec<Arc<annals_core::Batch>> {
    stored.into_iter().map(|stored| stored.batch).collect()
}

fn lost(session: SessionId, seq: Seq) -> ReadError {
    ReadError::Damaged { session, seq, reason: "the batch here is damaged in every copy".to_owned() }
}

/// What was fetched for one page, in the order in which it is wanted.
struct PageBuilder<'a> {
    shared: &'a StoreState,
    session: SessionId,
    /// How far sled went at least when it was asked.
    filled: u64,
    records: VecDeque<(sled::IVec, sled::IVec)>,
    unwritten: VecDeque<StoredBatch>,
    /// Where records are unpacked.
    room: Vec<u8>,
}

impl PageBuilder<'_> {
    /// Whether sled may lack what holds `seq`.
    fn lacks(&self, seq: Seq) -> bool {
        self.unwritten.front().is_some_and(|stored| stored.batch.first <= seq && seq < stored.batch.next())
    }

    /// Gets records from sled, from the one that holds `seq` on.
    fn fetch(&mut self, seq: Seq, limit: usize) {
        let Some(sled) = self.shared.sled() else { return };
        let (records, error) = sled.forwards(self.session, seq, limit);
        self.records = records.into();
        if let Some(error) = error {
            tracing::warn!(session = %self.session, %error, "sled could not be read; the journal serves");
        }
    }

    /// Removes the next of the batches that sled lacks, if it holds `seq`.
    fn next_unwritten(&mut self, seq: Seq) -> Option<StoredBatch> {
        let next = self.unwritten.front()?;
        if next.batch.first <= seq && seq < next.batch.next() { self.unwritten.pop_front() } else { None }
    }

    /// Reading forwards: the batch that holds `seq`.
    fn holding(&mut self, seq: Seq) -> Result<Option<StoredBatch>, ReadError> {
        if let Some(stored) = self.next_unwritten(seq) {
            return Ok(Some(stored));
        }
        self.take(seq, |first| first < seq)
    }

    /// Reading backwards: the batch that holds `seq`, its last wanted place.
    fn ending(&mut self, seq: Seq) -> Result<Option<StoredBatch>, ReadError> {
        if let Some(stored) = self.next_unwritten(seq) {
            return Ok(Some(stored));
        }
        self.take(seq, |first| first > seq)
    }

    /// Passes over records that came before, takes the one that holds `seq`, or looks in the journal.
    fn take(&mut self, seq: Seq, before: impl Fn(Seq) -> bool) -> Result<Option<StoredBatch>, ReadError> {
        while let Some((key, value)) = self.records.pop_front() {
            let first = first_of(&key);
            let whole = decode(record::frame(&value, &mut self.room));
            match whole.filter(|stored| *key == sled_tree::key(self.session, stored.batch.first)) {
                Some(stored) if stored.batch.first <= seq && seq < stored.batch.next() => return Ok(Some(stored)),
                _ if first.is_some_and(&before) => {}
                _ => {
                    self.records.push_front((key, value));
                    break;
                }
            }
        }
        self.shared.look_in_journal(self.session, seq, self.filled)
    }
}

fn first_of(key: &[u8]) -> Option<Seq> {
    Some(Seq(u64::from_be_bytes(key.get(16..24)?.try_into().ok()?)))
}
