//! Simulated power cuts: whatever was not flushed to the device may be there, gone or torn. Every cut of a short story
//! with `ANNALS_POWER_CUTS=all`, a sample otherwise.

mod texts;

use annals_core::Seq;
use annals_store::conformance::material::session;
use annals_store::disk::fault_injection::{FaultyDisk, WriteFate};
use annals_store::disk::files::{Disk, RealDisk};
use annals_store::disk::{DiskLog, Tuning};
use annals_store::{EventLog, OpenMode, OpeningReport};
use annals_tests::crash::{self, Dice};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const SESSIONS: u64 = 6;

fn tiny() -> Tuning {
    Tuning { segment_bytes: 8 << 10, sled_segment: 64 << 10, ..crash::small() }
}

/// Appends to six sessions, in turn and now and then to all at once, so that groups of several batches are written; then to one
/// alone, which flushes itself.
/// After each acknowledgement the disk notes how many there were.
async fn story(dir: &Path, lab: &FaultyDisk) -> Vec<(u64, Seq)> {
    let disk: Arc<dyn Disk> = Arc::new(lab.clone());
    let (log, _) = DiskLog::open_with(dir, OpenMode::Create, tiny(), disk).unwrap();
    let log = Arc::new(log);
    let mut acknowledged = Vec::new();
    let mut next = BTreeMap::new();
    for round in 0..34 {
        let alone = round >= 24;
        let chosen = (0..SESSIONS).filter(|number| match alone {
            true => *number == 0,
            false => round % 3 == 0 || *number == round % SESSIONS,
        });
        let appends: Vec<_> = chosen
            .map(|number| {
                let (log, at) = (log.clone(), next.get(&number).copied().unwrap_or_default());
                (number, tokio::spawn(async move { log.append(crash::draft(session(number), at)).await }))
            })
            .collect();
        for (number, append) in appends {
            let committed = append.await.unwrap().unwrap();
            next.insert(number, committed.batch.next());
            acknowledged.push((number, committed.batch.next()));
        }
        lab.mark(acknowledged.len() as u64);
    }
    log.close().await.unwrap();
    acknowledged
}

async fn survives(dir: &Path, acknowledged: &[(u64, Seq)], case: &str) {
    check(dir, acknowledged, case).await;
    // What was mended stays mended.
    let again = check(dir, acknowledged, case).await;
    assert_eq!(again.remarks, vec![], "{case}: opened again");
}

async fn check(dir: &Path, acknowledged: &[(u64, Seq)], case: &str) -> OpeningReport {
    let opened = DiskLog::open_with(dir, OpenMode::Create, tiny(), Arc::new(RealDisk));
    let (log, report) = opened.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!(!report.lost_something(), "{case}: {:?}", report.remarks);
    let mut ends: BTreeMap<u64, Seq> = acknowledged.iter().copied().collect();
    for head in log.sessions().all().await.unwrap() {
        let number = head.session.millis() - session(0).millis();
        let at_least = ends.remove(&number).unwrap_or_default();
        let whole = crash::whole(&log, head.session, at_least).await;
        whole.unwrap_or_else(|violation| panic!("{case}: {violation}; {:?}", report.remarks));
    }
    assert_eq!(ends, BTreeMap::new(), "{case}: sessions are missing; {:?}", report.remarks);
    // The store goes on.
    let next = log.head(session(0)).await.unwrap().map_or(Seq::ZERO, |head| head.next);
    log.append(crash::draft(session(0), next)).await.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(log.remarks(), vec![], "{case}");
    log.close().await.unwrap();
    report
}

/// One cut: when, what was acknowledged before it, and what it leaves.
struct Cut {
    at: usize,
    acknowledged: usize,
    names: usize,
    /// For each write that was not flushed, in order.
    fates: Vec<WriteFate>,
    case: String,
}

/// The cuts to try: all with `ANNALS_POWER_CUTS=all`, a sample otherwise; none before the first mark where `marked` is set.
fn cuts(lab: &FaultyDisk, marked: bool) -> Vec<Cut> {
    let every = std::env::var("ANNALS_POWER_CUTS").is_ok_and(|cuts| cuts == "all");
    let step = if every { 1 } else { (lab.cuts() / 40).max(1) };
    let mut dice = Dice::new(7);
    let mut cuts = Vec::new();
    for at in (0..=lab.cuts()).step_by(step).filter(|at| !marked || lab.marked(*at).is_some()) {
        let before = usize::try_from(lab.marked(at).unwrap_or(0)).unwrap();
        let unflushed = lab.unflushed(at);
        // Every prefix of what was not flushed; the next write is torn in the middle of a page or at its border.
        for kept in 0..=unflushed {
            let torn = [0, 100, 512, 4096][usize::try_from(dice.below(4)).unwrap()];
            let names = if dice.below(2) == 0 { 0 } else { usize::MAX };
            let fate = |write: usize| match write.cmp(&kept) {
                Ordering::Less => WriteFate::Kept,
                Ordering::Equal => WriteFate::Torn(torn),
                Ordering::Greater => WriteFate::Lost,
            };
            let case = format!("cut {at}, {kept} of {unflushed} kept and {torn} bytes, names {names}");
            cuts.push(Cut { at, acknowledged: before, names, fates: (0..unflushed).map(fate).collect(), case });
        }
        // Writes reach the device in any order, and pages of one write too.
        let mut fates = Vec::new();
        drop(lab.image(at, usize::MAX, |_, length| {
            let fate = match dice.below(4) {
                0 => WriteFate::Lost,
                1 => WriteFate::Kept,
                2 => WriteFate::Hole(usize::try_from(dice.below(length as u64 + 1)).unwrap()),
                _ => WriteFate::Torn(usize::try_from(dice.below(length as u64 + 1)).unwrap()),
            };
            fates.push(fate);
            fate
        }));
        let case = format!("cut {at}, any of {unflushed}");
        cuts.push(Cut { at, acknowledged: before, names: usize::MAX, fates, case });
    }
    cuts
}

impl Cut {
    /// Writes what the cut leaves of the store in `from` into a folder.
    fn leave(&self, lab: &FaultyDisk, from: &Path) -> tempfile::TempDir {
        let fate = |write: usize, _| self.fates.get(write).copied().unwrap_or(WriteFate::Lost);
        let dir = tempfile::tempdir().unwrap();
        for (path, bytes) in lab.image(self.at, self.names, fate) {
            let path = dir.path().join(path.strip_prefix(from).unwrap());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        dir
    }
}

#[test]
fn nothing_acknowledged_is_missing_after_a_power_cut() {
    let dir = tempfile::tempdir().unwrap();
    let lab = FaultyDisk::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let acknowledged = runtime.block_on(story(dir.path(), &lab));
    crash::in_parallel("power cuts", &cuts(&lab, false), async |cut| {
        let left = cut.leave(&lab, dir.path());
        survives(left.path(), &acknowledged[..cut.acknowledged], &cut.case).await;
    });
}
