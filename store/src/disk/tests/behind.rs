//! sled behind the journal, and the journal damaged or unreadable meanwhile.

use super::copies::{Unreadable, interleaved, late};
use super::folder;
use crate::conformance::material;
use crate::disk::files::RealDisk;
use crate::disk::following::Spare;
use crate::disk::journal::frame::{Scan, scan};
use crate::disk::journal::segment::{HEADER, raw_path};
use crate::disk::{DiskLog, OpenMode, Remark, Tuning};
use crate::{EventLog, Position, Scope};
use annals_core::Seq;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Where the frames of the first segment lie.
fn frames(bytes: &[u8]) -> Vec<usize> {
    let found = scan(bytes, HEADER);
    found.filter_map(|found| if let Scan::Frame(at, _) = found { Some(at) } else { None }).collect()
}

/// Damages some of the frames of a segment.
fn damage(path: &Path, frames_from: usize, count: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    for at in frames(&bytes).into_iter().skip(frames_from).take(count) {
        bytes[at + 60] ^= 1;
    }
    std::fs::write(path, bytes).unwrap();
}

/// Sizes with which nothing is packed, so that tests find frames.
fn plain() -> Tuning {
    Tuning { segment_bytes: 256 << 10, pack: false, ..Tuning::default() }
}

#[tokio::test]
async fn a_follower_gets_a_damaged_run_from_one_way_through_sled() {
    let dir = folder();
    let open = || DiskLog::open_with(dir.path(), OpenMode::Create, plain(), Arc::new(RealDisk)).unwrap();
    let (log, _) = open();
    interleaved(&log, 2, 700).await;
    log.close().await.unwrap();
    damage(&raw_path(&dir.path().join("journal"), 0), 40, 12);
    let (log, report) = open();
    assert_eq!(report.remarks, vec![]);
    let mut following = log.follow(Scope::All { from: crate::StoreCursor::before(crate::Position(0)) });
    for position in 0..1400u64 {
        let slice = material::next_slice(&mut following).await.unwrap();
        assert_eq!((slice.batch.session, slice.from), (material::session(position % 2), Seq(position / 2)));
    }
    let remarks = log.remarks();
    assert_eq!(remarks.len(), 12);
    assert!(remarks.iter().all(|remark| matches!(remark, Remark::Hurt { .. })), "{remarks:?}");
    // What is ahead of a page that ends in the run is remembered for the next.
    let mut spare = Spare::new();
    let (found, next) = log.shared.positions(40, &mut spare).unwrap();
    assert!(found.len() >= 12 && next >= 52 && spare.is_empty());
    let mut spare: Spare = found.into_iter().take(12).map(|stored| (stored.position, stored)).collect();
    *log.shared.sled.write().unwrap() = None;
    assert_eq!(log.shared.positions(45, &mut spare).unwrap().0.first().map(|stored| stored.position), Some(45));
    assert!(log.shared.positions(45, &mut Spare::new()).is_err(), "nothing else has it");
}

#[tokio::test]
async fn what_was_let_go_of_for_sled_and_is_damaged_in_the_journal_is_told_with_its_name() {
    let dir = folder();
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Create, late(), Arc::new(RealDisk)).unwrap();
    interleaved(&log, 2, 700).await;
    damage(&raw_path(&log.layout().journal(), 0), 5, 1);
    log.close().await.unwrap();
    let whose = Some((material::session(1), Seq(2)));
    assert_eq!(log.remarks(), vec![Remark::Lost { position: Position(5), count: 1, whose }]);
    // Everything else is in sled.
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Existing, late(), Arc::new(RealDisk)).unwrap();
    assert_eq!(log.read(material::session(0), Seq::ZERO, 1000).await.unwrap().len(), 700);
    assert_eq!(log.read(material::session(1), Seq(3), 1000).await.unwrap().len(), 697);
    assert!(log.read(material::session(1), Seq(2), 1).await.is_err());
}

/// A store that lost its sled, and whose first segment cannot be read.
async fn half(dir: &Path, tuning: Tuning) -> (DiskLog, Unreadable) {
    let (log, _) = DiskLog::open_with(dir, OpenMode::Create, tuning, Arc::new(RealDisk)).unwrap();
    interleaved(&log, 2, 700).await;
    log.close().await.unwrap();
    std::fs::remove_dir_all(dir.join("sled")).unwrap();
    let disk = Unreadable(Arc::default(), "00000000000000000000.");
    disk.0.store(true, Ordering::Relaxed);
    let (log, report) = DiskLog::open_with(dir, OpenMode::Existing, tuning, Arc::new(disk.clone())).unwrap();
    let first = raw_path(&dir.join("journal"), 0);
    assert!(
        matches!(&report.remarks[..], [Remark::Unread { segment, .. }, Remark::SledRebuilt { .. }] if *segment == first),
        "{:?}",
        report.remarks
    );
    (log, disk)
}

#[tokio::test]
async fn a_segment_that_cannot_be_read_keeps_no_other_from_sled_and_the_checkpoint_stays_before_it() {
    let dir = folder();
    let (log, _) = half(dir.path(), plain()).await;
    assert_eq!(log.read(material::session(1), Seq(699), 1).await.unwrap().len(), 1);
    assert!(log.read(material::session(1), Seq(0), 1).await.is_err());
    log.close().await.unwrap();
    let (log, report) = DiskLog::open_with(dir.path(), OpenMode::Existing, plain(), Arc::new(RealDisk)).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert!(report.caught_up > 100 && report.caught_up < 1400, "{}", report.caught_up);
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sled_is_mended_also_when_it_is_never_quiet() {
    let dir = folder();
    let tuning = Tuning {
        checkpoint_every: 64,
        checkpoint_idle: std::time::Duration::from_secs(3600),
        lag_free: 0,
        lag_quiet: std::time::Duration::from_millis(1),
        ..plain()
    };
    let (log, disk) = half(dir.path(), tuning).await;
    disk.0.store(false, Ordering::Relaxed);
    let session = material::session(7);
    material::begin(&log, session).await.unwrap();
    let mut next = Seq(1);
    while log.shared.checkpoint.load(Ordering::Relaxed) < 1400 {
        assert!(next < Seq(20_000), "it was never mended");
        next = material::two(&log, session, next).await.unwrap().batch.next();
    }
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
}
