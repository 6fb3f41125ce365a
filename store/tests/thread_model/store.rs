//! The state that the threads share, and what writers, readers and a recovery do with it.

use crate::thread_model::{Fault, SESSIONS};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::sync::mpsc::{Sender, channel};
use shuttle::sync::{Arc, Condvar, Mutex};
use std::collections::BTreeMap;

/// A batch: its session and number there.
pub type Batch = (usize, u64);

/// A segment file: its first position, what was written, and how much of it is flushed.
#[derive(Clone, Default)]
pub struct Segment {
    pub first: u64,
    pub frames: Vec<(u64, Batch)>,
    pub flushed: usize,
}

/// `journal::Journal`, `state::StoreState`.
pub struct Store {
    pub fault: Fault,
    pub segments: Mutex<Vec<Segment>>,
    /// The position behind the last acknowledged batch.
    pub end: AtomicU64,
    /// Batches that sled lacks and are kept in memory.
    pub unwritten: Mutex<BTreeMap<u64, Batch>>,
    /// The next number of each session, and whether a batch of it is on its way.
    pub heads: Mutex<[(u64, bool); SESSIONS]>,
    pub freed: Condvar,
    pub filled: AtomicU64,
    pub lag: Mutex<u64>,
    pub lag_fell: Condvar,
    pub sled: Mutex<Vec<(u64, Batch)>>,
    pub acknowledged: Mutex<BTreeMap<u64, Batch>>,
}

pub struct Request {
    pub batch: Batch,
    pub reply: Sender<Option<u64>>,
}

/// `index::sled_writer::FlushedGroup`: positions from `first` on.
pub struct Group {
    pub first: u64,
    pub batches: Vec<Batch>,
}

impl Group {
    pub fn next(&self) -> u64 {
        self.first + self.batches.len() as u64
    }
}

impl Store {
    pub fn new(fault: Fault) -> Arc<Self> {
        Arc::new(Self {
            fault,
            segments: Mutex::new(vec![Segment::default()]),
            end: AtomicU64::new(0),
            unwritten: Mutex::default(),
            heads: Mutex::default(),
            freed: Condvar::new(),
            filled: AtomicU64::new(0),
            lag: Mutex::new(0),
            lag_fell: Condvar::new(),
            sled: Mutex::default(),
            acknowledged: Mutex::default(),
        })
    }

    /// `StoreState::append_all`: reserve the session's next place, send, wait for the answer. Gives the position.
    pub fn append(&self, session: usize, orders: &Sender<Request>) -> Option<u64> {
        let mut heads = self.heads.lock().unwrap();
        while heads[session].1 && self.fault != Fault::ReservesNothing {
            heads = self.freed.wait(heads).unwrap();
        }
        heads[session].1 = true;
        let batch = (session, heads[session].0);
        drop(heads);
        let (reply, answer) = channel();
        orders.send(Request { batch, reply }).unwrap();
        let position = answer.recv().expect("every append is answered")?;
        let segments = self.segments.lock().unwrap();
        let found =
            segments.iter().flat_map(|segment| &segment.frames[..segment.flushed]).any(|f| *f == (position, batch));
        assert!(found, "position {position} was acknowledged and is not flushed");
        drop(segments);
        self.acknowledged.lock().unwrap().insert(position, batch);
        Some(position)
    }

    /// `StoreState::own_of`: memory, then sled, then the journal.
    pub fn read(&self, position: u64, expected: Batch) {
        let before = self.filled.load(Ordering::SeqCst);
        if let Some(found) = self.unwritten.lock().unwrap().get(&position) {
            assert_eq!(*found, expected);
            return;
        }
        let sled = self.sled.lock().unwrap().iter().find(|(at, _)| *at == position).map(|(_, batch)| *batch);
        if let Some(found) = sled {
            assert_eq!(found, expected);
            return;
        }
        let filled = match self.fault {
            Fault::ReadsFilledLate => self.filled.load(Ordering::SeqCst),
            _ => before,
        };
        assert!(position >= filled, "position {position} would be reported as damaged in sled");
        assert_eq!(
            self.in_journal(position),
            Some(expected),
            "position {position} was acknowledged and cannot be read"
        );
    }

    /// `Journal::find`: what the segments hold below the published end.
    pub fn in_journal(&self, position: u64) -> Option<Batch> {
        if position >= self.end.load(Ordering::SeqCst) {
            return None;
        }
        let segments = self.segments.lock().unwrap();
        let holds = segments.iter().rev().find(|segment| segment.first <= position)?;
        holds.frames.iter().find(|(at, _)| *at == position).map(|(_, batch)| *batch)
    }

    /// `Recovery::run` after a crash that leaves everything that was written: each segment counts up to the next one's first
    /// position, and of two frames of one position the first.
    pub fn recovered(&self) -> BTreeMap<u64, Batch> {
        let segments = self.segments.lock().unwrap();
        let mut found = BTreeMap::new();
        for (index, segment) in segments.iter().enumerate() {
            let end = segments.get(index + 1).map_or(u64::MAX, |next| next.first);
            for (position, batch) in segment.frames.iter().filter(|(position, _)| *position < end) {
                found.entry(*position).or_insert(*batch);
            }
        }
        found
    }
}
