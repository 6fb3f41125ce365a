mod alone;
mod behind;
mod copies;
mod damage;
mod erasing;
mod failed_writes;
mod filling;
mod identity;
mod looking;
mod room;
mod strays;

use super::{DiskLog, OpenError, OpenMode};
use crate::EventLog;
use crate::conformance::{self, Violation, material};
use annals_core::Seq;
use std::sync::{Arc, Mutex};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

async fn conforms(tuning: super::Tuning) {
    let kept = Mutex::new(Vec::new());
    conformance::run_all(async || {
        let dir = tempfile::tempdir().map_err(|error| Violation(error.to_string()))?;
        let (log, report) = DiskLog::open_with(dir.path(), OpenMode::Create, tuning, Arc::new(super::files::RealDisk))
            .map_err(|error| Violation(error.to_string()))?;
        assert!(report.created);
        kept.lock().unwrap().push(dir);
        Ok(Arc::new(log) as Arc<dyn EventLog>)
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_on_disk_conforms() {
    conforms(super::Tuning::default()).await;
}

#[tokio::test]
async fn the_log_on_disk_conforms_on_one_thread() {
    conforms(super::Tuning::default()).await;
}

/// Segments of some batches, packed as soon as nobody writes, and more than sled is taken to have in memory.
fn tiny() -> super::Tuning {
    super::Tuning {
        segment_bytes: 4 << 10,
        sled_cache: 8 << 10,
        quiet: std::time::Duration::from_millis(1),
        ..super::Tuning::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_on_disk_conforms_in_many_small_segments() {
    conforms(tiny()).await;
}

#[tokio::test]
async fn what_was_appended_is_there_after_closing_and_opening_and_needs_no_remark() {
    let dir = folder();
    for round in 0..4u64 {
        let (log, report) = DiskLog::open(dir.path(), OpenMode::Create).unwrap();
        assert_eq!(report.created, round == 0);
        assert_eq!((report.remarks, report.caught_up), (vec![], 0), "round {round}");
        material::story(&log, material::session(round), 20).await.unwrap();
        for n in 0..=round {
            assert_eq!(material::seqs(&material::whole(&log, material::session(n)).await.unwrap()).len(), 41);
        }
        log.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_store_has_one_owner_and_is_only_made_by_who_writes() {
    let dir = folder();
    let place = dir.path().join("store");
    assert!(matches!(DiskLog::open(&place, OpenMode::Existing), Err(OpenError::NoStore { .. })));
    assert!(!place.exists());
    let (log, _) = DiskLog::open(&place, OpenMode::Create).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&place.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o700);
    assert!(matches!(DiskLog::open(&place, OpenMode::Create), Err(OpenError::Locked { .. })));
    log.close().await.unwrap();
    assert!(log.append(material::draft(material::session(1), Seq::ZERO, vec![material::created()])).await.is_err());
    assert!(DiskLog::open(&place, OpenMode::Existing).is_ok());
}

#[test]
fn another_format_and_a_foreign_folder_are_refused_untouched() {
    let dir = folder();
    let later = "annals store 9\nsomething else\n";
    let later = format!("{later}checksum {:08x}\n", crc32c::crc32c(later.as_bytes()));
    for (format, content) in [("annals store 3", "annals store 3\n"), ("annals store 9", &later)] {
        std::fs::write(dir.path().join("FORMAT"), content).unwrap();
        for mode in [OpenMode::Existing, OpenMode::Create] {
            let error = DiskLog::open(dir.path(), mode).unwrap_err().to_string();
            assert!(error.contains(format) && error.contains("nothing was touched"), "{error}");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
    let other = folder();
    std::fs::write(other.path().join("notes.txt"), "mine").unwrap();
    assert!(matches!(DiskLog::open(other.path(), OpenMode::Create), Err(OpenError::Foreign { .. })));
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn followers_of_all_read_what_memory_no_longer_has() {
    use crate::Scope;
    let dir = folder();
    let tuning = super::Tuning { segment_bytes: 8 << 10, ..super::Tuning::default() };
    let open = || DiskLog::open_with(dir.path(), OpenMode::Create, tuning, Arc::new(super::files::RealDisk)).unwrap();
    let (log, _) = open();
    material::story(&log, material::session(1), 300).await.unwrap();
    log.close().await.unwrap();
    let (log, _) = open();
    let mut following = log.follow(Scope::All { from: crate::StoreCursor::before(crate::Position(3)) });
    for n in 3..301 {
        let slice = material::next_slice(&mut following).await.unwrap();
        assert_eq!(slice.from, Seq(2 * n - 1));
    }
    material::next_synced(&mut following).await.unwrap();
}

#[tokio::test]
async fn a_store_closes_although_somebody_keeps_an_append_that_is_never_polled_again() {
    let dir = folder();
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Create).unwrap();
    let session = material::session(1);
    let mut kept = log.append(material::draft(session, Seq::ZERO, vec![material::created()]));
    std::future::poll_fn(|context| {
        let _ = kept.as_mut().poll(context);
        std::task::Poll::Ready(())
    })
    .await;
    tokio::time::timeout(std::time::Duration::from_secs(30), log.close()).await.unwrap().unwrap();
    drop(kept);
    assert!(matches!(log.head(session).await, Err(crate::ReadError::Closed)));
}
