//! Servers that end or stop while many append: nothing that was acknowledged is lost, nothing is there twice, every chain verifies.
//!
//! `ANNALS_NATS_FAULTS=long` (`.ci/long nats`) first fills the stream with more than 50 MB, since smaller ones hide errors of recovery,
//! and does each fault several times.

use crate::nats::cluster::Cluster;
use annals_core::{Digest, Event, Seq, SessionId};
use annals_store::conformance::material::{admitted, begin, created, draft, promoted, session, synthetic};
use annals_store::exchange::verify_session;
use annals_store::nats::{NatsAddress, NatsLog, NatsOptions};
use annals_store::{AppendError, Draft, EventLog};
use futures_util::future::join_all;
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;

/// The digests of a session's batches, after verifying them.
pub async fn chain(log: &dyn EventLog, session: SessionId) -> Vec<Digest> {
    let report = verify_session(log, session, None, &mut |_| {}).await.unwrap();
    assert!(report.is_sound(), "{:?}", report.damage);
    let (mut pages, mut digests) = (log.pages(session, Seq::ZERO..Seq(u64::MAX)), Vec::new());
    while let Some(page) = pages.next_page().await.unwrap() {
        digests.extend(page.into_iter().map(|slice| slice.batch.digest));
    }
    digests
}

/// How much a run does.
pub struct Faults {
    pub fill: u64,
    pub rounds: u64,
    pub between: Duration,
    /// Writers, each on a session of its own, and those that share one session.
    own: u64,
    shared: u64,
}

impl Faults {
    pub fn of_environment() -> Self {
        match std::env::var("ANNALS_NATS_FAULTS").as_deref() {
            Ok("long") => Self { fill: 60 << 20, rounds: 4, between: Duration::from_secs(6), own: 64, shared: 8 },
            _ => Self { fill: 0, rounds: 1, between: Duration::from_secs(2), own: 16, shared: 4 },
        }
    }
}

/// Writers that append until they are stopped, to sessions of their own and to one.
pub struct Load {
    own: Vec<JoinHandle<(SessionId, Vec<Digest>)>>,
    shared: Vec<JoinHandle<Vec<Digest>>>,
    ends: Arc<AtomicBool>,
    /// How many appends to own sessions were acknowledged, by the address that they went to.
    counts: Vec<Arc<AtomicU64>>,
}

impl Load {
    /// Writer `n` uses address `n`, from the beginning again behind the last one.
    pub async fn start(addresses: &[NatsAddress]) -> Self {
        // Several clients: each is its own connection.
        let mut clients = Vec::new();
        for address in addresses {
            clients.push(NatsLog::open(address, NatsOptions::default()).await.unwrap());
        }
        begin(&clients[0], session(1)).await.unwrap();
        let Faults { own, shared, .. } = Faults::of_environment();
        let ends = Arc::new(AtomicBool::new(false));
        let counts: Vec<Arc<AtomicU64>> = addresses.iter().map(|_| Arc::default()).collect();
        let own = (0..own).map(|n| {
            let at = n as usize % clients.len();
            tokio::spawn(own_writer(clients[at].clone(), n, ends.clone(), counts[at].clone()))
        });
        let own = own.collect();
        // Writers that share a session share no memory of where it ends.
        let (count, mut shared) = (shared, Vec::new());
        for n in 0..count {
            let at = &addresses[n as usize % addresses.len()];
            let log = NatsLog::open(at, NatsOptions::default()).await.unwrap();
            shared.push(tokio::spawn(shared_writer(log, n, ends.clone())));
        }
        Self { own, shared, ends, counts }
    }

    /// How many writers of own sessions an address has.
    pub fn writers(&self, address: usize) -> u64 {
        (address..self.own.len()).step_by(self.counts.len()).count() as u64
    }

    /// How many appends of the writers at an address were acknowledged.
    pub fn count(&self, address: usize) -> u64 {
        self.counts[address].load(Ordering::Relaxed)
    }

    /// Waits until the writers at some addresses have appended again, each several times.
    pub async fn goes_on(&self, addresses: impl IntoIterator<Item = usize>) {
        for address in addresses {
            let before = self.count(address);
            let goes_on = async {
                while self.count(address) < before + 64 {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(120), goes_on).await.expect("writers continue");
        }
    }

    /// Ends the writers: each acknowledged batch is there once, and no other.
    pub async fn end(self, fresh: &NatsLog) {
        self.goes_on(0..self.counts.len()).await;
        self.ends.store(true, Ordering::Release);
        let mut total = 0;
        for writer in self.own {
            let (session, acknowledged) = writer.await.unwrap();
            total += acknowledged.len();
            assert_eq!(chain(fresh, session).await, acknowledged, "session {session}");
        }
        let mut acknowledged = Vec::new();
        for writer in self.shared {
            acknowledged.extend(writer.await.unwrap());
        }
        total += acknowledged.len();
        let mut there = chain(fresh, session(1)).await.split_off(1);
        there.sort_unstable();
        acknowledged.sort_unstable();
        assert_eq!(there, acknowledged, "the shared session");
        eprintln!("{total} batches acknowledged, 0 lost, 0 doubled");
    }
}

/// A writer of its own session: what was acknowledged.
async fn own_writer(log: NatsLog, n: u64, ends: Arc<AtomicBool>, count: Arc<AtomicU64>) -> (SessionId, Vec<Digest>) {
    let session = session(1000 + n);
    let mut acknowledged = vec![sure(&log, draft(session, Seq::ZERO, vec![created()])).await.unwrap()];
    let mut next = 1;
    while !ends.load(Ordering::Acquire) {
        let input = format!("input-{next}");
        let events = vec![admitted(&input, "what now?"), promoted(&input)];
        acknowledged.push(sure(&log, draft(session, Seq(next), events)).await.unwrap());
        count.fetch_add(1, Ordering::Relaxed);
        next += 2;
    }
    (session, acknowledged)
}

/// Appends until it is known what became of it.
async fn sure(log: &NatsLog, draft: Draft) -> Result<Digest, AppendError> {
    loop {
        match log.append(draft.clone()).await {
            Ok(committed) => return Ok(committed.batch.digest),
            Err(AppendError::Unknown | AppendError::Contended { .. } | AppendError::Io { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

/// One of the writers that share a session.
async fn shared_writer(log: NatsLog, n: u64, ends: Arc<AtomicBool>) -> Vec<Digest> {
    let session = session(1);
    let (mut acknowledged, mut number) = (Vec::new(), 0);
    while !ends.load(Ordering::Acquire) {
        let Ok(Some(head)) = log.head(session).await else { continue };
        let event: Event = synthetic(format!("writer {n}, {number}"));
        match sure(&log, draft(session, head.next, vec![event])).await {
            Ok(digest) => {
                acknowledged.push(digest);
                number += 1;
            }
            Err(AppendError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    acknowledged
}

/// Fills the stream with messages of some 56 kB.
pub async fn fill(log: &NatsLog, bytes: u64) {
    let each = bytes / (16 * 56_000) + 1;
    let fill = |n: u64| async move {
        let session = session(2000 + n);
        begin(log, session).await.unwrap();
        for batch in 0..each {
            let text = |part: u64| synthetic(format!("{n} {batch} {part} ").repeat(8_000 / 10 - 20));
            let events: Vec<Event> = (0..7).map(text).collect();
            log.append(draft(session, Seq(1 + batch * 7), events)).await.unwrap();
        }
    };
    if bytes > 0 {
        join_all((0..16).map(fill)).await;
    }
}

/// Sends a signal to a server.
pub fn send(cluster: &Cluster, node: usize, signal: Signal) {
    if let Some(pid) = cluster.pid(node).and_then(Pid::from_raw) {
        kill_process(pid, signal).unwrap();
    }
}

/// Ends or stops servers, one after another, and starts them again.
async fn break_servers(cluster: &mut Cluster, stream: &str, faults: &Faults) {
    let pause = || tokio::time::sleep(faults.between);
    for round in 0..faults.rounds {
        let leader = cluster.leader(stream).unwrap_or(0);
        eprintln!("round {round}: kill -9 of the leader n{}", leader + 1);
        cluster.kill(leader);
        pause().await;
        cluster.restart(leader);
        pause().await;
        let any = (round as usize * 7 + 1) % 3;
        eprintln!("round {round}: kill -9 of n{}", any + 1);
        cluster.kill(any);
        pause().await;
        cluster.restart(any);
        pause().await;
        let leader = cluster.leader(stream).unwrap_or(0);
        eprintln!("round {round}: the leader n{} stops for a while", leader + 1);
        send(cluster, leader, Signal::STOP);
        pause().await;
        send(cluster, leader, Signal::CONT);
        pause().await;
        let leader = cluster.leader(stream).unwrap_or(0);
        eprintln!("round {round}: the leader n{} is alone", leader + 1);
        let others = [(leader + 1) % 3, (leader + 2) % 3];
        others.iter().for_each(|node| send(cluster, *node, Signal::STOP));
        pause().await;
        others.iter().for_each(|node| send(cluster, *node, Signal::CONT));
        pause().await;
        eprintln!("round {round}: kill -9 of all three");
        (0..3).for_each(|node| cluster.kill(node));
        (0..3).for_each(|node| cluster.restart(node));
        pause().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_or_doubled_whichever_servers_end() {
    let Some(mut cluster) = Cluster::start(3) else { return };
    let faults = Faults::of_environment();
    let address = cluster.new_store(1).await;
    let open = || NatsLog::open(&address, NatsOptions::default());
    let log = open().await.unwrap();
    fill(&log, faults.fill).await;
    let load = Load::start(&[address.clone(), address.clone(), address.clone(), address.clone()]).await;
    break_servers(&mut cluster, &format!("{}_SESS_0", address.name), &faults).await;
    cluster.await_healthy();
    load.end(&open().await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_files_are_damaged_or_gone_costs_nothing() {
    let Some(mut cluster) = Cluster::start(3) else { return };
    let address = cluster.new_store(1).await;
    let stream = format!("{}_SESS_0", address.name);
    let log = NatsLog::open(&address, NatsOptions::default()).await.unwrap();
    fill(&log, 2 << 20).await;
    let sessions: Vec<SessionId> = (0..16).map(|n| session(2000 + n)).collect();
    let mut before = Vec::new();
    for session in &sessions {
        before.push(chain(&log, *session).await);
    }
    let follower = (cluster.leader(&stream).unwrap() + 1) % 3;
    for gone in [false, true] {
        cluster.kill(follower);
        let folder = cluster.folder().join(format!("n{}", follower + 1));
        match gone {
            true => std::fs::remove_dir_all(&folder).unwrap(),
            false => assert!(flip(&folder.join("jetstream/$G/streams").join(&stream)) > 0, "nothing was damaged"),
        }
        cluster.restart(follower);
        cluster.await_healthy();
        // Whichever server answers.
        for node in 0..3 {
            let servers = vec![format!("127.0.0.1:{}", cluster.nodes[node].client)];
            let one = NatsAddress { servers, ..address.clone() };
            let log = NatsLog::open(&one, NatsOptions::default()).await.unwrap();
            for (session, before) in sessions.iter().zip(&before) {
                assert_eq!(chain(&log, *session).await, *before, "n{}, gone: {gone}", node + 1);
            }
        }
    }
}

/// Changes a byte in the middle of each file of messages. Gives how many.
fn flip(folder: &Path) -> usize {
    let mut count = 0;
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            count += flip(&path);
        } else if path.extension().is_some_and(|extension| extension == "blk") {
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            if let Some(byte) = bytes.get_mut(middle) {
                *byte ^= 0xff;
                std::fs::write(&path, bytes).unwrap();
                count += 1;
            }
        }
    }
    count
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "waits for half a minute: .ci/long nats"]
async fn without_a_majority_an_append_says_that_it_waits_and_then_fails() {
    let Some(mut cluster) = Cluster::start(3) else { return };
    let address = cluster.new_store(1).await;
    let heard = Arc::new(Mutex::new(Vec::new()));
    let notices = heard.clone();
    let notice = Arc::new(move |text: &str| notices.lock().unwrap().push(text.to_owned()));
    let log = NatsLog::open(&address, NatsOptions { notice, ..NatsOptions::default() }).await.unwrap();
    begin(&log, session(1)).await.unwrap();
    let leader = cluster.leader(&format!("{}_SESS_0", address.name)).unwrap();
    let (one, other) = ((leader + 1) % 3, (leader + 2) % 3);
    cluster.kill(one);
    cluster.kill(other);
    let append = log.append(draft(session(1), Seq(1), vec![synthetic("is it there?")]));
    let error =
        tokio::time::timeout(Duration::from_secs(31), append).await.expect("as docs/cluster.md says").unwrap_err();
    assert!(matches!(error, AppendError::Unknown | AppendError::Io { .. }), "{error}");
    assert!(heard.lock().unwrap().iter().any(|text| text.contains("waiting for the cluster")), "{heard:?}");
    tokio::time::timeout(Duration::from_secs(31), log.head(session(1))).await.expect("the same").unwrap_err();
    cluster.restart(one);
    cluster.restart(other);
    cluster.await_healthy();
    sure(&log, draft(session(1), Seq(1), vec![synthetic("is it there?")])).await.unwrap();
    assert_eq!(chain(&log, session(1)).await.len(), 2, "once");
}
