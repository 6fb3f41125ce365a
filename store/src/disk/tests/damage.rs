//! Damage, and what of a log survives it.

use super::folder;
use crate::EventLog;
use crate::conformance::material;
use crate::disk::files::RealDisk;
use crate::disk::{Copy, DiskLog, Finding, OpenMode, Remark, Tuning};
use annals_core::Seq;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Flips a bit in the journal frame of the batch at `seq`, and takes sled away: damaged in every copy.
fn damage(dir: &std::path::Path, session: annals_core::SessionId, seq: Seq) {
    use crate::disk::journal::frame::{HEADER, Scan, scan};
    std::fs::remove_dir_all(dir.join("sled")).unwrap();
    for entry in std::fs::read_dir(dir.join("journal")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let place = scan(&bytes, crate::disk::journal::segment::HEADER).find_map(|found| match found {
            Scan::Frame(at, frame) => {
                let header = annals_core::codec::decode_header(frame.payload).unwrap();
                ((header.session, header.first) == (session, seq)).then_some(at + HEADER + 120)
            }
            Scan::Bad { .. } => None,
        });
        if let Some(place) = place {
            bytes[place] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            return;
        }
    }
    panic!("no such batch");
}

#[tokio::test]
async fn what_is_damaged_in_every_copy_is_told_and_the_rest_can_be_read() {
    let dir = folder();
    let (hurt, other) = (material::session(1), material::session(2));
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Create).unwrap();
    material::story(&log, hurt, 5).await.unwrap();
    material::story(&log, other, 5).await.unwrap();
    log.close().await.unwrap();
    damage(dir.path(), hurt, Seq(5));
    for round in 0..2 {
        let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
        assert_eq!(report.lost_something(), round == 0, "{:?}", report.remarks);
        assert_eq!(material::whole(&log, other).await.unwrap().len(), 6);
        assert_eq!(material::seqs(&log.read(hurt, Seq::ZERO, 9).await.unwrap()), [0, 1, 2, 3, 4]);
        let error = log.read(hurt, Seq(5), 9).await.unwrap_err().to_string();
        assert!(error.contains("event 5"), "{error}");
        assert_eq!(material::seqs(&log.read(hurt, Seq(7), 9).await.unwrap()), [7, 8, 9, 10]);
        assert_eq!(material::seqs(&log.read_back(hurt, Seq(11), 9).await.unwrap()), [9, 10, 7, 8]);
        log.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_session_whose_end_is_lost_takes_no_more_but_can_be_forked() {
    let dir = folder();
    let hurt = material::session(1);
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Create).unwrap();
    material::story(&log, hurt, 5).await.unwrap();
    material::story(&log, material::session(2), 1).await.unwrap();
    log.close().await.unwrap();
    // Nothing but the journal is left, and in it the last batch of one session is damaged.
    std::fs::remove_file(dir.path().join("heads")).unwrap();
    std::fs::remove_file(dir.path().join("checkpoint")).unwrap();
    damage(dir.path(), hurt, Seq(9));
    for _ in 0..2 {
        let (log, _) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
        assert_eq!(log.head(hurt).await.unwrap().unwrap().next, Seq(9));
        assert!(log.read(hurt, Seq(9), 1).await.is_err());
        assert!(material::two(&log, hurt, Seq(9)).await.is_err());
        log.close().await.unwrap();
    }
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    material::fork(&log, hurt, Seq(9), material::session(3)).await.unwrap();
    assert_eq!(material::whole(&log, material::session(3)).await.unwrap().len(), 6);
}

#[tokio::test]
async fn sled_is_rebuilt_from_the_journal_when_it_is_gone_and_the_journal_from_sled() {
    let dir = folder();
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Create).unwrap();
    for n in 0..3 {
        material::story(&log, material::session(n), 5).await.unwrap();
    }
    log.close().await.unwrap();
    for part in ["sled", "journal"] {
        std::fs::remove_dir_all(dir.path().join(part)).unwrap();
        let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
        assert!(!report.remarks.is_empty() && !report.lost_something(), "{part}: {:?}", report.remarks);
        for n in 0..3 {
            assert_eq!(material::whole(&log, material::session(n)).await.unwrap().len(), 6, "{part}");
        }
        material::story(&log, material::session(if part == "sled" { 7 } else { 8 }), 2).await.unwrap();
        log.close().await.unwrap();
    }
    let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    assert_eq!((report.remarks, log.sessions().all().await.unwrap().len()), (vec![], 5));
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
}

fn packed_in(dir: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(dir.join("journal")).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|form| form == "pack")).collect()
}

#[tokio::test]
async fn a_batch_is_found_in_a_packed_segment_of_which_neither_outline_nor_directory_is_left() {
    let dir = folder();
    let tuning = Tuning { segment_bytes: 8 << 10, sled_cache: 8 << 10, pack: false, ..Tuning::default() };
    let open = || DiskLog::open_with(dir.path(), OpenMode::Create, tuning, Arc::new(RealDisk)).unwrap();
    let session = material::session(1);
    let (log, _) = open();
    material::story(&log, session, 200).await.unwrap();
    let whole = material::whole(&log, session).await.unwrap();
    log.close().await.unwrap();
    DiskLog::compact(dir.path(), tuning).unwrap();
    let packed = packed_in(dir.path());
    assert!(packed.len() > 2);
    for path in &packed {
        std::fs::remove_file(path.with_extension("idx")).unwrap();
        let mut bytes = std::fs::read(path).unwrap();
        bytes[20] ^= 1;
        std::fs::write(path, bytes).unwrap();
    }
    let (log, _) = open();
    let end = log.shared.journal.segments().last().unwrap().0.first;
    for slice in &whole[..end as usize] {
        let found = log.shared.journal.find(session, slice.batch.first).unwrap();
        let found = found.and_then(|bytes| crate::disk::reading::decode(&bytes)).map(|stored| stored.batch);
        assert_eq!(found.as_ref(), Some(&slice.batch));
        // sled has it, and the batch itself is not hurt.
        assert_eq!(log.read(session, slice.batch.first, 1).await.unwrap()[0].batch, slice.batch);
    }
    assert_eq!(log.remarks(), vec![]);
    let findings = log.examine(|_, _| {}).unwrap().findings;
    assert!(findings.len() == packed.len() && findings.iter().all(|it| matches!(it, Finding::Header { .. })));
    log.close().await.unwrap();
    assert!(!DiskLog::repair(dir.path(), tuning).unwrap().lost_something());
    let (log, report) = open();
    assert_eq!((report.remarks, log.examine(|_, _| {}).unwrap().findings), (vec![], vec![]));
    assert!(material::whole(&log, session).await.unwrap() == whole);
}

#[tokio::test]
async fn a_wrong_record_in_sled_is_replaced_and_reported() {
    use crate::disk::journal::frame::{self, FrameKind};
    let dir = folder();
    let session = material::session(1);
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Create).unwrap();
    let begun = material::begin(&log, session).await.unwrap().batch;
    // A whole frame, but of another batch, where the next one belongs.
    let mut wrong = Vec::new();
    frame::write(&mut wrong, FrameKind::Batch, 0, 7, &annals_core::codec::encode(&begun).unwrap());
    let sled = log.shared.sled().unwrap();
    sled.replace(session, begun.next(), &wrong).unwrap();
    drop(sled);
    let draft = material::draft(session, begun.next(), vec![material::synthetic("the right one")]);
    let appended = log.append(draft).await.unwrap().batch;
    log.close().await.unwrap();
    let replaced = Remark::Mended { session, seq: appended.first, damaged: Copy::Sled };
    assert_eq!(log.remarks(), [replaced], "the replaced record is reported");
    let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    assert_eq!((report.remarks, report.caught_up), (vec![], 0), "sled has the right record");
    assert_eq!(log.shared.sled().unwrap().forwards(session, appended.first, 2).0.len(), 1);
    assert_eq!(log.batch_at(session, appended.first).await.unwrap().unwrap().batch, appended);
}
