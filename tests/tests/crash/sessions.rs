//! Ten stories, each killed with SIGKILL at every append, and continued: before it or after it by turns, and both with
//! ANNALS_KILL_ROUNDS.

use annals_core::Event;
use annals_core::event::StepEvent;
use annals_projections::{Projection, SessionView, rebuild};
use annals_store::disk::{DiskLog, files::RealDisk};
use annals_store::{EventLog, OpenMode};
use annals_tests::crash;
use annals_tests::crash_stories::{STORIES, history_lines, session_id};
use annals_tests::deadline::WithDeadline;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

fn child(dir: &Path, story: usize, side: &str, append: u64) -> Output {
    let (store, ran) = (dir.join("store"), dir.join("ran"));
    Command::new(env!("CARGO_BIN_EXE_annals-test"))
        .arg("crash-session")
        .args([store.as_os_str(), story.to_string().as_ref(), ran.as_os_str()])
        .args([side, &append.to_string()])
        .output_watched()
        .unwrap()
}

/// The whole session; every request in it is rebuilt and proved on the way.
async fn proved(dir: &Path, case: &str) -> SessionView {
    let store = dir.join("store");
    let (log, report) = DiskLog::open_with(&store, OpenMode::Existing, crash::small(), Arc::new(RealDisk)).unwrap();
    assert!(!report.lost_something(), "{case}: {:?}", report.remarks);
    let mut view = SessionView::default();
    for slice in log.read(session_id(), annals_core::Seq::ZERO, usize::MAX).await.unwrap() {
        for record in slice.records() {
            if let Event::Step(StepEvent::RequestSent(sent)) = record.event {
                let digest = rebuild(&view, sent, &*log.blobs()).unwrap().digest();
                assert_eq!(digest, sent.digest, "{case}: the request at seq {}", record.seq);
            }
            view.apply(&record);
        }
    }
    log.close().await.unwrap();
    assert!(view.anomalies().is_empty(), "{case}: {:?}", view.anomalies());
    assert!(view.calls.open.is_empty() && view.inbox.pending.is_empty(), "{case}: something is left open");
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

fn never_twice(dir: &Path, case: &str) {
    let ran = std::fs::read_to_string(dir.join("ran")).unwrap_or_default();
    let mut seen = BTreeSet::new();
    assert!(ran.lines().all(|call| seen.insert(call)), "{case}: a call ran twice:\n{ran}");
}

async fn continues_after_kills(story: usize) {
    let (name, _) = STORIES[story];
    let dir = tempfile::tempdir().unwrap();
    let output = child(dir.path(), story, "never", 0);
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let appends: u64 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    let whole = history_lines(&proved(dir.path(), name).await);
    for append in 1..=appends {
        // The other half is another run's.
        let all = crash::rounds("ANNALS_KILL_ROUNDS", 0) > 0;
        let turn = u64::from(std::process::id()) + append;
        for side in ["before", "after"].into_iter().filter(|side| all || (*side == "before") == (turn % 2 == 0)) {
            let case = format!("{name}, killed {side} append {append} of {appends}");
            let dir = tempfile::tempdir().unwrap();
            assert!(!child(dir.path(), story, side, append).status.success(), "{case}: it was not killed");
            let output = child(dir.path(), story, "never", 0);
            assert!(output.status.success(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
            let resumed = history_lines(&proved(dir.path(), &case).await);
            assert!(agree(&whole, &resumed), "{case}:\n{}\nis not\n{}", resumed.join("\n"), whole.join("\n"));
            never_twice(dir.path(), &case);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_killed_at_any_append_continues_as_if_it_had_not_been() {
    let running: Vec<_> = (0..STORIES.len()).map(|story| tokio::spawn(continues_after_kills(story))).collect();
    for story in running {
        story.await.unwrap();
    }
}
