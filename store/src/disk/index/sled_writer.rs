//! sled's own thread: takes what became durable in the journal, and makes sled durable now and then.

use super::rebuild;
use super::sled_tree::{SledError, SledTree};
use crate::disk::journal::frame::{self, Kind};
use crate::disk::maintenance::report::{Copy, Remark};
use crate::disk::sessions::Checkpoint;
use crate::disk::state::{Shared, Tuning};
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
pub struct Fill {
    /// The frames, one behind the other.
    pub frames: Bytes,
    /// Where each lies in them, and its place in its Session.
    pub places: Vec<(Range<usize>, (SessionId, Seq))>,
    /// The position behind the last.
    pub next: u64,
}

/// The thread's own state.
#[derive(Debug)]
pub struct Filler {
    /// The store.
    pub shared: Arc<Shared>,
    /// The position behind the last Batch that was taken.
    pub taken: u64,
    /// Whether sled was written to since it was opened.
    pub written: bool,
    /// The position behind what was let go of: sled gets it from the journal.
    evict: u64,
    /// What came after that, and how many bytes it is.
    waiting: VecDeque<Fill>,
    bytes: u64,
    /// Whose Batches those are that were let go of, by position: what is damaged in the journal meanwhile is told with its name.
    gone: VecDeque<(u64, (SessionId, Seq))>,
    /// The bytes that sled lacks, in memory or not.
    lag: u64,
    /// The first position of what could not be read again from the journal: sled is complete only before it.
    unread: Option<u64>,
    /// Where mending is tried again although it is not quiet.
    mend_at: u64,
}

impl Filler {
    /// The filler of a store whose sled holds everything before `taken`, except what could not be read from `unread` on.
    pub fn new(shared: Arc<Shared>, taken: u64, written: bool, unread: Option<u64>) -> Self {
        let (waiting, gone) = (VecDeque::new(), VecDeque::new());
        let mend_at = taken.saturating_add(shared.tuning.checkpoint_every);
        Self { shared, taken, written, evict: taken, waiting, bytes: 0, gone, lag: 0, unread, mend_at }
    }

    /// Works until the committer is gone. Gives whether sled was written to.
    ///
    /// While Batches keep coming it lets them wait, since sled would take the processor and the disk from who writes;
    /// but not more of them than [`Tuning::lag_free`](crate::disk::state::Tuning::lag_free) says.
    pub fn run(mut self, fills: Receiver<Fill>) -> bool {
        let Tuning { checkpoint_idle, lag_quiet, lag_free, .. } = self.shared.tuning;
        loop {
            let first = match self.lag {
                0 => fills.recv_timeout(checkpoint_idle),
                // Nobody is made to wake it meanwhile, except who closes the store.
                _ => match fills.try_recv() {
                    Err(TryRecvError::Empty) => {
                        std::thread::park_timeout(lag_quiet);
                        fills.recv_timeout(Duration::ZERO)
                    }
                    Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
                    Ok(fill) => {
                        std::thread::park_timeout(lag_quiet);
                        Ok(fill)
                    }
                },
            };
            match first {
                Ok(fill) => {
                    self.hold(fill);
                    fills.try_iter().for_each(|fill| self.hold(fill));
                    while self.lag > lag_free && self.take_some() {
                        fills.try_iter().for_each(|fill| self.hold(fill));
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.lag == 0 => {
                    self.mend();
                    self.checkpoint();
                }
                Err(RecvTimeoutError::Timeout) => {
                    // A quiet moment, until somebody writes again.
                    while self.take_some() {
                        if let Ok(fill) = fills.try_recv() {
                            self.hold(fill);
                            break;
                        }
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    while self.take_some() {}
                    self.mend();
                    self.checkpoint();
                    return self.written;
                }
            }
        }
    }

    /// Lets a group wait. What takes too much memory is let go: the journal has it.
    fn hold(&mut self, fill: Fill) {
        self.bytes += fill.frames.len() as u64;
        self.lag += fill.frames.len() as u64;
        self.waiting.push_back(fill);
        while self.bytes > self.shared.tuning.lag_memory
            && let Some(oldest) = self.waiting.pop_front()
        {
            self.bytes -= oldest.frames.len() as u64;
            self.evict = oldest.next;
            let first = oldest.next - oldest.places.len() as u64;
            self.gone.extend((first..).zip(oldest.places.iter().map(|(_, place)| *place)));
            self.shared.forget(&oldest);
        }
    }

    /// Gives sled a part of what waits. False when nothing does.
    fn take_some(&mut self) -> bool {
        let bytes = if self.taken < self.evict {
            self.take_back()
        } else if let Some(fill) = self.waiting.pop_front() {
            self.bytes -= fill.frames.len() as u64;
            let frames = fill.places.iter().map(|(range, place)| (*place, fill.frames.get(range.clone())));
            self.give(frames.filter_map(|(place, frame)| Some((place, frame?))));
            self.took(fill.next);
            // From here on sled serves them, or, when it is out of order, the journal does.
            self.shared.forget(&fill);
            fill.frames.len() as u64
        } else {
            self.lag = 0;
            return false;
        };
        self.lag = self.lag.saturating_sub(bytes);
        let mut lag = self.shared.lag.lock().unwrap_or_else(PoisonError::into_inner);
        *lag = lag.saturating_sub(bytes);
        if self.taken >= self.evict && self.waiting.is_empty() {
            (*lag, self.lag) = (lag.saturating_sub(self.lag), 0);
        }
        drop(lag);
        self.shared.lag_fell.notify_all();
        let every = self.shared.tuning.checkpoint_every;
        if self.taken >= self.mend_at && (self.unread.is_some() || self.shared.sled().is_none()) {
            // It may never be quiet.
            self.mend();
            self.mend_at = self.taken.saturating_add(every);
        }
        if self.taken.saturating_sub(self.shared.checkpoint.load(Ordering::Relaxed)) >= every {
            self.checkpoint();
        }
        true
    }

    /// Gives sled one block of what was let go, from the journal. Gives how many bytes that was.
    fn take_back(&mut self) -> u64 {
        let shared = self.shared.clone();
        let block = shared.journal.at(self.taken).and_then(|view| {
            let Some((view, number)) = view.and_then(|view| view.outline.block_of(self.taken).map(|n| (view, n)))
            else {
                return Ok(None);
            };
            let behind = view.outline.blocks.get(number + 1).map_or(view.outline.end, |next| next.first);
            Ok(Some((shared.journal.block(&view, number)?, behind)))
        });
        let (to, block) = match block {
            Ok(Some((block, behind))) => (behind, Some(block)),
            // The end of the segment is damaged; what follows is whole.
            Ok(None) => (shared.journal.end_of(self.taken), None),
            Err(error) => {
                shared.unread(self.taken, &error);
                self.unread.get_or_insert(self.taken);
                let to = shared.journal.end_of(self.taken).min(self.evict);
                while self.gone.front().is_some_and(|(position, _)| *position < to) {
                    self.gone.pop_front();
                }
                self.took(to);
                return 0;
            }
        };
        let to = to.min(self.evict);
        while let Some(&(position, whose)) = self.gone.front().filter(|(position, _)| *position < to) {
            self.gone.pop_front();
            // Neither in memory nor in sled, and now not in the journal either: nobody may come to read it for long.
            if block.as_ref().is_none_or(|block| block.stands(position).is_none()) {
                shared.remark(Remark::Lost { position: Position(position), count: 1, whose: Some(whose) });
            }
        }
        let mut bytes = 0;
        if let Some(block) = &block {
            let frames = block.frames(self.taken..to);
            self.give(frames.inspect(|(_, frame)| bytes += frame.len() as u64));
        }
        self.took(to);
        bytes
    }

    fn give<'a>(&mut self, frames: impl Iterator<Item = ((SessionId, Seq), &'a [u8])>) {
        let sled = self.shared.sled();
        for ((session, first), frame) in frames {
            let Some(sled) = &sled else { continue };
            self.written = true;
            if let Err(error) = insert(&self.shared, sled, session, first, frame) {
                return self.fail(&error);
            }
        }
    }

    fn took(&mut self, next: u64) {
        self.taken = next;
        self.shared.filled.store(next, Ordering::Release);
    }

    fn checkpoint(&mut self) {
        let next = self.unread.unwrap_or(self.taken);
        if self.shared.checkpoint.load(Ordering::Relaxed) == next {
            return;
        }
        let Some(sled) = self.shared.sled() else { return };
        if let Err(error) = self.shared.check() {
            tracing::warn!(%error, "the checkpoint could not be written");
            return;
        }
        if let Err(error) = sled.checkpoint(&*self.shared.disk) {
            return self.fail(&error);
        }
        match (Checkpoint { next }).save(&*self.shared.disk, &self.shared.layout.checkpoint()) {
            Ok(()) => self.shared.checkpoint.store(next, Ordering::Relaxed),
            // The old one stands: more is compared at the next opening, nothing else.
            Err(error) => tracing::warn!(%error, "the checkpoint could not be written"),
        }
    }

    /// sled's errors stick to its handle: it is let go, the journal serves, and it is opened again at a quiet moment.
    fn fail(&mut self, error: &SledError) {
        self.mend_at = self.taken.saturating_add(self.shared.tuning.checkpoint_every);
        tracing::warn!(%error, "sled is out of order; the journal serves meanwhile");
        *self.shared.sled.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Opens sled again and gives it what it may lack; or tries once more to give it what could not be read.
    fn mend(&mut self) {
        if let Some(sled) = self.shared.sled() {
            let Some(from) = self.unread else { return };
            self.written = true;
            match refill(&self.shared, &sled, from, self.taken) {
                Ok(refilled) => self.unread = refilled.unread,
                Err(error) => self.fail(&error),
            }
            return;
        }
        let from = self.shared.checkpoint.load(Ordering::Relaxed);
        let Shared { layout, folder, disk, .. } = &*self.shared;
        let finished = self.shared.check().and_then(|()| rebuild::finish(layout, folder, &**disk));
        let opened = finished.map_err(|error| SledError::Flush(error.into())).and_then(|()| open(&self.shared));
        match opened.and_then(|sled| Ok((refill(&self.shared, &sled, from, self.taken)?, sled))) {
            Ok((refilled, sled)) => {
                (self.written, self.unread) = (true, refilled.unread);
                *self.shared.sled.write().unwrap_or_else(PoisonError::into_inner) = Some(sled);
                tracing::info!("sled is in order again");
            }
            Err(error) => tracing::warn!(%error, "sled is still out of order"),
        }
    }
}

impl Shared {
    /// Tells that the segment of a position cannot be read.
    fn unread(&self, position: u64, error: &io::Error) {
        let segments = self.journal.segments();
        if let Some((segment, _)) = segments.iter().rev().find(|(segment, _)| segment.first <= position) {
            self.remark(Remark::Unread { segment: segment.path(), reason: error.to_string() });
        }
    }
}

/// Opens the store's sled.
pub fn open(shared: &Shared) -> Result<SledTree, SledError> {
    let Shared { layout, folder, disk, tuning, .. } = shared;
    SledTree::open_in(folder, &**disk, &layout.sled(), tuning.sled_cache, tuning.sled_segment)
}

/// Inserts a frame of the journal. If something else stands there, the journal is right, and it is told.
pub fn insert(
    shared: &Shared,
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

/// What giving sled a part of the journal came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refilled {
    /// How many Batches it lacked.
    pub lacked: u64,
    /// The first position that could not be read.
    pub unread: Option<u64>,
}

/// Gives sled what stands in the journal from one position to another.
pub fn refill(shared: &Shared, sled: &SledTree, from: u64, to: u64) -> Result<Refilled, SledError> {
    let mut lacked = 0;
    let unread = each_batch(shared, from..to, |session, first, frame| {
        lacked += u64::from(insert(shared, sled, session, first, frame)?);
        Ok(())
    })?;
    Ok(Refilled { lacked, unread })
}

/// Goes through the Batches that stand in the journal at some positions. A segment that cannot be read is passed over and
/// told. Gives the first position that was passed over so.
pub fn each_batch(
    shared: &Shared,
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
            let frame::Found::Frame(_, frame) = found else { continue };
            if frame.kind != Kind::Batch || !wanted.contains(&frame.position) {
                continue;
            }
            let Ok(header) = codec::decode_header(frame.payload) else { continue };
            each(header.session, header.first, frame.bytes)?;
        }
    }
    Ok(unread)
}
