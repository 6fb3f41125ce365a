//! Erasing texts: they are in no file of the store, also after an opening that failed anywhere, and the log verifies.

use super::identity::copy;
use super::{folder, tiny};
use crate::append_rules::fork_at;
use crate::conformance::material::{self, KEY};
use crate::disk::fault_injection::{Failure, FaultyDisk};
use crate::disk::files::{Disk, RealDisk};
use crate::disk::{DiskLog, OpenMode, Remark, Tuning};
use crate::erasure::{self, ErasureNote, ErasureScope};
use crate::exchange::{WithholdRules, verify_store};
use crate::{Draft, EventLog};
use annals_core::{Digest, Event, Seq, SessionId, SessionKey, Time};
use std::path::Path;
use std::sync::Arc;

pub(super) const SECRET: &str = "the-planted-secret";
const NEW_KEY: SessionKey = SessionKey([0x77; 32]);

/// A log on disk with texts around a secret: inline, as a blob, and many batches, so that segments are sealed and packed.
pub(super) async fn planted(dir: &Path, tuning: Tuning) -> Vec<(SessionId, Digest)> {
    let (log, _) = DiskLog::open_with(dir, OpenMode::Create, tuning, Arc::new(RealDisk)).unwrap();
    for n in 1..=2 {
        let session = material::session(n);
        material::story(&log, session, 20).await.unwrap();
        let large = format!("{SECRET} {}", "x".repeat(20_000));
        for text in
            [SECRET.to_owned(), "stays".to_owned(), large, format!("a blob that stays {n} {}", "y".repeat(9_000))]
        {
            append(&log, session, vec![material::synthetic(text)]).await;
        }
        material::story(&log, material::session(10 + n), 20).await.unwrap();
    }
    log.close().await.unwrap();
    heads(dir).await
}

async fn append(log: &DiskLog, session: SessionId, events: Vec<Event>) {
    let expected = log.head(session).await.unwrap().unwrap().next;
    log.append(material::draft(session, expected, events)).await.unwrap();
}

async fn heads(dir: &Path) -> Vec<(SessionId, Digest)> {
    let (log, _) = DiskLog::open(dir, OpenMode::Existing).unwrap();
    let heads = log.sessions().all().await.unwrap().into_iter().map(|head| (head.session, head.head.digest)).collect();
    log.close().await.unwrap();
    heads
}

/// Records the erasure of everything that holds the secret in one session.
pub(super) async fn record(dir: &Path, session: SessionId, tuning: Tuning) {
    let (log, _) = DiskLog::open_with(dir, OpenMode::Existing, tuning, Arc::new(RealDisk)).unwrap();
    let rules = WithholdRules::Withhold(vec![format!("text:{SECRET}").parse().unwrap()]);
    let plan = erasure::plan(&log, session, &rules, ErasureScope::default()).await.unwrap();
    assert_eq!((plan.texts, plan.what.len()), (2, 1));
    let note = ErasureNote {
        reason: "asked".into(),
        reasons: Default::default(),
        by: "ada".into(),
        at: Time(1_790_000_000_000),
        forgets: None,
    };
    erasure::record(&log, &plan, &note, &|| NEW_KEY).await.unwrap();
    log.close().await.unwrap();
}

/// The files of a folder that contain some bytes, unpacked segments included.
pub(super) fn containing(dir: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(containing(&path, bytes));
            continue;
        }
        let Ok(mut content) = std::fs::read(&path) else { continue };
        if path.extension().is_some_and(|extension| extension == "pack") {
            content.extend(crate::disk::journal::packed::unpack(&content).0);
        }
        if content.windows(bytes.len()).any(|window| window == bytes) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Everything verifies, the secret is in the other session alone, and the key of the session is gone.
async fn is_erased(dir: &Path, before: &[(SessionId, Digest)], erased: SessionId) {
    let (log, report) = DiskLog::open(dir, OpenMode::Existing).unwrap();
    assert!(!report.lost_something(), "{:?}", report.remarks);
    let verified = verify_store(&log, &mut |_| {}).await.unwrap();
    assert!(verified.is_sound(), "{:?}", verified.damage);
    assert_eq!(verified.erasures.len(), 1);
    assert!(!dir.join("erasing.tmp").exists() && !dir.join("erasing").exists(), "they hold keys");
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
    for (session, digest) in before.iter().filter(|(session, _)| *session != erased) {
        assert_eq!(log.head(*session).await.unwrap().unwrap().digest, *digest);
    }
    let slices = material::whole(&log, erased).await.unwrap();
    let (_, digest) = before.iter().find(|(session, _)| *session == erased).unwrap();
    assert!(slices.iter().any(|slice| slice.batch.digest == *digest), "the former head is still in the chain");
    for slice in &slices {
        let text = format!("{:?}", slice.batch.events);
        assert!(!text.contains(SECRET), "{text}");
    }
    assert!(slices.iter().any(|slice| format!("{:?}", slice.batch.events).contains("stays")));
    // It goes on with the new key, also for a process that has not seen the erasure.
    append(&log, erased, vec![material::synthetic("after")]).await;
    let head = log.head(erased).await.unwrap().unwrap();
    let fork = fork_at(&log, erased, Seq(5), KEY).await.unwrap();
    let draft = Draft {
        session: material::session(50),
        expected: Seq(5),
        ..material::draft(erased, head.next, vec![fork.into()])
    };
    log.append(draft).await.unwrap();
    log.close().await.unwrap();
    drop(log);
    let (log, _) = DiskLog::open(dir, OpenMode::Existing).unwrap();
    assert!(verify_store(&log, &mut |_| {}).await.unwrap().is_sound());
    append(&log, erased, vec![material::synthetic("later")]).await;
    log.close().await.unwrap();
}

async fn erases(tuning: Tuning) {
    let dir = folder();
    let before = planted(dir.path(), tuning).await;
    let session = material::session(1);
    record(dir.path(), session, tuning).await;
    let report = DiskLog::finish_erasure(dir.path(), tuning, &|_, _| {}).unwrap();
    let erased = report.erased.unwrap();
    assert_eq!((erased.texts, erased.blobs), (2, 0), "{:?}", report.remarks);
    assert_eq!(erased.shared.values().flatten().collect::<Vec<_>>(), [&material::session(2)], "it holds the same blob");
    is_erased(dir.path(), &before, session).await;
    // The other one, and then nothing is left.
    record(dir.path(), material::session(2), tuning).await;
    assert_eq!(DiskLog::finish_erasure(dir.path(), tuning, &|_, _| {}).unwrap().erased.unwrap().blobs, 1);
    assert_eq!(containing(dir.path(), SECRET.as_bytes()), Vec::<String>::new());
    assert_eq!(DiskLog::finish_erasure(dir.path(), tuning, &|_, _| {}).unwrap().erased, None, "nothing is pending");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erased_text_is_in_no_file_of_the_store() {
    erases(Tuning::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erased_text_is_in_no_file_of_a_store_of_many_small_segments() {
    erases(tiny()).await;
}

/// Whatever call to the disk is the last one, the next opening finishes the erasure.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_that_stops_anywhere_is_finished_by_the_next_opening() {
    let (recorded, session) = (folder(), material::session(1));
    let before = planted(recorded.path(), Tuning::default()).await;
    record(recorded.path(), session, Tuning::default()).await;
    let mut stopped = 0;
    for call in 0.. {
        let dir = folder();
        copy(recorded.path(), dir.path());
        let disk = FaultyDisk::new();
        disk.fail(Some(Failure { from: call, calls: u64::MAX, errno: 5 }));
        let opened = DiskLog::open_with(
            dir.path(),
            OpenMode::Existing,
            Tuning::default(),
            Arc::new(disk.clone()) as Arc<dyn Disk>,
        );
        let unfinished = match opened {
            Err(_) => true,
            Ok((log, report)) => {
                drop(log);
                report.remarks.iter().any(|remark| matches!(remark, Remark::EraseUnfinished { .. }))
            }
        };
        disk.fail(None);
        is_erased(dir.path(), &before, session).await;
        if !unfinished {
            break;
        }
        stopped += 1;
    }
    assert!(stopped > 20, "only {stopped} calls were stopped at");
}

/// A full disk leaves no file with keys, nor does a process that was killed while it wrote one.
#[tokio::test]
async fn keys_stay_in_no_file_that_could_not_be_written() {
    let dir = folder();
    planted(dir.path(), Tuning::default()).await;
    let disk = FaultyDisk::new();
    let (log, _) =
        DiskLog::open_with(dir.path(), OpenMode::Existing, Tuning::default(), Arc::new(disk.clone()) as Arc<dyn Disk>)
            .unwrap();
    let begin = || log.begin_erasure([material::session(1)], [Digest::of(SECRET.as_bytes())].into());
    let mut refused = 0;
    for call in 0..50 {
        disk.fail(Some(Failure { from: disk.count() + call, calls: 1, errno: 28 }));
        let begun = begin();
        disk.fail(None);
        match begun {
            Ok(()) => break,
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(28));
                refused += 1;
            }
        }
        assert!(!dir.path().join("erasing.tmp").exists(), "call {call}");
        let _ = std::fs::remove_file(dir.path().join("erasing"));
    }
    assert!(refused >= 3, "{refused}");
    log.close().await.unwrap();
    drop(log);
    std::fs::write(dir.path().join("erasing.tmp"), "keys").unwrap();
    DiskLog::finish_erasure(dir.path(), Tuning::default(), &|_, _| {}).unwrap();
    assert!(!dir.path().join("erasing.tmp").exists());
}

/// `begin_erasure` alone erases nothing: nothing was recorded.
#[tokio::test]
async fn what_was_not_recorded_is_not_erased() {
    let dir = folder();
    let before = planted(dir.path(), Tuning::default()).await;
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    log.begin_erasure([material::session(1)], [Digest::of(SECRET.as_bytes())].into()).unwrap();
    log.close().await.unwrap();
    drop(log);
    let erased = DiskLog::finish_erasure(dir.path(), Tuning::default(), &|_, _| {}).unwrap().erased.unwrap();
    assert_eq!((erased.texts, erased.batches), (0, 0));
    assert_eq!(heads(dir.path()).await, before);
    assert!(!containing(dir.path(), SECRET.as_bytes()).is_empty());
}

/// A large text goes in every session that holds it, on request; a short one only where it was chosen.
#[tokio::test]
async fn a_large_text_is_erased_everywhere_on_request() {
    let dir = folder();
    planted(dir.path(), Tuning::default()).await;
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    let rules = WithholdRules::Withhold(vec![format!("text:{SECRET}").parse().unwrap()]);
    let scope = ErasureScope { everywhere: true, ..ErasureScope::default() };
    let plan = erasure::plan(&log, material::session(1), &rules, scope).await.unwrap();
    let sessions: Vec<_> = plan.sessions().collect();
    assert_eq!((plan.texts, sessions), (3, vec![material::session(1), material::session(2)]));
    let (reason, by, at) = ("asked".to_owned(), "ada".to_owned(), Time(1_790_000_000_000));
    let note = ErasureNote { reason, reasons: Default::default(), by, at, forgets: None };
    erasure::record(&log, &plan, &note, &|| NEW_KEY).await.unwrap();
    log.close().await.unwrap();
    drop(log);
    let erased = DiskLog::finish_erasure(dir.path(), Tuning::default(), &|_, _| {}).unwrap().erased.unwrap();
    assert_eq!((erased.texts, erased.blobs, erased.shared.len()), (3, 1, 0));
    assert_eq!(containing(dir.path(), format!("{SECRET} x").as_bytes()), Vec::<String>::new());
    assert!(!containing(dir.path(), SECRET.as_bytes()).is_empty(), "the short text of the other session stays");
    let (log, _) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    assert!(verify_store(&log, &mut |_| {}).await.unwrap().is_sound());
    log.close().await.unwrap();
}

/// The file `erasing` may hold the only copy of keys: a second erasure does not replace it.
#[tokio::test]
async fn no_erasure_begins_while_an_earlier_one_is_unfinished() {
    let (dir, session) = (folder(), material::session(1));
    let before = planted(dir.path(), Tuning::default()).await;
    record(dir.path(), session, Tuning::default()).await;
    // A store that has lost something opens, and keeps the erasure pending.
    let segment = std::fs::read_dir(dir.path().join("journal")).unwrap().next().unwrap().unwrap().path();
    let (sound, sled) = (std::fs::read(&segment).unwrap(), dir.path().join("sled"));
    std::fs::remove_dir_all(&sled).unwrap();
    let mut damaged = sound.clone();
    damaged[400] ^= 1;
    std::fs::write(&segment, damaged).unwrap();
    let (log, report) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
    assert!(report.remarks.iter().any(|remark| matches!(remark, Remark::EraseUnfinished { .. })));
    let pending = std::fs::read(dir.path().join("erasing")).unwrap();
    let refused = log.begin_erasure([material::session(2)], Default::default()).unwrap_err();
    assert!(refused.to_string().contains("an earlier erasure is unfinished"), "{refused}");
    assert_eq!(std::fs::read(dir.path().join("erasing")).unwrap(), pending);
    log.close().await.unwrap();
    drop(log);
    // With the journal whole again, the first erasure is finished, and a second one may begin.
    for entry in std::fs::read_dir(dir.path().join("journal")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
    std::fs::write(&segment, sound).unwrap();
    std::fs::remove_dir_all(&sled).unwrap();
    is_erased(dir.path(), &before, session).await;
    record(dir.path(), material::session(2), Tuning::default()).await;
    assert!(DiskLog::finish_erasure(dir.path(), Tuning::default(), &|_, _| {}).unwrap().erased.is_some());
}

/// What is set aside or in sled may be the last copy of what the journal lost: then nothing is removed.
#[tokio::test]
async fn nothing_is_removed_while_the_log_has_lost_something() {
    let (dir, session) = (folder(), material::session(1));
    planted(dir.path(), Tuning::default()).await;
    record(dir.path(), session, Tuning::default()).await;
    std::fs::remove_dir_all(dir.path().join("sled")).unwrap();
    let segment = std::fs::read_dir(dir.path().join("journal")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[400] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let report = DiskLog::finish_erasure(dir.path(), Tuning::default(), &|_, _| {}).unwrap();
    assert_eq!(report.erased, None);
    assert!(report.lost_something());
    assert!(
        report.remarks.iter().any(|remark| matches!(remark, Remark::EraseUnfinished { .. })),
        "{:?}",
        report.remarks
    );
    assert!(dir.path().join("damaged").exists() && !containing(dir.path(), SECRET.as_bytes()).is_empty());
}
