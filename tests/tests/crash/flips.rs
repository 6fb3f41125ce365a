//! Every byte of a small store flipped in turn: no flip changes any answer unreported, and what the other copy has is
//! mended with a word. Every byte with `ANNALS_FLIPS=all`, a sample otherwise.

use annals_core::Seq;
use annals_store::conformance::material::{self, session};
use annals_store::disk::{Copy, DiskLog, FormatFile, Remark, Tuning, files::RealDisk};
use annals_store::{EventLog, OpenError, OpenMode, OpeningReport, Slice};
use annals_tests::crash;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SESSIONS: u64 = 3;

fn tiny() -> Tuning {
    Tuning { segment_bytes: 6 << 10, sled_segment: 256 << 10, ..crash::small() }
}

fn open(dir: &Path) -> Result<(DiskLog, OpeningReport), OpenError> {
    DiskLog::open_with(dir, OpenMode::Existing, tiny(), Arc::new(RealDisk))
}

/// A store with packed segments, a growing one, and a blob; closed.
async fn store(dir: &Path) -> BTreeMap<u64, Vec<Slice>> {
    let (log, _) = DiskLog::open_with(dir, OpenMode::Create, tiny(), Arc::new(RealDisk)).unwrap();
    for number in 0..SESSIONS {
        let mut next = Seq::ZERO;
        for _ in 0..6 {
            next = log.append(crash::draft(session(number), next)).await.unwrap().batch.next();
        }
        let large = vec![material::synthetic("a large text ".repeat(700))];
        log.append(material::draft(session(number), next, large)).await.unwrap();
    }
    let answers = answers(&log).await.unwrap();
    log.close().await.unwrap();
    DiskLog::compact(dir, tiny()).unwrap();
    answers
}

/// Everything a reader can ask, or the first error that tells of damage.
async fn answers(log: &DiskLog) -> Result<BTreeMap<u64, Vec<Slice>>, String> {
    let mut answers = BTreeMap::new();
    assert_eq!(log.sessions().all().await.unwrap().len() as u64, SESSIONS);
    for number in 0..SESSIONS {
        answers.insert(number, material::whole(log, session(number)).await.map_err(|violation| violation.0)?);
    }
    Ok(answers)
}

/// The files below a folder, with the places in each that are tried.
fn places(dir: &Path, relative: &str, step: usize) -> Vec<(PathBuf, usize)> {
    let mut found = Vec::new();
    let mut folders = vec![dir.join(relative)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let relative = path.strip_prefix(dir).unwrap().to_owned();
            found.extend((0..used).step_by(step).map(|at| (relative.clone(), at)));
        }
    }
    found
}

fn step(default: usize) -> usize {
    if std::env::var("ANNALS_FLIPS").is_ok_and(|flips| flips == "all") { 1 } else { default }
}

fn flipped(store: &Path, file: &Path, at: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    crash::copy_folder(store, dir.path()).unwrap();
    let path = dir.path().join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[at] ^= 0x10;
    std::fs::write(path, bytes).unwrap();
    dir
}

/// Runs before the rounds, on a runtime of its own.
fn stored(dir: &Path) -> BTreeMap<u64, Vec<Slice>> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(store(dir))
}

#[test]
fn a_flip_in_the_journal_changes_no_answer_and_is_mended_with_a_word() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = stored(dir.path());
    let places = places(dir.path(), "journal", step(41));
    assert!(places.iter().any(|(file, _)| file.extension().is_some_and(|form| form == "pack")), "nothing was packed");
    crash::in_parallel("flips in the journal", &places, async |(file, at)| {
        let message = format!("{} byte {at}", file.display());
        let dir = flipped(dir.path(), file, *at);
        let (log, report) = open(dir.path()).unwrap_or_else(|error| panic!("{message}: {error}"));
        assert!(!report.lost_something(), "{message}: {:?}", report.remarks);
        assert_eq!(answers(&log).await.as_ref(), Ok(&wanted), "{message}");
        let examined = log.examine(|_, _| {}).unwrap();
        log.close().await.unwrap();
        let outline = file.extension().is_some_and(|form| form == "idx");
        // An outline only says where to look: a damaged one is as good as none.
        assert!(outline || !report.remarks.is_empty() || !examined.findings.is_empty(), "{message}: nobody noticed");
        let repaired = DiskLog::repair(dir.path(), tiny()).unwrap();
        assert!(!repaired.lost_something(), "{message}: {:?}", repaired.remarks);
        let (log, report) = open(dir.path()).unwrap();
        assert_eq!((report.remarks, log.examine(|_, _| {}).unwrap().findings), (vec![], vec![]), "{message}: repaired");
        assert_eq!(answers(&log).await.as_ref(), Ok(&wanted), "{message}: repaired");
    });
}

#[test]
fn a_flip_in_sled_changes_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = stored(dir.path());
    let places = places(dir.path(), "sled", step(293));
    crash::in_parallel("flips in sled", &places, async |(file, at)| {
        let message = format!("{} byte {at}", file.display());
        let dir = flipped(dir.path(), file, *at);
        let (log, report) = open(dir.path()).unwrap_or_else(|error| panic!("{message}: {error}"));
        assert!(!report.lost_something(), "{message}: {:?}", report.remarks);
        let said =
            |remark: &Remark| matches!(remark, Remark::SledRebuilt { .. } | Remark::Mended { damaged: Copy::Sled, .. });
        assert!(report.remarks.iter().all(said), "{message}: {:?}", report.remarks);
        assert_eq!(answers(&log).await.as_ref(), Ok(&wanted), "{message}");
        assert!(log.remarks().iter().all(said), "{message}: {:?}", log.remarks());
        log.close().await.unwrap();
    });
}

#[test]
fn a_flip_in_a_small_file_of_the_store_is_told_or_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let wanted = stored(dir.path());
    let small = ["FORMAT", "heads", "checkpoint"].map(|file| {
        let length = std::fs::read(dir.path().join(file)).unwrap().len();
        (0..length).step_by(step(7)).map(move |at| (file, at))
    });
    let places: Vec<(&str, usize)> = small.into_iter().flatten().collect();
    crash::in_parallel("flips in small files", &places, async |(file, at)| {
        let message = format!("{file} byte {at}");
        let dir = flipped(dir.path(), Path::new(file), *at);
        match open(dir.path()) {
            Err(OpenError::FormatFile { state: FormatFile::Damaged, .. }) => {
                assert_eq!(*file, "FORMAT", "{message}");
                let repaired = DiskLog::repair(dir.path(), tiny()).unwrap_or_else(|error| panic!("{message}: {error}"));
                assert!(matches!(repaired.remarks[..], [Remark::FormatRestored { .. }]), "{message}: {repaired:?}");
                let (log, report) = open(dir.path()).unwrap_or_else(|error| panic!("{message}: {error}"));
                assert_eq!(report.remarks, vec![], "{message}");
                assert_eq!(answers(&log).await.as_ref(), Ok(&wanted), "{message}");
            }
            Err(error) => panic!("{message}: {error}"),
            Ok((log, report)) => {
                assert!(matches!(report.remarks[..], [Remark::Reread { .. }]), "{message}: {:?}", report.remarks);
                assert_eq!(answers(&log).await.as_ref(), Ok(&wanted), "{message}");
            }
        }
    });
}

#[test]
fn a_flip_in_a_blob_reads_as_missing_and_is_told_until_it_is_put_again() {
    let dir = tempfile::tempdir().unwrap();
    stored(dir.path());
    let places = places(dir.path(), "blobs", step(977));
    crash::in_parallel("flips in blobs", &places, async |(file, at)| {
        let text = std::fs::read_to_string(dir.path().join(file)).unwrap();
        let message = format!("{} byte {at}", file.display());
        let dir = flipped(dir.path(), file, *at);
        let (log, _) = open(dir.path()).unwrap();
        let hash = file.file_name().unwrap().to_str().unwrap().parse().unwrap();
        assert_eq!(log.blobs().text(&hash), None, "{message}");
        assert_eq!(log.remarks(), vec![Remark::Blob { blob: hash }], "{message}");
        assert_eq!(log.put_blob(text.clone()).await.unwrap(), hash, "{message}");
        assert_eq!(log.blobs().text(&hash).as_ref(), Some(&text), "{message}");
        assert_eq!(log.remarks(), vec![], "{message}");
    });
}
