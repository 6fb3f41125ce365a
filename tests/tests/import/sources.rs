//! Where sessions are found, what is not theirs, and what comes later than it should.

use crate::import::harness::{copied, events, fixture, head, memory, run, scratch, view, write};
use annals_core::event::{ChildEvent, FilesEvent, SessionEvent, StepEvent};
use annals_core::{Event, SessionId};
use annals_import::{
    Homes, ImportFollower, ImportOptions, ImportReport, ImportState, LossKind, RecogniseError, Selection, discover,
    import, recognise, sources,
};
use annals_store::EventLog;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

const SESSION: &str = "ses_5f00aa11bb22CCDDEEFF001122";
const CREATED: u64 = 1_793_523_600_000;

fn homes(folder: &TempDir, more: &[(&str, &str)]) -> Homes {
    let home = folder.path().to_owned();
    let more: Vec<(String, String)> =
        more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Homes::of(|name| match name {
        "HOME" => Some(home.clone()),
        name => more.iter().find(|(it, _)| it == name).map(|(_, value)| value.into()),
    })
}

fn usage(events: &[(annals_core::Seq, Event)]) -> (u64, u64) {
    let spent = |event: &Event| match event {
        Event::Step(StepEvent::Ended(ended)) => Some((ended.usage.map_or(0, |usage| usage.input), ended.cost)),
        _ => None,
    };
    events.iter().filter_map(|(_, event)| spent(event)).fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
}

/// The rows of a session with one turn and of its fork, which has a turn of its own.
fn forked_rows() -> String {
    let mut rows = String::new();
    let mut seqs = std::collections::HashMap::new();
    let mut row = |session: &str, kind: &str, data: Value| {
        let seq = seqs.entry(session.to_owned()).and_modify(|seq| *seq += 1).or_insert(0_u64);
        let line = json!({"id": format!("evt_{session}_{seq}"), "aggregate_id": session, "seq": *seq, "type": kind, "data": data});
        rows.push_str(&format!("{line}\n"));
    };
    let mut created = |session: &str, at: u64, title: &str| {
        let info = json!({"id": session, "directory": "/work/demo", "title": title, "version": "1.18.33", "time": {"created": at, "updated": at}});
        row(session, "session.created.1", json!({"sessionID": session, "info": info}));
    };
    created("ses_one", CREATED, "Count");
    created("ses_two", CREATED + 90_000, "Count (fork #1)");
    let mut turn = |session: &str, ids: &str, at: u64, now: u64, prompt: &str| {
        let (user, answer) = (format!("msg_{ids}_1"), format!("msg_{ids}_2"));
        let model = json!({"providerID": "anthropic", "modelID": "claude-sonnet-4-5"});
        let info = json!({"id": user, "sessionID": session, "role": "user", "time": {"created": at}, "agent": "build", "model": model});
        row(session, "message.updated.1", json!({"info": info}));
        let part = json!({"id": format!("prt_{ids}_1"), "messageID": user, "sessionID": session, "type": "text", "text": prompt});
        row(session, "message.part.updated.1", json!({"part": part, "time": now}));
        let info = json!({
            "id": answer, "sessionID": session, "role": "assistant", "parentID": user, "agent": "build", "mode": "build",
            "modelID": "claude-sonnet-4-5", "providerID": "anthropic", "cost": 0.01, "finish": "stop",
            "tokens": {"input": 100, "output": 10, "reasoning": 0, "cache": {"read": 0, "write": 0}},
            "time": {"created": at + 1000, "completed": at + 3000},
        });
        for (number, part) in [
            json!({"type": "step-start"}),
            json!({"type": "text", "text": "counted", "time": {"start": at + 1500, "end": at + 2000}}),
            json!({"type": "step-finish", "reason": "stop", "cost": 0.01, "tokens": {"input": 100, "output": 10, "reasoning": 0, "cache": {"read": 0, "write": 0}}}),
        ]
        .into_iter()
        .enumerate()
        {
            if number == 0 {
                row(session, "message.updated.1", json!({"info": info}));
            }
            let mut part = part;
            part["id"] = format!("prt_{ids}_{}", number + 2).into();
            part["messageID"] = answer.as_str().into();
            row(session, "message.part.updated.1", json!({"part": part, "time": now + number as u64}));
        }
        row(session, "message.updated.1", json!({"info": info}));
    };
    turn("ses_one", "a", CREATED + 1000, CREATED + 1000, "count");
    turn("ses_two", "b", CREATED + 1000, CREATED + 90_100, "count");
    turn("ses_two", "c", CREATED + 100_000, CREATED + 100_000, "count again");
    rows
}

fn session(report: &ImportReport, foreign: &str) -> SessionId {
    report.sessions.iter().find(|it| it.foreign == foreign).unwrap().session
}

#[tokio::test]
async fn a_fork_of_opencode_continues_its_session_and_counts_its_own_turns() {
    let (folder, log) = (scratch(), memory());
    let rows = forked_rows();
    let path = write(&folder, "it.events.jsonl", &rows);
    let report = run(&log, &path).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    let (one, two) = (session(&report, "ses_one"), session(&report, "ses_two"));
    let own: Vec<_> = events(&log, two).await;
    let at = own
        .iter()
        .position(|(_, it)| matches!(it, Event::Session(SessionEvent::Forked(forked)) if forked.parent == one));
    assert_eq!(usage(&own[at.unwrap()..]), (100, 10_000_000));
    let view = view(&log, two).await;
    assert!(view.anomalies().is_empty(), "{:?}", view.anomalies());
    let again = run(&log, &path).await;
    assert_eq!((again.new_batches(), again.has_bad_news()), (0, false), "{again:#?}");

    // Without its session the copies have the times of the messages, and nothing is counted twice.
    let alone: String = rows.lines().filter(|line| line.contains("ses_two")).map(|line| format!("{line}\n")).collect();
    let log = memory();
    let report = run(&log, &write(&folder, "alone.events.jsonl", &alone)).await;
    assert_eq!(usage(&events(&log, report.sessions[0].session).await), (100, 10_000_000));
    let slices = log.read(report.sessions[0].session, annals_core::Seq::ZERO, usize::MAX).await.unwrap();
    let ended = slices.iter().find(|it| matches!(it.batch.events[0], Event::Step(StepEvent::Ended(_)))).unwrap();
    assert_eq!(ended.batch.at.millis(), CREATED + 3000, "the time of its last part");
}

/// A session in files, as OpenCode kept them before its database.
fn stored(folder: &TempDir, root: &str) {
    let info = json!({"id": SESSION, "version": "1.0.150", "projectID": "abc", "directory": "/work/demo", "title": "Old", "time": {"created": CREATED, "updated": CREATED + 9}});
    let is_old = root.contains("/project/");
    let (base, owner) = if is_old { (format!("{root}/session"), "info") } else { (root.to_owned(), "abc") };
    write(folder, &format!("{root}/session/{owner}/{SESSION}.json"), &info.to_string());
    let message = |id: &str, more: Value| {
        let mut message = json!({"id": id, "sessionID": SESSION});
        more.as_object().unwrap().iter().for_each(|(name, value)| message[name] = value.clone());
        write(folder, &format!("{base}/message/{SESSION}/{id}.json"), &message.to_string());
    };
    let part = |message: &str, id: &str, text: &str| {
        let owner = if is_old { format!("{SESSION}/") } else { String::new() };
        let part = json!({"id": id, "messageID": message, "sessionID": SESSION, "type": "text", "text": text, "time": {"start": CREATED + 2, "end": CREATED + 3}});
        write(folder, &format!("{base}/part/{owner}{message}/{id}.json"), &part.to_string());
    };
    message("msg_1", json!({"role": "user", "time": {"created": CREATED + 1}, "agent": "build"}));
    part("msg_1", "prt_1", "an old prompt");
    message(
        "msg_2",
        json!({"role": "assistant", "parentID": "msg_1", "modelID": "m", "providerID": "p", "agent": "build", "finish": "stop", "time": {"created": CREATED + 2, "completed": CREATED + 3}}),
    );
    part("msg_2", "prt_2", "an old answer");
}

#[tokio::test]
async fn sessions_of_opencode_before_its_database_are_found() {
    for root in [".local/share/opencode/storage", ".local/share/opencode/project/w/storage"] {
        let folder = scratch();
        stored(&folder, root);
        let (listed, errors) = discover(&homes(&folder, &[]));
        assert!(errors.is_empty() && listed.len() == 1, "{root}: {errors:?} {listed:?}");
        assert_eq!((listed[0].title.as_deref(), listed[0].foreign.as_str()), (Some("Old"), SESSION));
        let log = memory();
        let report = import(&log, &listed[0].source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
        assert!(!report.has_bad_news() && report.sessions[0].losses.is_empty(), "{report:#?}");
        let found = events(&log, report.sessions[0].session).await;
        let says = |event: &Event| matches!(event, Event::Step(StepEvent::TextEnded(it)) if it.text.inline() == Some("an old answer"));
        assert!(found.iter().any(|(_, event)| says(event)), "{root}");
        assert_eq!(sources(folder.path()).unwrap().0.len(), 1, "{root}");
    }
}

#[test]
fn databases_of_other_channels_and_of_kilo_are_found_and_named() {
    let folder = scratch();
    for place in ["opencode/opencode.db", "opencode/opencode-dev.db", "opencode/other.sqlite", "kilo/kilo.db"] {
        copied(&folder, "opencode/opencode.db", &format!(".local/share/{place}"));
    }
    let listed = discover(&homes(&folder, &[("OPENCODE_DB", "other.sqlite")])).0;
    let count = |agent: &str| listed.iter().filter(|it| it.agent == agent).count();
    assert_eq!((count("opencode"), count("kilo")), (75, 25));
}

#[test]
fn what_is_of_another_program_is_passed_over_in_a_folder_and_refused_by_name() {
    let folder = scratch();
    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE session (id TEXT, name TEXT)").unwrap();
    let line = json!({"uuid": "u", "parentUuid": null, "sessionId": "s", "type": "user", "message": {"role": "user", "parts": [{"text": "hi"}]}});
    let qwen = write(&folder, "qwen.jsonl", &format!("{line}\n"));
    copied(&folder, "codex/one-turn.rollout.jsonl", "codex.jsonl");
    assert!(matches!(recognise(&other), Err(RecogniseError::OtherDatabase { .. })));
    assert!(matches!(recognise(&qwen), Err(RecogniseError::OtherAgent { agent: "Qwen Code", .. })));
    let (found, errors) = sources(folder.path()).unwrap();
    assert!(errors.is_empty() && found.len() == 1, "{errors:?} {found:?}");
}

#[test]
fn links_out_of_a_folder_are_named_and_no_failure() {
    let (folder, elsewhere) = (scratch(), scratch());
    copied(&elsewhere, "claude-code/one-turn.jsonl", "-w/one.jsonl");
    copied(&folder, "claude-code/one-turn.jsonl", ".claude/projects/-v/two.jsonl");
    let link = folder.path().join(".claude/projects/-w");
    std::os::unix::fs::symlink(elsewhere.path().join("-w"), &link).unwrap();
    let (listed, errors) = discover(&homes(&folder, &[]));
    assert_eq!(listed.len(), 1);
    assert!(matches!(errors.as_slice(), [error] if error.is_remark() && error.path() == link), "{errors:?}");
}

#[tokio::test]
async fn an_export_with_a_line_of_the_program_in_front_is_read() {
    let (folder, log) = (scratch(), memory());
    let text = std::fs::read_to_string(fixture("opencode/v1/tools.json")).unwrap();
    let report = run(&log, &write(&folder, "it.json", &format!("Exporting session: ses_1\n{text}"))).await;
    let whole = memory();
    let session = run(&whole, &fixture("opencode/v1/tools.json")).await.sessions[0].session;
    assert!(!report.has_bad_news(), "{report:#?}");
    assert_eq!(head(&log, session).await, head(&whole, session).await);
}

#[tokio::test]
async fn a_sub_agent_before_its_parent_is_linked_when_the_parent_comes() {
    let (folder, log) = (scratch(), memory());
    let child = copied(&folder, "claude-code/subagent-child.jsonl", "aef/subagents/agent-a.jsonl");
    let first = run(&log, &child).await;
    assert!(!first.has_bad_news() && first.new_batches() > 3, "{first:#?}");
    let session = first.sessions[0].session;
    let parent = run(&log, &copied(&folder, "claude-code/subagent-parent.jsonl", "aef.jsonl")).await;
    let again = run(&log, &child).await;
    assert_eq!((again.new_batches(), again.has_bad_news()), (0, false), "{again:#?}");
    let events_of = events(&log, parent.sessions[0].session).await;
    assert!(events_of.iter().any(|(_, it)| matches!(it, Event::Child(ChildEvent::Started(it)) if it.child == session)));
}

#[tokio::test]
async fn a_prompt_that_was_never_sent_is_named() {
    let (folder, log) = (scratch(), memory());
    let text = std::fs::read_to_string(fixture("claude-code/one-turn.jsonl")).unwrap();
    let queued = |operation: &str, content: &str| {
        json!({"type": "queue-operation", "operation": operation, "timestamp": "2026-11-21T20:40:00.000Z", "sessionId": "b471da84-0302-402c-a732-c13db655fc4a", "content": content}).to_string() + "\n"
    };
    let lines = text.lines().count() as u64;
    let text = text + &queued("enqueue", "one") + &queued("remove", "one") + &queued("enqueue", "two");
    let report = run(&log, &write(&folder, "it.jsonl", &text)).await;
    let loss = &report.sessions[0].losses["queue-operation: a prompt that was never sent"];
    assert_eq!(loss.lines, [lines + 3]);
    assert_eq!(LossKind::of("queue-operation: a prompt that was never sent"), LossKind::Content);
}

async fn round(follower: &mut ImportFollower, log: &Arc<dyn EventLog>) -> ImportReport {
    follower.round(log, &mut |_| {}).await.unwrap()
}

#[tokio::test]
async fn a_follower_imports_a_file_that_was_rewritten_as_a_further_session() {
    let (folder, log) = (scratch(), memory());
    let text = std::fs::read_to_string(fixture("claude-code/tools-and-compaction.jsonl")).unwrap();
    let place = ".claude/projects/-w/s.jsonl";
    let path: &Path = &write(&folder, place, &text);
    let options = ImportOptions { follows: true, ..ImportOptions::default() };
    let (homes, files, selection, state) =
        (homes(&folder, &[]), Vec::new(), Selection::default(), ImportState::default());
    let mut follower = ImportFollower { homes, files, selection, options, state };
    let first = round(&mut follower, &log).await.sessions[0].session;
    let rewritten = text.replace("What does inventory.csv hold", "What is in inventory.csv");
    assert_ne!(rewritten, text);
    std::fs::write(path, rewritten.clone() + "\n").unwrap();
    let second = round(&mut follower, &log).await;
    assert!(!second.has_bad_news() && second.new_batches() > 5, "{second:#?}");
    assert_eq!(second.sessions[0].former.map(|(former, _)| former), Some(first));
    // An import by hand continues it as well, and is no failure.
    let again = run(&log, path).await;
    assert_eq!((again.new_batches(), again.has_bad_news()), (0, false), "{again:#?}");
    assert_eq!(again.sessions[0].session, second.sessions[0].session);
    let reverts = |event: &Event| matches!(event, Event::Files(FilesEvent::RevertCommitted(_)));
    assert!(!events(&log, first).await.iter().any(|(_, event)| reverts(event)));
}
