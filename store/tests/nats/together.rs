//! Appends of many writers at the same time: they travel together, and each gets the answer that it would have had alone.

use crate::cluster::Cluster;
use crate::faults::chain;
use annals_core::{Seq, SessionId};
use annals_store::conformance::material::{begin, draft, session, synthetic};
use annals_store::nats::{NatsLog, NatsOptions};
use annals_store::{AppendError, EventLog};
use futures_util::future::join_all;
use std::collections::BTreeMap;

/// How many messages of a stream were published with others, by how many others.
async fn companies(cluster: &Cluster, stream: &str) -> BTreeMap<String, usize> {
    let client = async_nats::connect(format!("127.0.0.1:{}", cluster.nodes[0].client)).await.unwrap();
    let (mut found, mut at) = (BTreeMap::new(), 1);
    loop {
        let ask = format!("{{\"seq\": {at}, \"next_by_subj\": \">\"}}");
        let answer = client.request(format!("$JS.API.DIRECT.GET.{stream}"), ask.into()).await.unwrap();
        if answer.status.is_some() {
            return found;
        }
        let headers = answer.headers.unwrap();
        if let Some(id) = headers.get("Nats-Batch-Id") {
            *found.entry(id.to_string()).or_default() += 1;
        }
        at = headers.get("Nats-Sequence").unwrap().as_str().parse::<u64>().unwrap() + 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_of_one_stream_share_a_publication_and_each_gets_its_own_answer() {
    const WRITERS: u64 = 32;
    let Some(cluster) = Cluster::start(3) else { return };
    let address = cluster.new_store(1).await;
    let open = || NatsLog::open(&address, NatsOptions::default());
    let (log, other) = (open().await.unwrap(), open().await.unwrap());
    let all: Vec<SessionId> = (1..=WRITERS).map(session).collect();
    for begun in join_all(all.iter().map(|session| begin(&log, *session))).await {
        begun.unwrap();
    }
    // What this process remembers of one session is old: another one has appended to it.
    let taken = all[7];
    other.append(draft(taken, Seq(1), vec![synthetic("was faster")])).await.unwrap();
    let append = |session: SessionId| log.append(draft(session, Seq(1), vec![synthetic(session.to_string())]));
    let answers = join_all(all.iter().map(|session| append(*session))).await;
    for (session, answer) in all.iter().zip(answers) {
        match answer {
            Ok(committed) => {
                assert_ne!(*session, taken);
                assert_eq!(chain(&other, *session).await[1..], [committed.batch.digest]);
            }
            Err(AppendError::Conflict { .. }) => assert_eq!(*session, taken),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(chain(&other, taken).await.len(), 2);
    // Again, with nobody in between: all but the first of a stream go together.
    let before = companies(&cluster, &format!("{}_SESS_0", address.name)).await;
    let append = |session: SessionId| log.append(draft(session, Seq(2), vec![synthetic("again")]));
    for answer in join_all(all.iter().map(|session| append(*session))).await {
        answer.unwrap();
    }
    let mut after = companies(&cluster, &format!("{}_SESS_0", address.name)).await;
    after.retain(|id, _| !before.contains_key(id));
    assert!(after.values().sum::<usize>() > WRITERS as usize / 2, "{after:?}");
    for session in &all {
        assert_eq!(chain(&other, *session).await.len(), 3);
    }
}
