//! Partitions: servers that cannot reach each other, and go on running. Clients keep their connections, on both sides.

use crate::nats::faults::{Faults, Load, fill};
use crate::nats::links::{Heal, Links};
use annals_store::nats::{NatsLog, NatsOptions};
use std::time::Duration;

/// Longer than an election takes.
const ELECTED: Duration = Duration::from_secs(15);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_acknowledged_is_lost_or_doubled_whichever_servers_are_cut_off() {
    let Some((mut cluster, links)) = Links::start(3) else { return };
    let faults = Faults::of_environment();
    let address = cluster.new_store(1).await;
    let stream = format!("{}_SESS_0", address.name);
    let open = || NatsLog::open(&address, NatsOptions::default());
    fill(&open().await.unwrap(), faults.fill).await;
    // Clients at one server each: whichever is cut off, some are on its side.
    let at: Vec<_> = (0..3).map(|node| cluster.address_at(&address.name, &[node])).collect();
    let load = Load::start(&at).await;
    for round in 0..faults.rounds {
        let heal = if round % 2 == 0 { Heal::Reset } else { Heal::Late };
        let leader = cluster.leader(&stream).unwrap_or(0);
        let follower = (leader + 1 + round as usize % 2) % 3;
        eprintln!("round {round}: n{} is cut off, which does not lead; then {heal:?}", follower + 1);
        links.cut_off(follower);
        tokio::time::sleep(faults.between).await;
        links.heal(heal);
        load.goes_on(0..3).await;
        let leader = cluster.leader(&stream).unwrap_or(0);
        eprintln!("round {round}: the leader n{} is cut off with its clients; then {heal:?}", leader + 1);
        links.cut_off(leader);
        let cut = load.count(leader);
        load.goes_on((0..3).filter(|node| *node != leader)).await;
        // What each writer had on its way may be of a majority already.
        let since = load.count(leader) - cut;
        assert!(since <= load.writers(leader), "a leader alone acknowledged {since} batches");
        links.heal(heal);
        load.goes_on(0..3).await;
        if faults.rounds == 1 {
            continue;
        }
        let leader = cluster.leader(&stream).unwrap_or(0);
        let other = (leader + 1) % 3;
        eprintln!(
            "round {round}: the leader n{} and n{} cannot reach each other, but the third",
            leader + 1,
            other + 1
        );
        links.cut(|one, two| one == leader && two == other);
        tokio::time::sleep(ELECTED).await;
        links.heal(heal);
        load.goes_on(0..3).await;
        eprintln!("round {round}: no server reaches another one");
        links.cut(|_, _| true);
        tokio::time::sleep(faults.between).await;
        links.heal(heal);
        load.goes_on(0..3).await;
    }
    cluster.await_healthy();
    load.end(&open().await.unwrap()).await;
}
