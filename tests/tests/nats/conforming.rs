//! The public conformance suite.

use crate::nats::cluster::Cluster;
use annals_store::EventLog;
use annals_store::conformance::{Violation, run_all};
use annals_store::nats::{NatsLog, NatsOptions};
use std::sync::Arc;

async fn conforms(servers: usize, shards: u32) {
    let Some(cluster) = Cluster::start(servers) else { return };
    let fresh = async || {
        let address = cluster.new_store(shards).await;
        let log = NatsLog::open(&address, NatsOptions::default()).await;
        log.map(|log| Arc::new(log) as Arc<dyn EventLog>).map_err(|error| Violation(error.to_string()))
    };
    run_all(fresh).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_on_one_server_conforms() {
    conforms(1, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_on_three_servers_conforms() {
    conforms(3, 2).await;
}
