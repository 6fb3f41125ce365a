//! Messages that are no batches: they concern their session, and nobody else.

use crate::nats::cluster::Cluster;
use crate::nats::erasing::{append, open};
use annals_core::{Seq, SessionId};
use annals_store::conformance::material::{begin, session, synthetic};
use annals_store::exchange::{verify_session, verify_store};
use annals_store::nats::{NatsAddress, NatsLog};
use annals_store::{EventLog, Followed, Scope, StoreCursor};
use futures_util::StreamExt;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// Publishes something without headers, as any client may.
fn publish(cluster: &Cluster, subject: &str, payload: &str) {
    let mut server = TcpStream::connect(("127.0.0.1", cluster.nodes[0].client)).unwrap();
    let length = payload.len();
    write!(server, "CONNECT {{\"verbose\":false}}\r\nPUB {subject} {length}\r\n{payload}\r\nPING\r\n").unwrap();
    let mut lines = BufReader::new(server).lines();
    assert!(lines.any(|line| line.unwrap() == "PONG"), "the server did not take {subject}");
}

async fn stored(address: &NatsAddress) -> (NatsLog, Vec<SessionId>) {
    let (log, sessions) = (open(address).await, vec![session(1), session(2), session(3)]);
    for one in &sessions {
        begin(&log, *one).await.unwrap();
        append(&log, *one, synthetic("text")).await;
    }
    (log, sessions)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_batch_concerns_its_session_alone() {
    let Some(cluster) = Cluster::start(1) else { return };
    let address = cluster.new_store(2).await;
    let (log, sessions) = stored(&address).await;
    let (name, shard) = (address.to_string().rsplit('/').next().unwrap().to_owned(), log.shard_of(sessions[0]));
    publish(&cluster, &format!("{name}.sess.{shard}.{}", sessions[0]), "nothing");
    publish(&cluster, &format!("{name}.sess.0.NOTASESSION"), "nothing");
    publish(&cluster, &format!("{name}.sess.1.{}", SessionId::from_parts(9, 9)), "nothing");
    // Every question is asked anew.
    let log = open(&address).await;
    let listed: Vec<SessionId> = log.sessions().all().await.unwrap().into_iter().map(|one| one.session).collect();
    assert_eq!(listed, sessions);
    for one in &sessions {
        assert_eq!(log.head(*one).await.unwrap().unwrap().next, Seq(2));
        assert_eq!(log.read(*one, Seq::ZERO, 10).await.unwrap().len(), 2);
        let report = verify_session(&log, *one, None, &mut |_| {}).await.unwrap();
        assert_eq!(report.is_sound(), *one != sessions[0], "{:?}", report.damage);
    }
    let mut followed = log.follow(Scope::All { from: StoreCursor::START });
    let mut batches = 0;
    while let Followed::Batch { .. } = followed.next().await.unwrap().unwrap() {
        batches += 1;
    }
    assert_eq!(batches, 6);
    let report = verify_store(&log, &mut |_| {}).await.unwrap();
    assert_eq!(report.sessions.len(), 3);
    let damage: Vec<String> = report.damage.iter().map(ToString::to_string).collect();
    assert_eq!(damage.len(), 3, "{damage:?}");
    assert!(damage.iter().any(|one| one.contains("which names no session")), "{damage:?}");
}
