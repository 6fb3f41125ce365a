//! A guest that reads sealed segments by itself gives what the owner gives.

use super::super::{RemoteLog, serve};
use crate::conformance::material::{created, draft, session, synthetic};
use crate::disk::files::RealDisk;
use crate::disk::{DiskLog, OpenMode, Tuning};
use crate::{Draft, EventLog, Slice};
use annals_core::{Seq, SessionId};
use std::sync::Arc;

/// Batches of a session, in many small segments.
const BATCHES: u64 = 3_000;

fn more(session: SessionId, from: u64, count: u64) -> Vec<Draft> {
    let event = |at: u64| if at == 0 { created() } else { synthetic(format!("text {at}")) };
    (from..from + count).map(|at| draft(session, Seq(at), vec![event(at)])).collect()
}

async fn all(log: &dyn EventLog, session: SessionId) -> Vec<Slice> {
    let mut pages = log.pages(session, Seq::ZERO..Seq(u64::MAX));
    let mut all = Vec::new();
    while let Some(slices) = pages.next_page().await.unwrap() {
        all.extend(slices);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_reads_what_the_owner_reads_and_what_comes_later() {
    let folder = tempfile::tempdir().unwrap();
    let tuning = Tuning { segment_bytes: 64 << 10, pack: false, ..Tuning::default() };
    let opened = DiskLog::open_with(folder.path(), OpenMode::Create, tuning, Arc::new(RealDisk));
    let log = Arc::new(opened.unwrap().0);
    let s = session(1);
    assert!(log.append_all(more(s, 0, BATCHES)).await.refused.is_none());
    let server = serve(log.clone(), folder.path()).unwrap();
    let remote = RemoteLog::connect(folder.path()).await.unwrap();
    for round in 0..3u64 {
        let (theirs, ours) = (all(&*log, s).await, all(&remote, s).await);
        assert_eq!(theirs.len() as u64, BATCHES + round * 10);
        assert!(theirs == ours, "round {round}");
        assert!(log.append_all(more(s, BATCHES + round * 10, 10)).await.refused.is_none());
    }
    assert!(remote.reads_files().await);
    for (from, limit) in [(0, 100), (5, 1_000), (2_990, 100), (3_020, 50), (4_000, 50)] {
        let theirs = log.read(s, Seq(from), limit).await.unwrap();
        assert!(EventLog::read(&remote, s, Seq(from), limit).await.unwrap() == theirs, "{limit} from {from}");
    }
    // Without the owner nothing is read by itself either: the next owner may write segments again.
    server.stop().await;
    log.close().await.unwrap();
    assert!(EventLog::read(&remote, s, Seq::ZERO, 100).await.is_err());
    assert!(!remote.reads_files().await);
}
