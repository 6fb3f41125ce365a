//! The two copies: journal and sled, one behind the other.

use super::folder;
use crate::EventLog;
use crate::conformance::material;
use crate::disk::files::{Access, Disk, DiskFile, Listed, RealDisk};
use crate::disk::{DiskLog, Finding, OpenMode, Remark, Tuning};
use annals_core::Seq;
use std::sync::Arc;

/// Sessions whose batches lie between each other's, long enough for several blocks and segments.
pub(super) async fn interleaved(log: &DiskLog, sessions: u64, rounds: u64) {
    let mut next = std::collections::BTreeMap::new();
    for round in 0..rounds {
        for number in 0..sessions {
            let at = next.get(&number).copied().unwrap_or(Seq::ZERO);
            let events = match at {
                Seq::ZERO => vec![material::created()],
                _ => vec![material::synthetic(format!("round {round} of {number} ").repeat(40))],
            };
            let committed = log.append(material::draft(material::session(number), at, events)).await.unwrap();
            next.insert(number, committed.batch.next());
        }
    }
}

async fn all_pages(log: &DiskLog, session: annals_core::SessionId, page: usize) -> Vec<crate::Slice> {
    let (mut all, mut from) = (Vec::new(), Seq::ZERO);
    loop {
        let found = log.read(session, from, page).await.unwrap();
        let Some(last) = found.last() else { return all };
        from = last.until;
        all.extend(found);
    }
}

#[tokio::test]
async fn long_pages_from_the_journal_are_what_single_places_from_sled_are() {
    // With little memory for sled, single places are read from packed segments as well.
    for sled_cache in [64 << 20, 64 << 10] {
        let tuning = Tuning { segment_bytes: 256 << 10, read_room: 600 << 10, sled_cache, ..Tuning::default() };
        both_copies_serve(tuning).await;
    }
}

async fn both_copies_serve(tuning: Tuning) {
    let dir = folder();
    let disk = || Arc::new(RealDisk);
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Create, tuning, disk()).unwrap();
    interleaved(&log, 3, 1200).await;
    log.close().await.unwrap();
    let first = all_pages(&DiskLog::open(dir.path(), OpenMode::Existing).unwrap().0, material::session(1), 7).await;
    assert_eq!(first.len(), 1200);
    for packed in [false, true] {
        if packed {
            DiskLog::compact(dir.path(), tuning).unwrap();
        }
        let (log, report) = DiskLog::open_with(dir.path(), OpenMode::Existing, tuning, disk()).unwrap();
        assert_eq!(report.remarks, vec![]);
        for page in [1, 33, 1024] {
            assert!(all_pages(&log, material::session(1), page).await == first, "pages of {page}, packed: {packed}");
        }
        assert_eq!(log.remarks(), vec![]);
        log.close().await.unwrap();
    }
    // Neither copy alone is missed: without sled's folder, and with a damaged chunk in each packed segment.
    std::fs::remove_dir_all(dir.path().join("sled")).unwrap();
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Existing, tuning, disk()).unwrap();
    log.close().await.unwrap();
    let segments = std::fs::read_dir(dir.path().join("journal")).unwrap().map(|entry| entry.unwrap().path());
    for path in segments.filter(|path| path.extension().is_some_and(|form| form == "pack")) {
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(path, bytes).unwrap();
    }
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Existing, tuning, disk()).unwrap();
    for page in [1, 1024] {
        assert!(all_pages(&log, material::session(1), page).await == first, "sled has what the journal lost");
    }
    let remarks = log.remarks();
    assert!(!remarks.is_empty() && remarks.iter().all(|remark| matches!(remark, Remark::Hurt { .. })), "{remarks:?}");
    log.close().await.unwrap();
}

#[tokio::test]
async fn what_sled_was_not_given_yet_is_read_from_the_journal_and_is_no_damage() {
    let dir = folder();
    let tuning = Tuning {
        segment_bytes: 256 << 10,
        lag_memory: 4 << 10,
        lag_quiet: std::time::Duration::from_secs(3600),
        ..Tuning::default()
    };
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Create, tuning, Arc::new(RealDisk)).unwrap();
    interleaved(&log, 2, 700).await;
    let session = material::session(1);
    let whole = all_pages(&log, session, 500).await;
    assert_eq!(whole.len(), 700);
    assert!(all_pages(&log, session, 1).await == whole);
    let mut back = log.read_back(session, Seq(u64::MAX), 1000).await.unwrap();
    back.reverse();
    assert!(back == whole);
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
    assert_eq!(log.remarks(), vec![]);
    assert!(log.shared.filled.load(std::sync::atomic::Ordering::Relaxed) < 1400, "sled was not kept waiting");
    log.close().await.unwrap();
    let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    assert_eq!((report.remarks, report.caught_up), (vec![], 0), "closing gives sled everything");
    assert!(all_pages(&log, session, 1).await == whole);
}

/// The machine's files, until reading is made to fail: of every file, or of those whose name begins so.
#[derive(Clone, Debug, Default)]
pub(super) struct Unreadable(pub Arc<std::sync::atomic::AtomicBool>, pub &'static str);

#[derive(Debug)]
struct UnreadableFile(Unreadable, Arc<dyn DiskFile>, bool);

impl Disk for Unreadable {
    fn open(&self, path: &std::path::Path, how: Access) -> std::io::Result<Arc<dyn DiskFile>> {
        let meant = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(self.1));
        Ok(Arc::new(UnreadableFile(self.clone(), RealDisk.open(path, how)?, meant)))
    }
    fn create_dir(&self, path: &std::path::Path) -> std::io::Result<()> {
        RealDisk.create_dir(path)
    }
    fn list(&self, path: &std::path::Path) -> std::io::Result<Vec<Listed>> {
        RealDisk.list(path)
    }
    fn rename(&self, from: &std::path::Path, to: &std::path::Path) -> std::io::Result<()> {
        RealDisk.rename(from, to)
    }
    fn remove(&self, path: &std::path::Path) -> std::io::Result<()> {
        RealDisk.remove(path)
    }
    fn sync_dir(&self, path: &std::path::Path) -> std::io::Result<()> {
        RealDisk.sync_dir(path)
    }
}

impl DiskFile for UnreadableFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        match self.2 && self.0.0.load(std::sync::atomic::Ordering::Relaxed) {
            true => Err(std::io::Error::from_raw_os_error(5)),
            false => self.1.read_at(buffer, offset),
        }
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> std::io::Result<()> {
        self.1.write_at(bytes, offset)
    }
    fn sync_data(&self) -> std::io::Result<()> {
        self.1.sync_data()
    }
    fn allocate(&self, len: u64) -> std::io::Result<()> {
        self.1.allocate(len)
    }
    fn len(&self) -> std::io::Result<u64> {
        self.1.len()
    }
}

/// Sizes with which sled gets nothing before closing, and most of it only from the journal.
pub(super) fn late() -> Tuning {
    Tuning {
        segment_bytes: 256 << 10,
        lag_memory: 256 << 10,
        lag_quiet: std::time::Duration::from_secs(3600),
        pack: false,
        ..Tuning::default()
    }
}

#[tokio::test]
async fn the_checkpoint_does_not_claim_what_could_not_be_read_again_for_sled() {
    let dir = folder();
    let disk = Unreadable::default();
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Create, late(), Arc::new(disk.clone())).unwrap();
    interleaved(&log, 2, 700).await;
    disk.0.store(true, std::sync::atomic::Ordering::Relaxed);
    log.close().await.unwrap();
    let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert!(report.caught_up > 500, "sled had it: {}", report.caught_up);
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
}

#[tokio::test]
async fn a_damaged_end_of_a_segment_keeps_nothing_else_from_sled() {
    let dir = folder();
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Create, late(), Arc::new(RealDisk)).unwrap();
    interleaved(&log, 2, 700).await;
    let path = crate::disk::journal::segment::raw_path(&log.layout().journal(), 0);
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    log.close().await.unwrap();
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Existing, late(), Arc::new(RealDisk)).unwrap();
    let findings = log.examine(|_, _| {}).unwrap().findings;
    assert!(matches!(findings[..], [Finding::Segment { missing: 1, in_sled: 0, .. }]), "{findings:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn who_reads_while_segments_are_sealed_and_packed_misses_nothing_and_hears_of_no_damage() {
    let dir = folder();
    // So little memory that each reader takes from the other what it keeps: directories, blocks, leaves.
    let tuning = Tuning {
        segment_bytes: 16 << 10,
        read_room: 8 << 10,
        sled_cache: 8 << 10,
        quiet: std::time::Duration::from_millis(1),
        ..Tuning::default()
    };
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Create, tuning, Arc::new(RealDisk)).unwrap();
    let log = Arc::new(log);
    for number in 0..3 {
        let created = vec![material::created()];
        log.append(material::draft(material::session(number), Seq::ZERO, created)).await.unwrap();
    }
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let readers = [(0, 1), (1, 5), (2, 40), (0, 300)].map(|(number, page)| {
        let (log, done, session) = (log.clone(), done.clone(), material::session(number));
        tokio::spawn(async move {
            loop {
                let last = done.load(std::sync::atomic::Ordering::Acquire);
                let head = log.head(session).await.unwrap().unwrap();
                let mut from = Seq::ZERO;
                let mut digest = None;
                while from < head.next {
                    let found = log.read(session, from, page).await.unwrap();
                    assert!(!found.is_empty(), "nothing stands at {from}, pages of {page}");
                    for slice in found {
                        assert_eq!((slice.batch.first, slice.batch.prev), (from, digest), "pages of {page}");
                        (from, digest) = (slice.until, Some(slice.batch.digest));
                    }
                }
                if last {
                    return;
                }
                tokio::task::yield_now().await;
            }
        })
    });
    for round in 1..400 {
        for number in 0..3 {
            let events = vec![material::synthetic(format!("round {round} of {number} ").repeat(10))];
            log.append(material::draft(material::session(number), Seq(round), events)).await.unwrap();
        }
        // A quiet moment now and then, in which something is packed.
        if round % 20 == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(4)).await;
        }
    }
    done.store(true, std::sync::atomic::Ordering::Release);
    for reader in readers {
        reader.await.unwrap();
    }
    assert_eq!(log.remarks(), vec![]);
    assert!(log.shared.journal.segments().iter().any(|(segment, _)| segment.is_packed()), "nothing was packed");
}

/// The machine's files, with a limit to how often anything may be renamed: as if the process were stopped there.
#[derive(Debug)]
struct Shutdown(std::sync::atomic::AtomicU32);

impl Disk for Shutdown {
    fn open(&self, path: &std::path::Path, how: Access) -> std::io::Result<Arc<dyn DiskFile>> {
        RealDisk.open(path, how)
    }
    fn create_dir(&self, path: &std::path::Path) -> std::io::Result<()> {
        RealDisk.create_dir(path)
    }
    fn list(&self, path: &std::path::Path) -> std::io::Result<Vec<Listed>> {
        RealDisk.list(path)
    }
    fn rename(&self, from: &std::path::Path, to: &std::path::Path) -> std::io::Result<()> {
        use std::sync::atomic::Ordering::Relaxed;
        let left = self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        left.map_err(|_| std::io::Error::other("stopped"))?;
        RealDisk.rename(from, to)
    }
    fn remove(&self, path: &std::path::Path) -> std::io::Result<()> {
        RealDisk.remove(path)
    }
    fn sync_dir(&self, path: &std::path::Path) -> std::io::Result<()> {
        RealDisk.sync_dir(path)
    }
}

#[tokio::test]
async fn a_compaction_that_is_stopped_while_it_changes_the_copies_loses_nothing_and_leaves_nothing() {
    use crate::disk::opening::Purpose;
    let tuning = Tuning { segment_bytes: 8 << 10, pack: false, ..Tuning::default() };
    let session = material::session(1);
    let mut between = 0;
    for renames in 0..5 {
        let dir = folder();
        let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Create, tuning, Arc::new(RealDisk)).unwrap();
        material::story(&log, session, 100).await.unwrap();
        let whole = material::whole(&log, session).await.unwrap();
        log.close().await.unwrap();
        // One batch stands in sled only.
        let path = crate::disk::journal::segment::raw_path(&log.layout().journal(), 0);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[4000] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let disk = Arc::new(Shutdown(renames.into()));
        let stopped = DiskLog::open_for(dir.path(), OpenMode::Existing, tuning, disk, Purpose::Compact);
        drop(stopped);
        let stands = |name: &str| dir.path().join(name).exists();
        between += u32::from(stands("sled.whole") && !stands("sled"));
        let (log, report) = DiskLog::open_with(dir.path(), OpenMode::Existing, tuning, Arc::new(RealDisk)).unwrap();
        assert!(!report.lost_something(), "{renames} renames: {:?}", report.remarks);
        assert!(material::whole(&log, session).await.unwrap() == whole, "{renames} renames");
        assert!(!stands("sled.new") && !stands("sled.whole") && stands("sled"), "{renames} renames");
        log.close().await.unwrap();
    }
    assert_eq!(between, 1, "none was stopped between the old one and the new one");
}
