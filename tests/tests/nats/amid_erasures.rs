//! What others do while texts are erased: they follow, and append the same texts again.

use crate::nats::cluster::Cluster;
use crate::nats::erasing::{
    SECRET, append, dying_proxy, expire_lease, followed, open, planted, record, stopping_proxy, texts,
};
use crate::nats::faults::chain;
use annals_core::{Seq, SessionId};
use annals_store::conformance::material::{begin, draft, session, synthetic};
use annals_store::nats::{ErasureLeases, NatsAddress, NatsLog};
use annals_store::{EventLog, Followed, Scope, StoreCursor};
use futures_util::StreamExt;
use std::time::Duration;

/// The text of `planted` that is a blob.
fn large() -> String {
    format!("{SECRET} {}", "x".repeat(20_000))
}

/// How many texts a session names that are not there. It must name some.
async fn missing(log: &NatsLog, session: SessionId) -> usize {
    let batches = log.read(session, Seq::ZERO, 100).await.unwrap();
    let named: Vec<_> = batches.iter().flat_map(|slice| slice.batch.blobs()).map(|named| named.blob).collect();
    assert!(!named.is_empty());
    named.iter().filter(|blob| log.blobs().text(blob).is_none()).count()
}

async fn erase(log: &NatsLog, session: SessionId) {
    let leases = record(log, session).await.unwrap();
    log.finish_erasures(leases, &|_, _| {}).await.unwrap().unwrap();
}

/// The batches of the whole store as a follower gets them, up to the one that is last in `session(9)`.
async fn rest(log: &NatsLog, from: StoreCursor) -> Vec<(SessionId, Seq)> {
    let (mut following, mut seen) = (log.follow(Scope::All { from }), Vec::new());
    loop {
        if let Followed::Batch { slice, .. } = following.next().await.unwrap().unwrap() {
            if slice.batch.session == session(9) {
                return seen;
            }
            seen.push((slice.batch.session, slice.batch.first));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_that_continues_from_any_cursor_amid_an_erasure_gets_each_batch_once() {
    let Some(cluster) = Cluster::start(1) else { return };
    let mut partly = 0;
    for changes in 0.. {
        let direct = cluster.new_store(1).await;
        let log = open(&direct).await;
        // Two sessions that alternate, so that gaps do.
        begin(&log, session(2)).await.unwrap();
        begin(&log, session(1)).await.unwrap();
        for n in 0..5 {
            append(&log, session(1), synthetic(format!("{SECRET} {n}"))).await;
            append(&log, session(2), synthetic(format!("{n}"))).await;
        }
        let (port, died) = dying_proxy(cluster.nodes[0].client, changes).await;
        let through = NatsAddress { servers: vec![format!("127.0.0.1:{port}")], ..direct.clone() };
        let dying = open(&through).await;
        let whole = tokio::select! {
            () = erase(&dying, session(1)) => true,
            () = died.notified() => false,
        };
        drop(dying);
        let count = chain(&log, session(1)).await.len() + chain(&log, session(2)).await.len();
        let cursors = followed(&open(&direct).await, StoreCursor::START, count).await;
        partly += usize::from(cursors.iter().any(|(.., cursor)| cursor.to_string().matches('-').count() > 1));
        expire_lease(&direct, session(1)).await;
        let fresh = open(&direct).await;
        fresh.finish_erasures(ErasureLeases::default(), &|_, _| {}).await.unwrap();
        // And it is erased once more.
        append(&fresh, session(1), synthetic(format!("{SECRET} later"))).await;
        fresh.close().await;
        expire_lease(&direct, session(1)).await;
        erase(&fresh, session(1)).await;
        begin(&fresh, session(9)).await.unwrap();
        let mut all: Vec<(SessionId, Seq)> = rest(&fresh, StoreCursor::START).await;
        all.sort_unstable();
        let given = |upto: usize| cursors[..upto].iter().map(|(session, seq, _)| (*session, *seq)).collect::<Vec<_>>();
        for (at, (.., cursor)) in cursors.iter().enumerate() {
            let mut seen = given(at + 1);
            let text = cursor.to_string();
            seen.extend(rest(&fresh, text.parse().unwrap()).await);
            seen.sort_unstable();
            assert_eq!(seen, all, "continued behind batch {at} from {text}, after {changes} changes");
        }
        if whole {
            assert!(
                changes > 10 && partly > 2,
                "{changes} changes; {partly} times the follower met an unfinished erasure"
            );
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_is_appended_again_right_after_it_was_erased_is_there() {
    let Some(cluster) = Cluster::start(3) else { return };
    let address = cluster.new_store(1).await;
    let (writer, other) = (open(&address).await, open(&address).await);
    // The writer has made the text durable, and knows that.
    planted(&writer, session(1)).await;
    begin(&writer, session(2)).await.unwrap();
    erase(&other, session(1)).await;
    assert!(!texts(&open(&address).await, session(1)).await.contains(SECRET));
    append(&writer, session(2), synthetic(large())).await;
    assert_eq!(missing(&open(&address).await, session(2)).await, 0, "appended alone");
    erase(&other, session(2)).await;
    begin(&writer, session(3)).await.unwrap();
    let drafts = (1..4).map(|seq| draft(session(3), Seq(seq), vec![synthetic(large())])).collect();
    let appended = writer.append_all(drafts).await;
    assert!(appended.refused.is_none(), "{:?}", appended.refused);
    assert_eq!(missing(&open(&address).await, session(3)).await, 0, "appended together");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_is_appended_again_at_any_moment_of_its_erasure_is_there() {
    let Some(cluster) = Cluster::start(1) else { return };
    for changes in 0.. {
        let direct = cluster.new_store(1).await;
        let writer = open(&direct).await;
        planted(&writer, session(1)).await;
        begin(&writer, session(2)).await.unwrap();
        let (port, stopped, resumed) = stopping_proxy(cluster.nodes[0].client, changes, true).await;
        let through = NatsAddress { servers: vec![format!("127.0.0.1:{port}")], ..direct.clone() };
        let eraser = open(&through).await;
        let erasing = tokio::spawn(async move { erase(&eraser, session(1)).await });
        let whole = tokio::select! {
            () = stopped.notified() => false,
            () = async { while !erasing.is_finished() { tokio::time::sleep(Duration::from_millis(10)).await } } => true,
        };
        append(&writer, session(2), synthetic(large())).await;
        resumed.notify_one();
        erasing.await.unwrap();
        let fresh = open(&direct).await;
        assert_eq!(missing(&fresh, session(2)).await, 0, "after {changes} changes");
        assert!(!texts(&fresh, session(1)).await.contains(SECRET), "after {changes} changes");
        if whole {
            assert!(changes > 15, "the proxy counts what changes something");
            break;
        }
    }
}
