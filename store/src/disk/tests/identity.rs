//! A store whose folder is moved, removed, replaced or copied while it is open, and the file `FORMAT`.

use super::{folder, tiny};
use crate::conformance::material::{begin, session, story, two, whole};
use crate::disk::files::RealDisk;
use crate::disk::{DiskLog, Displaced, FormatFile, Identity, Remark, StoreId, Tuning};
use crate::{AppendError, EventLog, OpenError, OpenMode};
use annals_core::Seq;
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn open(dir: &Path, tuning: Tuning) -> DiskLog {
    DiskLog::open_with(dir, OpenMode::Create, tuning, Arc::new(RealDisk)).unwrap().0
}

/// Every file under a folder, and its content.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // A file of an open store may be gone by now.
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if metadata.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap_or_default());
        }
    }
    found
}

pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for (path, bytes) in files(from) {
        let copied = to.join(path.strip_prefix(from).unwrap());
        std::fs::create_dir_all(copied.parent().unwrap()).unwrap();
        std::fs::write(copied, bytes).unwrap();
    }
}

/// Removes everything in a folder although the threads of an open store make files in it.
fn empty(folder: &Path) {
    let remove = |entry: PathBuf| match entry.is_dir() {
        true => std::fs::remove_dir_all(entry),
        false => std::fs::remove_file(entry),
    };
    for _ in 0..1_000 {
        let entries = std::fs::read_dir(folder).unwrap();
        if entries.map(|entry| remove(entry.unwrap().path())).filter(Result::is_err).count() == 0
            && std::fs::read_dir(folder).unwrap().count() == 0
        {
            return;
        }
    }
    panic!("{} is filled again and again", folder.display());
}

fn identity(dir: &Path) -> Identity {
    Identity::decode(&std::fs::read(dir.join("FORMAT")).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_writes_into_its_folder_wherever_that_is_moved_and_touches_no_other() {
    let (dir, s) = (folder(), session(1));
    let (path, moved) = (dir.path().join("store"), dir.path().join("store.bak"));
    let log = open(&path, tiny());
    story(&log, s, 40).await.unwrap();
    std::fs::rename(&path, &moved).unwrap();
    // Somebody begins a new store at the old path.
    let other = open(&path, tiny());
    story(&other, session(2), 30).await.unwrap();
    let kept = whole(&other, session(2)).await.unwrap();
    other.close().await.unwrap();
    let untouched = files(&path);
    // Rotates, lists heads, packs, fills sled, puts a blob.
    let mut at = Seq(81);
    for _ in 0..300 {
        at = two(&log, s, at).await.unwrap().batch.next();
    }
    let blob = log.put_blob("a large text ".repeat(1000)).await.unwrap();
    let answer = whole(&log, s).await.unwrap();
    log.close().await.unwrap();
    assert!(matches!(&log.remarks()[..], [Remark::Moved { from, to: Some(to) }] if *from == path && *to == moved));
    assert!(files(&path) == untouched, "the store at the old path was written to");
    let (other, report) = DiskLog::open(&path, OpenMode::Existing).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert!(whole(&other, session(2)).await.unwrap() == kept);
    let (log, report) = DiskLog::open(&moved, OpenMode::Existing).unwrap();
    assert_eq!((report.remarks, report.copied_from, report.caught_up), (vec![], None, 0), "the moved store is whole");
    assert!(whole(&log, s).await.unwrap() == answer);
    assert!(log.blobs().text(&blob).is_some());
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_store_refuses_appends_and_nothing_is_written_to_a_new_one() {
    let (dir, s) = (folder(), session(1));
    let path = dir.path().join("store");
    for within in [false, true] {
        let log = open(&path, tiny());
        story(&log, s, 40).await.unwrap();
        if within {
            // Only what is in the folder: the folder itself stays.
            empty(&path);
        } else {
            empty(&path);
            std::fs::remove_dir(&path).unwrap();
        }
        for _ in 0..3 {
            let refused = two(&log, s, Seq(81)).await.unwrap_err();
            assert!(matches!(&refused, AppendError::Displaced(Displaced::Removed { .. })), "{refused}");
        }
        let refused = log.put_blob("b".repeat(9000)).await.unwrap_err();
        assert!(matches!(refused, AppendError::Displaced(Displaced::Removed { .. })), "{refused}");
        assert_eq!(log.head(s).await.unwrap().unwrap().next, Seq(81), "what was read before is still answered");
        let untouched = if within {
            assert!(matches!(DiskLog::open(&path, OpenMode::Create), Err(OpenError::Locked { .. })));
            files(&path)
        } else {
            let other = open(&path, tiny());
            begin(&other, session(2)).await.unwrap();
            other.close().await.unwrap();
            files(&path)
        };
        let closed = log.close().await.unwrap_err();
        assert!(Displaced::of(&closed).is_some(), "{closed}");
        assert!(files(&path) == untouched);
        std::fs::remove_dir_all(&path).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_is_restored_into_the_folder_of_an_open_store_is_left_as_it_is() {
    let (dir, s) = (folder(), session(1));
    let (path, backup) = (dir.path().join("store"), dir.path().join("backup"));
    let log = open(&path, tiny());
    story(&log, s, 40).await.unwrap();
    log.close().await.unwrap();
    copy(&path, &backup);
    let log = open(&path, tiny());
    let mut at = Seq(81);
    for _ in 0..100 {
        at = two(&log, s, at).await.unwrap().batch.next();
    }
    empty(&path);
    copy(&backup, &path);
    let restored = files(&path);
    let refused = two(&log, s, at).await.unwrap_err();
    assert!(matches!(&refused, AppendError::Displaced(Displaced::Replaced { .. })), "{refused}");
    assert!(log.close().await.is_err());
    assert!(files(&path) == restored);
    let (log, report) = DiskLog::open(&path, OpenMode::Existing).unwrap();
    assert!(!report.lost_something(), "{:?}", report.remarks);
    assert_eq!(log.head(s).await.unwrap().unwrap().next, Seq(81));
}

#[tokio::test]
async fn nobody_else_owns_a_store_whose_lock_file_was_removed() {
    let dir = folder();
    let log = open(dir.path(), tiny());
    std::fs::remove_file(dir.path().join("lock")).unwrap();
    assert!(matches!(DiskLog::open(dir.path(), OpenMode::Existing), Err(OpenError::Locked { .. })));
    log.close().await.unwrap();
    drop(log);
    DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_gets_an_id_of_its_own_and_a_moved_store_keeps_its_id() {
    let (dir, s) = (folder(), session(1));
    let (path, second) = (dir.path().join("store"), dir.path().join("copy"));
    let log = open(&path, tiny());
    story(&log, s, 40).await.unwrap();
    let (id, answer) = (log.id(), whole(&log, s).await.unwrap());
    log.close().await.unwrap();
    copy(&path, &second);
    let (log, report) = DiskLog::open(&second, OpenMode::Existing).unwrap();
    assert_eq!(report.copied_from, Some(id));
    assert!(log.id() != id && whole(&log, s).await.unwrap() == answer);
    two(&log, s, Seq(81)).await.unwrap();
    let copied = log.id();
    log.close().await.unwrap();
    let found = identity(&second);
    assert_eq!((found.id, &found.copied_from[..]), (copied, &[id][..]));
    assert_eq!(found.folder.inode, second.metadata().unwrap().ino());
    // Again, and the first one elsewhere: nothing changes.
    let moved = dir.path().join("moved");
    std::fs::rename(&path, &moved).unwrap();
    for (place, id) in [(&second, copied), (&moved, id)] {
        let (log, report) = DiskLog::open(place, OpenMode::Existing).unwrap();
        assert_eq!((log.id(), report.copied_from), (id, None));
    }
    // Who used the one does not go on with the other, and touches nothing.
    let before = files(&second);
    let refused = DiskLog::reopen(&second, id).unwrap_err();
    assert!(matches!(refused, OpenError::Displaced(Displaced::Replaced { found: Some(_), .. })), "{refused}");
    assert!(files(&second) == before);
    let third = dir.path().join("third");
    copy(&moved, &third);
    let refused = DiskLog::reopen(&third, id).unwrap_err();
    assert!(matches!(refused, OpenError::Displaced(Displaced::Replaced { found: None, .. })), "{refused}");
    assert_eq!(identity(&third).id, id, "a copy that is refused is not marked");
    let refused = DiskLog::reopen(&dir.path().join("nothing"), id).unwrap_err();
    assert!(matches!(refused, OpenError::Displaced(Displaced::Gone { .. })), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_changed_byte_of_format_is_said_to_be_damage_and_repaired_from_the_segments() {
    let (dir, s) = (folder(), session(1));
    let log = open(dir.path(), tiny());
    story(&log, s, 40).await.unwrap();
    let (id, answer) = (log.id(), whole(&log, s).await.unwrap());
    log.close().await.unwrap();
    drop(log);
    let format = std::fs::read(dir.path().join("FORMAT")).unwrap();
    for at in 0..format.len() {
        let mut changed = format.clone();
        changed[at] ^= 1 << (at % 8);
        std::fs::write(dir.path().join("FORMAT"), &changed).unwrap();
        for mode in [OpenMode::Existing, OpenMode::Create] {
            let refused = DiskLog::open(dir.path(), mode).unwrap_err();
            let damaged = matches!(refused, OpenError::FormatFile { state: FormatFile::Damaged, .. });
            assert!(damaged, "byte {at}: {refused}");
            assert!(refused.to_string().contains("annals doctor --repair --yes"), "{refused}");
        }
        assert_eq!(std::fs::read(dir.path().join("FORMAT")).unwrap(), changed, "nothing was touched");
    }
    std::fs::remove_file(dir.path().join("FORMAT")).unwrap();
    let refused = DiskLog::open(dir.path(), OpenMode::Create).unwrap_err();
    assert!(matches!(refused, OpenError::FormatFile { state: FormatFile::Missing, .. }), "{refused}");
    let plan = DiskLog::lost_format(dir.path()).unwrap().unwrap();
    assert!(plan.identity.id == id && plan.segments > 1, "{plan:?}");
    let report = DiskLog::repair(dir.path(), tiny()).unwrap();
    let restored = Remark::FormatRestored { state: FormatFile::Missing, id, from: plan.segments };
    assert_eq!(report.remarks, vec![restored]);
    assert_eq!(std::fs::read(dir.path().join("FORMAT")).unwrap(), format);
    assert_eq!(DiskLog::lost_format(dir.path()).unwrap(), None);
    let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert!(log.id() == id && whole(&log, s).await.unwrap() == answer);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_of_which_only_one_copy_of_the_log_is_left_is_no_empty_folder() {
    let (dir, s) = (folder(), session(1));
    let path = dir.path().join("store");
    let log = open(&path, tiny());
    story(&log, s, 40).await.unwrap();
    let (id, answer) = (log.id(), whole(&log, s).await.unwrap());
    log.close().await.unwrap();
    drop(log);
    let small = ["FORMAT", "heads", "checkpoint", "lock"];
    for (number, gone) in ["journal", "sled"].into_iter().enumerate() {
        let left = dir.path().join(format!("left-{number}"));
        copy(&path, &left);
        small.iter().for_each(|file| std::fs::remove_file(left.join(file)).unwrap());
        std::fs::remove_dir_all(left.join(gone)).unwrap();
        for mode in [OpenMode::Existing, OpenMode::Create] {
            let refused = DiskLog::open(&left, mode).unwrap_err();
            assert!(matches!(refused, OpenError::FormatFile { .. }), "without {gone}: {refused}");
        }
        let report = DiskLog::repair(&left, tiny()).unwrap();
        assert!(!report.lost_something(), "without {gone}: {:?}", report.remarks);
        let (log, _) = DiskLog::open(&left, OpenMode::Existing).unwrap();
        assert!(whole(&log, s).await.unwrap() == answer, "without {gone}");
        assert_eq!(log.id() == id, gone == "sled", "only segments name the store");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_link_inside_a_store_is_followed() {
    let (dir, s) = (folder(), session(1));
    let (path, target) = (dir.path().join("store"), dir.path().join("target"));
    let log = open(&path, tiny());
    story(&log, s, 40).await.unwrap();
    let answer = whole(&log, s).await.unwrap();
    log.close().await.unwrap();
    drop(log);
    std::fs::write(&target, "mine").unwrap();
    let segment = path.join("journal").join(format!("{:020}.seg", 9_999));
    let links = [
        path.join("heads.tmp"),
        path.join("heads"),
        path.join("checkpoint.tmp"),
        path.join("checkpoint"),
        path.join("FORMAT.tmp"),
        path.join("journal/reserved.new"),
        path.join("sled/db"),
        segment,
    ];
    for link in &links {
        drop(std::fs::remove_file(link));
        symlink(&target, link).unwrap();
        let (log, _) = DiskLog::open_with(&path, OpenMode::Existing, tiny(), Arc::new(RealDisk)).unwrap();
        let next = log.head(s).await.unwrap().unwrap().next;
        let mut at = next;
        for _ in 0..40 {
            at = two(&log, s, at).await.unwrap().batch.next();
        }
        assert!(whole(&log, s).await.unwrap().starts_with(&answer), "{}", link.display());
        log.close().await.unwrap();
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine", "{}", link.display());
        if link.is_symlink() {
            std::fs::remove_file(link).unwrap();
        }
    }
    // Folders and the lock cannot be replaced by themselves: who opens the store says what is wrong.
    for name in ["lock", "journal", "blobs"] {
        let (place, aside) = (path.join(name), dir.path().join("aside"));
        std::fs::rename(&place, &aside).unwrap();
        symlink(&aside, &place).unwrap();
        let before = files(&path);
        let refused = DiskLog::open(&path, OpenMode::Existing).unwrap_err().to_string();
        assert!(refused.contains("symbolic link") && refused.contains(name), "{refused}");
        assert!(files(&path) == before);
        std::fs::remove_file(&place).unwrap();
        std::fs::rename(&aside, &place).unwrap();
    }
    DiskLog::open(&path, OpenMode::Existing).unwrap();
}

#[test]
fn a_path_that_leads_nowhere_or_to_a_file_is_named() {
    let dir = folder();
    let (link, nowhere) = (dir.path().join("link"), dir.path().join("nowhere"));
    symlink(&nowhere, &link).unwrap();
    for mode in [OpenMode::Existing, OpenMode::Create] {
        let refused = DiskLog::open(&link, mode).unwrap_err();
        assert!(matches!(&refused, OpenError::Dangling { to, .. } if *to == nowhere), "{refused}");
    }
    let file = dir.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    for mode in [OpenMode::Existing, OpenMode::Create] {
        assert!(matches!(DiskLog::open(&file, mode), Err(OpenError::Foreign { .. })));
    }
    // A link to a folder is as good as the folder.
    std::fs::create_dir(&nowhere).unwrap();
    let (log, _) = DiskLog::open(&link, OpenMode::Create).unwrap();
    let id: StoreId = log.id();
    drop(log);
    assert_eq!(identity(&nowhere).id, id);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_in_a_store_is_for_the_user_alone() {
    let dir = folder();
    let path = dir.path().join("store");
    let log = open(&path, tiny());
    story(&log, session(1), 40).await.unwrap();
    log.put_blob("b".repeat(9000)).await.unwrap();
    log.close().await.unwrap();
    let mut folders = vec![path];
    while let Some(folder) = folders.pop() {
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
        for entry in std::fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap().path();
            let metadata = entry.symlink_metadata().unwrap();
            if metadata.is_dir() {
                folders.push(entry);
            } else {
                assert_eq!(metadata.permissions().mode() & 0o077, 0, "{}", entry.display());
            }
        }
    }
}
