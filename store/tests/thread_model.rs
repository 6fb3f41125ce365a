//! A model of the threads of an open store, run under every schedule that shuttle chooses: writers, the committer, the sled
//! writer, a reader, and a crash at the end. Each step names the code that it stands for; a change of the protocol there
//! belongs here as well.
//!
//! Invariants:
//! - nothing is acknowledged before it is flushed, and nothing that was refused is there after a crash;
//! - batches of a session are dense: no number is given twice;
//! - each acknowledged position reaches sled exactly once, in order;
//! - a batch is evicted from memory only when a reader finds it in the journal or in sled;
//! - a reader that finds nothing in sled below `filled` has found damage: without damage that never happens;
//! - writers that wait for sled are woken (a deadlock fails the run).
//!
//! [`Fault`] breaks one line of the protocol each; `a_broken_protocol_is_found` shows that the model notices every one.

use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use shuttle::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A line of the protocol that is left out or moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The protocol as it is.
    None,
    /// The committer answers before it flushes.
    AnswersBeforeFlush,
    /// After a failed write the committer writes on in the same segment and answers that nothing was written.
    KeepsSegmentAfterFailure,
    /// The committer frees a session's place before its head advances.
    FreesBeforeHeadAdvances,
    /// A session's place is not reserved while its batch is on its way.
    ReservesNothing,
    /// The journal's end is published after the group was handed to the sled writer.
    PublishesEndLate,
    /// The sled writer evicts a group from memory before it is in sled or readable in the journal.
    EvictsBeforeInsert,
    /// The sled writer forgets that evicted batches must come from the journal.
    ForgetsEvicted,
    /// The sled writer takes evicted batches to the end of the block, beyond what was evicted.
    TakesTooMuchBack,
    /// The sled writer says how far it came before sled has it.
    FilledBeforeInsert,
    /// The sled writer does not wake those who wait for it.
    WakesNobody,
    /// A reader asks how far sled goes after it looked into memory and sled.
    ReadsFilledLate,
}

const SESSIONS: usize = 2;
/// Batches beyond this are evicted from memory.
const MEMORY: usize = 1;
/// The committer waits while sled lacks more than this.
const LAG: u64 = 2;

/// A batch: its session and number there.
type Batch = (usize, u64);

/// A segment file: its first position, what was written, and how much of it is flushed.
#[derive(Clone, Default)]
struct Segment {
    first: u64,
    frames: Vec<(u64, Batch)>,
    flushed: usize,
}

/// `journal::Journal`, `state::StoreState`.
struct Store {
    fault: Fault,
    segments: Mutex<Vec<Segment>>,
    /// The position behind the last acknowledged batch.
    end: AtomicU64,
    /// Batches that sled lacks and are kept in memory.
    unwritten: Mutex<BTreeMap<u64, Batch>>,
    /// The next number of each session, and whether a batch of it is on its way.
    heads: Mutex<[(u64, bool); SESSIONS]>,
    freed: Condvar,
    filled: AtomicU64,
    lag: Mutex<u64>,
    lag_fell: Condvar,
    sled: Mutex<Vec<(u64, Batch)>>,
    acknowledged: Mutex<BTreeMap<u64, Batch>>,
}

struct Request {
    batch: Batch,
    reply: Sender<Option<u64>>,
}

/// `index::sled_writer::FlushedGroup`: positions from `first` on.
struct Group {
    first: u64,
    batches: Vec<Batch>,
}

impl Group {
    fn next(&self) -> u64 {
        self.first + self.batches.len() as u64
    }
}

impl Store {
    fn new(fault: Fault) -> Arc<Self> {
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
    fn append(&self, session: usize, orders: &Sender<Request>) -> Option<u64> {
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
    fn read(&self, position: u64, expected: Batch) {
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
    fn in_journal(&self, position: u64) -> Option<Batch> {
        if position >= self.end.load(Ordering::SeqCst) {
            return None;
        }
        let segments = self.segments.lock().unwrap();
        let holds = segments.iter().rev().find(|segment| segment.first <= position)?;
        holds.frames.iter().find(|(at, _)| *at == position).map(|(_, batch)| *batch)
    }

    /// `Recovery::run` after a crash that leaves everything that was written: each segment counts up to the next one's first
    /// position, and of two frames of one position the first.
    fn recovered(&self) -> BTreeMap<u64, Batch> {
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

/// `threads::committer::Committer`.
struct Committer {
    store: Arc<Store>,
    next: u64,
    groups: Sender<Group>,
    /// How many flushes may still fail.
    failures: u32,
}

impl Committer {
    fn run(mut self, orders: &Receiver<Request>) {
        while let Ok(first) = orders.recv() {
            let mut group = vec![first];
            group.extend(orders.try_iter());
            self.commit(group);
        }
    }

    /// `Committer::commit`, `write` and `publish`.
    fn commit(&mut self, group: Vec<Request>) {
        let (store, fault) = (self.store.clone(), self.store.fault);
        if fault == Fault::AnswersBeforeFlush {
            for (position, request) in (self.next..).zip(&group) {
                let _ = request.reply.send(Some(position));
            }
        }
        if !self.write(&group) {
            for Request { batch: (session, _), reply } in group {
                store.heads.lock().unwrap()[session].1 = false;
                store.freed.notify_all();
                let _ = reply.send(None);
            }
            return;
        }
        let first = self.next;
        self.next += group.len() as u64;
        if fault != Fault::PublishesEndLate {
            store.end.store(self.next, Ordering::SeqCst);
        }
        for (position, request) in (first..).zip(&group) {
            store.unwritten.lock().unwrap().insert(position, request.batch);
        }
        let frees_early = fault == Fault::FreesBeforeHeadAdvances;
        for Request { batch: (session, number), .. } in &group {
            if frees_early {
                store.heads.lock().unwrap()[*session].1 = false;
                store.freed.notify_all();
            }
            let mut heads = store.heads.lock().unwrap();
            heads[*session].0 = number + 1;
            if !frees_early {
                heads[*session].1 = false;
                store.freed.notify_all();
            }
        }
        let batches = group.iter().map(|request| request.batch).collect();
        for (position, Request { reply, .. }) in (first..).zip(group) {
            // Whoever asked may have gone.
            let _ = reply.send(Some(position));
        }
        self.hand_over(Group { first, batches });
        if fault == Fault::PublishesEndLate {
            store.end.store(self.next, Ordering::SeqCst);
        }
    }

    /// Writes and flushes a group. After a failure a new segment begins at the same position: what is left of the group in
    /// the old one counts no more.
    fn write(&mut self, group: &[Request]) -> bool {
        let mut segments = self.store.segments.lock().unwrap();
        let segment = segments.last_mut().unwrap();
        segment.frames.extend((self.next..).zip(group.iter().map(|request| request.batch)));
        if self.failures > 0 && thread_rng().gen_bool(0.5) {
            self.failures -= 1;
            if self.store.fault != Fault::KeepsSegmentAfterFailure {
                segments.push(Segment { first: self.next, ..Segment::default() });
            }
            return false;
        }
        drop(segments);
        thread::yield_now();
        let mut segments = self.store.segments.lock().unwrap();
        let segment = segments.last_mut().unwrap();
        segment.flushed = segment.frames.len();
        true
    }

    fn hand_over(&self, group: Group) {
        let mut lag = self.store.lag.lock().unwrap();
        *lag += group.batches.len() as u64;
        self.groups.send(group).unwrap();
        while *lag > LAG {
            lag = self.store.lag_fell.wait(lag).unwrap();
        }
    }
}

/// `index::sled_writer::SledWriter`.
struct SledWriter {
    store: Arc<Store>,
    written_until: u64,
    evicted_until: u64,
    queue: VecDeque<Group>,
}

impl SledWriter {
    fn run(mut self, groups: &Receiver<Group>) {
        loop {
            match groups.recv_timeout(Duration::ZERO) {
                Ok(group) => self.enqueue(group),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            groups.try_iter().for_each(|group| self.enqueue(group));
            self.write_some();
            thread::yield_now();
        }
        while self.write_some() {}
    }

    fn evict(&self, group: &Group) {
        let mut unwritten = self.store.unwritten.lock().unwrap();
        unwritten.retain(|position, _| !(group.first..group.next()).contains(position));
    }

    fn enqueue(&mut self, group: Group) {
        self.queue.push_back(group);
        while self.queue.iter().map(|group| group.batches.len()).sum::<usize>() > MEMORY
            && let Some(oldest) = self.queue.pop_front()
        {
            if self.store.fault != Fault::ForgetsEvicted {
                self.evicted_until = oldest.next();
            }
            for position in oldest.first..oldest.next() {
                assert!(
                    self.store.in_journal(position).is_some(),
                    "{position} is evicted and not readable in the journal"
                );
            }
            self.evict(&oldest);
        }
    }

    fn write_some(&mut self) -> bool {
        let (from, fault) = (self.written_until, self.store.fault);
        let to = if from < self.evicted_until {
            // A block of the journal may reach beyond what was evicted.
            let block = (from + 2).min(self.store.end.load(Ordering::SeqCst));
            let to = if fault == Fault::TakesTooMuchBack { block } else { block.min(self.evicted_until) };
            let found: Vec<_> = (from..to).filter_map(|at| Some((at, self.store.in_journal(at)?))).collect();
            self.insert_all(found.into_iter(), to);
            to
        } else if let Some(group) = self.queue.pop_front() {
            let to = group.next();
            if fault == Fault::EvictsBeforeInsert {
                self.evict(&group);
                self.store.filled.store(to, Ordering::SeqCst);
            }
            self.insert_all((group.first..).zip(group.batches.iter().copied()), to);
            self.evict(&group);
            to
        } else {
            return false;
        };
        let mut lag = self.store.lag.lock().unwrap();
        *lag = lag.saturating_sub(to - from);
        drop(lag);
        if fault != Fault::WakesNobody {
            self.store.lag_fell.notify_all();
        }
        true
    }

    fn insert_all(&mut self, frames: impl Iterator<Item = (u64, Batch)>, to: u64) {
        if self.store.fault == Fault::FilledBeforeInsert {
            self.store.filled.store(to, Ordering::SeqCst);
        }
        for frame in frames {
            self.store.sled.lock().unwrap().push(frame);
        }
        self.written_until = to;
        self.store.filled.store(to, Ordering::SeqCst);
    }
}

/// Two writers append to sessions that they share, a reader looks up what was acknowledged, and the store is shut down.
fn run(fault: Fault) {
    let store = Store::new(fault);
    let (orders, queue) = channel();
    let (groups, group_queue) = channel();
    let committer = Committer { store: store.clone(), next: 0, groups, failures: 1 };
    let committer = thread::spawn(move || committer.run(&queue));
    let writer = SledWriter { store: store.clone(), written_until: 0, evicted_until: 0, queue: VecDeque::new() };
    let writer = thread::spawn(move || writer.run(&group_queue));
    let appenders: Vec<_> = (0..2)
        .map(|n| {
            let (store, orders) = (store.clone(), orders.clone());
            thread::spawn(move || {
                for turn in 0..3 {
                    store.append((n + turn) % SESSIONS, &orders);
                }
            })
        })
        .collect();
    let appended = Arc::new(AtomicBool::new(false));
    let reader = {
        let (store, appended) = (store.clone(), appended.clone());
        thread::spawn(move || {
            // Once more after the last append, while sled still lacks something.
            let mut rounds_after = 4;
            while rounds_after > 0 {
                rounds_after -= u32::from(appended.load(Ordering::SeqCst));
                let known = store.acknowledged.lock().unwrap().clone();
                known.into_iter().for_each(|(position, batch)| store.read(position, batch));
                thread::yield_now();
            }
        })
    };
    drop(orders);
    appenders.into_iter().for_each(|appender| appender.join().unwrap());
    appended.store(true, Ordering::SeqCst);
    reader.join().unwrap();
    committer.join().unwrap();
    // A power cut here: the journal alone has to give what was acknowledged, and nothing else.
    let acknowledged = store.acknowledged.lock().unwrap().clone();
    assert_eq!(store.recovered(), acknowledged, "the journal after a crash is not what was acknowledged");
    writer.join().unwrap();
    let sled = store.sled.lock().unwrap().clone();
    assert!(sled.iter().copied().eq(acknowledged.clone()), "sled has {sled:?}, acknowledged was {acknowledged:?}");
    for session in 0..SESSIONS {
        let numbers = acknowledged.values().filter(|batch| batch.0 == session).map(|batch| batch.1);
        assert!(numbers.eq(0..store.heads.lock().unwrap()[session].0), "session {session} is not dense");
    }
}

/// How many schedules are tried: `ANNALS_SCHEDULES` for a longer exploration.
fn schedules() -> usize {
    std::env::var("ANNALS_SCHEDULES").ok().and_then(|number| number.parse().ok()).unwrap_or(500)
}

#[test]
fn every_schedule_of_the_threads_keeps_what_was_acknowledged() {
    shuttle::check_random(|| run(Fault::None), schedules());
    shuttle::check_pct(|| run(Fault::None), schedules(), 3);
}

#[test]
fn a_broken_protocol_is_found() {
    use Fault::*;
    std::panic::set_hook(Box::new(|_| {}));
    let missed: Vec<Fault> = [
        AnswersBeforeFlush,
        KeepsSegmentAfterFailure,
        FreesBeforeHeadAdvances,
        ReservesNothing,
        PublishesEndLate,
        EvictsBeforeInsert,
        ForgetsEvicted,
        TakesTooMuchBack,
        FilledBeforeInsert,
        WakesNobody,
        ReadsFilledLate,
    ]
    .into_iter()
    .filter(|fault| {
        let fault = *fault;
        std::panic::catch_unwind(move || shuttle::check_random(move || run(fault), 5_000)).is_ok()
    })
    .collect();
    drop(std::panic::take_hook());
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}
