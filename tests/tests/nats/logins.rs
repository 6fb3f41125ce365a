//! How a client logs in: TLS with a certificate of its own, the seed of an NKey, a credentials file.
//!
//! The files in `logins/` are of authorities, operators and users of these tests alone, and do not expire.

use crate::nats::cluster::Cluster;
use annals_store::EventLog;
use annals_store::conformance::material::{begin, session};
use annals_store::nats::{NatsAddress, NatsCreate, NatsError, NatsLog, NatsOptions, create};

const LOGINS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nats/logins");

const FLUSHES: &str = "sync_interval: always";

/// The configuration of a server from a file.
fn configured(name: &str) -> String {
    std::fs::read_to_string(format!("{LOGINS}/{name}")).unwrap()
}

fn tls(more: &str) -> String {
    format!("tls {{ cert_file: \"{LOGINS}/server.pem\", key_file: \"{LOGINS}/server.key\", {more} }}\n")
}

async fn opens(cluster: &Cluster, address: &NatsAddress) -> Result<(), NatsError> {
    let wanted: NatsCreate = cluster.wanted(1);
    create(address, &wanted, NatsOptions::default()).await?;
    let log = NatsLog::open(address, NatsOptions::default()).await?;
    begin(&log, session(1)).await.unwrap();
    assert!(log.head(session(1)).await.unwrap().is_some());
    Ok(())
}

/// The address of a store, with a login.
fn address(cluster: &Cluster, scheme: &str, login: &str) -> NatsAddress {
    format!("{scheme}://localhost:{}/team{login}", cluster.nodes[0].client).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_tls_is_verified_and_verifies_the_client() {
    let ca = format!("ca={LOGINS}/ca.pem");
    let more = tls(&format!("ca_file: \"{LOGINS}/ca.pem\", verify: true"));
    let Some(cluster) = Cluster::start_with(1, FLUSHES, &more) else { return };
    let certificate = format!("?{ca}&cert={LOGINS}/client.pem&key={LOGINS}/client.key");
    opens(&cluster, &address(&cluster, "tls", &certificate)).await.unwrap();
    let without = opens(&cluster, &address(&cluster, "tls", &format!("?{ca}"))).await.unwrap_err();
    assert!(matches!(without, NatsError::Connect { .. }), "without a certificate: {without}");
    let strange = opens(&cluster, &address(&cluster, "tls", "")).await.unwrap_err();
    assert!(matches!(strange, NatsError::Connect { .. }), "an authority that is not known: {strange}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_seed_of_an_nkey_logs_in_over_tls() {
    let Some(cluster) = Cluster::start_with(1, FLUSHES, &(tls("") + &configured("nkey.conf"))) else { return };
    let (ca, nkey) = (format!("ca={LOGINS}/ca.pem"), format!("nkey={LOGINS}/user.nk"));
    opens(&cluster, &address(&cluster, "tls", &format!("?{ca}&{nkey}"))).await.unwrap();
    let without = opens(&cluster, &address(&cluster, "tls", &format!("?{ca}"))).await.unwrap_err();
    assert!(matches!(without, NatsError::Connect { .. }), "{without}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_credentials_file_logs_in() {
    let Some(cluster) = Cluster::start_with(1, FLUSHES, &configured("operator.conf")) else { return };
    opens(&cluster, &address(&cluster, "nats", &format!("?creds={LOGINS}/user.creds"))).await.unwrap();
    let missing = opens(&cluster, &address(&cluster, "nats", "?creds=/missing/user.creds")).await.unwrap_err();
    assert!(matches!(missing, NatsError::File { .. }), "{missing}");
    assert!(missing.to_string().contains("/missing/user.creds"), "{missing}");
}
