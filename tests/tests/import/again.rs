//! What a second import reads: only what changed since the first one.

use crate::import::harness::{copied, fixture, lines, memory, scratch, write};
use annals_core::Time;
use annals_import::{Homes, ImportOptions, ImportPlan, ImportState, Selection, import};
use annals_store::EventLog;
use annals_store::cache::ViewCache;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const PLACES: [(&str, &str); 4] = [
    ("opencode/opencode.db", ".local/share/opencode/opencode.db"),
    ("codex/one-turn.rollout.jsonl", ".codex/sessions/2026/11/21/rollout-1.jsonl"),
    ("claude-code/subagent-parent.jsonl", ".claude/projects/-w/aef75662.jsonl"),
    ("claude-code/subagent-child.jsonl", ".claude/projects/-w/aef75662/subagents/agent-a.jsonl"),
];

fn homes(folder: &TempDir) -> Homes {
    let home = folder.path().to_owned();
    Homes::of(|name| (name == "HOME").then(|| home.clone()))
}

/// Makes a file older than the time in which a further change may not show.
fn settle(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
}

/// Imports what changed; gives the files that were read, and how many sessions were known without.
async fn again(folder: &TempDir, log: &Arc<dyn EventLog>, cache: &ViewCache) -> (Vec<PathBuf>, usize) {
    let mut state = ImportState::load(cache, &**log).await.unwrap();
    let plan = ImportPlan::of(&homes(folder), &[], &Selection::default(), &mut state, true);
    assert!(plan.errors.is_empty(), "{:?}", plan.errors);
    for planned in &plan.sources {
        let report = import(log, &planned.source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
        state.imported(planned, &report, &**log).await.unwrap();
    }
    state.save(cache).unwrap();
    let place = |path: &Path| path.strip_prefix(folder.path()).unwrap().to_owned();
    (plan.sources.iter().map(|planned| place(&planned.source.path)).collect(), plan.known.len())
}

#[tokio::test]
async fn a_second_import_reads_only_what_changed() {
    let (folder, log, cache) = (scratch(), memory(), ViewCache::in_memory());
    for (name, place) in PLACES {
        settle(&copied(&folder, name, place));
    }
    // A file of another program.
    settle(&write(&folder, ".claude/projects/-w/other.jsonl", "{}\n"));
    let (read, known) = again(&folder, &log, &cache).await;
    assert_eq!((read.len(), known), (4, 0), "{read:?}");
    let sessions = log.sessions().all().await.unwrap().len();
    assert_eq!(again(&folder, &log, &cache).await, (vec![], sessions));
    // A file that grows.
    let text = std::fs::read_to_string(fixture(PLACES[2].0)).unwrap();
    let longer = text.clone() + lines(&text)[0] + "\n";
    settle(&write(&folder, PLACES[2].1, &longer));
    assert_eq!(again(&folder, &log, &cache).await, (vec![PLACES[2].1.into()], sessions - 1));
    // What was written just now may be written again without another time.
    let file = File::options().write(true).open(folder.path().join(PLACES[3].1)).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(60)).unwrap();
    for _ in 0..2 {
        assert_eq!(again(&folder, &log, &cache).await.0, [PathBuf::from(PLACES[3].1)]);
    }
    settle(&folder.path().join(PLACES[3].1));
    again(&folder, &log, &cache).await;
    assert_eq!(again(&folder, &log, &cache).await, (vec![], sessions));
    // A store without these sessions reads everything.
    assert_eq!(again(&folder, &memory(), &cache).await.0.len(), 4);
}

#[tokio::test]
async fn of_a_database_only_sessions_that_changed_are_read() {
    let (folder, log, cache) = (scratch(), memory(), ViewCache::in_memory());
    let path = copied(&folder, PLACES[0].0, PLACES[0].1);
    settle(&path);
    again(&folder, &log, &cache).await;
    let sessions = log.sessions().all().await.unwrap().len();
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE session SET time_updated = time_updated + 1 WHERE id = 'ses_e0044cfdfffehAmat5QbtkIGOz'")
        .unwrap();
    settle(&path);
    let mut state = ImportState::load(&cache, &*log).await.unwrap();
    let plan = ImportPlan::of(&homes(&folder), &[], &Selection::default(), &mut state, true);
    assert_eq!(plan.sources[0].source.only.as_ref().map(|only| only.len()), Some(1));
    assert_eq!(plan.known.len(), sessions - 1);
    again(&folder, &log, &cache).await;
    // Something else in it.
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE other (id TEXT)").unwrap();
    settle(&path);
    for _ in 0..2 {
        assert_eq!(again(&folder, &log, &cache).await, (vec![], sessions));
    }
}

#[tokio::test]
async fn sessions_that_were_not_selected_are_read_later() {
    let (folder, log, cache) = (scratch(), memory(), ViewCache::in_memory());
    settle(&copied(&folder, PLACES[0].0, PLACES[0].1));
    let since = Selection { agent: None, since: Some(Time(1_795_294_000_000)) };
    let mut state = ImportState::default();
    let plan = ImportPlan::of(&homes(&folder), &[], &since, &mut state, true);
    let report = import(&log, &plan.sources[0].source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    state.imported(&plan.sources[0], &report, &*log).await.unwrap();
    assert_eq!(report.sessions.len(), 4);
    state.save(&cache).unwrap();
    again(&folder, &log, &cache).await;
    assert_eq!(log.sessions().all().await.unwrap().len(), 25);
}

#[tokio::test]
async fn a_damaged_file_is_read_and_reported_each_time() {
    let (folder, log, cache) = (scratch(), memory(), ViewCache::in_memory());
    let text = std::fs::read_to_string(fixture(PLACES[2].0)).unwrap();
    let all = lines(&text);
    settle(&write(&folder, PLACES[2].1, &(all[..3].concat() + "[1]\n" + &all[3..].concat())));
    for _ in 0..2 {
        assert_eq!(again(&folder, &log, &cache).await.0.len(), 1);
    }
}

#[tokio::test]
async fn a_later_part_of_a_thread_is_read_with_the_first_one() {
    let (folder, log, cache) = (scratch(), memory(), ViewCache::in_memory());
    let (one, two) = ("019fa000-0000-7000-8000-000000000001", "019fa000-1111-7000-8000-000000000002");
    let name = |thread: &str| format!(".codex/sessions/2026/11/21/rollout-2026-11-21T10-00-00-{thread}.jsonl");
    let text = std::fs::read_to_string(fixture(PLACES[1].0)).unwrap();
    settle(&write(&folder, &name(one), &text));
    assert_eq!(again(&folder, &log, &cache).await.0.len(), 1);
    assert_eq!(again(&folder, &log, &cache).await.0.len(), 0);
    settle(&write(&folder, &name(&format!("{one}_{two}")), &text));
    assert_eq!(again(&folder, &log, &cache).await.0, [PathBuf::from(name(one))]);
    assert_eq!(again(&folder, &log, &cache).await.0.len(), 0);
}
