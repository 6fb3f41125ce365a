//! Replicas that lag behind, and the leader.

use crate::nats::cluster::Cluster;
use crate::nats::faults::{chain, send};
use annals_core::Seq;
use annals_store::EventLog;
use annals_store::conformance::material::{begin, draft, session, synthetic};
use annals_store::nats::{NatsAddress, NatsLog, NatsOptions};
use rustix::process::Signal;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_at_a_server_that_lags_gets_what_was_acknowledged() {
    let Some(cluster) = Cluster::start(3) else { return };
    let address = cluster.new_store(1).await;
    let leader = cluster.leader(&format!("{}_SESS_0", address.name)).unwrap();
    let (away, other) = ((leader + 1) % 3, (leader + 2) % 3);
    let at = |node: usize| NatsAddress {
        servers: vec![format!("127.0.0.1:{}", cluster.nodes[node].client)],
        ..address.clone()
    };
    let reader = NatsLog::open(&at(away), NatsOptions::default()).await.unwrap();
    let writer = NatsLog::open(&at(other), NatsOptions::default()).await.unwrap();
    begin(&writer, session(1)).await.unwrap();
    send(&cluster, away, Signal::STOP);
    let mut acknowledged = Vec::new();
    for seq in 1..=300 {
        let committed = writer.append(draft(session(1), Seq(seq), vec![synthetic("x".repeat(5_000))])).await.unwrap();
        acknowledged.push(committed.batch.digest);
    }
    send(&cluster, away, Signal::CONT);
    assert_eq!(reader.head(session(1)).await.unwrap().unwrap().next, Seq(301));
    assert_eq!(chain(&reader, session(1)).await[1..], acknowledged[..]);
}
