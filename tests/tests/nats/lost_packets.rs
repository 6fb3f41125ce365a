//! Packets that are lost between all servers and all clients, as a bad network does it: TCP repeats them, late, and connections end.
//!
//! Needs a network name space that this process may change, which `.ci/long nats` gives it: rules of
//! nftables drop packets of the loopback interface there.

use crate::nats::cluster::Cluster;
use crate::nats::faults::{Faults, Load, fill};
use annals_store::nats::{NatsLog, NatsOptions};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Of a hundred packets, how many are dropped; then for how long.
const ROUNDS: [(u64, Duration); 4] = [
    (2, Duration::from_secs(20)),
    (20, Duration::from_secs(15)),
    (99, Duration::from_secs(8)),
    (50, Duration::from_secs(10)),
];

/// Drops so many of a hundred packets, whatever they are.
fn drop_packets(percent: u64) {
    let rules = format!(
        "add table ip lost\nflush table ip lost\nadd chain ip lost input {{ type filter hook input priority 0; }}\n\
         add rule ip lost input numgen random mod 100 < {percent} drop\n"
    );
    let mut nft = Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).spawn().expect("nft (nftables)");
    nft.stdin.take().unwrap().write_all(rules.as_bytes()).unwrap();
    assert!(nft.wait().unwrap().success(), "nft refused: {rules}");
}

fn drop_nothing() {
    let done = Command::new("nft").args(["delete", "table", "ip", "lost"]).status().unwrap();
    assert!(done.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "needs a network name space of its own: .ci/long nats"]
async fn nothing_acknowledged_is_lost_or_doubled_where_packets_are_lost() {
    let Some(mut cluster) = Cluster::start(3) else { return };
    let address = cluster.new_store(1).await;
    let open = || NatsLog::open(&address, NatsOptions::default());
    fill(&open().await.unwrap(), Faults::of_environment().fill).await;
    let at: Vec<_> = (0..3).map(|node| cluster.address_at(&address.name, &[node])).collect();
    let load = Load::start(&at).await;
    let count = || (0..3).map(|node| load.count(node)).sum::<u64>();
    for (percent, long) in ROUNDS {
        let before = count();
        drop_packets(percent);
        tokio::time::sleep(long).await;
        let during = count() - before;
        drop_nothing();
        eprintln!("{percent} of 100 packets lost for {} s: {during} batches acknowledged meanwhile", long.as_secs());
        load.goes_on(0..3).await;
    }
    cluster.await_healthy();
    load.end(&open().await.unwrap()).await;
}
