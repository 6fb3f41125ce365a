//! Files in `journal/` that are no segments of the store, and places of which nothing is left.

use super::folder;
use crate::conformance::material;
use crate::disk::journal::segment::packed_path;
use crate::disk::journal::{frame, packed, segment};
use crate::disk::{DiskLog, Identity, OpenMode, ReadOnlyLog, Remark, StoreId, summary};
use crate::{EventLog, Followed, OpenError, Position, Scope};
use annals_core::Seq;
use futures_util::StreamExt;
use std::path::Path;

async fn store(dir: &Path) {
    let (log, _) = DiskLog::open(dir, OpenMode::Create).unwrap();
    for n in 0..3 {
        material::story(&log, material::session(n), 5).await.unwrap();
    }
    log.close().await.unwrap();
}

async fn is_whole(log: &dyn EventLog) {
    assert_eq!(log.sessions().all().await.unwrap().len(), 3);
    for n in 0..3 {
        assert_eq!(material::whole(log, material::session(n)).await.unwrap().len(), 6);
    }
}

/// Every file below a folder with its content, and when it was written.
fn content(dir: &Path) -> Vec<(std::path::PathBuf, Vec<u8>, std::time::SystemTime)> {
    let (mut found, mut folders) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = std::fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            let bytes = if metadata.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            found.push((path, bytes, metadata.modified().unwrap()));
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn stray_files_are_ignored_by_who_looks_and_set_aside_by_who_writes() {
    let other = folder();
    store(other.path()).await;
    for far in [0, 5, 17, 18, 23, 5_000_000, 9_000_000_000_000_000, u64::MAX] {
        for copied in [false, true] {
            let dir = folder();
            store(dir.path()).await;
            let journal = dir.path().join("journal");
            let stray = segment::raw_path(&journal, far);
            if far == 0 && !copied {
                continue;
            }
            match copied && far > 0 {
                true => drop(std::fs::copy(segment::raw_path(&journal, 0), &stray).unwrap()),
                false if far > 0 => std::fs::write(&stray, "").unwrap(),
                false => std::fs::write(journal.join("notes.txt"), "mine").unwrap(),
            }
            let before = content(dir.path());
            let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
            is_whole(&log).await;
            assert!(content(dir.path()) == before, "looking changed something at {far}");
            // At 18 the journal ends: there it may be a segment whose header was damaged.
            let remarks = summary(&report.remarks);
            assert_eq!(remarks.len(), usize::from(far > 0), "{far}, {copied}: {remarks:?}");
            drop(log);
            let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
            assert!(!report.lost_something(), "{far}: {:?}", report.remarks);
            is_whole(&log).await;
            log.close().await.unwrap();
            assert_eq!(stray.exists(), far == 0 || far == 18, "{far}");
            let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
            assert_eq!((report.remarks, log.examine(|_, _| {}).unwrap().findings), (vec![], vec![]), "{far}, {copied}");
        }
    }
}

/// A segment that begins at position `first`, of a store with other sessions. `id`: which store its header names.
async fn foreign(first: u64, id: StoreId) -> Vec<u8> {
    let other = folder();
    let (log, _) = DiskLog::open(other.path(), OpenMode::Create).unwrap();
    material::story(&log, material::session(77), 30).await.unwrap();
    log.close().await.unwrap();
    let bytes = std::fs::read(segment::raw_path(&other.path().join("journal"), 0)).unwrap();
    let mut out = segment::header(first, id).to_vec();
    for found in frame::scan(&bytes, segment::HEADER) {
        if let frame::Scan::Frame(_, found) = found
            && found.position >= 7
        {
            frame::write(&mut out, frame::FrameKind::Batch, 0, first + found.position - 7, found.payload);
        }
    }
    out
}

fn id_of(dir: &Path) -> StoreId {
    Identity::decode(&std::fs::read(dir.join("FORMAT")).unwrap()).unwrap().id
}

#[tokio::test]
async fn a_segment_of_another_store_is_set_aside() {
    // At 18 the journal ends. One that names this store is recognised by its sessions.
    for (first, named) in [(7, true), (7, false), (18, false), (5_000_000, false)] {
        for packed in [false, true] {
            let dir = folder();
            store(dir.path()).await;
            let bytes = foreign(first, if named { id_of(dir.path()) } else { StoreId([9; 16]) }).await;
            let journal = dir.path().join("journal");
            let place = if packed { packed_path(&journal, first) } else { segment::raw_path(&journal, first) };
            std::fs::write(&place, if packed { packed::pack(&bytes, &[]).unwrap().0 } else { bytes }).unwrap();
            let before = content(dir.path());
            let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
            is_whole(&log).await;
            let remarks = &report.remarks[..];
            assert!(
                matches!(remarks, [Remark::Stray { set_aside: None, .. }]),
                "{first} {named} {packed}: {remarks:?}"
            );
            assert!(content(dir.path()) == before);
            let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
            is_whole(&log).await;
            let remarks = &report.remarks[..];
            assert!(
                matches!(remarks, [Remark::Stray { set_aside: Some(_), .. }]),
                "{first} {named} {packed}: {remarks:?}"
            );
            assert!(!place.exists());
            assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
        }
    }
}

#[tokio::test]
async fn a_segment_of_another_store_does_not_name_a_store_whose_format_is_lost() {
    for first in [7, 5_000_000] {
        for lost in [&["FORMAT"][..], &["FORMAT", "heads", "checkpoint"]] {
            let dir = folder();
            store(dir.path()).await;
            let id = id_of(dir.path());
            let place = segment::raw_path(&dir.path().join("journal"), first);
            std::fs::write(&place, foreign(first, StoreId([9; 16])).await).unwrap();
            lost.iter().for_each(|name| std::fs::remove_file(dir.path().join(name)).unwrap());
            let refused = ReadOnlyLog::open(dir.path()).unwrap_err();
            assert!(matches!(refused, OpenError::FormatFile { .. }), "{refused}");
            let plan = DiskLog::lost_format(dir.path()).unwrap().unwrap();
            assert_eq!((plan.identity.id, plan.identity.copied_from, plan.segments), (id, vec![], 1));
            let report = DiskLog::repair(dir.path(), crate::disk::Tuning::default()).unwrap();
            assert!(!report.lost_something(), "{:?}", report.remarks);
            assert_eq!(report.remarks.iter().filter(|it| matches!(it, Remark::Stray { .. })).count(), 1);
            assert!(id_of(dir.path()) == id && !place.exists());
            let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
            is_whole(&log).await;
            assert_eq!((report.remarks, log.examine(|_, _| {}).unwrap().findings), (vec![], vec![]));
        }
    }
}

#[tokio::test]
async fn a_format_file_of_another_store_makes_no_segment_foreign() {
    let (dir, other) = (folder(), folder());
    for dir in [&dir, &other] {
        store(dir.path()).await;
    }
    std::fs::copy(other.path().join("FORMAT"), dir.path().join("FORMAT")).unwrap();
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    is_whole(&log).await;
    assert_eq!(report.remarks, vec![]);
    let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    is_whole(&log).await;
    assert_eq!(report.remarks, vec![]);
    assert!(segment::raw_path(&dir.path().join("journal"), 0).exists());
}

#[tokio::test]
async fn a_long_gap_is_one_void_and_one_line_and_followers_pass_over_it() {
    let dir = folder();
    store(dir.path()).await;
    // The list of heads proves a million positions of which neither copy has anything.
    let path = dir.path().join("heads");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8..16].copy_from_slice(&1_000_018u64.to_le_bytes());
    let end = bytes.len() - 4;
    let sum = crc32c::crc32c(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    let lost =
        |remark: &Remark| matches!(remark, Remark::Lost { position: Position(18), count: 1_000_000, whose: None });
    assert_eq!(report.remarks.iter().filter(|remark| lost(remark)).count(), 1, "{:?}", report.remarks);
    is_whole(&log).await;
    let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    assert_eq!(report.remarks.iter().filter(|remark| lost(remark)).count(), 1, "{:?}", report.remarks);
    assert!(report.remarks.len() < 4, "{:?}", report.remarks);
    is_whole(&log).await;
    let examination = log.examine(|_, _| {}).unwrap();
    assert_eq!((examination.findings, examination.gaps.len() <= 2), (vec![], true));
    let committed = material::two(&log, material::session(1), Seq(11)).await.unwrap();
    assert_eq!(committed.position, Position(1_000_018));
    let mut following = log.follow(Scope::All { from: crate::StoreCursor::before(crate::Position(0)) });
    let mut batches = 0;
    while let Some(item) = following.next().await {
        match item.unwrap() {
            Followed::Batch { .. } => batches += 1,
            Followed::Synced => break,
        }
    }
    assert_eq!(batches, 19);
    drop(following);
    log.close().await.unwrap();
    DiskLog::compact(dir.path(), crate::disk::Tuning::default()).unwrap();
    let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    assert_eq!((report.remarks, log.examine(|_, _| {}).unwrap().findings), (vec![], vec![]));
}

#[tokio::test]
async fn a_segment_that_follows_a_damaged_one_is_kept_although_nothing_else_tells_of_its_sessions() {
    let dir = folder();
    let tuning = crate::disk::Tuning { segment_bytes: 8 << 10, pack: false, ..crate::disk::Tuning::default() };
    let disk = || std::sync::Arc::new(crate::disk::files::RealDisk);
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Create, tuning, disk()).unwrap();
    material::story(&log, material::session(1), 100).await.unwrap();
    log.close().await.unwrap();
    for lost in ["heads", "checkpoint"] {
        std::fs::remove_file(dir.path().join(lost)).unwrap();
    }
    std::fs::remove_dir_all(dir.path().join("sled")).unwrap();
    let mut segments: Vec<_> =
        std::fs::read_dir(dir.path().join("journal")).unwrap().map(|it| it.unwrap().path()).collect();
    segments.sort();
    std::fs::remove_file(&segments[1]).unwrap();
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert!(report.lost_something() && report.remarks.len() < 5, "{:?}", report.remarks);
    assert_eq!(log.head(material::session(1)).await.unwrap().unwrap().next, Seq(201));
    let (log, report) = DiskLog::open_with(dir.path(), OpenMode::Existing, tuning, disk()).unwrap();
    assert!(report.lost_something() && segments[2].exists(), "{:?}", report.remarks);
    assert!(material::whole(&log, material::session(1)).await.is_err());
    assert_eq!(log.read(material::session(1), Seq(200), 1).await.unwrap().len(), 1);
}

#[test]
fn hundreds_of_lost_places_are_few_lines() {
    let lost = |n: u64| Remark::Lost { position: Position(n * 2), count: 1, whose: None };
    let remarks: Vec<Remark> = (0..4_983).map(lost).collect();
    let noted = summary(&remarks);
    assert_eq!((noted.len(), noted.last().map(String::as_str)), (4, Some("and 4,980 more lost places")));
    assert_eq!(summary(&remarks[..4]).len(), 4);
}

#[tokio::test]
async fn special_files_in_a_store_are_told_and_never_waited_for() {
    use std::process::Command;
    let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    for name in ["heads", "checkpoint", "FORMAT", "lock", "journal/00000000000000000018.seg", "sled/conf"] {
        for special in ["pipe", "device", "folder"] {
            let dir = folder();
            store(dir.path()).await;
            let path = dir.path().join(name);
            let _ = std::fs::remove_file(&path);
            match special {
                "pipe" => pipe(&path),
                "device" => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
                _ => std::fs::create_dir(&path).unwrap(),
            }
            let message = format!("{name} is a {special}");
            match ReadOnlyLog::open(dir.path()) {
                Ok((log, report)) => {
                    is_whole(&log).await;
                    assert_eq!(report.remarks.len(), usize::from(!matches!(name, "lock" | "sled/conf")), "{message}");
                }
                Err(error) => assert!(name == "FORMAT" && error.to_string().contains("FORMAT"), "{message}: {error}"),
            }
            let opened = std::thread::spawn({
                let dir = dir.path().to_owned();
                move || DiskLog::open(&dir, OpenMode::Existing).map(|_| ())
            });
            if let Err(error) = opened.join().unwrap() {
                assert!(!error.to_string().contains('\n'), "{message}: {error}");
            }
        }
    }
}
