//! A client whose connection is cut again and again, in the middle of appends and of following.

use crate::cluster::Cluster;
use crate::faults::chain;
use annals_core::Seq;
use annals_store::conformance::material::{begin, session, two};
use annals_store::nats::{NatsAddress, NatsLog, NatsOptions};
use annals_store::{EventLog, Followed, Scope, StoreCursor};
use futures_util::StreamExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Stands between a client and a server, and cuts every connection when told to.
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
