//! The committer: one thread that makes batches durable, in groups, and acknowledges them
//! (`docs/reference/store.md#writing`).

use super::sealer::SealerTask;
use crate::crash_point::{self, CrashPlace, ReachedPoint};
use crate::disk::index::sled_writer::FlushedGroup;
use crate::disk::journal::frame::{self, FrameKind, HEADER};
use crate::disk::journal::{SegmentWriter, StoredBatch};
use crate::disk::state::{Reservation, StoreState};
use crate::displaced::Displaced;
use crate::lineage::Birth;
use crate::log::{AppendError, Position};
use annals_core::codec;
use annals_core::{Batch, Seq, SessionId};
use bytes::{Bytes, BytesMut};
use rustix::io::Errno;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Sealed batches of one session that wait to become durable.
#[derive(Debug)]
pub struct AppendRequest {
    /// Each follows the one before it; with its codec form. Never empty.
    pub batches: Vec<(Arc<Batch>, Vec<u8>)>,
    /// Keeps their place, and that of those behind them, until it is answered.
    pub reservation: Reservation,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Result<Flushed, AppendError>>,
}

impl AppendRequest {
    fn session(&self) -> Option<SessionId> {
        self.batches.first().map(|(batch, _)| batch.session)
    }

    fn bytes(&self) -> usize {
        self.batches.iter().map(|(_, encoded)| encoded.len() + HEADER).sum()
    }
}

/// The durable batches.
#[derive(Debug)]
pub struct Flushed {
    /// The position of the first batch; the others follow densely.
    pub first: Position,
    /// What was asked for. Memory goes back to the thread that it came from, which frees it without waiting for others.
    pub batches: Vec<(Arc<Batch>, Vec<u8>)>,
}

/// A message to the committer.
#[derive(Debug)]
pub enum Order {
    /// Make these durable in one group.
    Append(AppendRequest),
    /// Finish what was asked before this, and go. (Not: when every sender is gone. A caller may keep a future that holds
    /// one and never polls it.)
    Stop,
}

/// The committer's own state.
#[derive(Debug)]
pub struct Committer {
    /// The store.
    pub shared: Arc<StoreState>,
    /// `None` after a failure: the next group begins a segment.
    pub writer: Option<SegmentWriter>,
    /// The next position.
    pub next: u64,
    /// Where the next frames go. They live until sled has them, many groups in one allocation.
    pub buffer: BytesMut,
    /// To sled's thread.
    pub sled_groups: Sender<FlushedGroup>,
    /// To the sealer.
    pub sealer_tasks: Sender<SealerTask>,
    /// Who wrote last.
    pub recent: RecentWriter,
}

/// The committer as its thread and a writer that is alone share it.
#[derive(Debug)]
pub struct SharedCommitter {
    /// Gone when the store closes.
    pub committer: Mutex<Option<Committer>>,
    /// Whether the thread has taken orders that are not committed yet: a writer that is alone waits behind them.
    pub collecting: AtomicBool,
}

/// Which session wrote last, and how long the device takes.
#[derive(Debug, Default)]
pub struct RecentWriter {
    session: Option<SessionId>,
    /// How many groups in a row were its alone.
    groups: u32,
    /// How long a flush takes, smoothed.
    flush: Duration,
}

impl RecentWriter {
    /// Whether a session wrote alone of late, to a device that answers soon.
    fn is(&self, session: SessionId) -> bool {
        self.session == Some(session) && self.groups >= ALONE && self.flush < SOON
    }

    fn note(&mut self, group: &CommitGroup, flush: Duration) {
        self.flush = (self.flush * 3 + flush) / 4;
        let session = match &*group.requests {
            [request] => request.session(),
            _ => None,
        };
        self.groups = if session.is_some() && session == self.session { self.groups.saturating_add(1) } else { 0 };
        self.session = session;
    }
}

/// How many batches end a group; the last order may bring it above.
const GROUP: usize = 1024;

/// How many bytes of frames are allocated at a time.
const BUFFER: usize = 256 * 1024;

/// How long the committer looks for the next order before it sleeps: who waits for an answer often asks again at once,
/// and waking up takes longer than that.
const SPIN: Duration = Duration::from_micros(50);

/// Number of successive groups with batches of one session alone after which its writer flushes them itself. Several writers
/// share flushes, for which they must meet in the queue.
const ALONE: u32 = 4;

/// How long a flush may take for a writer to wait for it on its own thread, which an executor may need.
const SOON: Duration = Duration::from_micros(500);

/// What is made durable together.
#[derive(Debug, Default)]
struct CommitGroup {
    requests: Vec<AppendRequest>,
    batches: usize,
    bytes: usize,
}

impl CommitGroup {
    fn push(&mut self, request: AppendRequest) {
        self.batches += request.batches.len();
        self.bytes += request.bytes();
        self.requests.push(request);
    }

    fn batches(&self) -> impl Iterator<Item = &(Arc<Batch>, Vec<u8>)> {
        self.requests.iter().flat_map(|request| &request.batches)
    }
}

/// The next order. While it waits for one, it yields to other tasks.
fn next(orders: &mut mpsc::Receiver<Order>) -> Option<Order> {
    let began = Instant::now();
    loop {
        match orders.try_recv() {
            Ok(order) => return Some(order),
            Err(mpsc::error::TryRecvError::Disconnected) => return None,
            Err(mpsc::error::TryRecvError::Empty) if began.elapsed() < SPIN => std::thread::yield_now(),
            Err(mpsc::error::TryRecvError::Empty) => return orders.blocking_recv(),
        }
    }
}

/// The thread: works until it gets [`Order::Stop`].
pub fn run(committer: &SharedCommitter, mut orders: mpsc::Receiver<Order>) {
    let locked = || committer.committer.lock().unwrap_or_else(PoisonError::into_inner);
    let commit = |group| {
        if let Some(committer) = locked().as_mut() {
            committer.commit(group);
        }
    };
    let mut stopping = false;
    while !stopping {
        let mut group = CommitGroup::default();
        let mut order = next(&mut orders);
        committer.collecting.store(true, Ordering::Release);
        let limit = locked().as_ref().map_or(0, |committer| committer.shared.tuning.group_bytes);
        loop {
            match order {
                Some(Order::Append(request)) => group.push(request),
                Some(Order::Stop) => {
                    orders.close();
                    stopping = true;
                }
                None => stopping |= group.requests.is_empty() && orders.is_closed(),
            }
            if group.batches >= GROUP || group.bytes >= limit {
                break;
            }
            order = orders.try_recv().ok();
            if order.is_none() {
                break;
            }
        }
        commit(group);
        committer.collecting.store(false, Ordering::Release);
    }
    while let Ok(order) = orders.try_recv() {
        if let Order::Append(request) = order {
            let mut group = CommitGroup::default();
            group.push(request);
            commit(group);
        }
    }
    // The other threads end when it goes.
    drop(locked().take());
}

impl Committer {
    /// Makes a request durable on the thread of its writer, if that one writes alone, nothing is in the way and the device answers
    /// soon. Otherwise gives it back.
    pub(super) fn commit_now(&mut self, request: AppendRequest) -> Result<(), AppendRequest> {
        let alone = request.session().is_some_and(|session| self.recent.is(session));
        let fits = self.writer.as_ref().is_some_and(|writer| writer.fits(request.bytes()));
        let lag = *self.shared.lag.lock().unwrap_or_else(PoisonError::into_inner);
        if !(alone && fits && lag + request.bytes() as u64 <= self.shared.tuning.lag_bytes) {
            return Err(request);
        }
        let mut group = CommitGroup::default();
        group.push(request);
        self.commit(group);
        Ok(())
    }

    fn commit(&mut self, group: CommitGroup) {
        if group.batches == 0 {
            return;
        }
        if self.buffer.capacity() < group.bytes {
            self.buffer = BytesMut::with_capacity(BUFFER.max(group.bytes));
        }
        let mut places = Vec::with_capacity(group.batches);
        for (index, (batch, encoded)) in group.batches().enumerate() {
            let start = self.buffer.len();
            let in_group = u16::try_from(index).unwrap_or(u16::MAX);
            frame::write(&mut self.buffer, FrameKind::Batch, in_group, self.next + index as u64, encoded);
            places.push((start..self.buffer.len(), (batch.session, batch.first)));
        }
        let frames = self.buffer.split().freeze();
        let began = Instant::now();
        let point = |place| ReachedPoint::of(place, group.batches().map(|(batch, _)| &**batch));
        crash_point::reached(|| point(CrashPlace::BeforeFlush));
        let written = self.write(&frames);
        if written.is_ok() {
            crash_point::reached(|| point(CrashPlace::AfterFlush));
        }
        self.recent.note(&group, began.elapsed());
        match written {
            Ok(()) => self.publish(group, frames, places),
            Err((error, certain)) => {
                tracing::warn!(%error, certain, batches = group.batches, "the journal could not be written");
                let displaced = Displaced::of(&error).or_else(|| self.shared.folder.check().err());
                let source = Arc::new(error);
                for AppendRequest { reply, reservation, .. } in group.requests {
                    drop(reservation);
                    let answer = match &displaced {
                        Some(displaced) => AppendError::Displaced(displaced.clone()),
                        None if certain => AppendError::Io { source: source.clone() },
                        None => AppendError::Unknown,
                    };
                    // The caller may have stopped waiting: then the answer is discarded.
                    let _ = reply.send(Err(answer));
                }
            }
        }
    }

    /// Makes frames durable; an error says whether it is certain that nothing of them will ever be read.
    fn write(&mut self, frames: &[u8]) -> Result<(), (io::Error, bool)> {
        if self.writer.as_ref().is_none_or(|writer| !writer.fits(frames.len())) {
            self.rotate(frames.len()).map_err(|error| (error, true))?;
        }
        let Some(writer) = self.writer.as_mut() else { return Err((io::Error::other("no segment"), true)) };
        let was_half_full = writer.is_half_full();
        let Err(error) = writer.write(frames) else {
            if !was_half_full && writer.is_half_full() {
                // Without a sealer the next segment is only reserved later.
                let _ = self.sealer_tasks.send(SealerTask::HalfFull);
            }
            return Ok(());
        };
        // What a failed flush left on the device can never be known: the system may have dropped the pages and call the next
        // flush a success. So the file is not written to again. A new segment that begins at the same position supersedes what
        // is left; if none can be begun, the bytes are overwritten. Only then may the answer be that nothing was written.
        let failed = self.writer.take();
        let certain = self.rotate(0).is_ok() || failed.is_some_and(|failed| failed.erase(frames.len()).is_ok());
        Err((error, certain))
    }

    /// Begins a segment; the one before it is sealed in the background.
    fn rotate(&mut self, needed: usize) -> io::Result<()> {
        let bytes = self.shared.tuning.segment_bytes.max((crate::disk::journal::segment::HEADER + needed) as u64);
        self.shared.check()?;
        let begun = self.shared.journal.begin(self.next, bytes);
        self.writer = Some(begun.map_err(|error| self.removed(error))?);
        let sessions = self.shared.lock().sessions.clone();
        // The sealer only goes when the store closes; what it misses is done at the next opening.
        let _ = self.sealer_tasks.send(SealerTask::Rotated { sessions });
        Ok(())
    }

    /// The cause of an error of a file that this thread has just created: if that file is missing, the store is being
    /// removed, and `Folder::check` does not see it yet.
    fn removed(&self, error: io::Error) -> io::Error {
        match error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) {
            true => Displaced::Removed { dir: self.shared.folder.path().to_owned() }.error(),
            false => error,
        }
    }

    fn publish(&mut self, mut group: CommitGroup, frames: Bytes, places: Vec<(Range<usize>, (SessionId, Seq))>) {
        let shared = self.shared.clone();
        let first = self.next;
        self.next += group.batches as u64;
        shared.journal.set_durable_end(self.next);
        let end = shared.end.lock().unwrap_or_else(PoisonError::into_inner);
        let followed = end.as_ref().is_some_and(|end| end.receiver_count() > 0);
        drop(end);
        {
            let mut recent = shared.recent.write().unwrap_or_else(PoisonError::into_inner);
            for (position, (batch, encoded)) in (first..).zip(group.batches()) {
                recent.push(StoredBatch { batch: batch.clone(), position }, encoded.len(), followed);
            }
        }
        {
            let (mut state, mut positions) = (shared.lock(), first..);
            for request in &mut group.requests {
                for ((batch, _), position) in request.batches.iter().zip(&mut positions) {
                    state.sessions.take(&codec::header(batch), position, || Birth::of(batch));
                }
                request.reservation.free(&mut state);
            }
        }
        if let Some(end) = shared.end.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            end.send_replace(Position(self.next));
        }
        let mut position = first;
        for AppendRequest { batches, reply, .. } in group.requests {
            let first = Position(position);
            position += batches.len() as u64;
            // The caller may have stopped waiting: the batches are durable nevertheless.
            let _ = reply.send(Ok(Flushed { first, batches }));
        }
        let bytes = frames.len() as u64;
        self.sled_groups(FlushedGroup { frames, places, next: self.next }, bytes);
    }

    /// Hands batches to sled's thread; waits while that one lacks too much.
    fn sled_groups(&self, sled_groups: FlushedGroup, bytes: u64) {
        let mut lag = self.shared.lag.lock().unwrap_or_else(PoisonError::into_inner);
        *lag += bytes;
        // sled's thread only goes after this one.
        let _ = self.sled_groups.send(sled_groups);
        while *lag > self.shared.tuning.lag_bytes {
            lag = self.shared.lag_fell.wait(lag).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
