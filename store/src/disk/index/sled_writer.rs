//! The sled writer: a thread that brings sled up to the journal, and makes sled durable at checkpoints.

use super::rebuild;
use super::sled_tree::{SledError, SledTree};
use crate::disk::journal::frame::{self, FrameKind};
use crate::disk::maintenance::report::{Copy, Remark};
use crate::disk::sessions::Checkpoint;
use crate::disk::state::{StoreState, Tuning};
use crate::log::Position;
use annals_core::{Seq, SessionId, codec};
use bytes::Bytes;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// A group that is durable in the journal.
#[derive(Debug)]
pub struct FlushedGroup {
    /// The frames, one behind the other.
    pub frames: Bytes,
    /// The bytes of each in them, and its place in its session.
    pub places: Vec<(Range<usize>, (SessionId, Seq))>,
    /// The position behind the last.
    pub next: u64,
}

/// The thread's own state.
#[derive(Debug)]
pub struct SledWriter {
    /// The store.
    pub shared: Arc<StoreState>,
    /// The position behind the last batch that was taken.
    pub written_until: u64,
    /// Whether sled was written to since it was opened.
    pub was_written: bool,
    /// Batches below this position were evicted from memory: sled gets them from the journal.
    evicted_until: u64,
    /// What came after that, in memory, and how many bytes it is.
    queue: VecDeque<FlushedGroup>,
    bytes: u64,
    /// Position, session and number of each evicted batch, so that later damage in the journal is reported by name.
    evicted: VecDeque<(u64, (SessionId, Seq))>,
    /// The bytes that sled lacks, in memory or not.
    lag: u64,
    /// The first position of what could not be read again from the journal: sled is complete only before it.
    unread: Option<u64>,
    /// The position from which on sled is repaired although writers are busy.
    repair_at: u64,
}

impl SledWriter {
    /// The sled writer of a store whose sled holds everything before `written_until`, except what could not be read from `unread` on.
    pub fn new(shared: Arc<StoreState>, written_until: u64, was_written: bool, unread: Option<u64>) -> Self {
        let (queue, evicted) = (VecDeque::new(), VecDeque::new());
        let repair_at = written_until.saturating_add(shared.tuning.checkpoint_every);
        Self {
            shared,
            written_until,
            was_written,
            evicted_until: written_until,
            queue,
            bytes: 0,
            evicted,
            lag: 0,
            unread,
            repair_at,
        }
    }

    /// Works until the committer is gone. Gives whether sled was written to.
    ///
    /// While batches keep coming it lets them wait, since sled would take the processor and the disk from the
    /// writers; but not more of them than [`Tuning::lag_free`](crate::disk::state::Tuning::lag_free) says.
    pub fn run(mut self, groups: Receiver<FlushedGroup>) -> bool {
        let Tuning { checkpoint_idle, lag_quiet, lag_free, .. } = self.shared.tuning;
        loop {
            let first = match self.lag {
                0 => groups.recv_timeout(checkpoint_idle),
                // No writer wakes this thread meanwhile, except one that closes the store.
                _ => match groups.try_recv() {
                    Err(TryRecvError::Empty) => {
                        std::thread::park_timeout(lag_quiet);
                        groups.recv_timeout(Duration::ZERO)
                    }
                    Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
                    Ok(group) => {
                        std::thread::park_timeout(lag_quiet);
                        Ok(group)
                    }
                },
            };
            match first {
                Ok(group) => {
                    self.enqueue(group);
                    groups.try_iter().for_each(|group| self.enqueue(group));
                    while self.lag > lag_free && self.write_some() {
                        groups.try_iter().for_each(|group| self.enqueue(group));
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.lag == 0 => {
                    self.repair();
                    self.checkpoint();
                }
                Err(RecvTimeoutError::Timeout) => {
                    // Quiet: continue until the next write.
                    while self.write_some() {
                        if let Ok(group) = groups.try_recv() {
                            self.enqueue(group);
                            break;
                        }
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    while self.write_some() {}
                    self.repair();
                    self.checkpoint();
                    return self.was_written;
                }
            }
        }
    }

    /// Queues a group. When the queue takes too much memory, its oldest groups are evicted: they are durable in the journal, below
    /// the end that readers may use, before they get here. So eviction never makes an acknowledged batch unreadable; it only moves
    /// the reading of it from memory to the journal.
    fn enqueue(&mut self, group: FlushedGroup) {
        self.bytes += group.frames.len() as u64;
        self.lag += group.frames.len() as u64;
        self.queue.push_back(group);
        while self.bytes > self.shared.tuning.lag_memory
            && let Some(oldest) = self.queue.pop_front()
        {
            self.bytes -= oldest.frames.len() as u64;
            self.evicted_until = oldest.next;
            let first = oldest.next - oldest.places.len() as u64;
            self.evicted.extend((first..).zip(oldest.places.iter().map(|(_, place)| *place)));
            self.shared.evict(&oldest);
        }
    }

    /// Writes a part of the queue to sled: first what was evicted, since positions reach sled in order. False when nothing is
    /// left.
    fn write_some(&mut self) -> bool {
        let bytes = if self.written_until < self.evicted_until {
            self.write_evicted()
        } else if let Some(group) = self.queue.pop_front() {
            self.bytes -= group.frames.len() as u64;
            let frames = group.places.iter().map(|(range, place)| (*place, group.frames.get(range.clone())));
            self.insert_all(frames.filter_map(|(place, frame)| Some((place, frame?))));
            self.advance(group.next);
            // Not before this: a reader that finds a batch neither in memory nor in sled, below `filled`, takes it for damage. From
            // here on sled serves them, or, when it is out of use, the journal does.
            self.shared.evict(&group);
            group.frames.len() as u64
        } else {
            self.lag = 0;
            return false;
        };
        self.lag = self.lag.saturating_sub(bytes);
        let mut lag = self.shared.lag.lock().unwrap_or_else(PoisonError::into_inner);
        *lag = lag.saturating_sub(bytes);
        if self.written_until >= self.evicted_until && self.queue.is_empty() {
            (*lag, self.lag) = (lag.saturating_sub(self.lag), 0);
        }
        drop(lag);
        self.shared.lag_fell.notify_all();
        let every = self.shared.tuning.checkpoint_every;
        if self.written_until >= self.repair_at && (self.unread.is_some() || self.shared.sled().is_none()) {
            // It may never be quiet.
            self.repair();
            self.repair_at = self.written_until.saturating_add(every);
        }
        if self.written_until.saturating_sub(self.shared.checkpoint.load(Ordering::Relaxed)) >= every {
            self.checkpoint();
        }
        true
    }

    /// Writes one block of what was evicted, from the journal. Gives how many bytes that was.
    ///
    /// A block may reach beyond what was evicted. It is cut at `evicted_until`: what follows is in the queue, and would reach sled
    /// twice. While this runs, `enqueue` may only move `evicted_until` up, never below what was written.
    fn write_evicted(&mut self) -> u64 {
        let shared = self.shared.clone();
        let block = shared.journal.at(self.written_until).and_then(|view| {
            let Some((view, number)) = view.and_then(|view| view.index.block_of(self.written_until).map(|n| (view, n)))
            else {
                return Ok(None);
            };
            let behind = view.index.blocks.get(number + 1).map_or(view.index.end, |next| next.first);
            Ok(Some((shared.journal.block(&view, number)?, behind)))
        });
        let (to, block) = match block {
            Ok(Some((block, behind))) => (behind, Some(block)),
            // No block holds the position: the end of this segment is damaged. The next segment is whole.
            Ok(None) => (shared.journal.end_of(self.written_until), None),
            Err(error) => {
                shared.unread(self.written_until, &error);
                self.unread.get_or_insert(self.written_until);
                let to = shared.journal.end_of(self.written_until).min(self.evicted_until);
                while self.evicted.front().is_some_and(|(position, _)| *position < to) {
                    self.evicted.pop_front();
                }
                self.advance(to);
                return 0;
            }
        };
        let to = to.min(self.evicted_until);
        while let Some(&(position, whose)) = self.evicted.front().filter(|(position, _)| *position < to) {
            self.evicted.pop_front();
            // Neither in memory nor in sled, and damaged in the journal since: lost. Reported now, since the next reader may
            // come late.
            if block.as_ref().is_none_or(|block| block.chunk_end(position).is_none()) {
                shared.remark(Remark::Lost { position: Position(position), count: 1, whose: Some(whose) });
            }
        }
        let mut bytes = 0;
        if let Some(block) = &block {
            let frames = block.frames(self.written_until..to);
            self.insert_all(frames.inspect(|(_, frame)| bytes += frame.len() as u64));
        }
        self.advance(to);
        bytes
    }

    fn insert_all<'a>(&mut self, frames: impl Iterator<Item = ((SessionId, Seq), &'a [u8])>) {
        let sled = self.shared.sled();
        for ((session, first), frame) in frames {
            let Some(sled) = &sled else { continue };
            self.was_written = true;
            if let Err(error) = insert(&self.shared, sled, session, first, frame) {
                return self.set_out_of_use(&error);
            }
        }
    }

    fn advance(&mut self, next: u64) {
        self.written_until = next;
        self.shared.filled.store(next, Ordering::Release);
    }

    fn checkpoint(&mut self) {
        let next = self.unread.unwrap_or(self.written_until);
        if self.shared.checkpoint.load(Ordering::Relaxed) == next {
            return;
        }
        let Some(sled) = self.shared.sled() else { return };
        if let Err(error) = self.shared.check() {
            tracing::warn!(%error, "the checkpoint could not be written");
            return;
        }
        if let Err(error) = sled.checkpoint(&*self.shared.disk) {
            return self.set_out_of_use(&error);
        }
        match (Checkpoint { next }).save(&*self.shared.disk, &self.shared.layout.checkpoint()) {
            Ok(()) => self.shared.checkpoint.store(next, Ordering::Relaxed),
            // The old checkpoint stays in force: more is compared at the next opening.
            Err(error) => tracing::warn!(%error, "the checkpoint could not be written"),
        }
    }

    /// sled's errors stick to its handle: it is closed, the journal serves, and it is opened again at a quiet moment.
    fn set_out_of_use(&mut self, error: &SledError) {
        self.repair_at = self.written_until.saturating_add(self.shared.tuning.checkpoint_every);
        tracing::warn!(%error, "the second copy of the log (sled) cannot be written; the journal has everything and serves all reads, and the next command that writes completes the copy");
        *self.shared.sled.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Opens sled again and writes what it may lack; or retries to write what could not be read.
    ///
    /// It starts at the checkpoint: after an error it is unknown which of the later records sled kept. Inserting one that
    /// exists is cheap, and a different one is replaced and reported.
    fn repair(&mut self) {
        if let Some(sled) = self.shared.sled() {
            let Some(from) = self.unread else { return };
            self.was_written = true;
            match refill(&self.shared, &sled, from, self.written_until) {
                Ok(refilled) => self.unread = refilled.unread,
                Err(error) => self.set_out_of_use(&error),
            }
            return;
        }
        let from = self.shared.checkpoint.load(Ordering::Relaxed);
        let StoreState { layout, folder, disk, .. } = &*self.shared;
        let finished = self.shared.check().and_then(|()| rebuild::finish(layout, folder, &**disk));
        let opened = finished.map_err(|error| SledError::Flush(error.into())).and_then(|()| open(&self.shared));
        match opened.and_then(|sled| Ok((refill(&self.shared, &sled, from, self.written_until)?, sled))) {
            Ok((refilled, sled)) => {
                (self.was_written, self.unread) = (true, refilled.unread);
                *self.shared.sled.write().unwrap_or_else(PoisonError::into_inner) = Some(sled);
                tracing::info!("sled is in use again");
            }
            Err(error) => tracing::warn!(%error, "sled still cannot be used"),
        }
    }
}

impl StoreState {
    /// Reports that the segment of a position cannot be read.
    fn unread(&self, position: u64, error: &io::Error) {
        let segments = self.journal.segments();
        if let Some((segment, _)) = segments.iter().rev().find(|(segment, _)| segment.first <= position) {
            self.remark(Remark::Unread { segment: segment.path(), reason: error.to_string() });
        }
    }
}

/// Opens the store's sled.
pub fn open(shared: &StoreState) -> Result<SledTree, SledError> {
    let StoreState { layout, folder, disk, tuning, .. } = shared;
    SledTree::open_in(folder, &**disk, &layout.sled(), tuning.sled_cache, tuning.sled_segment)
}

/// Inserts a frame of the journal. If sled has another record there, the journal is right: the frame's checksum held and its batch
/// was acknowledged. The record is replaced, and reported, because it is damage of the second copy.
pub fn insert(
    shared: &StoreState,
    sled: &SledTree,
    session: SessionId,
    first: Seq,
    frame: &[u8],
) -> Result<bool, SledError> {
    match sled.insert(session, first, frame) {
        Err(SledError::Taken { .. }) => {
            sled.replace(session, first, frame)?;
            shared.remark(Remark::Mended { session, seq: first, damaged: Copy::Sled });
            Ok(true)
        }
        done => done,
    }
}

/// Result of copying a range of the journal to sled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refilled {
    /// How many batches it lacked.
    pub lacked: u64,
    /// The first position that could not be read.
    pub unread: Option<u64>,
}

/// Writes what the journal has from one position to another.
pub fn refill(shared: &StoreState, sled: &SledTree, from: u64, to: u64) -> Result<Refilled, SledError> {
    let mut lacked = 0;
    let unread = each_batch(shared, from..to, |session, first, frame| {
        lacked += u64::from(insert(shared, sled, session, first, frame)?);
        Ok(())
    })?;
    Ok(Refilled { lacked, unread })
}

/// Reads the batches at some positions of the journal. A segment that cannot be read is skipped and
/// reported. Returns the first position that was skipped.
pub fn each_batch(
    shared: &StoreState,
    positions: Range<u64>,
    mut each: impl FnMut(SessionId, Seq, &[u8]) -> Result<(), SledError>,
) -> Result<Option<u64>, SledError> {
    let mut unread = None;
    for (segment, end) in shared.journal.segments() {
        let wanted = positions.start.max(segment.first)..positions.end.min(end);
        if wanted.is_empty() {
            continue;
        }
        let bytes = match segment.load() {
            Ok(bytes) => bytes,
            Err(error) => {
                shared.unread(wanted.start, &error);
                unread.get_or_insert(wanted.start);
                continue;
            }
        };
        for found in frame::scan(&bytes, crate::disk::journal::segment::HEADER) {
            let frame::Scan::Frame(_, frame) = found else { continue };
            if frame.kind != FrameKind::Batch || !wanted.contains(&frame.position) {
                continue;
            }
            let Ok(header) = codec::decode_header(frame.payload) else { continue };
            each(header.session, header.first, frame.bytes)?;
        }
    }
    Ok(unread)
}
