//! A model of the threads of an open store, run under every schedule that shuttle chooses: writers, the committer, the sled
//! writer, a reader, and a crash at the end. Each step names the code that it models; a change of the protocol there
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

mod committer;
mod sled_writer;
mod store;

use committer::Committer;
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::sync::mpsc::channel;
use shuttle::thread;
use sled_writer::SledWriter;
use store::Store;

/// A line of the protocol that is left out or moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
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

/// Sessions that the writers share.
const SESSIONS: usize = 2;

/// Two writers append to sessions that they share, a reader looks up what was acknowledged, and the store is shut down.
fn run(fault: Fault) {
    let store = Store::new(fault);
    let (orders, queue) = channel();
    let (groups, group_queue) = channel();
    let committer = Committer { store: store.clone(), next: 0, groups, failures: 1 };
    let committer = thread::spawn(move || committer.run(&queue));
    let writer = SledWriter::new(store.clone());
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
    // A thread each: after a failed run, shuttle can leave its thread panicking.
    .filter(|fault| {
        let fault = *fault;
        std::thread::spawn(move || shuttle::check_random(move || run(fault), 5_000)).join().is_ok()
    })
    .collect();
    drop(std::panic::take_hook());
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}
