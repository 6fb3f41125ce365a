//! Erasing texts: they are in no file of any server, also after a client that died anywhere; every digest stays.

use crate::nats::cluster::Cluster;
use crate::nats::faults::chain;
use annals_core::{Digest, Event, Seq, SessionId, SessionKey, Time};
use annals_store::conformance::material::{begin, draft, session, synthetic};
use annals_store::erasure::{self, ErasureNote, ErasurePlan, ErasureScope};
use annals_store::exchange::WithholdRules;
use annals_store::nats::{ErasureLeases, NatsAddress, NatsEraseError, NatsLog, NatsOptions};
use annals_store::{EventLog, Followed, Scope, StoreCursor};
use futures_util::StreamExt;
use memchr::memmem;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

pub const SECRET: &str = "the-planted-secret";

pub async fn open(address: &NatsAddress) -> NatsLog {
    NatsLog::open(address, NatsOptions::default()).await.unwrap()
}

pub async fn append(log: &NatsLog, session: SessionId, event: Event) {
    let expected = log.head(session).await.unwrap().unwrap().next;
    log.append(draft(session, expected, vec![event])).await.unwrap();
}

/// Texts around a secret: inline, and as a blob that only this session names.
pub async fn planted(log: &NatsLog, session: SessionId) {
    begin(log, session).await.unwrap();
    for text in ["before", SECRET, "between", &format!("{SECRET} {}", "x".repeat(20_000)), &"stays ".repeat(2_000)] {
        append(log, session, synthetic(text)).await;
    }
}

async fn planned(log: &NatsLog, session: SessionId) -> ErasurePlan {
    let rules = WithholdRules::Withhold(vec![format!("text:{SECRET}").parse().unwrap()]);
    erasure::plan(log, session, &rules, ErasureScope::default()).await.unwrap()
}

fn note() -> ErasureNote {
    let (reason, by, at) = ("asked".into(), "ada".into(), Time(1_790_000_000_000));
    ErasureNote { reason, reasons: Default::default(), by, at, forgets: None }
}

pub async fn record(log: &NatsLog, session: SessionId) -> Result<ErasureLeases, NatsEraseError> {
    let plan = planned(log, session).await;
    log.begin_erasure(&plan, &note(), &|| SessionKey([0x77; 32])).await
}

async fn erase(log: &NatsLog, session: SessionId) -> Result<(), NatsEraseError> {
    let leases = record(log, session).await?;
    let erased = log.finish_erasures(leases, &|_, _| {}).await?.unwrap();
    assert_eq!((erased.copies.texts, erased.copies.blobs), (2, 1));
    Ok(())
}

/// Every text of a session, as a reader sees it.
pub async fn texts(log: &NatsLog, session: SessionId) -> String {
    let (mut pages, mut texts) = (log.pages(session, Seq::ZERO..Seq(u64::MAX)), String::new());
    while let Some(page) = pages.next_page().await.unwrap() {
        for slice in page {
            texts += &slice.batch.to_canonical_with(&*log.blobs()).unwrap();
            for named in slice.batch.blobs() {
                texts += &log.blobs().text(&named.blob).unwrap_or_default();
            }
        }
    }
    texts
}

/// The files of a folder that contain the secret. `$SYS` holds what servers have not written to their streams for good yet.
fn containing(folder: &Path, all: bool) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if all || path.file_name().is_none_or(|name| name != "$SYS") {
                found.extend(containing(&path, all));
            }
            continue;
        }
        let content = std::fs::read(&path).unwrap_or_default();
        if memmem::find(&content, SECRET.as_bytes()).is_some() {
            found.push(path.display().to_string());
        }
    }
    found
}

pub async fn followed(log: &NatsLog, from: StoreCursor, count: usize) -> Vec<(SessionId, Seq, StoreCursor)> {
    let mut following = log.follow(Scope::All { from });
    let mut seen = Vec::new();
    while seen.len() < count {
        match tokio::time::timeout(Duration::from_secs(20), following.next()).await.unwrap().unwrap().unwrap() {
            Followed::Batch { slice, place } => {
                seen.push((slice.batch.session, slice.batch.first, place.unwrap().cursor));
            }
            Followed::Synced => {}
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erased_text_is_in_no_file_of_three_servers_and_every_digest_stays() {
    let Some(cluster) = Cluster::start(3) else { return };
    let address = cluster.new_store(2).await;
    let log = open(&address).await;
    let (one, other) = (session(1), session(2));
    planted(&log, one).await;
    begin(&log, other).await.unwrap();
    append(&log, other, synthetic(format!("another {}", "z".repeat(9_000)))).await;
    let reader = open(&address).await;
    let before = chain(&reader, one).await;
    assert!(texts(&reader, one).await.contains(SECRET));
    assert!(!containing(cluster.folder(), false).is_empty());
    erase(&log, one).await.unwrap();
    let after = chain(&reader, one).await;
    assert_eq!(after[..before.len()], before[..], "a reader from before sees the same digests");
    assert!(!texts(&reader, one).await.contains(SECRET));
    assert!(texts(&reader, one).await.contains("between"));
    let fresh = open(&address).await;
    assert_eq!(chain(&fresh, one).await, after);
    assert_eq!(fresh.pending_erasure().await.unwrap(), None, "all servers confirmed");
    assert_eq!(fresh.erasures().await.unwrap(), 1);
    assert_eq!(containing(cluster.folder(), false), Vec::<String>::new());
    // It continues, from a writer that knew it before and from a new one, and is erased again.
    append(&log, one, synthetic(SECRET)).await;
    append(&fresh, one, synthetic(format!("{SECRET} {}", "w".repeat(20_000)))).await;
    append(&log, one, synthetic("the end")).await;
    let before = chain(&fresh, one).await;
    erase(&fresh, one).await.unwrap();
    assert_eq!(chain(&log, one).await[..before.len()], before[..]);
    assert!(texts(&log, one).await.contains("the end") && !texts(&log, one).await.contains(SECRET));
    assert_eq!(containing(cluster.folder(), false), Vec::<String>::new());
    let last = log.read_back(one, Seq(u64::MAX), 3).await.unwrap();
    assert_eq!(last.len(), 3);
    assert_eq!(fresh.sessions().all().await.unwrap().len(), 2);
    // Nor in the log of the consensus, as soon as servers have written a snapshot.
    let end = std::time::Instant::now() + Duration::from_secs(20);
    while !containing(cluster.folder(), true).is_empty() && std::time::Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(containing(cluster.folder(), true), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_gets_each_batch_once_whether_texts_were_erased_before_or_meanwhile() {
    let Some(cluster) = Cluster::start(1) else { return };
    let address = cluster.new_store(2).await;
    let log = open(&address).await;
    let (one, other) = (session(1), session(2));
    planted(&log, one).await;
    begin(&log, other).await.unwrap();
    let follower = open(&address).await;
    let mut live = follower.follow(Scope::All { from: StoreCursor::START });
    let mut seen = Vec::new();
    while seen.len() < 7 {
        if let Followed::Batch { slice, .. } = live.next().await.unwrap().unwrap() {
            seen.push((slice.batch.session, slice.batch.first));
        }
    }
    erase(&log, one).await.unwrap();
    append(&log, other, synthetic("later")).await;
    while seen.len() < 9 {
        if let Followed::Batch { slice, .. } = live.next().await.unwrap().unwrap() {
            seen.push((slice.batch.session, slice.batch.first));
        }
    }
    let mut all: Vec<(SessionId, Seq)> = (0..7).map(|seq| (one, Seq(seq))).collect();
    all.extend([(other, Seq(0)), (other, Seq(1))]);
    let sorted = |mut seen: Vec<(SessionId, Seq)>| {
        seen.sort_unstable();
        seen
    };
    assert_eq!(sorted(seen), sorted(all.clone()), "who followed before");
    let fresh = followed(&open(&address).await, StoreCursor::START, 9).await;
    assert_eq!(sorted(fresh.iter().map(|(session, seq, _)| (*session, *seq)).collect()), sorted(all.clone()));
    // Whoever continues from any place gets the rest.
    for at in 0..fresh.len() - 1 {
        let rest = followed(&log, fresh[at].2.clone(), fresh.len() - 1 - at).await;
        let whole = fresh[..=at].iter().chain(&rest).map(|(session, seq, _)| (*session, *seq)).collect();
        assert_eq!(sorted(whole), sorted(all.clone()), "continued behind batch {at}");
    }
}

/// Stands between a client and a server, and ends for good before the n-th message that changes something.
pub async fn dying_proxy(to: u16, changes: i64) -> (u16, Arc<Notify>) {
    let (port, died, _) = stopping_proxy(to, changes, false).await;
    (port, died)
}

/// Stands between a client and a server, and stops before the n-th message that changes something: for good, or until it may
/// continue. Gives its port, and what hears of the stop and of the end of it.
pub async fn stopping_proxy(to: u16, changes: i64, continues: bool) -> (u16, Arc<Notify>, Arc<Notify>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, died) = (listener.local_addr().unwrap().port(), Arc::new(Notify::new()));
    let (dies, left) = (died.clone(), Arc::new(AtomicI64::new(changes)));
    let resumed = Arc::new(Notify::new());
    let resumes = resumed.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (dies, left, resumes) = (dies.clone(), left.clone(), resumes.clone());
            tokio::spawn(async move {
                if left.load(Ordering::Acquire) < 0 && !continues {
                    return;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else { return };
                let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(async move { drop(tokio::io::copy(&mut from_server, &mut to_client).await) });
                let mut bytes = vec![0; 1 << 16];
                while let Ok(count @ 1..) = from_client.read(&mut bytes).await {
                    let mut until = count;
                    for at in changing(&bytes[..count]) {
                        let stops = match left.fetch_sub(1, Ordering::AcqRel) {
                            0 => true,
                            before => before < 0 && !continues,
                        };
                        if stops {
                            until = at;
                            break;
                        }
                    }
                    let mut sent = to_server.write_all(&bytes[..until]).await;
                    if until < count && continues {
                        dies.notify_one();
                        resumes.notified().await;
                        sent = to_server.write_all(&bytes[until..count]).await;
                    } else if until < count {
                        dies.notify_one();
                        return;
                    }
                    if sent.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (port, died, resumed)
}

/// Where messages begin that change a stream.
fn changing(bytes: &[u8]) -> Vec<usize> {
    let text = String::from_utf8_lossy(bytes);
    let mut found: Vec<usize> = ["PUB s", "PUB $KV", "PUB $JS.API.STREAM.MSG.DELETE", "PUB $JS.API.STREAM.PURGE"]
        .iter()
        .flat_map(|subject| text.match_indices(subject).map(|(at, _)| at).collect::<Vec<_>>())
        .collect();
    found.sort_unstable();
    found
}

/// What the servers do 15 seconds after a process died.
pub async fn expire_lease(address: &NatsAddress, session: SessionId) {
    let client = async_nats::connect(format!("nats://{}", address.servers[0])).await.unwrap();
    let subject = format!("$JS.API.STREAM.PURGE.KV_{}_LEASES", address.name);
    let body = format!("{{\"filter\": \"$KV.{}_LEASES.{session}\"}}", address.name);
    client.request(subject, body.into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_whose_client_dies_anywhere_is_finished_by_the_next() {
    let Some(cluster) = Cluster::start(1) else { return };
    for changes in 0.. {
        let direct = cluster.new_store(1).await;
        let log = open(&direct).await;
        planted(&log, session(1)).await;
        let before: Vec<Digest> = chain(&log, session(1)).await;
        let (port, died) = dying_proxy(cluster.nodes[0].client, changes).await;
        let through = NatsAddress { servers: vec![format!("127.0.0.1:{port}")], ..direct.clone() };
        let dying = open(&through).await;
        let whole = tokio::select! {
            erased = erase(&dying, session(1)) => { erased.unwrap(); true }
            () = died.notified() => false,
        };
        drop(dying);
        // Whatever it left behind: every reader sees the session, whole.
        let fresh = open(&direct).await;
        assert_eq!(chain(&fresh, session(1)).await[..before.len()], before[..], "after {changes} changes");
        if whole {
            assert!(changes > 15, "the proxy counts what changes something");
            break;
        }
        expire_lease(&direct, session(1)).await;
        fresh.finish_erasures(ErasureLeases::default(), &|_, _| {}).await.unwrap();
        if texts(&fresh, session(1)).await.contains(SECRET) {
            assert!(changes < 6, "nothing was recorded after {changes} changes");
            fresh.close().await;
            expire_lease(&direct, session(1)).await;
            erase(&fresh, session(1)).await.unwrap();
        }
        assert_eq!(fresh.pending_erasure().await.unwrap(), None);
        assert_eq!(chain(&open(&direct).await, session(1)).await[..before.len()], before[..]);
        assert_eq!(chain(&log, session(1)).await[..before.len()], before[..], "a reader from before");
        let left = containing(cluster.folder(), true);
        assert_eq!(left, Vec::<String>::new(), "after {changes} changes");
        append(&log, session(1), synthetic("it continues")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_leaves_the_erasure_pending_until_it_is_back() {
    let Some(mut cluster) = Cluster::start(3) else { return };
    let address = cluster.new_store(1).await;
    let log = open(&address).await;
    planted(&log, session(1)).await;
    let away = (cluster.leader(&format!("{}_SESS_0", address.name)).unwrap() + 1) % 3;
    cluster.kill(away);
    let leases = record(&log, session(1)).await.unwrap();
    let erased = log.finish_erasures(leases, &|_, _| {}).await.unwrap().unwrap();
    assert!(erased.unconfirmed.contains(&format!("n{}", away + 1)), "{:?}", erased.unconfirmed);
    let pending = log.pending_erasure().await.unwrap().unwrap();
    assert!(pending.unfinished.is_empty() && !pending.unconfirmed.is_empty(), "{pending:?}");
    assert!(!texts(&log, session(1)).await.contains(SECRET));
    cluster.restart(away);
    cluster.await_healthy();
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while !log.pending_erasure().await.unwrap().unwrap().unconfirmed.is_empty() {
        assert!(std::time::Instant::now() < end, "it never confirms");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    log.finish_erasures(ErasureLeases::default(), &|_, _| {}).await.unwrap();
    assert_eq!(log.pending_erasure().await.unwrap(), None);
    assert_eq!(containing(cluster.folder(), false), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_of_a_session_that_runs_are_not_erased() {
    let Some(cluster) = Cluster::start(1) else { return };
    let address = cluster.new_store(1).await;
    let (log, other) = (open(&address).await, open(&address).await);
    planted(&log, session(1)).await;
    let _held = other.leases().take(session(1), "a test").await.unwrap().unwrap();
    let refused = record(&log, session(1)).await.unwrap_err();
    assert!(matches!(refused, NatsEraseError::Running(_)), "{refused}");
    assert_eq!(log.pending_erasure().await.unwrap(), None, "nothing was recorded");
}
