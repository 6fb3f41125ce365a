//! Starting and stopping the threads of a store.

use super::commit_queue::CommitQueue;
use super::committer::{self, Committer, RecentWriter, SharedCommitter};
use super::{read_ahead, sealer};
use crate::disk::folder::StoreLock;
use crate::disk::index::sled_writer::{self, SledWriter};
use crate::disk::journal::SegmentWriter;
use crate::disk::maintenance::trimming;
use crate::disk::state::StoreState;
use bytes::BytesMut;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::mpsc;

/// The threads of an open store, and the lock that makes this process its owner.
#[derive(Debug)]
pub struct Threads {
    committer: JoinHandle<()>,
    sled_writer: JoinHandle<bool>,
    sealer: JoinHandle<()>,
    read_ahead: JoinHandle<()>,
    /// Held while this process owns the store.
    lock: StoreLock,
}

impl Threads {
    /// Starts them; gives the way to the committer. `writer`, `written` and `unread` are what opening found: see
    /// [`Opened`](crate::disk::opening::Opened).
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        shared: &Arc<StoreState>,
        lock: StoreLock,
        writer: Option<SegmentWriter>,
        written: bool,
        unread: Option<u64>,
    ) -> io::Result<(Self, CommitQueue)> {
        let next = shared.lock().sessions.next;
        let (orders, queue) = mpsc::channel(shared.tuning.queue.max(1));
        let (sled_groups, group_queue) = std::sync::mpsc::channel();
        let (sealer_tasks, sealer_queue) = std::sync::mpsc::channel();
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let state = shared.clone();
        let sealer = thread("annals-sealer").spawn(move || sealer::run(&state, &sealer_queue))?;
        let (requests, request_queue) = read_ahead::channel();
        let state = Arc::downgrade(shared);
        let read_ahead = thread("annals-read-ahead").spawn(move || read_ahead::run(&state, &request_queue))?;
        *shared.read_ahead.lock().unwrap_or_else(PoisonError::into_inner) = Some(requests);
        let sled_writer = SledWriter::new(shared.clone(), next, written, unread);
        let sled_writer = thread("annals-sled-writer").spawn(move || sled_writer.run(group_queue))?;
        let (shared, buffer) = (shared.clone(), BytesMut::new());
        let recent = RecentWriter::default();
        let committer = Committer { shared, writer, next, buffer, sled_groups, sealer_tasks, recent };
        let (committer, collecting) = (Mutex::new(Some(committer)), AtomicBool::new(false));
        let committer = Arc::new(SharedCommitter { committer, collecting });
        let orders = CommitQueue::new(orders, committer.clone());
        let committer = thread("annals-committer").spawn(move || committer::run(&committer, queue))?;
        Ok((Self { committer, sled_writer, sealer, read_ahead, lock }, orders))
    }

    /// Waits for the threads, one after the other in the direction in which batches move, and leaves a store that opens fast.
    ///
    /// # Errors
    /// When the list of heads cannot be written, or a thread panicked.
    pub fn shut_down(self, shared: &StoreState, orders: &CommitQueue) -> io::Result<()> {
        let Self { committer, sled_writer, sealer, read_ahead, lock } = self;
        let gone = |_| io::Error::other("a thread of the store stopped with a panic");
        orders.stop();
        committer.join().map_err(gone)?;
        shared.closed.store(true, Ordering::Release);
        *shared.end.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *shared.read_ahead.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let lag = *shared.lag.lock().unwrap_or_else(PoisonError::into_inner);
        tracing::info!(bytes = lag, "the store is closing; sled gets what it lacks");
        sled_writer.thread().unpark();
        let written = sled_writer.join().map_err(gone)?;
        tracing::info!(bytes = lag, "sled has it");
        // Dropped here: the next one to open it needs its lock.
        let in_order = shared.sled.write().unwrap_or_else(PoisonError::into_inner).take().is_some();
        sealer.join().map_err(gone)?;
        read_ahead.join().map_err(gone)?;
        let sessions = shared.lock().sessions.clone();
        shared.remark_if_moved();
        let listed = shared.check().and_then(|()| sessions.save(&*shared.disk, &shared.layout.heads()));
        if let (Some(growing), true) = (shared.journal.growing(), listed.is_ok())
            && let Err(error) = growing.save_index(&*shared.disk, &shared.layout.journal(), sessions.next)
        {
            tracing::debug!(%error, "readers read the whole segment that grows");
        }
        // sled protects what it wrote only when it opens: see docs/durability.md.
        if in_order
            && written
            && listed.is_ok()
            && let Err(error) = sled_writer::open(shared)
        {
            tracing::warn!(%error, "the second copy of the log (sled) may lack the newest events; all of them are in the journal, and the next command that writes completes the copy");
        }
        trimming::trim(shared);
        if listed.is_ok()
            && in_order
            && let Err(error) = lock.note_closed()
        {
            tracing::debug!(%error, "the next opening asks sled for the end of every session");
        }
        drop(lock);
        listed
    }
}
