//! A write to the journal that fails: what was refused is in no copy, also after a crash.

use super::folder;
use super::identity::copy;
use crate::conformance::material;
use crate::disk::fault_injection::{Failure, FaultyDisk};
use crate::disk::{DiskLog, OpenMode, Tuning};
use crate::{AppendError, EventLog};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const INPUT_OUTPUT: i32 = 5;

/// No thread but the committer makes a call to the disk by itself.
fn calm() -> Tuning {
    let long = Duration::from_secs(3600);
    Tuning { quiet: long, checkpoint_idle: long, lag_quiet: long, ..Tuning::default() }
}

/// Makes `calls` calls fail from the `call`-th one of an append on, then crashes. Gives whether the append was refused, once it is
/// clear that a refused batch is not there.
async fn refused_after_crash(call: u64, calls: u64) -> bool {
    let (dir, crashed) = (folder(), folder());
    let session = material::session(1);
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Create).unwrap();
    let next = material::begin(&log, session).await.unwrap().batch.next();
    log.close().await.unwrap();
    // Opened again, so that the next append goes into a segment that is there.
    let disk = FaultyDisk::new();
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Existing, calm(), Arc::new(disk.clone())).unwrap();
    disk.fail(Some(Failure { from: disk.count() + call, calls, errno: INPUT_OUTPUT }));
    let draft = material::draft(session, next, vec![material::synthetic("refused or not")]);
    let answer = log.append(draft).await;
    disk.fail(None);
    copy(dir.path(), crashed.path());
    // The power went: sled had nothing of it yet.
    std::fs::remove_dir_all(crashed.path().join("sled")).unwrap();
    let expected = match &answer {
        Ok(committed) => committed.batch.next(),
        Err(AppendError::Io { .. }) => next,
        Err(other) => panic!("call {call}, {calls} fail: {other}"),
    };
    let head = async |dir: &Path| {
        let (log, _) = DiskLog::open(dir, OpenMode::Existing).unwrap();
        let head = log.head(session).await.unwrap();
        log.close().await.unwrap();
        head.map(|head| head.next)
    };
    assert_eq!(head(crashed.path()).await, Some(expected), "call {call}, {calls} fail, then a crash");
    log.close().await.unwrap();
    assert_eq!(head(dir.path()).await, Some(expected), "call {call}, {calls} fail, then a shutdown");
    answer.is_err()
}

#[tokio::test]
async fn what_was_refused_is_superseded_by_the_next_segment() {
    let mut refused = 0;
    for call in 0..4 {
        refused += u32::from(refused_after_crash(call, 1).await);
    }
    assert!(refused >= 2, "a write and a flush fail");
}

#[tokio::test]
async fn what_was_refused_is_erased_when_no_segment_can_be_begun() {
    let mut refused = 0;
    for call in 0..4 {
        refused += u32::from(refused_after_crash(call, 2).await);
    }
    assert!(refused >= 2, "a write and a flush fail, and the next segment");
}
