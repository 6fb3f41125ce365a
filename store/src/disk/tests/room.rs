//! What takes room, and what is given back.

use super::folder;
use crate::EventLog;
use crate::conformance::material;
use crate::disk::{DiskLog, OpenMode, Tuning};
use annals_core::Seq;
use std::sync::Arc;

#[tokio::test]
async fn blobs_that_no_batch_names_are_collected_and_the_others_stay() {
    use std::time::Duration;
    let dir = folder();
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Create).unwrap();
    let session = material::session(1);
    material::begin(&log, session).await.unwrap();
    let text = "named ".repeat(3000);
    let events = vec![material::synthetic(text.clone())];
    log.append(material::draft(session, Seq(1), events)).await.unwrap();
    let orphan = log.put_blob("orphan ".repeat(3000)).await.unwrap();
    assert_eq!(log.garbage(Duration::from_secs(3600), |_, _| {}).unwrap().blobs, vec![]);
    let garbage = log.garbage(Duration::ZERO, |_, _| {}).unwrap();
    assert_eq!(garbage.blobs, vec![(orphan, 21_000)]);
    assert_eq!(log.collect(&garbage, Duration::ZERO).unwrap().files, 1);
    assert_eq!(log.blobs().text(&orphan), None);
    assert_eq!(log.blobs().text(&annals_core::Digest::of(text.as_bytes())), Some(text));
}

#[tokio::test]
async fn followers_keep_few_batches_in_memory_when_they_are_long() {
    use crate::disk::journal::StoredBatch;
    use crate::disk::state::RecentBatches;
    let log = crate::MemoryLog::new();
    let batch = material::begin(&log, material::session(1)).await.unwrap().batch;
    let mut recent = RecentBatches::default();
    for (position, bytes) in [(0, 9 << 20), (1, 9 << 20), (2, 1), (3, 20 << 20), (4, 1)] {
        recent.push(StoredBatch { batch: batch.clone(), position }, bytes, true);
        let reaches = (0..=position).find(|from| recent.from(*from, 9).is_some_and(|found| !found.is_empty()));
        assert_eq!(reaches, Some([0, 1, 1, 3, 4][position as usize]), "after {position}");
    }
}

#[tokio::test]
async fn compacting_keeps_every_answer() {
    let dir = folder();
    let tuning = Tuning { segment_bytes: 8 << 10, ..Tuning::default() };
    let open =
        || DiskLog::open_with(dir.path(), OpenMode::Create, tuning, Arc::new(crate::disk::files::RealDisk)).unwrap();
    let (log, _) = open();
    material::story(&log, material::session(1), 200).await.unwrap();
    log.close().await.unwrap();
    DiskLog::compact(dir.path(), tuning).unwrap();
    let (log, report) = open();
    assert_eq!(report.remarks, vec![]);
    assert_eq!(material::whole(&log, material::session(1)).await.unwrap().len(), 201);
    let usage = DiskLog::usage(dir.path()).unwrap();
    assert!(usage.sealed.files > 2 && usage.set_aside.is_empty(), "{usage:?}");
}

#[tokio::test]
async fn a_small_store_takes_little_room_once_it_is_closed_and_grows_on() {
    use std::os::unix::fs::MetadataExt;
    let dir = folder();
    let room = || -> u64 {
        let files = ["journal/00000000000000000000.seg", "sled/db"].map(|name| dir.path().join(name));
        files.iter().map(|file| file.metadata().unwrap().blocks() * 512).sum()
    };
    let session = material::session(1);
    for round in 0..3 {
        let (log, report) = DiskLog::open(dir.path(), OpenMode::Create).unwrap();
        assert_eq!(report.remarks, vec![], "round {round}");
        match round {
            0 => {
                material::begin(&log, session).await.unwrap();
            }
            _ => {
                let events = vec![material::synthetic("some words ".repeat(500)); 100];
                let next = log.head(session).await.unwrap().unwrap().next;
                log.append(material::draft(session, next, events)).await.unwrap();
            }
        }
        assert!(room() > 8 << 20, "room is reserved while it is open");
        log.close().await.unwrap();
        assert!(room() < 3 << 20, "round {round}: {}", room());
    }
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    assert_eq!(log.head(session).await.unwrap().unwrap().next, Seq(201));
}
