//! Power cuts while texts are erased or filled in: once the log says that a text is erased, it is nowhere after the next opening;
//! what an import brought for withheld texts is filled in whole, or not at all.

use super::{cuts, tiny};
use annals_core::{SessionKey, Time};
use annals_store::conformance::material::{self, session};
use annals_store::disk::fault_injection::FaultyDisk;
use annals_store::disk::files::{Disk, RealDisk};
use annals_store::disk::{DiskLog, OpenMode};
use annals_store::erasure::{self, ErasureNote, ErasureScope};
use annals_store::exchange::{self, WithholdRules, verify_store};
use annals_store::filling::Filling;
use annals_store::{EventLog, MemoryLog};
use annals_tests::crash;
use memchr::memmem;
use std::path::Path;
use std::sync::Arc;

const SECRET: &str = "the-planted-secret";

/// Sessions around a secret: inline, as a blob, in many batches, so that segments are sealed and packed.
async fn planted(log: &dyn EventLog) {
    for number in 1..=2 {
        material::story(log, session(number), 12).await.unwrap();
        let large = format!("{SECRET} {}", "x".repeat(9_000));
        for text in [SECRET.to_owned(), "stays".to_owned(), large, "y".repeat(9_000)] {
            let expected = log.head(session(number)).await.unwrap().unwrap().next;
            log.append(material::draft(session(number), expected, vec![material::synthetic(text)])).await.unwrap();
        }
    }
}

fn opened(dir: &Path, lab: &FaultyDisk) -> DiskLog {
    DiskLog::open_with(dir, OpenMode::Create, tiny(), Arc::new(lab.clone()) as Arc<dyn Disk>).unwrap().0
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Everything that a log reads back.
async fn read(log: &DiskLog) -> String {
    let mut all = String::new();
    for head in log.sessions().all().await.unwrap() {
        for slice in material::whole(log, head.session).await.unwrap() {
            all += &slice.batch.to_canonical_with(&*log.blobs()).unwrap();
        }
    }
    all
}

fn files_with(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match std::fs::read(&path) {
            _ if path.is_dir() => found.extend(files_with(&path, text)),
            Ok(content) if memmem::find(&content, text.as_bytes()).is_some() => {
                found.push(path.display().to_string());
            }
            _ => {}
        }
    }
    found
}

/// Opens what a cut left; everything verifies. Opened again, nothing is left to say.
async fn sound(dir: &Path, case: &str) -> DiskLog {
    for round in 0..2 {
        let result = DiskLog::open_with(dir, OpenMode::Existing, tiny(), Arc::new(RealDisk));
        let (log, report) = result.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(!report.lost_something(), "{case}: {:?}", report.remarks);
        let verified = verify_store(&log, &mut |_| {}).await.unwrap();
        assert!(verified.is_sound(), "{case}: {:?}", verified.damage);
        if round == 1 {
            assert_eq!(report.remarks, vec![], "{case}: opened again");
            return log;
        }
        log.close().await.unwrap();
    }
    unreachable!("the second round returns")
}

#[test]
fn a_power_cut_during_an_erasure_leaves_the_texts_or_none_of_them() {
    let (dir, lab) = (tempfile::tempdir().unwrap(), FaultyDisk::new());
    runtime().block_on(async {
        let log = opened(dir.path(), &lab);
        planted(&log).await;
        lab.mark(1);
        let rules = WithholdRules::Withhold(vec![format!("text:{SECRET}").parse().unwrap()]);
        let scope = ErasureScope { everywhere: true, ..ErasureScope::default() };
        let mut plan = erasure::plan(&log, session(1), &rules, scope).await.unwrap();
        let other = erasure::plan(&log, session(2), &rules, scope).await.unwrap();
        for (session, what) in other.what {
            plan.what.entry(session).or_default().extend(what);
        }
        plan.erased.extend(other.erased);
        let note = ErasureNote {
            reason: "asked".into(),
            reasons: Default::default(),
            by: "ada".into(),
            at: Time(1_790_000_000_000),
            forgets: None,
        };
        erasure::record(&log, &plan, &note, &|| SessionKey([0x77; 32])).await.unwrap();
        lab.mark(2);
        log.close().await.unwrap();
        drop(log);
        let log = opened(dir.path(), &lab);
        lab.mark(3);
        log.close().await.unwrap();
    });
    crash::in_parallel("power cuts in an erasure", &cuts(&lab, true), async |cut| {
        let (left, case) = (cut.leave(&lab, dir.path()), &cut.case);
        let log = sound(left.path(), case).await;
        let erased = verify_store(&log, &mut |_| {}).await.unwrap().erasures.len();
        assert!(erased == 2 || cut.acknowledged < 2, "{case}: {erased} of 2 erasures are recorded");
        let all = read(&log).await;
        assert!(all.contains("\"stays\""), "{case}");
        log.close().await.unwrap();
        if erased == 2 {
            assert!(!all.contains(SECRET), "{case}");
            assert_eq!(files_with(left.path(), SECRET), Vec::<String>::new(), "{case}");
        }
    });
}

#[test]
fn a_power_cut_during_a_filling_leaves_all_texts_or_is_as_before() {
    let (dir, lab) = (tempfile::tempdir().unwrap(), FaultyDisk::new());
    let (whole, partly) = runtime().block_on(async {
        let home = MemoryLog::new();
        planted(&home).await;
        let (mut whole, mut partly) = (Vec::new(), Vec::new());
        exchange::export(&home, session(1), &mut whole, &mut |_| {}).await.unwrap();
        let rules = WithholdRules::Only(vec!["text:^stays$".parse().unwrap()]);
        exchange::export_withheld(&home, session(1), &rules, &mut partly, &mut |_| {}).await.unwrap();
        let log = opened(dir.path(), &lab);
        exchange::import(&log, &mut &*partly, &mut |_| {}).await.unwrap();
        material::story(&log, session(3), 12).await.unwrap();
        lab.mark(1);
        exchange::import(&log, &mut &*whole, &mut |_| {}).await.unwrap();
        let mut filling = Filling::begin(&log).unwrap();
        filling.add(&mut &*whole).await.unwrap();
        assert!(filling.commit().unwrap());
        lab.mark(2);
        log.close().await.unwrap();
        drop(log);
        let log = opened(dir.path(), &lab);
        lab.mark(3);
        log.close().await.unwrap();
        (whole, partly)
    });
    crash::in_parallel("power cuts in a filling", &cuts(&lab, true), async |cut| {
        let (left, case) = (cut.leave(&lab, dir.path()), &cut.case);
        let log = sound(left.path(), case).await;
        let mut found = Vec::new();
        exchange::export(&log, session(1), &mut found, &mut |_| {}).await.unwrap();
        log.close().await.unwrap();
        assert!(found == whole || (found == partly && cut.acknowledged < 2), "{case}: the export is another one");
    });
}
