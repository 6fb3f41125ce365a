//! One process at a time runs a session.

use crate::nats::cluster::Cluster;
use annals_store::conformance::material::session;
use annals_store::nats::{NatsLog, NatsOptions};
use annals_store::{EventLog, SessionLeases};
use std::sync::Arc;

async fn two(cluster: &Cluster) -> [(NatsLog, Arc<dyn SessionLeases>); 2] {
    let address = cluster.new_store(1).await;
    let open = async || {
        let log = NatsLog::open(&address, NatsOptions::default()).await.unwrap();
        let leases = EventLog::leases(&log).unwrap();
        (log, leases)
    };
    [open().await, open().await]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_has_a_lease_until_it_gives_it_back() {
    let Some(cluster) = Cluster::start(1) else { return };
    let [(log, first), (_other, second)] = two(&cluster).await;
    let held = first.take(session(1)).await.unwrap();
    assert!(held.is_some());
    assert!(second.take(session(1)).await.unwrap().is_none(), "the first process has it");
    let other = second.take(session(2)).await.unwrap();
    assert!(other.is_some(), "another session");
    drop(held);
    log.close().await;
    assert!(second.take(session(1)).await.unwrap().is_some(), "it was given back");
}
