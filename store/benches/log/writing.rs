//! Durable appends: one writer, then 64.

use crate::material::draft;
use crate::rivals::{Queued, RawFile, Record, Rival, Sqlite, flusher};
use crate::{median, rate};
use annals_core::{Batch, NoBlobs, Seq, SessionId};
use annals_store::conformance::material::{KEY, session};
use annals_store::{DiskLog, Draft, EventLog, OpenMode};
use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

const ROUNDS: usize = 7;
const TASKS: usize = 64;

/// Every order of three contestants: each comes behind each other one equally often, and so pays for what that one left behind.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]];

/// The records that a session of these sizes makes: what the rivals are given, ready to write.
fn records(session: SessionId, count: usize, size: usize) -> Result<Vec<Record>, Box<dyn Error>> {
    let (mut prev, mut at, mut out) = (None, Seq::ZERO, Vec::with_capacity(count));
    for _ in 0..count {
        let draft = draft(session, at, 2, size);
        let sealed = Batch::seal(&KEY, &NoBlobs, session, at, draft.at, prev, draft.events)?;
        out.push((session, at.0, sealed.encoded));
        (prev, at) = (Some(sealed.batch.digest), sealed.batch.next());
    }
    Ok(out)
}

/// The Drafts of which records were made.
fn drafts(records: &[Record], size: usize) -> Vec<Draft> {
    records.iter().map(|(id, at, _)| draft(*id, Seq(*at), 2, size)).collect()
}

/// One writer that waits for each acknowledgement. The contestants take turns, append by append, since the device changes more from
/// second to second than they differ. Ours also seals and digests; the rivals get ready bytes.
pub async fn one_writer(size: usize, count: usize) -> Result<(), Box<dyn Error>> {
    let dir = crate::folder()?;
    let (count, one) = (count * ROUNDS, session(0));
    let records = records(one, count, size)?;
    let (log, _) = DiskLog::open(&dir.path().join("store"), OpenMode::Create)?;
    let mut raw = RawFile::new(&dir.path().join("raw"), (count * (size + 100)) as u64)?;
    let mut sqlite = Sqlite::new(&dir.path().join("sqlite"))?;
    let mut took: [Vec<Duration>; 3] = std::array::from_fn(|_| Vec::with_capacity(count));
    for (at, draft) in drafts(&records, size).into_iter().enumerate() {
        let (record, mut draft) = (&records[at..=at], Some(draft));
        for contestant in ORDERS[at % ORDERS.len()] {
            let begin = Instant::now();
            match contestant {
                0 => drop(log.append(draft.take().ok_or("each appends once")?).await?),
                1 => raw.commit(record).map_err(|error| error.to_string())?,
                _ => sqlite.commit(record).map_err(|error| error.to_string())?,
            }
            took[contestant].push(begin.elapsed());
        }
    }
    log.close().await?;
    print_turns(&format!("append, one writer, {size} bytes"), took);
    Ok(())
}

/// Percentiles of contestants that took turns.
fn print_turns(what: &str, mut took: [Vec<Duration>; 3]) {
    took.iter_mut().for_each(|took| took.sort_unstable());
    let at = |which: usize, per_mille: usize| {
        let all: &Vec<Duration> = &took[which];
        all.get(all.len() * per_mille / 1_000).or(all.last()).map_or(0.0, |took| took.as_secs_f64() * 1e6)
    };
    println!("{what}, {} appends in turns, microseconds:", took[0].len());
    for (which, name) in ["Annals", "raw file", "SQLite FULL"].into_iter().enumerate() {
        let [p10, p50, p99, p999] = [100, 500, 990, 999].map(|per_mille| at(which, per_mille));
        println!("    {name:<12} p10 {p10:.0}, p50 {p50:.0}, p99 {p99:.0}, p99.9 {p999:.0}");
    }
    let ratio = |rival: usize, per_mille: usize| at(rival, per_mille) / at(0, per_mille);
    println!(
        "    x raw file {:.2} at p50, {:.2} at p99; x SQLite FULL {:.2} at p50, {:.2} at p99",
        ratio(1, 500),
        ratio(1, 990),
        ratio(2, 500),
        ratio(2, 990)
    );
}

/// 64 tasks, each with a session, each waiting for its acknowledgements; the rivals group as we do.
pub async fn many_writers(size: usize, count: usize) -> Result<(), Box<dyn Error>> {
    let mut took: [Vec<Duration>; 3] = Default::default();
    let each = count / TASKS;
    for _ in 0..ROUNDS {
        let dir = crate::folder()?;
        let all: Vec<Vec<Record>> =
            (0..TASKS).map(|task| records(session(task as u64), each, size)).collect::<Result<_, _>>()?;
        let raw = RawFile::new(&dir.path().join("raw"), (count * (size + 100)) as u64)?;
        took[1].push(grouped(raw, &all).await?);
        took[2].push(grouped(Sqlite::new(&dir.path().join("sqlite"))?, &all).await?);
        let (log, _) = DiskLog::open(&dir.path().join("store"), OpenMode::Create)?;
        let log = Arc::new(log);
        let drafts: Vec<_> = all.iter().map(|records| drafts(records, size)).collect();
        log.append(draft(session(TASKS as u64), Seq::ZERO, 1, size)).await?;
        took[0].push(appended(&log, drafts).await?);
        log.close().await?;
    }
    print(&format!("append, {TASKS} writers, {size} bytes"), each * TASKS, took);
    Ok(())
}

/// How long tasks take that append their Drafts, each waiting for its acknowledgements.
async fn appended(log: &Arc<DiskLog>, drafts: Vec<Vec<Draft>>) -> Result<Duration, Box<dyn Error>> {
    let begin = Instant::now();
    let append = |drafts: Vec<Draft>| {
        let log = log.clone();
        tokio::spawn(async move {
            for draft in drafts {
                log.append(draft).await?;
            }
            Ok::<_, annals_store::AppendError>(())
        })
    };
    let tasks: Vec<_> = drafts.into_iter().map(append).collect();
    for task in tasks {
        task.await??;
    }
    Ok(begin.elapsed())
}

async fn grouped(rival: impl Rival + 'static, all: &[Vec<Record>]) -> Result<Duration, Box<dyn Error>> {
    let (queue, thread) = flusher(rival);
    let took = queued(&queue, all).await?;
    drop(queue);
    thread.join().map_err(|_| "the flusher stopped")?;
    Ok(took)
}

/// How long tasks take that hand their records to a rival, each waiting for its acknowledgements.
async fn queued(queue: &Sender<Queued>, all: &[Vec<Record>]) -> Result<Duration, Box<dyn Error>> {
    let begin = Instant::now();
    let tasks: Vec<_> = all
        .iter()
        .cloned()
        .map(|records| {
            let queue = queue.clone();
            tokio::spawn(async move {
                for record in records {
                    let (answer, acknowledged) = tokio::sync::oneshot::channel();
                    queue.send((record, answer)).expect("the flusher runs");
                    acknowledged.await.expect("the flusher answers");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await?;
    }
    Ok(begin.elapsed())
}

/// As [`many_writers`], until far more is written than sled may lack while others write: then what sled takes has to be
/// done as well, and SQLite's checkpoints. One round in quarters, which show where that begins; first ours, then SQLite.
pub async fn sustained(size: usize, bytes: usize) -> Result<(), Box<dyn Error>> {
    const QUARTERS: usize = 4;
    let each = bytes / size / TASKS / QUARTERS;
    let dir = crate::folder()?;
    let (mut ours, mut its) = (vec![Vec::new(); QUARTERS], vec![Vec::new(); QUARTERS]);
    for task in 0..TASKS {
        let records = records(session(task as u64), each * QUARTERS, size)?;
        for (quarter, records) in records.chunks(each).enumerate() {
            ours[quarter].push(drafts(records, size));
            its[quarter].push(records.to_vec());
        }
    }
    let (log, _) = DiskLog::open(&dir.path().join("store"), OpenMode::Create)?;
    let log = Arc::new(log);
    let mut took: [Vec<Duration>; 2] = Default::default();
    for quarter in ours {
        took[0].push(appended(&log, quarter).await?);
    }
    let begin = Instant::now();
    log.close().await?;
    let closed = begin.elapsed();
    let (queue, thread) = flusher(Sqlite::new(&dir.path().join("sqlite"))?);
    for quarter in &its {
        took[1].push(queued(&queue, quarter).await?);
    }
    drop(queue);
    thread.join().map_err(|_| "the flusher stopped")?;
    let rates = |took: &[Duration]| -> Vec<String> {
        took.iter().map(|took| format!("{:.0}/s", rate(each * TASKS, *took))).collect()
    };
    let whole = |took: &[Duration]| took.iter().sum::<Duration>().as_secs_f64();
    let [ours, sqlite] = &took;
    println!(
        "sustained, {TASKS} writers, {size} bytes, {} MB in quarters: {}",
        bytes / 1_000_000,
        rates(ours).join(", ")
    );
    println!("    SQLite {}", rates(sqlite).join(", "));
    let (all, closing) = (whole(sqlite) / whole(ours), whole(sqlite) / (whole(ours) + closed.as_secs_f64()));
    println!("    x SQLite FULL {all:.2}; {closing:.2} when closing counts, which took {closed:.1?}");
    Ok(())
}

fn print(what: &str, count: usize, [ours, raw, sqlite]: [Vec<Duration>; 3]) {
    let ratio = |rival: &Vec<Duration>| {
        // Of rounds in pairs: the machine changes more between rounds than within one.
        let mut all: Vec<f64> =
            ours.iter().zip(rival).map(|(our, its)| its.as_secs_f64() / our.as_secs_f64()).collect();
        all.sort_by(f64::total_cmp);
        (all[0], all[all.len() / 2], all[all.len() - 1])
    };
    let ((r0, r, r1), (s0, s, s1)) = (ratio(&raw), ratio(&sqlite));
    let (ours, raw, sqlite) = (median(ours.clone()), median(raw.clone()), median(sqlite.clone()));
    println!(
        "{what}: {:.0}/s; raw file {:.0}/s, SQLite {:.0}/s",
        rate(count, ours),
        rate(count, raw),
        rate(count, sqlite)
    );
    println!("    x raw file {r:.2} ({r0:.2}..{r1:.2}), x SQLite FULL {s:.2} ({s0:.2}..{s1:.2})");
}
