//! Appends, reads, following and an import in a cluster of three servers on this machine, beside publishing the same number of bytes to
//! the same cluster without Annals, and beside a store in a folder. Prints ratios, which hold on other machines; numbers do not.
//!
//! `ANNALS_NATS_SERVER=... cargo bench -p annals-tests --bench nats`

#[path = "../../tests/nats/cluster.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod cluster;
mod raw;

use annals_core::{Event, Seq, SessionId};
use annals_store::conformance::material::{begin, draft, session, synthetic};
use annals_store::nats::{NatsLog, NatsOptions};
use annals_store::{DiskLog, EventLog, Followed, OpenMode, Scope};
use cluster::Cluster;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use std::time::{Duration, Instant};

/// How long each measurement of appends lasts.
const LASTS: Duration = Duration::from_secs(5);
/// The bytes of a message, about: with its headers as Annals writes them.
const BYTES: usize = 900;

fn event() -> Event {
    synthetic("a line of text, as an agent writes it; ".repeat(10))
}

/// CPU time of this process and of the servers, in milliseconds.
fn cpu(cluster: &Cluster) -> [u64; 2] {
    let of = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields: Vec<i64> =
            stat.rsplit(')').next().unwrap_or_default().split(' ').filter_map(|field| field.parse().ok()).collect();
        // User and system time, in hundredths of a second.
        fields.get(10..12).map_or(0, |times| times.iter().sum::<i64>().unsigned_abs() * 10)
    };
    let servers = (0..cluster.nodes.len()).filter_map(|node| cluster.pid(node)).map(|pid| of(&pid.to_string())).sum();
    [of("self"), servers]
}

/// Appends of so many writers, each to a session of its own, in a second.
async fn appends(log: &dyn EventLog, writers: u64, first: u64) -> f64 {
    let began = Instant::now();
    let write = |n: u64| async move {
        let session = session(first + n);
        begin(log, session).await.unwrap();
        let mut next = 1;
        while began.elapsed() < LASTS {
            log.append(draft(session, Seq(next), vec![event()])).await.unwrap();
            next += 1;
        }
        next
    };
    let all: u64 = join_all((0..writers).map(write)).await.into_iter().sum();
    all as f64 / began.elapsed().as_secs_f64()
}

/// A session of so many events, ten a batch.
async fn long_session(log: &dyn EventLog, session: SessionId, events: u64) {
    begin(log, session).await.unwrap();
    for at in 0..events / 10 {
        log.append(draft(session, Seq(1 + at * 10), (0..10).map(|_| event()).collect())).await.unwrap();
    }
}

/// Events read in a second.
async fn reads(log: &dyn EventLog, session: SessionId) -> f64 {
    let (began, mut events) = (Instant::now(), 0);
    let mut pages = log.pages(session, Seq::ZERO..Seq(u64::MAX));
    while let Some(page) = pages.next_page().await.unwrap() {
        events += page.iter().map(|slice| slice.batch.events.len()).sum::<usize>();
    }
    events as f64 / began.elapsed().as_secs_f64()
}

/// From the acknowledgement of a batch until a follower has it: the middle and the 99th of 100.
async fn follow_latency(log: &NatsLog, from: &NatsLog, of: u64) -> (Duration, Duration) {
    let session = session(of);
    begin(log, session).await.unwrap();
    let mut following = from.follow(Scope::Session { session, from: Seq(1) });
    assert_eq!(following.next().await.unwrap().unwrap(), Followed::Synced);
    let mut times = Vec::new();
    for n in 0..1000 {
        log.append(draft(session, Seq(1 + n), vec![event()])).await.unwrap();
        let acknowledged = Instant::now();
        following.next().await.unwrap().unwrap();
        times.push(acknowledged.elapsed());
    }
    times.sort_unstable();
    (times[500], times[990])
}

/// Sessions of 20 events imported in a second.
async fn imports(log: &dyn EventLog, first: u64) -> f64 {
    let began = Instant::now();
    let one = |n: u64| async move {
        let session = session(first + n);
        begin(log, session).await.unwrap();
        let drafts = (0..5).map(|at| draft(session, Seq(1 + at * 4), (0..4).map(|_| event()).collect()));
        assert!(log.append_all(drafts.collect()).await.refused.is_none());
    };
    stream::iter(0..1000).map(one).buffer_unordered(16).collect::<Vec<()>>().await;
    1000.0 / began.elapsed().as_secs_f64()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let Some(cluster) = Cluster::start(3) else { return };
        let address = cluster.new_store(4).await;
        let open = || NatsLog::open(&address, NatsOptions::default());
        let (log, other) = (open().await.unwrap(), open().await.unwrap());
        let raw = raw::RawStream::create(&cluster).await;
        let folder = tempfile::tempdir().unwrap();
        let (disk, _) = DiskLog::open(folder.path(), OpenMode::Create).unwrap();
        println!("{:34}{:>12}{:>12}{:>12}{:>12}{:>8}", "a second", "cluster", "raw", "compared", "folder", "ratio");
        for writers in [1, 64] {
            // Alternating, so that what else the machine does meets both.
            let (mut rates, mut used) = ([0.0_f64; 4], [[0.0_f64; 2]; 4]);
            for round in 0..2 {
                let first = 10_000 * (round + 1) + writers * 100;
                for (at, (used, best)) in used.iter_mut().zip(&mut rates).enumerate() {
                    let before = cpu(&cluster);
                    let rate = match at {
                        0 => raw.publishes(writers, BYTES, LASTS).await,
                        1 => appends(&log, writers, first).await,
                        2 => raw.compared(writers, BYTES, LASTS, round).await,
                        _ => appends(&disk, writers, first).await,
                    };
                    let count = rate * LASTS.as_secs_f64();
                    for (sum, (now, before)) in used.iter_mut().zip(cpu(&cluster).iter().zip(&before)) {
                        *sum += (now - before) as f64 * 500.0 / count;
                    }
                    *best = best.max(rate);
                }
            }
            let [raw, ours, compared, disk] = rates;
            println!(
                "{:34}{ours:>12.0}{raw:>12.0}{compared:>12.0}{disk:>12.0}{:>8.2}",
                format!("appends, {writers} writers"),
                ours / raw
            );
            for (part, name) in ["this process", "the servers"].iter().enumerate() {
                let [raw, ours, compared, disk] = used.map(|used| used[part]);
                println!(
                    "{:34}{ours:>12.0}{raw:>12.0}{compared:>12.0}{disk:>12.0}",
                    format!("  µs of CPU each, {name}")
                );
            }
        }
        let long = session(7);
        long_session(&log, long, 100_000).await;
        long_session(&disk, long, 100_000).await;
        let raw_read = raw.reads(&format!("{}_SESS_{}", address.name, log.shard_of(long))).await * 10.0;
        let (ours, folder) = (reads(&other, long).await, reads(&disk, long).await);
        println!(
            "{:34}{ours:>12.0}{raw_read:>12.0}{:>12}{folder:>12.0}{:>8.2}",
            "events read of 100,000",
            "",
            ours / raw_read
        );
        let (ours, folder) = (imports(&log, 50_000).await, imports(&disk, 50_000).await);
        println!("{:34}{ours:>12.0}{:>24}{folder:>12.0}", "sessions of 20 events imported", "");
        let (middle, high) = follow_latency(&log, &other, 90_000).await;
        println!("follower after the acknowledgement: p50 {middle:?}, p99 {high:?}");
        disk.close().await.unwrap();
    });
}
