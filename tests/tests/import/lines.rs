//! What single lines of Codex and Claude Code mean, beyond what the recorded sessions show.

use crate::import::harness::{events, fixture, lines, memory, run, scratch, view, write};
use annals_core::event::{
    ChildEvent, CompactionEvent, ContextEvent, EpochCause, Finish, InputEvent, MessageEvent, SessionEvent, StepEvent,
    ToolEvent,
};
use annals_core::{Event, SessionId};
use annals_store::EventLog;
use serde_json::{Value, json};
use std::sync::Arc;

/// A recorded rollout, continued by these payloads, two seconds apart.
async fn rollout(more: &[(&str, Value)]) -> (Arc<dyn EventLog>, SessionId, Vec<Event>) {
    let text = std::fs::read_to_string(fixture("codex/one-turn.rollout.jsonl")).unwrap();
    let mut all: String = lines(&text).concat();
    for (at, (kind, payload)) in more.iter().enumerate() {
        let timestamp = format!("2026-11-21T20:40:{:02}.000Z", at * 2);
        all.push_str(&json!({"timestamp": timestamp, "type": kind, "payload": payload}).to_string());
        all.push('\n');
    }
    let (log, folder) = (memory(), scratch());
    let report = run(&log, &write(&folder, "it.jsonl", &all)).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    let session = report.sessions[0].session;
    let view = view(&log, session).await;
    assert!(view.anomalies().is_empty(), "{:?}", view.anomalies());
    let events = events(&log, session).await.into_iter().map(|(_, event)| event).collect();
    (log, session, events)
}

fn says(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

fn kinds(events: &[Event], last: usize) -> Vec<&'static str> {
    events.iter().skip(events.len() - last).map(|event| event.kind().name()).collect()
}

#[tokio::test]
async fn a_compaction_of_codex_begins_an_epoch_with_the_context_that_was_kept() {
    let (_, _, events) = rollout(&[
        (
            "compacted",
            json!({"message": "SUMMARY", "replacement_history": [
                says("user", "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>x</INSTRUCTIONS>"),
                says("user", "an earlier prompt"),
                says("user", "Another model began this: SUMMARY"),
            ]}),
        ),
        ("response_item", says("user", "go on")),
        ("response_item", says("assistant", "gone on")),
        ("event_msg", json!({"type": "task_complete"})),
    ])
    .await;
    let expected = [
        "compaction.started",
        "compaction.ended",
        "epoch.started",
        "input.admitted",
        "input.promoted",
        "step.started",
        "text.ended",
        "step.ended",
    ];
    assert_eq!(kinds(&events, 8), expected);
    let ended = events
        .iter()
        .find_map(|it| if let Event::Compaction(CompactionEvent::Ended(it)) = it { Some(it) } else { None })
        .unwrap();
    assert_eq!((ended.summary.inline(), ended.recent.inline()), (Some("SUMMARY"), Some("an earlier prompt")));
    let epoch = events
        .iter()
        .rev()
        .find_map(|it| if let Event::Context(ContextEvent::EpochStarted(it)) = it { Some(it) } else { None })
        .unwrap();
    assert_eq!((epoch.cause, epoch.known, epoch.parts.len()), (EpochCause::Compaction, true, 2));
}

#[tokio::test]
async fn a_rollback_of_codex_removes_the_last_turns() {
    let (log, session, events) = rollout(&[
        ("response_item", says("user", "second")),
        ("response_item", says("assistant", "answer")),
        ("event_msg", json!({"type": "thread_rolled_back", "num_turns": 1})),
        ("response_item", says("user", "third")),
    ])
    .await;
    assert_eq!(kinds(&events, 4), ["step.ended", "revert.committed", "input.admitted", "input.promoted"]);
    let lines: Vec<String> = {
        let view = view(&log, session).await;
        let blobs = log.blobs();
        let text = |it: &annals_projections::Message| match &it.body {
            annals_projections::Body::User { text, .. } => Some(text.resolve(&*blobs).into_owned()),
            _ => None,
        };
        view.history.selected().filter_map(text).collect()
    };
    assert_eq!(lines, ["hello there", "third"]);
}

#[tokio::test]
async fn what_interrupts_an_answer_of_codex_fails_its_step() {
    let (_, _, events) = rollout(&[
        ("response_item", says("user", "second")),
        ("response_item", json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]})),
        ("event_msg", json!({"type": "turn_aborted", "reason": "interrupted"})),
        ("response_item", says("user", "<turn_aborted>\nThe user interrupted.\n</turn_aborted>")),
        ("turn_context", json!({"cwd": "/srv/peer/cdemo", "model": "other"})),
        ("event_msg", json!({"type": "error", "message": "no more quota"})),
    ])
    .await;
    let expected = [
        "step.started",
        "reasoning.ended",
        "step.failed",
        "synthetic.added",
        "model.switched",
        "step.started",
        "step.failed",
    ];
    assert_eq!(kinds(&events, 7), expected);
}

#[tokio::test]
async fn tools_of_codex_of_every_kind_are_calls() {
    let call =
        |id: &str| json!({"type": "custom_tool_call", "call_id": id, "name": "apply_patch", "input": "*** Begin"});
    let (_, _, events) = rollout(&[
        ("response_item", says("user", "second")),
        ("response_item", call("c")),
        ("response_item", json!({"type": "custom_tool_call_output", "call_id": "c", "output": "done"})),
        ("response_item", call("c")),
        ("response_item", json!({"type": "web_search_call", "id": "w", "action": {"query": "x"}})),
        (
            "response_item",
            json!({"type": "function_call_output", "call_id": "c", "output": {"content": "broke", "success": false}}),
        ),
        ("event_msg", json!({"type": "task_complete"})),
    ])
    .await;
    let calls: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            Event::Tool(ToolEvent::Called(it)) => {
                Some(format!("{} {} {}", it.call, it.name, it.input.0.inline().unwrap()))
            }
            Event::Tool(ToolEvent::Settled(it)) => {
                Some(format!("{} {} {:?}", it.call, it.outcome, it.output.inline().unwrap()))
            }
            Event::Step(StepEvent::Ended(it)) if it.finish == Finish::ToolCalls => Some("ended".into()),
            _ => None,
        })
        .collect();
    assert_eq!(
        calls,
        [
            "c apply_patch \"*** Begin\"",
            "c completed \"done\"",
            "ended",
            "c~2 apply_patch \"*** Begin\"",
            "w web_search {\"query\":\"x\"}",
            "w completed \"\"",
            "c~2 failed \"broke\"",
            "ended",
        ]
    );
}

#[tokio::test]
async fn a_spawned_thread_of_codex_is_a_child() {
    let (parent_log, child) = (memory(), "01a1ffd0-79d9-7200-8a8d-5b390fb85f24");
    let folder = scratch();
    let text = std::fs::read_to_string(fixture("codex/one-turn.rollout.jsonl")).unwrap();
    let own = "01a1ffd0-10b7-7cd0-b3f8-d44dbe4ba901";
    let mut header: Value = serde_json::from_str(lines(&text)[0]).unwrap();
    header["payload"]["id"] = child.into();
    header["payload"]["source"] = json!({"subagent": {"thread_spawn": {"parent_thread_id": own, "depth": 1}}});
    let forked = header.to_string() + "\n" + &lines(&text)[1..].concat();
    let report = run(&parent_log, &write(&folder, "child.jsonl", &forked)).await;
    let child_session = report.sessions[0].session;
    let (log, session, events_of_parent) = rollout(&[
        ("response_item", says("user", "second")),
        ("response_item", json!({"type": "function_call", "call_id": "s", "name": "spawn_agent", "arguments": "{}"})),
        (
            "response_item",
            json!({"type": "function_call_output", "call_id": "s", "output": format!("{{\"agent_id\":\"{child}\"}}")}),
        ),
    ])
    .await;
    assert!(log.head(session).await.unwrap().is_some());
    assert!(
        events_of_parent
            .iter()
            .any(|event| matches!(event, Event::Child(ChildEvent::Started(it)) if it.child == child_session))
    );
    let Event::Session(SessionEvent::Created(created)) = &events(&parent_log, child_session).await[0].1 else {
        panic!("no beginning")
    };
    assert_eq!(created.parent.as_ref().map(|parent| parent.session), Some(session));
}

/// A recorded transcript, continued by these lines, each under the one before.
async fn transcript(more: &[Value]) -> Vec<Event> {
    let text = std::fs::read_to_string(fixture("claude-code/one-turn.jsonl")).unwrap();
    let mut all = text.clone();
    let mut parent = "64261f58-44b1-4305-9fa9-127a3a412f95".to_owned();
    for (at, line) in more.iter().enumerate() {
        let mut line = line.clone();
        let uuid = format!("line-{at}");
        line["uuid"] = uuid.as_str().into();
        line["parentUuid"] = parent.as_str().into();
        line["sessionId"] = "b471da84-0302-402c-a732-c13db655fc4a".into();
        line["timestamp"] = format!("2026-11-21T20:40:{:02}.000Z", at * 2).into();
        all.push_str(&format!("{line}\n"));
        parent = uuid;
    }
    let (log, folder) = (memory(), scratch());
    let report = run(&log, &write(&folder, "it.jsonl", &all)).await;
    assert!(!report.has_bad_news() && report.sessions.len() == 1, "{report:#?}");
    let session = report.sessions[0].session;
    let view = view(&log, session).await;
    assert!(view.anomalies().is_empty(), "{:?}", view.anomalies());
    events(&log, session).await.into_iter().map(|(_, event)| event).collect()
}

fn user(content: Value) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": content}})
}

fn answer(id: &str, block: Value, stop: &str) -> Value {
    let message =
        json!({"id": id, "model": "mock-claude", "role": "assistant", "stop_reason": stop, "content": [block]});
    json!({"type": "assistant", "message": message})
}

#[tokio::test]
async fn images_shell_commands_and_queued_prompts_of_claude_code_are_kept() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let events = transcript(&[
        user(json!([{"type": "text", "text": "look"}, image])),
        answer("m1", json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}), "tool_use"),
        user(json!([{"type": "tool_result", "tool_use_id": "t", "content": "a\nb"}])),
        json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "and hurry", "commandMode": "prompt"}}),
        answer("m2", json!({"type": "text", "text": "done"}), "end_turn"),
        user(json!("<bash-input>pwd</bash-input>")),
        user(json!("<bash-stdout>/w</bash-stdout><bash-stderr></bash-stderr>")),
    ])
    .await;
    let expected = [
        "input.admitted",
        "input.promoted",
        "step.started",
        "tool.called",
        "tool.settled",
        "step.ended",
        "input.admitted",
        "input.promoted",
        "step.started",
        "text.ended",
        "step.ended",
        "shell.ran",
    ];
    assert_eq!(kinds(&events, 12), expected);
    let Some(Event::Input(InputEvent::Admitted(admitted))) = events.iter().rev().nth(11) else { panic!("no input") };
    assert_eq!(admitted.attachments[0].uri.inline(), Some("data:image/png;base64,AAAA"));
    let Some(Event::Message(MessageEvent::ShellRan(ran))) = events.last() else { panic!("no shell") };
    assert_eq!((ran.command.inline(), ran.output.inline()), (Some("pwd"), Some("/w")));
}

#[tokio::test]
async fn interrupts_and_errors_of_claude_code_fail_their_step() {
    let mut failed = answer("m3", json!({"type": "text", "text": "API Error: 529"}), "stop_sequence");
    failed["isApiErrorMessage"] = true.into();
    failed["error"] = "overloaded".into();
    let retry = json!({
        "type": "system", "subtype": "api_error", "retryAttempt": 1, "retryInMs": 500,
        "error": {"status": 529, "message": "Overloaded"},
    });
    let events = transcript(&[
        user(json!("second")),
        answer("m1", json!({"type": "thinking", "thinking": "hm", "signature": "s"}), "tool_use"),
        user(json!([{"type": "text", "text": "[Request interrupted by user]"}])),
        user(json!("third")),
        retry,
        failed,
        json!({"type": "user", "isMeta": true, "message": {"role": "user", "content": "a caveat"}}),
    ])
    .await;
    let expected = [
        "step.started",
        "reasoning.ended",
        "step.failed",
        "synthetic.added",
        "input.admitted",
        "input.promoted",
        "retry.scheduled",
        "step.started",
        "text.ended",
        "step.failed",
        "synthetic.added",
    ];
    assert_eq!(kinds(&events, 11), expected);
}

#[tokio::test]
async fn todo_lists_and_titles_of_claude_code_are_facts() {
    let result = json!({
        "type": "user",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]},
        "toolUseResult": {"oldTodos": [], "newTodos": [{"content": "count", "status": "pending", "activeForm": "counting"}]},
    });
    let events = transcript(&[
        user(json!("second")),
        answer("m1", json!({"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {}}), "tool_use"),
        result,
        answer("m2", json!({"type": "text", "text": "done"}), "end_turn"),
    ])
    .await;
    let listed = events
        .iter()
        .find_map(|it| if let Event::Message(MessageEvent::TodoUpdated(it)) = it { Some(it) } else { None })
        .unwrap();
    assert_eq!((listed.items.len(), listed.items[0].content.as_str()), (1, "count"));
}
