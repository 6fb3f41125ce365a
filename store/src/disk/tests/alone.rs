//! A writer that is alone flushes its batches itself: nothing else differs.

use super::folder;
use crate::EventLog;
use crate::conformance::material;
use crate::disk::{DiskLog, OpenMode};
use crate::log::AppendError;
use annals_core::{Seq, SessionId};
use std::sync::Arc;

/// Appends so many batches of one event behind the end; the first creates the session.
async fn write(log: &DiskLog, session: SessionId, count: usize) -> Result<Vec<u64>, AppendError> {
    let mut positions = Vec::new();
    for _ in 0..count {
        let next = log.head(session).await.expect("the log is read").map_or(Seq::ZERO, |head| head.next);
        let event = if next == Seq::ZERO { material::created() } else { material::synthetic("more") };
        positions.push(log.append(material::draft(session, next, vec![event])).await?.position.0);
    }
    Ok(positions)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_of_one_writer_and_then_of_many_are_dense_and_durable() {
    let dir = folder();
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Create).unwrap();
    let log = Arc::new(log);
    let mut positions = write(&log, material::session(0), 50).await.unwrap();
    let writers: Vec<_> = (0..8)
        .map(|n| {
            let log = log.clone();
            tokio::spawn(async move { write(&log, material::session(n), 20).await.unwrap() })
        })
        .collect();
    for writer in writers {
        positions.extend(writer.await.unwrap());
    }
    positions.extend(write(&log, material::session(3), 50).await.unwrap());
    positions.sort_unstable();
    assert_eq!(positions, (0..260).collect::<Vec<u64>>());
    log.close().await.unwrap();
    drop(log);
    let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    assert_eq!(report.remarks, vec![]);
    for (n, batches) in (0..8).map(|n| (n, if n == 0 || n == 3 { 70 } else { 20 })) {
        assert_eq!(log.head(material::session(n)).await.unwrap().unwrap().next, Seq(batches), "session {n}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_closes_under_a_writer_that_is_alone() {
    let dir = folder();
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Create).unwrap();
    let log = Arc::new(log);
    let session = material::session(0);
    write(&log, session, 20).await.unwrap();
    let writing = log.clone();
    let writer = tokio::spawn(async move {
        let mut acknowledged = 20;
        loop {
            let draft = material::draft(session, Seq(acknowledged), vec![material::synthetic("more")]);
            match writing.append(draft).await {
                Ok(_) => acknowledged += 1,
                Err(error) => return (acknowledged, error),
            }
        }
    });
    log.close().await.unwrap();
    let (acknowledged, error) = writer.await.unwrap();
    assert!(matches!(error, AppendError::Closed), "{error}");
    drop(log);
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    assert_eq!(log.head(session).await.unwrap().unwrap().next, Seq(acknowledged));
}
