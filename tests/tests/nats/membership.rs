//! Servers that join and leave a cluster in which many append, as docs/cluster.md describes it.

use crate::nats::cluster::Cluster;
use crate::nats::faults::{Faults, Load, fill};
use crate::nats::links::{Heal, Links};
use annals_store::nats::{NatsAddress, NatsCreate, NatsLog, NatsOptions, create};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The user that may change the cluster.
const ADMINISTRATOR: &str = "accounts { $SYS { users: [{ user: admin, password: secret }] } }";

async fn ask(client: &async_nats::Client, subject: &str, body: Value) -> Value {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        match client.request(subject.to_owned(), serde_json::to_vec(&body).unwrap().into()).await {
            Ok(answer) => return serde_json::from_slice(&answer.payload).unwrap(),
            Err(error) => assert!(Instant::now() < end, "{subject}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The servers of a stream that have all of it.
async fn current(client: &async_nats::Client, stream: &str) -> Vec<String> {
    let info = ask(client, &format!("$JS.API.STREAM.INFO.{stream}"), json!({})).await;
    let replicas = info["cluster"]["replicas"].as_array().cloned().unwrap_or_default();
    let well = replicas.iter().filter(|peer| peer["current"] == true && peer["offline"] != true);
    let names = well.map(|peer| peer["name"].clone()).chain([info["cluster"]["leader"].clone()]);
    let mut names: Vec<String> = names.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    names.sort_unstable();
    names
}

async fn await_servers(client: &async_nats::Client, streams: &[String], servers: &[&str]) {
    let end = Instant::now() + Duration::from_secs(120);
    for stream in streams {
        loop {
            let now = current(client, stream).await;
            if now == servers {
                break;
            }
            assert!(Instant::now() < end, "{stream} is on {now:?}, not on {servers:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

fn streams_of(address: &NatsAddress) -> Vec<String> {
    let name = &address.name;
    vec![format!("{name}_SESS_0"), format!("{name}_BLOBS"), format!("KV_{name}_LEASES")]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_is_replaced_by_another_one_while_many_append() {
    let Some(mut cluster) = Cluster::start_with(3, "sync_interval: always", ADMINISTRATOR) else { return };
    let faults = Faults::of_environment();
    let address = cluster.new_store(1).await;
    let streams = streams_of(&address);
    fill(&NatsLog::open(&address, NatsOptions::default()).await.unwrap(), faults.fill).await;
    let load = Load::start(&[address.clone(), address.clone()]).await;
    for round in 0..faults.rounds.min(2) as usize {
        let old = round;
        let new = cluster.add(ADMINISTRATOR);
        cluster.await_healthy();
        let client = async_nats::connect(format!("127.0.0.1:{}", cluster.nodes[new].client)).await.unwrap();
        let admin = async_nats::ConnectOptions::with_user_and_password("admin".into(), "secret".into());
        let admin = admin.connect(format!("127.0.0.1:{}", cluster.nodes[new].client)).await.unwrap();
        load.goes_on(0..2).await;
        let peer = json!({ "peer": format!("n{}", old + 1) });
        let left: Vec<String> = (old + 1..=new).map(|node| format!("n{}", node + 1)).collect();
        let left: Vec<&str> = left.iter().map(String::as_str).collect();
        let runs = round == 0;
        eprintln!(
            "round {round}: n{} takes the place of n{}, which {}",
            new + 1,
            old + 1,
            if runs { "runs" } else { "died" }
        );
        if runs {
            // Its replicas move first, so that no server is missing meanwhile.
            for stream in &streams {
                let answer = ask(&client, &format!("$JS.API.STREAM.PEER.REMOVE.{stream}"), peer.clone()).await;
                assert_eq!(answer["success"], true, "{answer}");
                await_servers(&client, std::slice::from_ref(stream), &left).await;
                load.goes_on(0..2).await;
            }
        }
        cluster.kill(old);
        let answer = ask(&admin, "$JS.API.SERVER.REMOVE", peer).await;
        assert_eq!(answer["success"], true, "{answer}");
        await_servers(&client, &streams, &left).await;
        cluster.await_healthy();
        load.goes_on(0..2).await;
        // The store knows where its servers can be asked whether they flush.
        let nodes: Vec<usize> = (old + 1..=new).collect();
        let now = cluster.address_at(&address.name, &nodes);
        let monitors = nodes.iter().map(|node| format!("http://127.0.0.1:{}", cluster.nodes[*node].monitor)).collect();
        let wanted = NatsCreate { replicas: None, shards: None, monitors, accept_unsynced: false };
        create(&now, &wanted, NatsOptions::default()).await.unwrap();
    }
    let nodes: Vec<usize> = (faults.rounds.min(2) as usize..cluster.nodes.len()).collect();
    let fresh = NatsLog::open(&cluster.address_at(&address.name, &nodes), NatsOptions::default()).await.unwrap();
    load.end(&fresh).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_is_cut_off_is_replaced_and_comes_back_while_many_append() {
    let Some((mut cluster, links)) = Links::start(4) else { return };
    let faults = Faults::of_environment();
    // Three replicas on four servers: one is free to take a place.
    let address = cluster.address("moved");
    let wanted =
        NatsCreate { replicas: Some(3), shards: Some(1), monitors: cluster.monitors(), accept_unsynced: false };
    create(&address, &wanted, NatsOptions::default()).await.unwrap();
    let [sessions, ..] = &streams_of(&address)[..] else { panic!("streams") };
    fill(&NatsLog::open(&address, NatsOptions::default()).await.unwrap(), faults.fill).await;
    let load = Load::start(&(0..4).map(|node| cluster.address_at(&address.name, &[node])).collect::<Vec<_>>()).await;
    for round in 0..faults.rounds {
        let heal = if round % 2 == 0 { Heal::Late } else { Heal::Reset };
        let leader = cluster.leader(sessions).expect("a leader");
        let client = async_nats::connect(format!("127.0.0.1:{}", cluster.nodes[leader].client)).await.unwrap();
        let replicas = current(&client, sessions).await;
        // The leader itself every second time.
        let follower = replicas.iter().map(|name| node_of(name)).find(|node| *node != leader).expect("a follower");
        let gone = if round % 2 == 0 { follower } else { leader };
        links.cut_off(gone);
        let rest: Vec<usize> = (0..4).filter(|node| *node != gone).collect();
        load.goes_on(rest.clone()).await;
        let client = async_nats::connect(format!("127.0.0.1:{}", cluster.nodes[rest[0]].client)).await.unwrap();
        let peer = json!({ "peer": format!("n{}", gone + 1) });
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let removed = ask(&client, &format!("$JS.API.STREAM.PEER.REMOVE.{sessions}"), peer.clone()).await;
            if removed["success"] == true {
                break;
            }
            // "peer remap failed", while the one that was cut off before does not count as running yet.
            assert!(removed["error"]["err_code"] == 10075 && Instant::now() < end, "{removed}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let left: Vec<String> = rest.iter().map(|node| format!("n{}", node + 1)).collect();
        let left: Vec<&str> = left.iter().map(String::as_str).collect();
        eprintln!("round {round}: n{} is cut off, and replaced; then {heal:?}", gone + 1);
        await_servers(&client, std::slice::from_ref(sessions), &left).await;
        load.goes_on(rest).await;
        // It takes itself for a replica still.
        links.heal(heal);
        load.goes_on(0..4).await;
        cluster.await_healthy();
        await_servers(&client, std::slice::from_ref(sessions), &left).await;
    }
    load.end(&NatsLog::open(&address, NatsOptions::default()).await.unwrap()).await;
}

/// The place of a server by its name.
fn node_of(name: &str) -> usize {
    name.trim_start_matches('n').parse::<usize>().unwrap() - 1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_gets_more_replicas_and_fewer_again_while_many_append() {
    let Some(mut cluster) = Cluster::start(3) else { return };
    let address = cluster.new_store(1).await;
    let streams = streams_of(&address);
    let load = Load::start(std::slice::from_ref(&address)).await;
    cluster.add("");
    cluster.add("");
    cluster.await_healthy();
    let client = async_nats::connect(format!("127.0.0.1:{}", cluster.nodes[0].client)).await.unwrap();
    for (replicas, servers) in [(5, 5), (3, 3)] {
        let wanted =
            NatsCreate { replicas: Some(replicas), shards: None, monitors: Vec::new(), accept_unsynced: false };
        create(&address, &wanted, NatsOptions::default()).await.unwrap();
        let end = Instant::now() + Duration::from_secs(120);
        for stream in &streams {
            while current(&client, stream).await.len() != servers {
                assert!(Instant::now() < end, "{stream} is on {:?}", current(&client, stream).await);
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
        load.goes_on([0]).await;
    }
    load.end(&NatsLog::open(&address, NatsOptions::default()).await.unwrap()).await;
}
