//! A Claude Code transcript is a tree: the newest branch is the session, others are forks.

use crate::import::harness::{events, head, lines, memory, run, scratch, view, write};
use annals_core::Event;
use annals_core::event::{FilesEvent, SessionEvent};
use annals_projections::SessionView;
use annals_store::EventLog;
use std::sync::Arc;

/// A transcript line: `p` a prompt, `a` an answer, under a parent.
fn line(kind: char, uuid: &str, parent: &str, second: u32) -> String {
    let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
    let message = match kind {
        'p' => format!("\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"says {uuid}\"}}"),
        _ => format!(
            "\"type\":\"assistant\",\"message\":{{\"id\":\"m-{uuid}\",\"role\":\"assistant\",\"model\":\"m\",\
             \"stop_reason\":\"end_turn\",\"content\":[{{\"type\":\"text\",\"text\":\"answers {uuid}\"}}],\
             \"usage\":{{\"input_tokens\":1,\"output_tokens\":2}}}}"
        ),
    };
    format!(
        "{{\"parentUuid\":{parent},\"isSidechain\":false,{message},\"uuid\":\"{uuid}\",\"sessionId\":\"s\",\
         \"timestamp\":\"2026-01-01T00:00:{second:02}.000Z\",\"cwd\":\"/w\",\"version\":\"2\"}}\n"
    )
}

/// Two turns, then the second prompt is written anew, then the old branch goes on after all.
fn transcript() -> String {
    [
        line('p', "p1", "", 1),
        line('a', "a1", "p1", 2),
        line('p', "p2", "a1", 3),
        line('a', "a2", "p2", 4),
        line('p', "p3", "a1", 5),
        line('a', "a3", "p3", 6),
        line('p', "p4", "a2", 7),
        line('a', "a4", "p4", 8),
        line('p', "p5", "a3", 9),
        line('a', "a5", "p5", 10),
    ]
    .concat()
}

async fn said(log: &Arc<dyn EventLog>, session: annals_core::SessionId) -> Vec<String> {
    let blobs = log.blobs();
    let view: SessionView = view(log, session).await;
    assert!(view.anomalies().is_empty(), "{:?}", view.anomalies());
    view.history
        .selected()
        .filter_map(|message| match &message.body {
            annals_projections::Body::User { text, .. } => Some(text.resolve(&*blobs).into_owned()),
            annals_projections::Body::Assistant(answer) => match answer.content.first() {
                Some(annals_projections::Content::Text { text, .. }) => Some(text.resolve(&*blobs).into_owned()),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn the_newest_branch_is_the_session_and_the_branch_left_behind_its_fork() {
    let (log, folder) = (memory(), scratch());
    let report = run(&log, &write(&folder, "s.jsonl", &transcript())).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    assert_eq!(report.sessions.len(), 2);
    let (main, fork) = (report.sessions[0].session, report.sessions[1].session);
    assert_eq!(said(&log, main).await, ["says p1", "answers a1", "says p3", "answers a3", "says p5", "answers a5"]);
    assert_eq!(said(&log, fork).await, ["says p1", "answers a1", "says p2", "answers a2", "says p4", "answers a4"]);
    let events = events(&log, main).await;
    let reverted =
        events.iter().position(|(_, it)| matches!(it, Event::Files(FilesEvent::RevertCommitted(_)))).unwrap();
    let forked = crate::import::harness::events(&log, fork)
        .await
        .into_iter()
        .find(|(_, it)| matches!(it, Event::Session(SessionEvent::Forked(_))));
    let Some((seq, Event::Session(SessionEvent::Forked(forked)))) = forked else { panic!("no fork") };
    assert_eq!((forked.parent, forked.cut, seq), (main, events[reverted].0, events[reverted].0));
}

#[tokio::test]
async fn a_growing_tree_only_appends() {
    let text = transcript();
    let (whole, folder) = (memory(), scratch());
    let path = write(&folder, "s.jsonl", &text);
    let sessions: Vec<_> = run(&whole, &path).await.sessions.iter().map(|it| it.session).collect();
    let log = memory();
    for end in 1..=lines(&text).len() {
        let report = run(&log, &write(&folder, "s.jsonl", &lines(&text)[..end].concat())).await;
        assert!(!report.has_bad_news(), "after {end} lines: {report:#?}");
    }
    for session in sessions {
        assert_eq!(head(&log, session).await, head(&whole, session).await);
    }
}

#[tokio::test]
async fn a_rewind_to_the_very_start_leaves_everything_to_a_fork() {
    let text =
        [line('p', "p1", "", 1), line('a', "a1", "p1", 2), line('p', "p2", "", 3), line('a', "a2", "p2", 4)].concat();
    let (log, folder) = (memory(), scratch());
    let report = run(&log, &write(&folder, "s.jsonl", &text)).await;
    assert_eq!(said(&log, report.sessions[0].session).await, ["says p2", "answers a2"]);
    assert_eq!(said(&log, report.sessions[1].session).await, ["says p1", "answers a1"]);
}

#[tokio::test]
async fn a_subagent_inside_its_parents_transcript_is_a_child() {
    let aside = |kind, uuid: &str, parent: &str, second| {
        line(kind, uuid, parent, second).replace("\"isSidechain\":false", "\"isSidechain\":true")
    };
    let text = [
        line('p', "p1", "", 1),
        line('a', "a1", "p1", 2),
        aside('p', "q1", "", 3),
        aside('a', "b1", "q1", 4),
        line('p', "p2", "a1", 5),
        line('a', "a2", "p2", 6),
    ]
    .concat();
    let (log, folder) = (memory(), scratch());
    let report = run(&log, &write(&folder, "s.jsonl", &text)).await;
    let (main, child) = (report.sessions[0].session, report.sessions[1].session);
    assert_eq!(said(&log, main).await, ["says p1", "answers a1", "says p2", "answers a2"]);
    assert_eq!(said(&log, child).await, ["says q1", "answers b1"]);
    let Event::Session(SessionEvent::Created(created)) = &events(&log, child).await[0].1 else {
        panic!("no beginning")
    };
    assert_eq!(created.parent.as_ref().map(|parent| parent.session), Some(main));
}
