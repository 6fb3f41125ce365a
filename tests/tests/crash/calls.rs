//! Every call to the file system fails once, in turn; then several in a row.

use annals_core::{Seq, SessionId};
use annals_store::conformance::material::session;
use annals_store::disk::fault_injection::{Failure, FaultyDisk};
use annals_store::disk::files::{Disk, RealDisk};
use annals_store::disk::{DiskLog, Tuning};
use annals_store::{AppendError, EventLog, OpenMode};
use annals_tests::crash;
use std::path::Path;
use std::sync::Arc;

const NO_SPACE: i32 = 28;
const INPUT_OUTPUT: i32 = 5;
/// How often a refused call is tried again before the store counts as stuck.
const TRIES: usize = 20;

fn tiny() -> Tuning {
    Tuning { segment_bytes: 6 << 10, sled_segment: 64 << 10, checkpoint_every: 5, ..crash::small() }
}

/// Opens, appends, reads and closes on a failing disk; whatever is refused is tried again.
async fn story(dir: &Path, lab: &FaultyDisk, case: &str) -> Vec<(SessionId, Seq)> {
    let disk: Arc<dyn Disk> = Arc::new(lab.clone());
    let open = || DiskLog::open_with(dir, OpenMode::Create, tiny(), disk.clone());
    let opened = (1..TRIES).map(|_| open()).find(Result::is_ok).unwrap_or_else(open);
    let (log, report) = opened.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!(!report.lost_something(), "{case}: {:?}", report.remarks);
    let mut acknowledged = Vec::new();
    for session in [session(0), session(1)] {
        let mut next = Seq::ZERO;
        for _ in 0..9 {
            next = append(&log, session, next, case).await;
            let read = crash::whole(&log, session, next).await;
            read.unwrap_or_else(|violation| panic!("{case}: while the disk fails: {violation}"));
        }
        acknowledged.push((session, next));
    }
    let text = "a large text ".repeat(1000);
    let mut kept = log.put_blob(text.clone()).await;
    for _ in 1..TRIES {
        if kept.is_err() {
            kept = log.put_blob(text.clone()).await;
        }
    }
    let hash = kept.unwrap_or_else(|error| panic!("{case}: {error}"));
    // The call that fails may be this very reading: then the next one gives it.
    let read = (0..TRIES).find_map(|_| log.blobs().text(&hash));
    assert!(read.as_ref() == Some(&text), "{case}: the blob is not what was put");
    // A list of heads that could not be written costs time at the next opening, nothing else.
    drop(log.close().await);
    acknowledged
}

async fn append(log: &DiskLog, session: SessionId, at: Seq, case: &str) -> Seq {
    for _ in 0..TRIES {
        match log.append(crash::draft(session, at)).await {
            Ok(committed) => return committed.batch.next(),
            Err(AppendError::Io { .. } | AppendError::Unknown) => {
                let head = log.head(session).await.unwrap().map_or(Seq::ZERO, |head| head.next);
                assert_eq!(head, at, "{case}: a refused batch is half there");
            }
            Err(error) => panic!("{case}: {error}"),
        }
    }
    panic!("{case}: the store did not resume");
}

async fn survives(failure: Option<Failure>) -> u64 {
    let message = format!("{failure:?}");
    let dir = tempfile::tempdir().unwrap();
    let lab = FaultyDisk::new();
    lab.fail(failure);
    let acknowledged = story(dir.path(), &lab, &message).await;
    let opened = DiskLog::open_with(dir.path(), OpenMode::Existing, tiny(), Arc::new(RealDisk));
    let (log, report) = opened.unwrap_or_else(|error| panic!("{message}: {error}"));
    assert!(!report.lost_something(), "{message}: {:?}", report.remarks);
    for (session, next) in acknowledged {
        let slices =
            crash::whole(&log, session, next).await.unwrap_or_else(|violation| panic!("{message}: {violation}"));
        assert_eq!(slices.last().map(|last| last.until), Some(next), "{message}: more than was acknowledged");
    }
    assert_eq!(log.remarks(), vec![], "{message}");
    log.close().await.unwrap();
    lab.count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_survives_the_failure_of_every_call() {
    let calls = survives(None).await;
    assert!(calls > 100, "only {calls} calls can fail");
    for from in 0..calls + 5 {
        let errno = if from % 2 == 0 { NO_SPACE } else { INPUT_OUTPUT };
        survives(Some(Failure { from, calls: 1, errno })).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_survives_a_disk_that_fails_for_a_while() {
    let calls = survives(None).await;
    for from in (0..calls).step_by(3) {
        let errno = if from % 2 == 0 { INPUT_OUTPUT } else { NO_SPACE };
        survives(Some(Failure { from, calls: 7, errno })).await;
    }
}
