//! Finding what agents keep, choosing from it, and importing what they go on to write.

use crate::import::harness::{copied, fixture, head, lines, memory, run, scratch, write};
use annals_core::Time;
use annals_import::{Homes, ImportFollower, ImportOptions, ImportPlan, ImportState, Selection, discover, recognise};
use std::path::PathBuf;
use tempfile::TempDir;

fn homes(folder: &TempDir) -> Homes {
    let home = folder.path().to_owned();
    Homes::of(|name| (name == "HOME").then(|| home.clone()))
}

fn following(folder: &TempDir) -> ImportFollower {
    let (files, selection, options) = (Vec::new(), Selection::default(), ImportOptions::default());
    ImportFollower { homes: homes(folder), files, selection, options, state: ImportState::default() }
}

/// A home with sessions of all three agents.
fn lived_in() -> TempDir {
    let folder = scratch();
    copied(&folder, "opencode/opencode.db", ".local/share/opencode/opencode.db");
    copied(&folder, "codex/one-turn.rollout.jsonl", ".codex/sessions/2026/11/21/rollout-1.jsonl");
    copied(&folder, "claude-code/subagent-parent.jsonl", ".claude/projects/-w/aef75662.jsonl");
    copied(&folder, "claude-code/subagent-child.jsonl", ".claude/projects/-w/aef75662/subagents/agent-a.jsonl");
    folder
}

#[test]
fn sessions_are_found_where_agents_keep_them() {
    let folder = lived_in();
    let (listed, errors) = discover(&homes(&folder));
    assert!(errors.is_empty(), "{errors:?}");
    let count = |agent: &str| listed.iter().filter(|it| it.agent == agent).count();
    assert_eq!((count("opencode"), count("codex"), count("claude-code")), (25, 1, 2));
    assert!(listed.windows(2).all(|pair| pair[0].updated >= pair[1].updated));
    let codex = listed.iter().find(|it| it.agent == "codex").unwrap();
    assert_eq!(codex.title.as_deref(), Some("hello there"));
    assert_eq!(codex.bytes, Some(std::fs::metadata(&codex.source.path).unwrap().len()));
    let opencode = listed.iter().find(|it| it.title.as_deref() == Some("Inventory tools")).unwrap();
    assert_eq!((opencode.rows, opencode.created), (Some(179), Time(1_795_291_558_865)));
}

#[test]
fn variables_say_where_agents_keep_their_sessions() {
    let folder = scratch();
    copied(&folder, "opencode/opencode.db", "data/opencode/opencode.db");
    copied(&folder, "codex/one-turn.rollout.jsonl", "cx/sessions/rollout-1.jsonl");
    copied(&folder, "claude-code/one-turn.jsonl", "cc/projects/-w/s.jsonl");
    let at = |name: &str| folder.path().join(name);
    let homes = Homes::of(|name| match name {
        "XDG_DATA_HOME" => Some(at("data")),
        "CODEX_HOME" => Some(at("cx")),
        "CLAUDE_CONFIG_DIR" => Some(at("cc")),
        "HOME" => Some(at("nobody")),
        _ => None,
    });
    assert_eq!(discover(&homes).0.len(), 27);
    assert_eq!(Homes::of(|_| Some(PathBuf::new())), Homes::default());
}

#[tokio::test]
async fn what_is_chosen_is_imported() {
    let folder = lived_in();
    let chosen = |selection: &Selection| {
        ImportPlan::of(&homes(&folder), &[], selection, &mut ImportState::default(), true).sources
    };
    let sources = chosen(&Selection { agent: Some("opencode".into()), since: None });
    assert_eq!((sources.len(), sources[0].source.only.as_ref().unwrap().len()), (1, 25));
    let sources = chosen(&Selection { agent: Some("opencode".into()), since: Some(Time(1_795_294_000_000)) });
    assert_eq!(sources[0].source.only.as_ref().unwrap().len(), 4);
    let log = memory();
    let report = annals_import::import(&log, &sources[0].source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    assert_eq!(report.sessions.len(), 4);
    assert_eq!(chosen(&Selection::default()).len(), 4);
}

#[tokio::test]
async fn following_imports_what_is_written_and_rests_otherwise() {
    let folder = scratch();
    let text = std::fs::read_to_string(fixture("codex/tools-and-resume.rollout.jsonl")).unwrap();
    let all = lines(&text);
    let place = ".codex/sessions/2026/rollout-1.jsonl";
    write(&folder, place, &all[..20].concat());
    let log = memory();
    let mut follower = following(&folder);
    let first = follower.round(&log, &mut |_| {}).await.unwrap();
    assert!(first.new_batches() > 5);
    let rest = follower.round(&log, &mut |_| {}).await.unwrap();
    assert!(rest.sessions.is_empty(), "nothing changed: {rest:#?}");
    // A line that is being written is no damage.
    write(&folder, place, &(all[..40].concat() + &all[40][..30]));
    let torn = follower.round(&log, &mut |_| {}).await.unwrap();
    assert!(!torn.has_bad_news() && torn.new_batches() > 0, "{torn:#?}");
    write(&folder, place, &text);
    let last = follower.round(&log, &mut |_| {}).await.unwrap();
    assert!(!last.has_bad_news());
    let whole = memory();
    let session = run(&whole, &fixture("codex/tools-and-resume.rollout.jsonl")).await.sessions[0].session;
    assert_eq!(head(&log, session).await, head(&whole, session).await);
    // A Session that begins later is found.
    copied(&folder, "claude-code/one-turn.jsonl", ".claude/projects/-w/s.jsonl");
    let mut follower = following(&folder);
    assert_eq!(follower.round(&log, &mut |_| {}).await.unwrap().sessions.len(), 2);
}

#[tokio::test]
async fn a_database_is_read_while_opencode_writes_it_and_only_what_changed_is_read_again() {
    let folder = scratch();
    let path = copied(&folder, "opencode/opencode.db", ".local/share/opencode/opencode.db");
    let writer = rusqlite::Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").unwrap();
    let id = "ses_e0044cfdfffehAmat5QbtkIGOz";
    writer.execute("DELETE FROM event WHERE aggregate_id = ?1 AND seq > 6", [id]).unwrap();
    writer.execute("UPDATE event_sequence SET seq = 6 WHERE aggregate_id = ?1", [id]).unwrap();
    let log = memory();
    let mut follower = following(&folder);
    let first = follower.round(&log, &mut |_| {}).await.unwrap();
    assert_eq!(first.sessions.len(), 25);
    let short = first.sessions.iter().find(|it| it.foreign == id).unwrap();
    assert_eq!(short.new, 7, "created, admitted, epoch, promoted, a step with one text: {short:#?}");

    let source = rusqlite::Connection::open(copied(&folder, "opencode/opencode.db", "whole.db")).unwrap();
    let mut rows = source.prepare("SELECT id, seq, type, data FROM event WHERE aggregate_id = ?1 AND seq > 6").unwrap();
    let rows = rows.query_map([id], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?, row.get::<_, String>(3)?))
    });
    for row in rows.unwrap() {
        let (event, seq, kind, data) = row.unwrap();
        let insert = "INSERT INTO event (id, aggregate_id, seq, type, data) VALUES (?1, ?2, ?3, ?4, ?5)";
        writer.execute(insert, rusqlite::params![event, id, seq, kind, data]).unwrap();
        writer
            .execute("UPDATE event_sequence SET seq = ?2 WHERE aggregate_id = ?1", rusqlite::params![id, seq])
            .unwrap();
    }
    let second = follower.round(&log, &mut |_| {}).await.unwrap();
    assert!(!second.has_bad_news(), "{second:#?}");
    assert_eq!(second.sessions.len(), 1, "the others did not change");
    assert!(second.new_batches() > 5);
    let whole = memory();
    let session = run(&whole, &fixture("opencode/v2/first.events.jsonl")).await.sessions[0].session;
    assert_eq!(head(&log, session).await, head(&whole, session).await);
}

#[tokio::test]
async fn looking_at_a_database_leaves_nothing_beside_it() {
    let folder = scratch();
    let path = copied(&folder, "opencode/opencode.db", "opencode.db");
    run(&memory(), &path).await;
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["opencode.db"]);
    assert_eq!(recognise(&path).unwrap().path, path);
}
