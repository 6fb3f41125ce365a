//! How the work of questions grows, counted in records that are read and bytes that are allocated. No clock.
//!
//! Each question is asked of a session of n events and of one of 4n, with views saved as an import saves them.

mod counting;
mod questions;
mod turn;

use annals_index::{IndexPlace, fill};
use annals_inspect::SessionAt;
use annals_inspect::reader::Reader;
use annals_store::cache::ViewCache;
use annals_store::{EventLog, MemoryLog};
use annals_tests::counting_log::CountingLog;
use annals_tests::long_session::{Shape, session, write};
use counting::allocated;
use questions::{Growth, QUESTIONS, Question};
use std::sync::Arc;
use tempfile::TempDir;
use turn::turn_work;

/// The smaller of two sessions, in events.
const EVENTS: u64 = 4_500;
/// The most records between two places of which views are saved: reading fewer is no growth.
const DISTANCE: u64 = 4_000;

/// What a question costs.
#[derive(Clone, Copy, Debug)]
struct Work {
    records: u64,
    bytes: u64,
}

/// A session with saved views, and what is read of its log.
struct Material {
    reader: Reader,
    past: SessionAt,
    counting: Arc<CountingLog>,
    place: IndexPlace,
    /// Where the index is.
    _dir: TempDir,
}

async fn material(shape: Shape) -> Material {
    let log = Arc::new(MemoryLog::new());
    write(&*log, shape).await.unwrap();
    let counting = CountingLog::new(log);
    let log: Arc<dyn EventLog> = counting.clone();
    let until = log.head(session()).await.unwrap().unwrap().next;
    let reader = Reader::new(log, Some(Arc::new(ViewCache::in_memory())), "memory".into());
    let past = reader.session_at(session(), until);
    past.save_views(&|directory| directory.into()).await.unwrap();
    reader.catalogue().await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let place = IndexPlace::in_store(dir.path());
    fill(&**reader.log(), &place, |_| {}).await.unwrap();
    Material { reader, past, counting, place, _dir: dir }
}

async fn work(material: &Material, question: Question) -> Work {
    material.counting.taken();
    let before = allocated();
    question.ask(&material.past, &material.reader, &material.place).await;
    Work { bytes: allocated() - before, records: material.counting.taken() }
}

/// Whether work grew no more than by some tenths. What is small anyway counts as nothing.
fn grew(small: u64, large: u64, tenths: u64, nothing: u64) -> bool {
    large > nothing && large * 10 > small * tenths
}

/// One test, since bytes are counted for the whole process.
#[tokio::test(flavor = "current_thread")]
async fn every_question_costs_what_it_reads_of_the_session_and_no_more() {
    let (small, large) = (material(Shape::small(EVENTS)).await, material(Shape::small(EVENTS * 4)).await);
    let mut failed = Vec::new();
    for (question, records, bytes) in QUESTIONS {
        let (small, large) = (work(&small, question).await, work(&large, question).await);
        println!("{question:?}: {small:?}, four times the events: {large:?}");
        let expected = match bytes {
            Growth::PerRecord => small.bytes * large.records / small.records.max(1),
            Growth::Flat | Growth::Linear => small.bytes,
        };
        if grew(small.records, large.records, records.tenths(), DISTANCE)
            || grew(expected, large.bytes, bytes.tenths(), 200_000)
        {
            failed.push((question, small, large));
        }
    }
    // A request costs what is new in it, however long the history that it sends.
    let [short, long] = [40_000, 160_000].map(|context| Shape { context, prunes: 0, ..Shape::small(EVENTS) });
    let (short, long) = (material(short).await, material(long).await);
    for question in [Question::Cache, Question::Prove] {
        let (short, long) = (work(&short, question).await, work(&long, question).await);
        println!("{question:?}: {short:?}, four times the history: {long:?}");
        if grew(short.bytes, long.bytes, 13, 0) {
            failed.push((question, short, long));
        }
    }
    assert!(failed.is_empty(), "these grow too fast: {failed:#?}");
    a_turn_costs_what_is_new().await;
}

/// A turn lowers, reads and flushes what is new in it, however long its history.
async fn a_turn_costs_what_is_new() {
    let (small, large) = (turn_work(1_000).await, turn_work(4_000).await);
    println!("a turn after 1,000 messages: {small:?}, after 4,000: {large:?}");
    assert_eq!((small.records, small.lowered, small.batches), (large.records, large.lowered, large.batches));
    // The admission; promotion and request; the beginning of the answer; the answer.
    assert_eq!(large.batches, 4);
    // Bytes are printed alone: what debug builds copy to check that nothing illegal is appended grows with the session.
    assert!(large.lowered <= 3 && large.records <= 20, "{large:?}");
}
