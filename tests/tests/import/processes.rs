//! Which program, version and git branch other agents recorded, and where that changes within a session.

use crate::import::harness::{copied, events, fixture, head, lines, memory, run, scratch, view, write};
use annals_core::event::{GitState, ProcessInfo, SessionEvent};
use annals_core::{Event, SessionId};
use annals_import::{ImportOptions, import, recognise};
use annals_store::EventLog;
use std::sync::Arc;

fn process(program: &str, version: &str, branch: Option<&str>) -> ProcessInfo {
    let git = branch.map(|branch| GitState { branch: Some(branch.to_owned()), ..GitState::default() });
    ProcessInfo { program: program.to_owned(), version: Some(version.to_owned()), git, ..ProcessInfo::default() }
}

/// The processes that a session names, in order.
async fn processes(log: &Arc<dyn EventLog>, session: SessionId) -> Vec<ProcessInfo> {
    let mut found = Vec::new();
    for (_, event) in events(log, session).await {
        match event {
            Event::Session(SessionEvent::Created(created)) => found.extend(created.process),
            Event::Session(SessionEvent::ProcessAttached(attached)) => found.push(attached.process),
            _ => {}
        }
    }
    found
}

#[tokio::test]
async fn the_first_event_names_the_program_its_version_and_its_git_state() {
    let git = GitState {
        branch: Some("master".into()),
        commit: Some("9a74b09901bcd2d668bc43ac6e9b9fd8745dbfe9".into()),
        ..GitState::default()
    };
    let codex = ProcessInfo { git: Some(git), ..process("codex_exec", "0.169.0", None) };
    let claude = process("claude-code", "2.1.197", Some("master"));
    for (name, expected) in [
        ("claude-code/tools-and-compaction.jsonl", claude.clone()),
        ("claude-code/subagent-parent.jsonl", claude),
        ("codex/tools-and-resume.rollout.jsonl", codex),
        ("opencode/v1/tools.json", process("opencode", "1.18.33", None)),
        ("opencode/v2/first.events.jsonl", process("opencode", "1.18.33", None)),
    ] {
        let log = memory();
        let report = run(&log, &fixture(name)).await;
        let session = report.sessions[0].session;
        assert_eq!(processes(&log, session).await, std::slice::from_ref(&expected), "{name}");
        assert_eq!(view(&log, session).await.session.process, Some(expected), "{name}");
        assert!(!report.sessions[0].losses.keys().any(|what| what.contains("git")), "{name}: it is not lost");
    }
}

/// A transcript whose lines from each of `changes` on have another version and branch.
fn transcript(changes: &[(usize, &str, &str)]) -> String {
    let text = std::fs::read_to_string(fixture("claude-code/tools-and-compaction.jsonl")).unwrap();
    let changed = lines(&text).into_iter().enumerate().map(|(at, line)| {
        match changes.iter().rfind(|(from, ..)| at + 1 >= *from) {
            Some((_, version, branch)) => line
                .replace("\"version\":\"2.1.197\"", &format!("\"version\":\"{version}\""))
                .replace("\"gitBranch\":\"master\"", &format!("\"gitBranch\":\"{branch}\"")),
            None => line.to_owned(),
        }
    });
    changed.collect()
}

#[tokio::test]
async fn a_transcript_that_changes_its_branch_says_so_where_it_does() {
    let folder = scratch();
    let path = write(&folder, "a.jsonl", &transcript(&[(27, "2.1.197", "fix"), (65, "2.1.200", "")]));
    let log = memory();
    let report = run(&log, &path).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    let session = report.sessions[0].session;
    let expected = [
        process("claude-code", "2.1.197", Some("master")),
        process("claude-code", "2.1.197", Some("fix")),
        process("claude-code", "2.1.200", None),
    ];
    assert_eq!(processes(&log, session).await, expected);
    assert_eq!(view(&log, session).await.session.process.as_ref(), expected.last());
    let again = run(&log, &path).await;
    assert_eq!((again.new_batches(), again.has_bad_news()), (0, false));
}

#[tokio::test]
async fn wherever_a_transcript_changes_and_ended_the_longer_one_only_appends() {
    let all = std::fs::read_to_string(fixture("claude-code/tools-and-compaction.jsonl")).unwrap();
    let count = lines(&all).len();
    for from in 1..=count {
        let text = transcript(&[(from, "2.1.200", "fix")]);
        let (whole, folder, all) = (memory(), scratch(), lines(&text));
        let path = write(&folder, "growing.jsonl", &text);
        let session = run(&whole, &path).await.sessions[0].session;
        // Around the change, where the end of an answer is moved most easily.
        for end in from.saturating_sub(2)..(from + 3).min(count) {
            let log = memory();
            let path = write(&folder, "growing.jsonl", &all[..end].concat());
            if let Ok(source) = recognise(&path) {
                import(&log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
            }
            let path = write(&folder, "growing.jsonl", &text);
            let grown = run(&log, &path).await;
            assert!(!grown.has_bad_news(), "changed in line {from}, ended with {end}: {grown:#?}");
            assert_eq!(head(&log, session).await, head(&whole, session).await, "line {from}, end {end}");
        }
    }
}

#[tokio::test]
async fn a_fork_has_the_branch_of_its_own_lines() {
    let line = |uuid: &str, parent: &str, branch: &str, kind: &str, message: &str| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"{uuid}\",\"parentUuid\":{parent},\"gitBranch\":\"{branch}\",\"version\":\"1\",\
             \"sessionId\":\"s\",\"cwd\":\"/p\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{message}}}\n"
        )
    };
    let said = |text: &str| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}");
    let answer = |id: &str| {
        format!(
            "{{\"id\":\"{id}\",\"role\":\"assistant\",\"model\":\"m\",\"stop_reason\":\"end_turn\",\
             \"content\":[{{\"type\":\"text\",\"text\":\"ok\"}}]}}"
        )
    };
    let text = [
        line("u1", "", "one", "user", &said("first")),
        line("a1", "u1", "one", "assistant", &answer("m1")),
        line("u2", "a1", "two", "user", &said("second")),
        line("a2", "u2", "two", "assistant", &answer("m2")),
        // A rewind to the first answer; then the branch that was left continues.
        line("u3", "a1", "three", "user", &said("instead")),
        line("u4", "a2", "two", "user", &said("and on")),
    ];
    let (log, folder) = (memory(), scratch());
    let report = run(&log, &write(&folder, "a.jsonl", &text.concat())).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    let [main, fork] = [report.sessions[0].session, report.sessions[1].session];
    let named = |branch| process("claude-code", "1", Some(branch));
    assert_eq!(processes(&log, main).await, ["one", "two", "three"].map(named));
    // What it inherits up to its cut, then what it begins with.
    assert_eq!(processes(&log, fork).await, ["one", "two", "two"].map(named));
    assert_eq!(view(&log, fork).await.session.process, Some(named("two")));
}

#[tokio::test]
async fn a_rollout_that_is_resumed_by_another_version_says_so_and_grows() {
    let folder = scratch();
    copied(&folder, "codex/tools-and-resume.rollout.jsonl", "whole.jsonl");
    let text = std::fs::read_to_string(fixture("codex/tools-and-resume.rollout.jsonl")).unwrap();
    let all = lines(&text);
    let resumed = all[0]
        .replace("0.169.0", "0.170.1")
        .replace("\"branch\":\"master\"", "\"branch\":\"fix\",\"repository_url\":\"https://example.org/demo.git\"");
    assert_ne!(resumed, all[0]);
    for at in 1..=all.len() {
        let text = [&all[..at], &[resumed.as_str(), all[0]], &all[at..]].concat();
        let (whole, log) = (memory(), memory());
        let session = run(&whole, &write(&folder, "whole.jsonl", &text.concat())).await.sessions[0].session;
        for end in [at, at + 1] {
            run(&log, &write(&folder, "growing.jsonl", &text[..end].concat())).await;
        }
        let grown = run(&log, &write(&folder, "growing.jsonl", &text.concat())).await;
        assert!(!grown.has_bad_news(), "resumed in line {at}: {grown:#?}");
        assert_eq!(head(&log, session).await, head(&whole, session).await, "resumed in line {at}");
        let found = processes(&whole, session).await;
        assert_eq!(found.len(), 3, "resumed in line {at}");
        let git = found[1].git.as_ref().unwrap();
        assert_eq!(
            (git.branch.as_deref(), git.repository.as_deref()),
            (Some("fix"), Some("https://example.org/demo.git"))
        );
        assert_eq!(found[1].version.as_deref(), Some("0.170.1"));
        assert_eq!(found[0], found[2]);
        let again = run(&log, &write(&folder, "growing.jsonl", &text.concat())).await;
        assert_eq!((again.new_batches(), again.has_bad_news()), (0, false));
    }
}
