//! Reading a store without owning it.

use super::folder;
use crate::conformance::material;
use crate::disk::{DiskLog, Displaced, Finding, OpenMode, ReadOnlyLog, Remark, Tuning, files::RealDisk};
use crate::{AppendError, EventLog, OpenError, ReadError, Scope, Slice};
use annals_core::Seq;
use futures_util::StreamExt;
use std::collections::BTreeMap;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The names, lengths and times of everything below a folder.
pub(super) fn state(dir: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = std::fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, (metadata.len(), metadata.modified().unwrap()));
        }
    }
    found
}

async fn everything(log: &dyn EventLog) -> Vec<Vec<Slice>> {
    let mut all = Vec::new();
    for head in log.sessions().all().await.unwrap() {
        let forwards = material::whole(log, head.session).await.unwrap();
        let mut back = log.read_back(head.session, Seq(u64::MAX), 5000).await.unwrap();
        back.reverse();
        assert!(back == forwards);
        for at in [0, head.head.next.0 / 2, head.head.next.0 - 1] {
            assert_eq!(log.read(head.session, Seq(at), 1).await.unwrap().len(), 1);
        }
        all.push(forwards);
    }
    all
}

fn small() -> Tuning {
    Tuning { segment_bytes: 16 << 10, quiet: std::time::Duration::from_millis(1), ..Tuning::default() }
}

async fn stored(dir: &Path) -> Vec<Vec<Slice>> {
    let (log, _) = DiskLog::open_with(dir, OpenMode::Create, small(), Arc::new(RealDisk)).unwrap();
    for n in 0..4 {
        material::story(&log, material::session(n), 60).await.unwrap();
    }
    material::fork(&log, material::session(1), Seq(21), material::session(9)).await.unwrap();
    let whole = everything(&log).await;
    log.close().await.unwrap();
    whole
}

#[tokio::test]
async fn looking_writes_nothing_and_locks_nothing() {
    let dir = folder();
    let whole = stored(dir.path()).await;
    let before = state(dir.path());
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert!(everything(&log).await == whole);
    assert_eq!(log.remarks(), vec![]);
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
    assert_eq!(state(dir.path()), before);
    let refused = log.append(material::draft(material::session(5), Seq::ZERO, vec![material::created()])).await;
    assert!(matches!(refused, Err(AppendError::ReadOnly)));
    assert!(matches!(ReadOnlyLog::open(&dir.path().join("none")), Err(OpenError::NoStore { .. })));
    assert!(matches!(DiskLog::open(dir.path(), OpenMode::ReadOnly), Err(OpenError::Io { .. })));
    // It may be owned meanwhile.
    drop(DiskLog::open(dir.path(), OpenMode::Existing).unwrap());
    assert!(everything(&log).await == whole);
}

/// A store whose growing segment is so long that its index is saved when it is closed.
async fn long(dir: &Path) -> Vec<Vec<Slice>> {
    let (log, _) = DiskLog::open(dir, OpenMode::Create).unwrap();
    let session = material::session(1);
    material::begin(&log, session).await.unwrap();
    let text = "one of some texts that fill a segment ".repeat(180);
    let draft = |n: u64| material::draft(session, Seq(n), vec![material::admitted(&format!("input-{n}"), &text)]);
    let appended = log.append_all((1..200).map(draft).collect()).await;
    assert!(appended.refused.is_none() && appended.committed.len() == 199);
    let whole = everything(&log).await;
    log.close().await.unwrap();
    whole
}

/// The growing segment of a store with one, and its index.
fn growing(dir: &Path) -> (PathBuf, PathBuf) {
    let segment = dir.join("journal").join(format!("{:020}.seg", 0));
    (segment.clone(), segment.with_extension("idx"))
}

#[tokio::test]
async fn a_reader_believes_the_index_of_a_closed_segment_and_checks_what_it_reads() {
    let dir = folder();
    let whole = long(dir.path()).await;
    let (segment, index) = growing(dir.path());
    assert!(index.exists());
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert!(everything(&log).await == whole);
    let sound = std::fs::read(&segment).unwrap();
    // In place: the end of the file stays a hole.
    let set = |at: usize, byte: u8| {
        let file = std::fs::OpenOptions::new().write(true).open(&segment).unwrap();
        file.write_all_at(&[byte], at as u64).unwrap();
    };
    // Damage before the last block is found by who reads there, and restored.
    set(5_000, sound[5_000] ^ 1);
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert_eq!(report.remarks, vec![], "nothing was read there yet");
    assert!(everything(&log).await == whole);
    assert!(!log.remarks().is_empty() || !log.examine(|_, _| {}).unwrap().findings.is_empty());
    set(5_000, sound[5_000]);
    // Damage in the last block, or a damaged index: all is read when the store is opened.
    let used = sound.iter().rposition(|byte| *byte != 0).unwrap();
    set(used - 100, sound[used - 100] ^ 1);
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert!(!report.remarks.is_empty() && everything(&log).await == whole);
    set(used - 100, sound[used - 100]);
    std::fs::write(&index, "no index").unwrap();
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert!(report.remarks.is_empty() && everything(&log).await == whole);
}

#[tokio::test]
async fn what_follows_a_closed_segment_is_read_and_an_old_index_is_not_believed() {
    let dir = folder();
    long(dir.path()).await;
    let (_, index) = growing(dir.path());
    let old = std::fs::read(&index).unwrap();
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    let more = vec![material::admitted("later", "and then?")];
    log.append(material::draft(material::session(1), Seq(200), more)).await.unwrap();
    let (looker, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert_eq!(report.remarks, vec![]);
    let whole = everything(&looker).await;
    assert_eq!(material::seqs(whole.first().unwrap()).last(), Some(&200));
    log.close().await.unwrap();
    assert_ne!(std::fs::read(&index).unwrap(), old);
    std::fs::write(&index, old).unwrap();
    let (looker, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert!(report.remarks.is_empty() && everything(&looker).await == whole);
}

#[tokio::test]
async fn a_store_that_cannot_be_written_can_be_read() {
    let dir = folder();
    let whole = stored(dir.path()).await;
    let chmod = |file: u32, folder: u32| {
        for (path, _) in state(dir.path()) {
            let mode = if path.is_dir() { folder } else { file };
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(folder)).unwrap();
    };
    chmod(0o400, 0o500);
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert!(everything(&log).await == whole);
    assert_eq!(log.examine(|_, _| {}).unwrap().unchecked, None);
    chmod(0o600, 0o700);
}

#[tokio::test]
async fn what_an_owner_wrote_since_the_list_of_heads_is_seen_and_followed() {
    let dir = folder();
    let session = material::session(1);
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Create, small(), Arc::new(RealDisk)).unwrap();
    material::story(&log, session, 70).await.unwrap();
    // No list of heads is as new as this.
    let before = state(&dir.path().join("journal"));
    let (looker, report) = ReadOnlyLog::open_with(dir.path(), small(), Arc::new(RealDisk)).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert_eq!(state(&dir.path().join("journal")).len(), before.len());
    assert_eq!(material::whole(&looker, session).await.unwrap().len(), 71);
    let mut following = looker.follow(Scope::Session { session, from: Seq(139) });
    assert_eq!(material::next_slice(&mut following).await.unwrap().from, Seq(139));
    material::next_synced(&mut following).await.unwrap();
    for at in [141, 143, 145] {
        material::two(&log, session, Seq(at)).await.unwrap();
        assert_eq!(material::next_slice(&mut following).await.unwrap().from, Seq(at));
    }
    let mut all = looker.follow(Scope::All { from: crate::StoreCursor::before(crate::Position(70)) });
    assert_eq!(material::next_slice(&mut all).await.unwrap().from, Seq(139));
    log.close().await.unwrap();
}

#[tokio::test]
async fn damage_in_the_journal_is_read_from_a_copy_of_sled_that_goes_again() {
    for tail in [false, true] {
        let dir = folder();
        let whole = stored(dir.path()).await;
        let journal = dir.path().join("journal");
        let mut segments: Vec<PathBuf> = state(&journal).into_keys().collect();
        segments.retain(|path| path.extension().is_some_and(|form| form != "idx"));
        let path = if tail { segments.last().unwrap() } else { segments.first().unwrap() };
        let mut bytes = std::fs::read(path).unwrap();
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        bytes[used / 2] ^= 1;
        std::fs::write(path, bytes).unwrap();
        let before = state(dir.path());
        let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
        assert!(everything(&log).await == whole, "{:?}", report.remarks);
        let remarks: Vec<Remark> = report.remarks.iter().cloned().chain(log.remarks()).collect();
        assert!(!remarks.is_empty() && !remarks.iter().any(Remark::is_loss), "{remarks:?}");
        let findings = log.examine(|_, _| {}).unwrap().findings;
        assert!(
            findings.iter().any(|it| matches!(it, Finding::Segment { missing, in_sled, .. } if missing == in_sled))
        );
        assert_eq!(state(dir.path()), before);
    }
}

#[tokio::test]
async fn a_lost_journal_is_read_from_sled_and_nothing_is_called_sound() {
    let dir = folder();
    let whole = stored(dir.path()).await;
    std::fs::remove_dir_all(dir.path().join("journal")).unwrap();
    let before = state(dir.path());
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert!(everything(&log).await == whole);
    assert!(report.remarks.len() == 1 && !report.lost_something(), "{:?}", report.remarks);
    assert!(!log.examine(|_, _| {}).unwrap().findings.is_empty());
    drop(log);
    assert_eq!(state(dir.path()), before);
    assert!(!DiskLog::repair(dir.path(), small()).unwrap().lost_something());
    let (log, _) = ReadOnlyLog::open(dir.path()).unwrap();
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
    assert!(everything(&log).await == whole);
}

#[tokio::test]
async fn a_lost_or_damaged_sled_is_found_and_left_as_it_is() {
    let dir = folder();
    stored(dir.path()).await;
    std::fs::remove_dir_all(dir.path().join("sled")).unwrap();
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![Finding::SledMissing]);
    assert!(!dir.path().join("sled").exists());
}

#[tokio::test]
async fn an_unfinished_write_at_the_end_is_ignored_by_who_looks() {
    let dir = folder();
    let whole = stored(dir.path()).await;
    let journal = dir.path().join("journal");
    let path = state(&journal).into_keys().rfind(|path| path.extension().is_some_and(|form| form == "seg")).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let ends =
        crate::disk::journal::frame::scan(&bytes, crate::disk::journal::segment::HEADER).filter_map(
            |found| match found {
                crate::disk::journal::frame::Scan::Frame(at, frame) => Some(at + frame.bytes.len()),
                crate::disk::journal::frame::Scan::Bad { .. } => None,
            },
        );
    let used = ends.last().unwrap();
    bytes[used..used + 9].copy_from_slice(b"\xFFAnl\x01\x01zzz");
    std::fs::write(&path, bytes).unwrap();
    let before = state(dir.path());
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert!(everything(&log).await == whole);
    assert!(matches!(report.remarks[..], [Remark::TailIgnored { bytes: 9, .. }]), "{:?}", report.remarks);
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
    assert_eq!(state(dir.path()), before);
}

#[tokio::test]
async fn a_reader_stays_with_its_folder_when_that_is_moved_and_reads_no_other_store() {
    let dir = folder();
    let (path, moved, session) = (dir.path().join("store"), dir.path().join("moved"), material::session(1));
    let (log, _) = DiskLog::open_with(&path, OpenMode::Create, small(), Arc::new(RealDisk)).unwrap();
    material::story(&log, session, 70).await.unwrap();
    let (looker, _) = ReadOnlyLog::open_with(&path, small(), Arc::new(RealDisk)).unwrap();
    let mut following = looker.follow(Scope::Session { session, from: Seq(139) });
    material::next_slice(&mut following).await.unwrap();
    material::next_synced(&mut following).await.unwrap();
    std::fs::rename(&path, &moved).unwrap();
    // Somebody begins a new store at the old path.
    drop(DiskLog::open(&path, OpenMode::Create).unwrap());
    assert_eq!(material::whole(&looker, session).await.unwrap().len(), 71);
    material::two(&log, session, Seq(141)).await.unwrap();
    assert_eq!(material::next_slice(&mut following).await.unwrap().from, Seq(141));
    let refused = ReadOnlyLog::reopen(&path, looker.id()).unwrap_err();
    assert!(matches!(refused, OpenError::Displaced(Displaced::Replaced { found: Some(_), .. })), "{refused}");
    let refused = ReadOnlyLog::reopen(&dir.path().join("nothing"), looker.id()).unwrap_err();
    assert!(matches!(refused, OpenError::Displaced(Displaced::Gone { .. })), "{refused}");
    assert_eq!(ReadOnlyLog::reopen(&moved, looker.id()).unwrap().0.id(), log.id());
    log.close().await.unwrap();
    std::fs::remove_dir_all(&moved).unwrap();
    let ended = loop {
        if let Err(error) = following.next().await.unwrap() {
            break error;
        }
    };
    assert!(matches!(&ended, ReadError::Io { source } if Displaced::of(source).is_some()), "{ended}");
}

#[tokio::test]
async fn a_copy_is_read_without_giving_it_an_id() {
    let (dir, copy) = (folder(), folder());
    let whole = stored(dir.path()).await;
    for (path, _) in state(dir.path()) {
        let to = copy.path().join(path.strip_prefix(dir.path()).unwrap());
        match path.is_dir() {
            true => std::fs::create_dir_all(to).unwrap(),
            false => {
                std::fs::create_dir_all(to.parent().unwrap()).unwrap();
                std::fs::copy(path, to).unwrap();
            }
        }
    }
    let before = state(copy.path());
    let (log, report) = ReadOnlyLog::open(copy.path()).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert!(everything(&log).await == whole);
    assert_eq!(state(copy.path()), before);
    // The first process that writes does; its segments are read like those of the original.
    let (log, _) = DiskLog::open_with(copy.path(), OpenMode::Existing, small(), Arc::new(RealDisk)).unwrap();
    material::story(&log, material::session(5), 60).await.unwrap();
    log.close().await.unwrap();
    let (log, report) = ReadOnlyLog::open(copy.path()).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
    assert_eq!(everything(&log).await.len(), whole.len() + 1);
}

#[tokio::test]
async fn a_reader_follows_no_link_into_another_sled() {
    let (dir, other) = (folder(), folder());
    let whole = stored(dir.path()).await;
    let target = other.path().join("db");
    std::fs::rename(dir.path().join("sled/db"), &target).unwrap();
    std::os::unix::fs::symlink(&target, dir.path().join("sled/db")).unwrap();
    let (log, report) = ReadOnlyLog::open(dir.path()).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert!(everything(&log).await == whole);
    let findings = log.examine(|_, _| {}).unwrap().findings;
    assert!(matches!(&findings[..], [Finding::SledBroken { reason }] if reason.contains("link")), "{findings:?}");
}

#[tokio::test]
async fn a_store_that_has_lost_everything_but_sled_is_read_from_there_or_refused() {
    let kept = folder();
    let dir = kept.path();
    let whole = stored(dir).await;
    std::fs::remove_dir_all(dir.join("journal")).unwrap();
    for small in ["heads", "checkpoint"] {
        std::fs::remove_file(dir.join(small)).unwrap();
    }
    let before = state(dir);
    for empty in [false, true] {
        if empty {
            std::fs::create_dir(dir.join("journal")).unwrap();
        }
        let (log, report) = ReadOnlyLog::open(dir).unwrap();
        assert!(everything(&log).await == whole && !report.remarks.is_empty(), "{:?}", report.remarks);
        assert!(!log.examine(|_, _| {}).unwrap().findings.is_empty(), "the journal is reported");
    }
    std::fs::remove_dir(dir.join("journal")).unwrap();
    assert!(state(dir) == before);
    std::fs::write(dir.join("sled").join("db"), vec![7; 100_000]).unwrap();
    let refused = ReadOnlyLog::open(dir).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("the journal is gone"), "{refused}");
}
