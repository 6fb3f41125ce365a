//! Filling in withheld texts: from a fuller export, also by an opening that failed anywhere, and never erased ones.

use super::erasing::{SECRET, containing, planted, record};
use super::identity::copy;
use super::{folder, tiny};
use crate::EventLog;
use crate::conformance::material::{self, KEY};
use crate::disk::fault_injection::{Failure, FaultyDisk};
use crate::disk::files::{Disk, RealDisk};
use crate::disk::{DiskLog, FilledTexts, OpenMode, Remark, Tuning};
use crate::exchange::{self, ImportError, WithholdRules, verify_store};
use crate::filling::{Filling, FillingError};
use std::path::Path;
use std::sync::Arc;

/// What a store exports of session 1, whole or with texts withheld.
async fn exported(dir: &Path, rules: Option<WithholdRules>) -> Vec<u8> {
    let (log, _) = DiskLog::open(dir, OpenMode::Existing).unwrap();
    let (mut out, session) = (Vec::new(), material::session(1));
    match rules {
        None => exchange::export(&log, session, &mut out, &mut |_| {}).await.unwrap(),
        Some(rules) => exchange::export_withheld(&log, session, &rules, &mut out, &mut |_| {}).await.unwrap(),
    };
    log.close().await.unwrap();
    out
}

fn withhold(rule: &str) -> Option<WithholdRules> {
    Some(WithholdRules::Withhold(vec![rule.parse().unwrap()]))
}

/// Imports an export; returns whether it may be fuller than what the store has.
async fn imports(log: &DiskLog, file: &[u8]) -> bool {
    let imported = exchange::import(log, &mut &*file, &mut |_| {}).await.unwrap();
    imported.sessions.iter().any(|session| session.is_fuller)
}

/// Imports an export and collects what it fills in; returns whether there is anything.
async fn collects(dir: &Path, tuning: Tuning, file: &[u8]) -> bool {
    let (log, _) = DiskLog::open_with(dir, OpenMode::Create, tuning, Arc::new(RealDisk)).unwrap();
    let mut pending = false;
    if imports(&log, file).await {
        let mut filling = Filling::begin(&log).unwrap();
        filling.add(&mut &*file).await.unwrap();
        pending = filling.commit().unwrap();
    }
    log.close().await.unwrap();
    pending
}

/// Imports an export and fills in what it has.
async fn fills(dir: &Path, tuning: Tuning, file: &[u8]) -> Option<FilledTexts> {
    match collects(dir, tuning, file).await {
        true => Some(DiskLog::finish_filling(dir, tuning, &|_, _| {}).unwrap().filled.unwrap()),
        false => None,
    }
}

/// Everything verifies, both copies are the same, and the export is this one.
async fn is_filled(dir: &Path, whole: &[u8]) {
    let (log, report) = DiskLog::open(dir, OpenMode::Existing).unwrap();
    assert_eq!(report.remarks, vec![]);
    assert_eq!(log.examine(|_, _| {}).unwrap().findings, vec![]);
    let verified = verify_store(&log, &mut |_| {}).await.unwrap();
    assert!(verified.is_sound(), "{:?}", verified.damage);
    log.close().await.unwrap();
    drop(log);
    assert!(exported(dir, None).await == whole, "the export is another one");
    // sled has it as well.
    let other = folder();
    copy(dir, other.path());
    std::fs::remove_dir_all(other.path().join("journal")).unwrap();
    let _ = std::fs::remove_dir_all(other.path().join("cache"));
    assert!(exported(other.path(), None).await == whole, "sled has another export");
}

/// A store, the export of a session in it, and a store that imported the session without most texts.
async fn withheld(tuning: Tuning) -> (Vec<u8>, tempfile::TempDir) {
    let (home, away) = (folder(), folder());
    planted(home.path(), tuning).await;
    let whole = exported(home.path(), None).await;
    let partly = exported(home.path(), Some(WithholdRules::Only(vec!["text:^stays$".parse().unwrap()]))).await;
    assert_eq!(fills(away.path(), tuning, &partly).await, None);
    let (log, _) = DiskLog::open(away.path(), OpenMode::Existing).unwrap();
    material::story(&log, material::session(30), 20).await.unwrap();
    log.close().await.unwrap();
    assert_eq!(containing(away.path(), SECRET.as_bytes()), Vec::<String>::new());
    (whole, away)
}

async fn fills_in(tuning: Tuning) {
    let (whole, away) = withheld(tuning).await;
    let filled = fills(away.path(), tuning, &whole).await.unwrap();
    let session = material::session(1);
    assert!(filled.sessions[&session] > 20 && filled.keys.contains(&session), "{filled:?}");
    is_filled(away.path(), &whole).await;
    assert_eq!(fills(away.path(), tuning, &whole).await, None, "nothing is new");
    // It continues under its key.
    let (log, _) = DiskLog::open(away.path(), OpenMode::Existing).unwrap();
    let next = log.head(session).await.unwrap().unwrap().next;
    log.append(material::draft(session, next, vec![material::synthetic("later".to_owned())])).await.unwrap();
    log.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_export_fills_in_what_was_withheld_byte_for_byte() {
    fills_in(Tuning::default()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_export_fills_in_a_store_of_many_small_segments() {
    fills_in(tiny()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partial_exports_fill_in_their_texts_one_by_one() {
    let (whole, away) = withheld(Tuning::default()).await;
    let home = folder();
    planted(home.path(), Tuning::default()).await;
    let secret =
        exported(home.path(), Some(WithholdRules::Only(vec![format!("text:^{SECRET}$").parse().unwrap()]))).await;
    let filled = fills(away.path(), Tuning::default(), &secret).await.unwrap();
    assert_eq!((filled.sessions[&material::session(1)], filled.keys.len()), (1, 0));
    let (log, _) = DiskLog::open(away.path(), OpenMode::Existing).unwrap();
    assert_eq!(log.session_key(material::session(1)), None);
    log.close().await.unwrap();
    drop(log);
    assert_eq!(fills(away.path(), Tuning::default(), &secret).await, None, "nothing is new");
    let most = exported(home.path(), withhold("text:a blob that stays")).await;
    assert!(fills(away.path(), Tuning::default(), &most).await.unwrap().sessions[&material::session(1)] > 20);
    let filled = fills(away.path(), Tuning::default(), &whole).await.unwrap();
    assert_eq!(filled.sessions[&material::session(1)], 1);
    is_filled(away.path(), &whole).await;
}

/// A longer export continues a session whose key the store does not have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_longer_export_fills_in_and_continues() {
    let (home, away) = (folder(), folder());
    planted(home.path(), Tuning::default()).await;
    let partly = exported(home.path(), withhold("text:stays")).await;
    let (log, _) = DiskLog::open(home.path(), OpenMode::Existing).unwrap();
    let session = material::session(1);
    for text in ["one more", &"and a large one ".repeat(2_000)] {
        let next = log.head(session).await.unwrap().unwrap().next;
        log.append(material::draft(session, next, vec![material::synthetic(text.to_owned())])).await.unwrap();
    }
    log.close().await.unwrap();
    drop(log);
    let whole = exported(home.path(), None).await;
    assert_eq!(fills(away.path(), Tuning::default(), &partly).await, None);
    assert!(fills(away.path(), Tuning::default(), &whole).await.is_some());
    is_filled(away.path(), &whole).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erased_texts_are_never_filled_in_nor_is_their_key_stored() {
    let dir = folder();
    planted(dir.path(), Tuning::default()).await;
    let whole = exported(dir.path(), None).await;
    record(dir.path(), material::session(1), Tuning::default()).await;
    record(dir.path(), material::session(2), Tuning::default()).await;
    DiskLog::finish_erasure(dir.path(), Tuning::default(), &|_, _| {}).unwrap();
    assert_eq!(containing(dir.path(), SECRET.as_bytes()), Vec::<String>::new());
    let after = exported(dir.path(), None).await;
    // Here, and where the erasure is known from an export alone.
    let away = folder();
    let withheld = exported(dir.path(), withhold("text:^stays$")).await;
    assert_eq!(fills(away.path(), Tuning::default(), &withheld).await, None);
    assert_eq!(fills(dir.path(), Tuning::default(), &whole).await, None, "nothing is new");
    let filled = fills(away.path(), Tuning::default(), &whole).await.unwrap();
    assert_eq!((filled.sessions[&material::session(1)], filled.keys.len()), (1, 0));
    for dir in [dir.path(), away.path()] {
        assert_eq!(containing(dir, SECRET.as_bytes()), Vec::<String>::new());
        assert_eq!(
            containing(dir, &KEY.0).iter().filter(|file| file.contains("journal")).count(),
            usize::from(dir != away.path())
        );
    }
    assert!(fills(away.path(), Tuning::default(), &after).await.is_some(), "the key that is in force now");
    assert!(exported(away.path(), None).await == after);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_text_is_refused_with_its_place() {
    let (whole, away) = withheld(Tuning::default()).await;
    let forged = String::from_utf8(whole.clone()).unwrap().replacen(&format!("\"{SECRET}\""), "\"another text\"", 1);
    assert!(forged.as_bytes() != whole);
    let (log, _) = DiskLog::open(away.path(), OpenMode::Existing).unwrap();
    let refused = exchange::import(&log, &mut forged.as_bytes(), &mut |_| {}).await.unwrap_err();
    assert!(refused.to_string().contains("the text at /text does not match its commitment"), "{refused}");
    let mut filling = Filling::begin(&log).unwrap();
    let refused = filling.add(&mut forged.as_bytes()).await.unwrap_err();
    assert!(matches!(refused, FillingError::Import(ImportError::Damaged { .. })), "{refused}");
    drop(filling);
    log.close().await.unwrap();
    drop(log);
    // What was collected before the refusal is not filled in.
    let (log, report) = DiskLog::open(away.path(), OpenMode::Existing).unwrap();
    assert_eq!((report.filled, away.path().join("filling.tmp").exists()), (None, false));
    log.close().await.unwrap();
}

/// Whatever call to the disk is the last one, the next opening finishes the filling.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_filling_that_stops_anywhere_is_finished_by_the_next_opening() {
    let (whole, pending) = withheld(Tuning::default()).await;
    assert!(collects(pending.path(), Tuning::default(), &whole).await);
    let mut stopped = 0;
    for call in 0.. {
        let dir = folder();
        copy(pending.path(), dir.path());
        let disk = FaultyDisk::new();
        disk.fail(Some(Failure { from: call, calls: u64::MAX, errno: 5 }));
        let layer = Arc::new(disk.clone()) as Arc<dyn Disk>;
        let unfinished = match DiskLog::open_with(dir.path(), OpenMode::Existing, Tuning::default(), layer) {
            Err(_) => true,
            Ok((log, report)) => {
                let unfinished = report.remarks.iter().any(|remark| matches!(remark, Remark::FillUnfinished { .. }));
                disk.fail(None);
                let verified = verify_store(&log, &mut |_| {}).await.unwrap();
                assert!(verified.is_sound(), "call {call}: {:?}", verified.damage);
                drop(log);
                unfinished
            }
        };
        disk.fail(None);
        let (log, _) = DiskLog::open(dir.path(), OpenMode::Existing).unwrap();
        log.close().await.unwrap();
        drop(log);
        is_filled(dir.path(), &whole).await;
        if !unfinished {
            break;
        }
        stopped += 1;
    }
    assert!(stopped > 20, "only {stopped} calls were stopped at");
}

/// An erasure does not begin while texts wait to be filled in: they may be among those that it erases.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_erasure_begins_while_a_filling_is_unfinished() {
    let (whole, pending) = withheld(Tuning::default()).await;
    let (log, _) = DiskLog::open(pending.path(), OpenMode::Existing).unwrap();
    let mut filling = Filling::begin(&log).unwrap();
    filling.add(&mut &*whole).await.unwrap();
    assert!(filling.commit().unwrap());
    let refused = log.begin_erasure([material::session(1)], Default::default()).unwrap_err();
    assert!(refused.to_string().contains("unfinished"), "{refused}");
    log.close().await.unwrap();
}
