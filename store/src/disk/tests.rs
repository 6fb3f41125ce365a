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

/// Segments of some Batches, packed as soon as nobody writes, and more than sled is taken to have in memory.
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
    std::fs::write(dir.path().join("FORMAT"), "annals store 9\n").unwrap();
    let told = DiskLog::open(dir.path(), OpenMode::Create).unwrap_err().to_string();
    assert!(told.contains("annals store 9") && told.contains("nothing was touched"), "{told}");
    let other = folder();
    std::fs::write(other.path().join("notes.txt"), "mine").unwrap();
    assert!(matches!(DiskLog::open(other.path(), OpenMode::Create), Err(OpenError::Foreign { .. })));
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 1);
}

/// Flips a bit in the journal frame of the Batch at `seq`, and takes sled away: damaged in every copy.
fn damage(dir: &std::path::Path, session: annals_core::SessionId, seq: Seq) {
    use super::frame::{Found, HEADER, scan};
    std::fs::remove_dir_all(dir.join("sled")).unwrap();
    for entry in std::fs::read_dir(dir.join("journal")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let place = scan(&bytes, super::segment::HEADER).find_map(|found| match found {
            Found::Frame(at, frame) => {
                let header = annals_core::codec::decode_header(frame.payload).unwrap();
                ((header.session, header.first) == (session, seq)).then_some(at + HEADER + 120)
            }
            Found::Bad { .. } => None,
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
        let told = log.read(hurt, Seq(5), 9).await.unwrap_err().to_string();
        assert!(told.contains("seq 5"), "{told}");
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
    // Nothing but the journal is left, and in it the last Batch of one Session is damaged.
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
    assert_eq!((report.remarks, log.sessions().await.unwrap().len()), (vec![], 5));
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
}

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
async fn compacting_keeps_every_answer() {
    let dir = folder();
    let tuning = super::Tuning { segment_bytes: 8 << 10, ..super::Tuning::default() };
    let open = || DiskLog::open_with(dir.path(), OpenMode::Create, tuning, Arc::new(super::files::RealDisk)).unwrap();
    let (log, _) = open();
    material::story(&log, material::session(1), 200).await.unwrap();
    log.close().await.unwrap();
    DiskLog::compact(dir.path(), tuning).unwrap();
    let (log, report) = open();
    assert_eq!(report.remarks, vec![]);
    assert_eq!(material::whole(&log, material::session(1)).await.unwrap().len(), 201);
    let facts = DiskLog::facts(dir.path()).unwrap();
    assert!(facts.sealed.files > 2 && facts.set_aside.is_empty(), "{facts:?}");
}

#[tokio::test]
async fn followers_of_all_read_what_memory_no_longer_has() {
    use crate::{Position, Scope};
    let dir = folder();
    let tuning = super::Tuning { segment_bytes: 8 << 10, ..super::Tuning::default() };
    let open = || DiskLog::open_with(dir.path(), OpenMode::Create, tuning, Arc::new(super::files::RealDisk)).unwrap();
    let (log, _) = open();
    material::story(&log, material::session(1), 300).await.unwrap();
    log.close().await.unwrap();
    let (log, _) = open();
    let mut following = log.follow(Scope::All { from: Position(3) });
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

/// Sessions whose Batches lie between each other's, long enough for several blocks and segments.
async fn interleaved(log: &DiskLog, sessions: u64, rounds: u64) {
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
    let dir = folder();
    // With little memory for sled, single places are read from packed segments as well.
    for sled_cache in [64 << 20, 64 << 10] {
        let tuning =
            super::Tuning { segment_bytes: 256 << 10, read_room: 600 << 10, sled_cache, ..super::Tuning::default() };
        both_copies_serve(tuning).await;
    }
}

async fn both_copies_serve(tuning: super::Tuning) {
    let dir = folder();
    let disk = || Arc::new(super::files::RealDisk);
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
        for page in [1, 5, 33, 200, 1024] {
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
    let told = log.remarks();
    assert!(!told.is_empty() && told.iter().all(|remark| matches!(remark, super::Remark::Hurt { .. })), "{told:?}");
    log.close().await.unwrap();
}

#[tokio::test]
async fn what_sled_was_not_given_yet_is_read_from_the_journal_and_is_no_damage() {
    let dir = folder();
    let tuning = super::Tuning {
        segment_bytes: 256 << 10,
        lag_memory: 4 << 10,
        lag_quiet: std::time::Duration::from_secs(3600),
        ..super::Tuning::default()
    };
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Create, tuning, Arc::new(super::files::RealDisk)).unwrap();
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

/// The machine's files, until reading is made to fail.
#[derive(Clone, Debug, Default)]
struct Unreadable(Arc<std::sync::atomic::AtomicBool>);

#[derive(Debug)]
struct UnreadableFile(Unreadable, Arc<dyn super::files::DiskFile>);

impl super::files::Disk for Unreadable {
    fn open(&self, path: &std::path::Path, how: super::files::How) -> std::io::Result<Arc<dyn super::files::DiskFile>> {
        Ok(Arc::new(UnreadableFile(self.clone(), super::files::RealDisk.open(path, how)?)))
    }
    fn create_dir(&self, path: &std::path::Path) -> std::io::Result<()> {
        super::files::RealDisk.create_dir(path)
    }
    fn list(&self, path: &std::path::Path) -> std::io::Result<Vec<super::files::Listed>> {
        super::files::RealDisk.list(path)
    }
    fn rename(&self, from: &std::path::Path, to: &std::path::Path) -> std::io::Result<()> {
        super::files::RealDisk.rename(from, to)
    }
    fn remove(&self, path: &std::path::Path) -> std::io::Result<()> {
        super::files::RealDisk.remove(path)
    }
    fn sync_dir(&self, path: &std::path::Path) -> std::io::Result<()> {
        super::files::RealDisk.sync_dir(path)
    }
}

impl super::files::DiskFile for UnreadableFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        match self.0.0.load(std::sync::atomic::Ordering::Relaxed) {
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
fn late() -> super::Tuning {
    super::Tuning {
        segment_bytes: 256 << 10,
        lag_memory: 256 << 10,
        lag_quiet: std::time::Duration::from_secs(3600),
        pack: false,
        ..super::Tuning::default()
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
    let (log, _) = DiskLog::open_with(dir.path(), OpenMode::Create, late(), Arc::new(super::files::RealDisk)).unwrap();
    interleaved(&log, 2, 700).await;
    let path = super::segment::raw_path(&log.layout().journal(), 0);
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    log.close().await.unwrap();
    let (log, _) =
        DiskLog::open_with(dir.path(), OpenMode::Existing, late(), Arc::new(super::files::RealDisk)).unwrap();
    let findings = log.examine(|_, _| {}).unwrap().findings;
    assert!(matches!(findings[..], [super::Finding::Segment { missing: 1, in_sled: 0, .. }]), "{findings:?}");
}
