//! A client whose connection is cut again and again, in the middle of appends and of following.

use crate::nats::cluster::Cluster;
use crate::nats::faults::chain;
use annals_core::Seq;
use annals_store::conformance::material::{begin, draft, session, synthetic, two};
use annals_store::nats::{NatsAddress, NatsLog, NatsOptions};
use annals_store::{AppendError, EventLog, Followed, Scope, StoreCursor};
use futures_util::StreamExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Stands between a client and a server, and cuts every connection on demand.
async fn proxy(to: u16) -> (u16, Arc<Notify>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, cut) = (listener.local_addr().unwrap().port(), Arc::new(Notify::new()));
    let cuts = cut.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let cuts = cuts.clone();
            tokio::spawn(async move {
                let Ok(mut server) = TcpStream::connect(("127.0.0.1", to)).await else { return };
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                    () = cuts.notified() => {}
                }
            });
        }
    });
    (port, cut)
}

/// Stands between a client and a server, and cuts the connection behind every third message to a session, before its answer.
async fn proxy_that_loses_answers(to: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicU32::new(0));
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let count = count.clone();
            tokio::spawn(async move {
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else { return };
                let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
                    (client.into_split(), server.into_split());
                let answers =
                    tokio::spawn(async move { drop(tokio::io::copy(&mut from_server, &mut to_client).await) });
                let mut bytes = vec![0; 1 << 16];
                while let Ok(read @ 1..) = from_client.read(&mut bytes).await {
                    let sent = bytes[..read].windows(6).any(|window| window == b"HPUB s");
                    let loses = sent && count.fetch_add(1, Ordering::AcqRel) % 3 == 2;
                    if loses {
                        answers.abort();
                    }
                    if to_server.write_all(&bytes[..read]).await.is_err() || loses {
                        // The server stores it before it notices that nobody listens.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        break;
                    }
                }
                answers.abort();
            });
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_whose_acknowledgement_is_lost_is_there_once_and_new() {
    let Some(cluster) = Cluster::start(1) else { return };
    let direct = cluster.new_store(1).await;
    let port = proxy_that_loses_answers(cluster.nodes[0].client).await;
    let through = NatsAddress { servers: vec![format!("127.0.0.1:{port}")], ..direct.clone() };
    let log = NatsLog::open(&through, NatsOptions::default()).await.unwrap();
    let direct = NatsLog::open(&direct, NatsOptions::default()).await.unwrap();
    begin(&log, session(1)).await.unwrap();
    let mut acknowledged = Vec::new();
    for n in 0..9 {
        let committed = log.append(draft(session(1), Seq(1 + n), vec![synthetic(format!("{n}"))])).await.unwrap();
        assert!(!committed.known, "this call wrote it");
        acknowledged.push(committed.batch.digest);
    }
    // Together, too.
    let drafts = (10..40).map(|seq| draft(session(1), Seq(seq), vec![synthetic(format!("{seq}"))])).collect();
    let appended = log.append_all(drafts).await;
    assert!(appended.refused.is_none(), "{:?}", appended.refused);
    assert!(appended.committed.iter().all(|committed| !committed.known));
    acknowledged.extend(appended.committed.iter().map(|committed| committed.batch.digest));
    assert_eq!(chain(&direct, session(1)).await[1..], acknowledged[..], "each once, in order");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drafts_that_travel_together_stop_at_the_first_that_is_refused() {
    let Some(cluster) = Cluster::start(1) else { return };
    let address = cluster.new_store(1).await;
    let log = NatsLog::open(&address, NatsOptions::default()).await.unwrap();
    let other = NatsLog::open(&address, NatsOptions::default()).await.unwrap();
    begin(&log, session(1)).await.unwrap();
    let at = |seq: u64| draft(session(1), Seq(seq), vec![synthetic(format!("{seq}"))]);
    let appended = log.append_all(vec![at(1), at(2), at(4), at(3)]).await;
    assert_eq!(appended.committed.len(), 2);
    assert!(matches!(appended.refused, Some(AppendError::Conflict { .. })), "{:?}", appended.refused);
    other.append(at(3)).await.unwrap();
    // What this process remembers is old: the first is there already, the others are new.
    let appended = log.append_all(vec![at(3), at(4), at(5)]).await;
    assert!(appended.refused.is_none(), "{:?}", appended.refused);
    assert_eq!(appended.committed.iter().map(|committed| committed.known).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(chain(&other, session(1)).await.len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_is_cut_off_loses_and_doubles_nothing() {
    const BATCHES: u64 = 200;
    let Some(cluster) = Cluster::start(1) else { return };
    let direct = cluster.new_store(2).await;
    let (port, cut) = proxy(cluster.nodes[0].client).await;
    let through = NatsAddress { servers: vec![format!("127.0.0.1:{port}")], ..direct.clone() };
    let log = NatsLog::open(&through, NatsOptions::default()).await.unwrap();
    let follower = NatsLog::open(&through, NatsOptions::default()).await.unwrap();
    let session = session(1);
    begin(&log, session).await.unwrap();
    let cutting = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(120)).await;
            cut.notify_waiters();
        }
    });
    let following = tokio::spawn(async move {
        let mut following = follower.follow(Scope::All { from: StoreCursor::START });
        let mut seen = Vec::new();
        while let Some(item) = following.next().await {
            if let Followed::Batch { slice, .. } = item.unwrap() {
                seen.push(slice.batch.digest);
                if seen.len() as u64 == BATCHES + 1 {
                    break;
                }
            }
        }
        seen
    });
    let mut acknowledged = Vec::new();
    for n in 0..BATCHES {
        let committed = two(&log, session, Seq(1 + 2 * n)).await.unwrap();
        acknowledged.push(committed.batch.digest);
    }
    let seen = following.await.unwrap();
    cutting.abort();
    assert_eq!(seen[1..], acknowledged[..], "each once, in order");
    let direct = NatsLog::open(&direct, NatsOptions::default()).await.unwrap();
    assert_eq!(chain(&direct, session).await[1..], acknowledged[..]);
}
