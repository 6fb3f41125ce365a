//! Ten lives of Sessions, each killed with SIGKILL before and after every append, and gone on with.

use annals_core::Event;
use annals_core::event::StepEvent;
use annals_projections::{Projection, SessionView, rebuild};
use annals_store::disk::{DiskLog, files::RealDisk};
use annals_store::{EventLog, OpenMode};
use annals_tests::crash;
use annals_tests::lives::{LIVES, session_id, told};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

fn child(dir: &Path, life: usize, side: &str, append: u64) -> Output {
    let (store, ran) = (dir.join("store"), dir.join("ran"));
    Command::new(env!("CARGO_BIN_EXE_crash-session"))
        .args([store.as_os_str(), life.to_string().as_ref(), ran.as_os_str()])
        .args([side, &append.to_string()])
        .output()
        .unwrap()
}

/// The whole Session; every request in it is rebuilt and proved on the way.
async fn proved(dir: &Path, told_by: &str) -> SessionView {
    let store = dir.join("store");
    let (log, report) = DiskLog::open_with(&store, OpenMode::Existing, crash::small(), Arc::new(RealDisk)).unwrap();
    assert!(!report.lost_something(), "{told_by}: {:?}", report.remarks);
    let mut view = SessionView::default();
    for slice in log.read(session_id(), annals_core::Seq::ZERO, usize::MAX).await.unwrap() {
        for record in slice.records() {
            if let Event::Step(StepEvent::RequestSent(sent)) = record.event {
                let digest = rebuild(&view, sent, &*log.blobs()).unwrap().digest();
                assert_eq!(digest, sent.digest, "{told_by}: the request at seq {}", record.seq);
            }
            view.apply(&record);
        }
    }
    log.close().await.unwrap();
    assert!(view.anomalies().is_empty(), "{told_by}: {:?}", view.anomalies());
    assert!(view.calls.open.is_empty() && view.inbox.pending.is_empty(), "{told_by}: something is left open");
    view
}

/// Equal line by line, except that a call may have been open at the kill.
fn agree(whole: &[String], resumed: &[String]) -> bool {
    let same = |(whole, resumed): (&String, &String)| {
        let cut_off = |line: &str| line.strip_suffix(" Tool execution interrupted").map(str::to_string);
        whole == resumed || cut_off(resumed).is_some_and(|call| whole.strip_suffix(" seen") == Some(call.as_str()))
    };
    whole.len() == resumed.len() && whole.iter().zip(resumed).all(same)
}

fn never_twice(dir: &Path, told_by: &str) {
    let ran = std::fs::read_to_string(dir.join("ran")).unwrap_or_default();
    let mut seen = BTreeSet::new();
    assert!(ran.lines().all(|call| seen.insert(call)), "{told_by}: a call ran twice:\n{ran}");
}

async fn lives_on(life: usize) {
    let (name, _) = LIVES[life];
    let dir = tempfile::tempdir().unwrap();
    let output = child(dir.path(), life, "never", 0);
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let appends: u64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    let whole = told(&proved(dir.path(), name).await);
    for append in 1..=appends {
        for side in ["before", "after"] {
            let told_by = format!("{name}, killed {side} append {append} of {appends}");
            let dir = tempfile::tempdir().unwrap();
            assert!(!child(dir.path(), life, side, append).status.success(), "{told_by}: it lived");
            let output = child(dir.path(), life, "never", 0);
            assert!(output.status.success(), "{told_by}: {}", String::from_utf8_lossy(&output.stderr));
            let resumed = told(&proved(dir.path(), &told_by).await);
            assert!(agree(&whole, &resumed), "{told_by}:\n{}\nis not\n{}", resumed.join("\n"), whole.join("\n"));
            never_twice(dir.path(), &told_by);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_killed_at_any_append_goes_on_as_if_it_had_not_been() {
    let lives: Vec<_> = (0..LIVES.len()).map(|life| tokio::spawn(lives_on(life))).collect();
    for life in lives {
        life.await.unwrap();
    }
}
