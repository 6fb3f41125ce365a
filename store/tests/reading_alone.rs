//! In a process of its own, whose threads can be counted.

use annals_core::Seq;
use annals_store::conformance::material;
use annals_store::{DiskLog, EventLog, OpenMode, ReadOnlyLog};

/// How many threads of stores this process has.
fn threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.starts_with("annals-") || name.starts_with("sled")).count()
}

#[tokio::test]
async fn a_log_that_is_only_read_starts_no_thread() {
    let dir = tempfile::tempdir().unwrap();
    let session = material::session(1);
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Create).unwrap();
    material::story(&log, session, 200).await.unwrap();
    assert!(threads() > 0, "the threads of an owner are counted");
    log.close().await.unwrap();
    drop(log);
    let before = threads();
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert_eq!(material::whole(&log, session).await.unwrap().len(), 201);
    assert_eq!(log.read(session, Seq::ZERO, 1_000).await.unwrap().len(), 201);
    assert!(threads() <= before, "{} threads, {before} before", threads());
}
