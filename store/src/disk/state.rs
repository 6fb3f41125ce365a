//! What the threads of an open store share.

use crate::disk::blobs::BlobFiles;
use crate::disk::folder::Folder;
use crate::disk::folder::files::Disk;
use crate::disk::folder::layout::Layout;
use crate::disk::index::private_copy::PrivateCopy;
use crate::disk::index::sled_tree::SledTree;
use crate::disk::index::sled_writer::FlushedGroup;
use crate::disk::journal::{Journal, StoredBatch};
use crate::disk::maintenance::report::Remark;
use crate::disk::sessions::{SessionHeads, SessionState};
use crate::disk::threads::read_ahead::ReadAheadRequest;
use crate::log::{AppendError, Position};
use crate::store_id::StoreId;
use annals_core::{Seq, SessionId, SessionKey};
use std::collections::hash_map::{Entry, HashMap};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// Sizes and times of a store. The defaults suit a personal computer; tests use small ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Bytes reserved for a segment of the journal.
    pub segment_bytes: u64,
    /// How many appends may wait for the committer; the next one waits to be admitted.
    pub queue: usize,
    /// The most bytes that are made durable together.
    pub group_bytes: usize,
    /// The most bytes that sled may lack; then appends wait for it.
    pub lag_bytes: u64,
    /// The most bytes of them that are kept in memory; the others are read again from the journal.
    pub lag_memory: u64,
    /// The most bytes that sled may lack while others write: as long as it lacks less, it waits for a quiet moment.
    pub lag_free: u64,
    /// How long no batch must have been written before sled is written.
    pub lag_quiet: Duration,
    /// Batches after which sled is made durable.
    pub checkpoint_every: u64,
    /// Quiet time after which sled is made durable.
    pub checkpoint_idle: Duration,
    /// sled's cache in bytes.
    pub sled_cache: u64,
    /// The size in bytes of the segments of a sled that is made: a quarter of it is the largest thing that sled keeps out of its own
    /// `blobs`, and closing it fills one.
    pub sled_segment: usize,
    /// The most bytes of the journal that readers keep in memory.
    pub read_room: u64,
    /// Whether sealed segments are compressed.
    pub pack: bool,
    /// How long no segment must have been begun before one is compressed: writers come first.
    pub quiet: Duration,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            segment_bytes: 8 << 20,
            queue: 1024,
            group_bytes: 2 << 20,
            lag_bytes: 128 << 20,
            lag_memory: 16 << 20,
            lag_free: 96 << 20,
            lag_quiet: Duration::from_millis(20),
            checkpoint_every: 16_384,
            checkpoint_idle: Duration::from_secs(2),
            sled_cache: 16 << 20,
            sled_segment: 1 << 20,
            read_room: 16 << 20,
            pack: true,
            quiet: Duration::from_millis(300),
        }
    }
}

/// How many of the newest batches are kept for followers.
const KEPT: usize = 4096;

/// How many bytes of them, in their codec form; the newest one is kept however long it is.
const KEPT_BYTES: usize = 16 << 20;

/// An open store.
#[derive(Debug)]
pub struct StoreState {
    pub(in crate::disk) layout: Layout,
    /// The folder, held open: all paths are looked up in it.
    pub(in crate::disk) folder: Arc<Folder>,
    pub(in crate::disk) id: StoreId,
    pub(in crate::disk) disk: Arc<dyn Disk>,
    pub(in crate::disk) tuning: Tuning,
    pub(in crate::disk) journal: Journal,
    pub(in crate::disk) blobs: Arc<BlobFiles>,
    /// The keys of the sessions that were appended to; `None` for those whose keys are not here.
    pub(in crate::disk) keys: Mutex<HashMap<SessionId, Option<SessionKey>>>,
    /// `None` while sled is out of order: then the journal serves.
    pub(in crate::disk) sled: RwLock<Option<SledTree>>,
    /// Every batch below this is durable in sled.
    pub(in crate::disk) checkpoint: AtomicU64,
    pub(in crate::disk) state: Mutex<SessionTable>,
    pub(in crate::disk) recent: RwLock<RecentBatches>,
    /// Every batch below this was given to sled.
    pub(in crate::disk) filled: AtomicU64,
    /// Bytes that sled lacks.
    pub(in crate::disk) lag: Mutex<u64>,
    pub(in crate::disk) lag_fell: Condvar,
    /// The end position, for followers; `None` after the store is closed.
    pub(in crate::disk) end: Mutex<Option<watch::Sender<Position>>>,
    /// Where requests to read blocks ahead go; gone when the store is closed.
    pub(in crate::disk) read_ahead: Mutex<Option<SyncSender<ReadAheadRequest>>>,
    pub(in crate::disk) closed: AtomicBool,
    /// In a read-only store: a private copy of sled, read when the journal is damaged.
    pub(in crate::disk) copy: Option<PrivateCopy>,
    /// Damage found since opening.
    pub(in crate::disk) remarks: Mutex<Vec<Remark>>,
}

/// The sessions, and which of them have a batch on its way.
#[derive(Debug, Default)]
pub struct SessionTable {
    pub(in crate::disk) sessions: SessionHeads,
    /// Sessions with an append in progress, each with what wakes the callers that wait; usually none do.
    reserved: HashMap<SessionId, Option<Arc<Notify>>>,
}

impl SessionTable {
    /// A table of these sessions without reservations.
    pub(in crate::disk) fn of(sessions: SessionHeads) -> Self {
        Self { sessions, reserved: HashMap::new() }
    }

    fn free(&mut self, session: SessionId) {
        if let Some(Some(waiting)) = self.reserved.remove(&session) {
            waiting.notify_waiters();
        }
    }
}

/// What sled may lack, and the newest batches.
#[derive(Debug, Default)]
pub struct RecentBatches {
    /// What sled lacks and is kept in memory: of each session, in order.
    unwritten: HashMap<SessionId, VecDeque<StoredBatch>>,
    /// The newest batches, dense by position, each with its length in bytes; empty without followers.
    newest: VecDeque<(StoredBatch, usize)>,
    /// Those lengths together.
    newest_bytes: usize,
}

impl RecentBatches {
    /// Adds a batch of `bytes` bytes that is durable; `followed`: whether the store has followers.
    pub(in crate::disk) fn push(&mut self, stored: StoredBatch, bytes: usize, followed: bool) {
        if followed {
            self.newest_bytes += bytes;
            while (self.newest.len() >= KEPT || self.newest_bytes > KEPT_BYTES)
                && let Some((_, bytes)) = self.newest.pop_front()
            {
                self.newest_bytes -= bytes;
            }
            // It was counted before there was room for it, and stays if it alone takes all of it.
            self.newest.push_back((stored.clone(), bytes));
        } else {
            self.newest.clear();
            self.newest_bytes = 0;
        }
        self.unwritten.entry(stored.batch.session).or_default().push_back(stored);
    }

    /// Removes a session's batches up to the one that begins at `first`, in the order in which they came.
    fn evict(&mut self, session: SessionId, first: Seq) {
        let Some(own) = self.unwritten.get_mut(&session) else { return };
        while own.front().is_some_and(|stored| stored.batch.first <= first) {
            own.pop_front();
        }
        if own.is_empty() {
            self.unwritten.remove(&session);
        }
    }

    /// Up to `limit` Batches of a session that hold something from `from` on and begin before `to`, oldest first.
    pub(in crate::disk) fn unwritten(
        &self,
        session: SessionId,
        from: Seq,
        to: Seq,
        limit: usize,
    ) -> VecDeque<StoredBatch> {
        let Some(own) = self.unwritten.get(&session) else { return VecDeque::new() };
        let start = own.partition_point(|stored| stored.batch.next() <= from);
        let end = own.partition_point(|stored| stored.batch.first < to);
        own.range(start..end.max(start)).take(limit).cloned().collect()
    }

    /// What sled lacks and is kept in memory of some positions.
    pub(in crate::disk) fn unwritten_at(&self, positions: &BTreeSet<u64>) -> BTreeMap<u64, StoredBatch> {
        let all = self.unwritten.values().flatten().filter(|stored| positions.contains(&stored.position));
        all.map(|stored| (stored.position, stored.clone())).collect()
    }

    /// Up to `limit` Batches of a session that begin before `end`, newest first.
    pub(in crate::disk) fn unwritten_before(
        &self,
        session: SessionId,
        end: Seq,
        limit: usize,
    ) -> VecDeque<StoredBatch> {
        let Some(own) = self.unwritten.get(&session) else { return VecDeque::new() };
        let end = own.partition_point(|stored| stored.batch.first < end);
        own.range(..end).rev().take(limit).cloned().collect()
    }

    /// The newest batches from a position on, if they reach back that far.
    pub(in crate::disk) fn from(&self, position: u64, limit: usize) -> Option<Vec<StoredBatch>> {
        let first = self.newest.front()?.0.position;
        let skip = usize::try_from(position.checked_sub(first)?).ok()?;
        Some(self.newest.iter().skip(skip).take(limit).map(|(stored, _)| stored.clone()).collect())
    }
}

/// One session's next place, held by one writer until its batch is durable or given up.
#[derive(Debug)]
pub struct Reservation {
    shared: Arc<StoreState>,
    session: SessionId,
    held: bool,
}

impl Reservation {
    /// Gives the place up under a lock that is held already.
    pub(in crate::disk) fn free(&mut self, state: &mut SessionTable) {
        if std::mem::take(&mut self.held) {
            state.free(self.session);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.held {
            self.shared.lock().free(self.session);
        }
    }
}

impl StoreState {
    /// The sessions. Every change is whole in one step, so a panic elsewhere leaves nothing half done.
    pub(in crate::disk) fn lock(&self) -> MutexGuard<'_, SessionTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One session.
    pub(in crate::disk) fn own(&self, session: SessionId) -> Option<SessionState> {
        self.lock().sessions.own.get(&session).copied()
    }

    /// sled, if it is in order.
    pub(in crate::disk) fn sled(&self) -> Option<SledTree> {
        self.sled.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the second copy of a store that is only read. True when this call opened it: then read again.
    pub(in crate::disk) fn open_copy(&self) -> bool {
        let Some(copy) = &self.copy else { return false };
        let mut sled = self.sled.write().unwrap_or_else(PoisonError::into_inner);
        if sled.is_some() {
            return false;
        }
        *sled = copy.get();
        sled.is_some()
    }

    /// Whether the store is shut down.
    pub(in crate::disk) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Fails when the store was removed or replaced since it was opened. Asked before anything is written that is not an append
    /// to an open segment.
    pub(in crate::disk) fn check(&self) -> std::io::Result<()> {
        self.folder.check().map_err(crate::disk::Displaced::error)
    }

    /// What a writer gets when the disk refused.
    pub(in crate::disk) fn refused(&self, error: std::io::Error) -> AppendError {
        match crate::disk::Displaced::of(&error).or_else(|| self.folder.check().err()) {
            Some(displaced) => AppendError::Displaced(displaced),
            None => AppendError::Io { source: Arc::new(error) },
        }
    }

    /// Remarks that the folder was moved, if it was.
    pub(in crate::disk) fn remark_if_moved(&self) {
        if let Some((from, to)) = self.folder.moved()
            && self.folder.check().is_ok()
        {
            self.remark(Remark::Moved { from, to });
        }
    }

    /// Takes a group out of what is kept in memory for sled.
    pub(in crate::disk) fn evict(&self, fill: &FlushedGroup) {
        let mut recent = self.recent.write().unwrap_or_else(PoisonError::into_inner);
        for (_, (session, first)) in &fill.places {
            recent.evict(*session, *first);
        }
    }

    /// Records a remark for the user.
    pub(in crate::disk) fn remark(&self, remark: Remark) {
        tracing::warn!("{remark}");
        let mut remarks = self.remarks.lock().unwrap_or_else(PoisonError::into_inner);
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }

    /// Takes the next place of a session, or says whom to wait for. Call it under the same lock that decided.
    pub(in crate::disk) fn reserve(
        self: &Arc<Self>,
        state: &mut SessionTable,
        session: SessionId,
    ) -> Result<Reservation, tokio::sync::futures::OwnedNotified> {
        match state.reserved.entry(session) {
            Entry::Occupied(mut busy) => Err(busy.get_mut().get_or_insert_default().clone().notified_owned()),
            Entry::Vacant(free) => {
                free.insert(None);
                Ok(Reservation { shared: self.clone(), session, held: true })
            }
        }
    }
}
