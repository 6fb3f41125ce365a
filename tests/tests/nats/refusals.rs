//! What a store must be, checked at each opening.

use crate::nats::cluster::Cluster;
use annals_store::nats::{NatsAddress, NatsCreate, NatsError, NatsLog, NatsOptions, create};
use annals_store::{Acknowledged, EventLog};
use serde_json::{Value, json};

async fn open(address: &NatsAddress) -> Result<NatsLog, NatsError> {
    NatsLog::open(address, NatsOptions::default()).await
}

/// Changes the configuration of a stream past Annals.
async fn change(address: &NatsAddress, stream: &str, key: &str, value: Value) {
    let client = async_nats::connect(format!("nats://{}", address.servers[0])).await.unwrap();
    let info = client.request(format!("$JS.API.STREAM.INFO.{stream}"), "".into()).await.unwrap();
    let info: Value = serde_json::from_slice(&info.payload).unwrap();
    let mut config = info["config"].clone();
    config[key] = value;
    let body = serde_json::to_vec(&config).unwrap();
    let answer = client.request(format!("$JS.API.STREAM.UPDATE.{stream}"), body.into()).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
    assert_eq!(answer["error"], Value::Null, "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_was_changed_is_refused_with_the_command_that_mends_it() {
    let Some(cluster) = Cluster::start(1) else { return };
    let address = cluster.new_store(2).await;
    let stream = format!("{}_SESS_1", address.name);
    for (key, value) in [
        ("compression", json!("s2")),
        ("discard", json!("old")),
        ("max_bytes", json!(1_000_000)),
        ("max_age", json!(3_600_000_000_000_i64)),
        ("max_msgs", json!(1_000)),
        ("max_msgs_per_subject", json!(1_000)),
        ("allow_direct", json!(false)),
        ("republish", Value::Null),
    ] {
        change(&address, &stream, key, value).await;
        let error = open(&address).await.unwrap_err().to_string();
        assert!(error.contains(&stream) && error.contains(key), "{error}");
        assert!(error.contains(&format!("annals store create {address} --replicas 1 --shards 2 --monitor")), "{error}");
        let mended = create(&address, &cluster.wanted(2), NatsOptions::default()).await.unwrap();
        assert_eq!((mended.created, mended.changed), (0, 1), "{key}");
        open(&address).await.unwrap();
    }
    let client = async_nats::connect(format!("nats://{}", address.servers[0])).await.unwrap();
    client.request(format!("$JS.API.STREAM.DELETE.{stream}"), "".into()).await.unwrap();
    let error = open(&address).await.unwrap_err().to_string();
    assert!(error.contains(&format!("stream {stream} has the stream = nothing")), "{error}");
    assert!(error.contains(&format!("annals store create {address} --replicas 1 --shards 2 --monitor")), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fewer_replicas_than_the_store_was_created_with_are_refused_and_mended() {
    let Some(cluster) = Cluster::start(3) else { return };
    let address = cluster.new_store(1).await;
    change(&address, &format!("{}_SESS_0", address.name), "num_replicas", json!(1)).await;
    let error = open(&address).await.unwrap_err().to_string();
    assert!(error.contains("has replicas = 1, and must have 3"), "{error}");
    assert!(error.contains(&format!("annals store create {address} --replicas 3 --shards 1 --monitor")), "{error}");
    let mended = create(&address, &cluster.wanted(1), NatsOptions::default()).await.unwrap();
    assert_eq!((mended.created, mended.changed), (0, 1));
    open(&address).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_that_flushes_later_is_found_by_its_monitor() {
    let Some(lazy) = Cluster::start_with(1, "", "") else { return };
    let Some(cluster) = Cluster::start(1) else { return };
    let monitors = vec![cluster.monitors()[0].clone(), lazy.monitors()[0].clone()];
    let wanted = NatsCreate { monitors, ..cluster.wanted(1) };
    let error = create(&cluster.address("mixed"), &wanted, NatsOptions::default()).await.unwrap_err().to_string();
    assert!(error.contains("n1") && error.contains(&lazy.monitors()[0]), "{error}");
    assert!(error.contains("sync_interval: always") && error.contains("--accept-unsynced"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_flush_later_are_refused_unless_that_was_accepted_when_the_store_was_created() {
    let Some(cluster) = Cluster::start_with(1, "", "") else { return };
    let address = cluster.address("lazy");
    let error = create(&address, &cluster.wanted(1), NatsOptions::default()).await.unwrap_err();
    assert!(matches!(error, NatsError::Unsynced { .. }), "{error}");
    let nothing = NatsCreate { monitors: Vec::new(), ..cluster.wanted(1) };
    let error = create(&address, &nothing, NatsOptions::default()).await.unwrap_err();
    assert!(matches!(error, NatsError::Unsynced { .. }), "nobody said how it is known: {error}");
    assert!(matches!(open(&address).await.unwrap_err(), NatsError::NoStore { .. }), "nothing was created");
    let accepted = NatsCreate { accept_unsynced: true, ..nothing };
    create(&address, &accepted, NatsOptions::default()).await.unwrap();
    let log = open(&address).await.unwrap();
    assert_eq!(log.promises().acknowledged, Acknowledged::InQuorumMemory { replicas: 1 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_shards_is_that_of_the_creation() {
    let Some(cluster) = Cluster::start(1) else { return };
    let address = cluster.new_store(2).await;
    let error = create(&address, &cluster.wanted(3), NatsOptions::default()).await.unwrap_err().to_string();
    assert!(error.contains("shards") && error.contains("annals copy --from"), "{error}");
    let again = NatsCreate { replicas: None, shards: None, monitors: Vec::new(), accept_unsynced: false };
    let again = create(&address, &again, NatsOptions::default()).await.unwrap();
    assert_eq!((again.shards, again.replicas, again.created, again.changed), (2, 1, 0, 0), "as it is");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_without_the_password_is_refused_and_one_with_it_is_not() {
    let Some(cluster) = Cluster::start_with(1, "sync_interval: always", "authorization { user: me, password: secret }")
    else {
        return;
    };
    let address = cluster.address("team");
    assert!(matches!(open(&address).await.unwrap_err(), NatsError::Connect { .. }));
    let login = format!("nats://me:secret@{}/team", address.servers[0]).parse().unwrap();
    create(&login, &cluster.wanted(1), NatsOptions::default()).await.unwrap();
    open(&login).await.unwrap();
    let by_variables = address.with_variables(|name| match name {
        "ANNALS_NATS_USER" => Some("me".to_owned()),
        "ANNALS_NATS_PASSWORD" => Some("secret".to_owned()),
        _ => None,
    });
    open(&by_variables).await.unwrap();
}
