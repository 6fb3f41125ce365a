//! Threads of Codex: several files of one, forks, copies, agents, names, and the forms of other years.

use crate::import::harness::{events, head, memory, run, scratch, view, write};
use annals_core::event::{ChildEvent, FilesEvent, InputEvent, MessageEvent, SessionEvent, StepEvent, ToolEvent};
use annals_core::{Event, SessionId};
use annals_import::{Homes, ImportOptions, ImportReport, discover, import, sources};
use annals_projections::{Body, Message};
use annals_store::EventLog;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

const ONE: &str = "019fa000-0000-7000-8000-000000000001";
const TWO: &str = "019fa000-1111-7000-8000-000000000002";
const THREE: &str = "019fa000-2222-7000-8000-000000000003";

/// A rollout: its lines a second apart from a time of the day (seconds), with ordinals from a number on.
struct Rollout {
    lines: Vec<Value>,
    second: u64,
    ordinal: u64,
}

impl Rollout {
    fn new(second: u64, ordinal: u64, meta: Value) -> Self {
        let mut header = json!({
            "id": ONE, "timestamp": "2026-11-01T09:00:00.000Z", "cwd": "/work/demo", "originator": "codex_cli_rs",
            "cli_version": "0.171.0", "source": "cli", "model_provider": "openai", "history_mode": "paginated",
        });
        for (name, value) in meta.as_object().unwrap() {
            header[name] = value.clone();
        }
        let mut rollout = Self { lines: Vec::new(), second, ordinal };
        rollout.line("session_meta", header);
        rollout.line("turn_context", json!({"cwd": "/work/demo", "model": "gpt-5-codex"}));
        rollout
    }

    fn line(&mut self, kind: &str, payload: Value) -> &mut Self {
        let at = format!("2026-11-01T09:{:02}:{:02}.000Z", self.second / 60, self.second % 60);
        self.lines.push(json!({"timestamp": at, "ordinal": self.ordinal, "type": kind, "payload": payload}));
        (self.second, self.ordinal) = (self.second + 1, self.ordinal + 1);
        self
    }

    fn says(&mut self, role: &str, text: &str) -> &mut Self {
        let kind = if role == "assistant" { "output_text" } else { "input_text" };
        let content = json!([{"type": kind, "text": text}]);
        self.line("response_item", json!({"type": "message", "role": role, "content": content}))
    }

    fn count(&mut self, total: u64, last: u64) -> &mut Self {
        let tokens = |input: u64| json!({"input_tokens": input, "output_tokens": input / 10, "total_tokens": input});
        let info = json!({"total_token_usage": tokens(total), "last_token_usage": tokens(last)});
        self.line("event_msg", json!({"type": "token_count", "info": info}))
    }

    fn turn(&mut self, prompt: &str, answer: &str, total: u64, last: u64) -> &mut Self {
        self.says("user", prompt).says("assistant", answer).count(total, last)
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn name(second: u64, ids: &str) -> String {
    format!("sessions/2026/11/01/rollout-2026-11-01T09-{:02}-{:02}-{ids}.jsonl", second / 60, second % 60)
}

/// A thread of two turns that was rewound to its first, and a fork of what became of it.
fn rewound(folder: &TempDir) {
    let mut first = Rollout::new(0, 0, json!({}));
    first.turn("first", "one", 1000, 1000).turn("second", "two", 3000, 2000);
    write(folder, &name(0, ONE), &first.text());
    let base = json!({"history_base": {"thread_id": ONE, "end_ordinal_exclusive": 5, "end_byte_offset": 9}});
    let mut later = Rollout::new(60, 5, base);
    later.turn("instead", "three", 1700, 700);
    write(folder, &name(60, &format!("{ONE}_{TWO}")), &later.text());
    let base = json!({
        "id": THREE, "forked_from_id": ONE, "cwd": "/work/tree",
        "history_base": {"thread_id": TWO, "end_ordinal_exclusive": 10, "end_byte_offset": 9},
    });
    let mut fork = Rollout::new(120, 10, base);
    fork.count(1700, 700).turn("in the fork", "four", 2000, 300);
    write(folder, &name(120, THREE), &fork.text());
}

async fn prompts(log: &Arc<dyn EventLog>, session: SessionId) -> Vec<String> {
    let (view, blobs) = (view(log, session).await, log.blobs());
    let text = |it: &Message| match &it.body {
        Body::User { text, .. } => Some(text.resolve(&*blobs).into_owned()),
        _ => None,
    };
    view.history.selected().filter_map(text).collect()
}

fn used(events: &[(annals_core::Seq, Event)]) -> u64 {
    let usage = |event: &Event| match event {
        Event::Step(StepEvent::Ended(ended)) => ended.usage.map(|usage| usage.input),
        _ => None,
    };
    events.iter().filter_map(|(_, event)| usage(event)).sum()
}

fn session(report: &ImportReport, foreign: &str) -> SessionId {
    report.sessions.iter().find(|it| it.foreign == foreign).unwrap().session
}

async fn all(log: &Arc<dyn EventLog>, folder: &Path) -> ImportReport {
    let (found, errors) = sources(folder).unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    let mut report = ImportReport::default();
    for source in found {
        report.extend(import(log, &source, &ImportOptions::default(), &mut |_| {}).await.unwrap());
    }
    report
}

#[tokio::test]
async fn the_files_of_a_thread_are_one_session_in_whatever_order_they_are_met() {
    let folder = scratch();
    rewound(&folder);
    let [first, later, fork] = [name(0, ONE), name(60, &format!("{ONE}_{TWO}")), name(120, THREE)];
    let whole = memory();
    let report = all(&whole, folder.path()).await;
    assert!(!report.has_bad_news() && report.sessions.len() == 2, "{report:#?}");
    let (one, three) = (session(&report, ONE), session(&report, THREE));
    assert_eq!(prompts(&whole, one).await, ["first", "instead"]);
    assert_eq!(prompts(&whole, three).await, ["first", "instead", "in the fork"]);
    let events_of = events(&whole, one).await;
    assert_eq!(used(&events_of), 3700, "what was rewound was used all the same");
    let reverts = events_of.iter().filter(|(_, it)| matches!(it, Event::Files(FilesEvent::RevertCommitted(_))));
    assert_eq!(reverts.count(), 1);
    let own: Vec<_> = events(&whole, three)
        .await
        .into_iter()
        .skip_while(|(_, it)| !it.begins() || matches!(it, Event::Session(SessionEvent::Created(_))))
        .collect();
    assert!(matches!(&own[0].1, Event::Session(SessionEvent::Forked(forked)) if forked.parent == one), "{own:?}");
    assert_eq!(used(&own), 300, "the repeated count of what it continues is none of its own");
    for order in [[&fork, &first, &later], [&later, &fork, &first], [&first, &later, &fork]] {
        let log = memory();
        for path in order {
            let report = run(&log, &folder.path().join(path)).await;
            assert!(!report.has_bad_news(), "{order:?}: {report:#?}");
        }
        assert_eq!(head(&log, one).await, head(&whole, one).await, "{order:?}");
        assert_eq!(head(&log, three).await, head(&whole, three).await, "{order:?}");
    }
    let again = all(&whole, folder.path()).await;
    assert_eq!((again.new_batches(), again.has_bad_news()), (0, false));
}

#[tokio::test]
async fn a_thread_whose_first_file_comes_late_is_imported_whole_as_a_further_session() {
    let (folder, log) = (scratch(), memory());
    rewound(&folder);
    let [first, fork] = [name(0, ONE), name(120, THREE)].map(|name| folder.path().join(name));
    let text = std::fs::read_to_string(&first).unwrap();
    for path in [&first, &fork] {
        std::fs::remove_file(path).unwrap();
    }
    let alone = session(&all(&log, folder.path()).await, ONE);
    std::fs::write(&first, text).unwrap();
    for is_new in [true, false] {
        let report = all(&log, folder.path()).await;
        assert_eq!((report.has_bad_news(), report.new_batches() > 0), (false, is_new), "{report:#?}");
        let whole = session(&report, ONE);
        assert_ne!(whole, alone);
        assert_eq!(prompts(&log, whole).await, ["first", "instead"]);
    }
}

#[tokio::test]
async fn a_thread_that_was_imported_is_continued_when_it_is_rewound_and_forked() {
    let (folder, log) = (scratch(), memory());
    rewound(&folder);
    let [later, fork] = [name(60, &format!("{ONE}_{TWO}")), name(120, THREE)].map(|name| folder.path().join(name));
    let [later_text, fork_text] = [&later, &fork].map(|path| std::fs::read_to_string(path).unwrap());
    for path in [&later, &fork] {
        std::fs::remove_file(path).unwrap();
    }
    let one = session(&all(&log, folder.path()).await, ONE);
    assert_eq!(prompts(&log, one).await, ["first", "second"]);
    std::fs::write(&later, later_text).unwrap();
    assert!(!all(&log, folder.path()).await.has_bad_news());
    assert_eq!(prompts(&log, one).await, ["first", "instead"]);
    std::fs::write(&fork, fork_text).unwrap();
    let report = all(&log, folder.path()).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    assert_eq!(prompts(&log, session(&report, THREE)).await, ["first", "instead", "in the fork"]);
}

#[tokio::test]
async fn compressed_rollouts_are_read_and_the_plain_file_counts_while_both_exist() {
    let folder = scratch();
    let mut thread = Rollout::new(0, 0, json!({}));
    thread.turn("first", "one", 1000, 1000);
    let compressed =
        ruzstd::encoding::compress_to_vec(thread.text().as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    let path = write(&folder, &name(0, ONE), &thread.turn("second", "two", 3000, 2000).text());
    std::fs::write(path.with_extension("jsonl.zst"), compressed).unwrap();
    let home = folder.path().to_owned();
    let homes = Homes::of(|name| (name == "CODEX_HOME").then(|| home.clone()));
    let listed = discover(&homes).0;
    assert_eq!(listed.len(), 1);
    let log = memory();
    let one = session(&all(&log, folder.path()).await, ONE);
    assert_eq!(prompts(&log, one).await, ["first", "second"]);
    std::fs::remove_file(path).unwrap();
    let log = memory();
    let source = &discover(&homes).0[0].source;
    import(&log, source, &ImportOptions::default(), &mut |_| {}).await.unwrap();
    assert_eq!(prompts(&log, one).await, ["first"]);
}

#[tokio::test]
async fn what_a_thread_copied_from_another_is_counted_there() {
    let folder = scratch();
    let mut first = Rollout::new(0, 0, json!({}));
    first.turn("first", "one", 1000, 1000).turn("second", "two", 3000, 2000);
    write(&folder, "a.jsonl", &first.text());
    for (number, meta) in [
        json!({"id": TWO, "forked_from_id": ONE}),
        json!({"id": THREE, "source": {"subagent": {"thread_spawn": {"parent_thread_id": ONE}}}}),
    ]
    .into_iter()
    .enumerate()
    {
        let mut fork = Rollout::new(100, 0, meta);
        fork.line("session_meta", first.lines[0]["payload"].clone());
        for line in &first.lines[2..] {
            fork.line(line["type"].as_str().unwrap(), line["payload"].clone());
        }
        fork.turn("own", "four", 3500, 500);
        write(&folder, &format!("fork-{number}.jsonl"), &fork.text());
    }
    let log = memory();
    let report = all(&log, folder.path()).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    for (foreign, tokens) in [(ONE, 3000), (TWO, 500), (THREE, 500)] {
        assert_eq!(used(&events(&log, session(&report, foreign)).await), tokens, "{foreign}");
    }
}

#[tokio::test]
async fn an_answer_counts_the_difference_of_totals() {
    let tokens = |input: u64| json!({"input_tokens": input, "output_tokens": input / 10});
    let totals_only = |total| json!({"type": "token_count", "info": {"total_token_usage": tokens(total)}});
    let (folder, log) = (scratch(), memory());
    let mut thread = Rollout::new(0, 0, json!({}));
    thread.turn("first", "one", 1000, 1000).says("user", "second").says("assistant", "two");
    thread.count(1000, 1000).count(3000, 2000).line("event_msg", json!({"type": "task_complete"}));
    thread.says("user", "third").says("assistant", "three").line("event_msg", totals_only(3300));
    let report = run(&log, &write(&folder, "a.jsonl", &thread.text())).await;
    assert_eq!(used(&events(&log, report.sessions[0].session).await), 3300);
}

#[tokio::test]
async fn agents_of_codex_are_children_with_a_task_and_an_answer() {
    let (folder, log) = (scratch(), memory());
    let activity = |kind: &str, id: &str| {
        let item = json!({"type": "SubAgentActivity", "id": id, "kind": kind, "agent_thread_id": TWO, "agent_path": "/root/look"});
        json!({"type": "item_completed", "item": item})
    };
    let message = |author: &str, recipient: &str, content: Value| json!({"type": "agent_message", "id": "m", "author": author, "recipient": recipient, "content": content});
    let mut parent = Rollout::new(0, 0, json!({}));
    parent.says("user", "agents").line(
        "response_item",
        json!({"type": "function_call", "call_id": "c", "name": "spawn_agent", "arguments": "{}"}),
    );
    parent.line("event_msg", activity("started", "c"));
    parent.line(
        "response_item",
        json!({"type": "function_call_output", "call_id": "c", "output": "{\"task_name\":\"/root/look\"}"}),
    );
    parent.line("event_msg", activity("completed", "x"));
    let text = "Message Type: FINAL_ANSWER\nTask name: /root\nSender: /root/look\nPayload:\nFound it.";
    parent.line("response_item", message("/root/look", "/root", json!([{"type": "input_text", "text": text}])));
    parent.says("assistant", "done").count(1000, 1000);
    write(&folder, "parent.jsonl", &parent.text());
    let spawn = json!({"parent_thread_id": ONE, "agent_path": "/root/look", "agent_nickname": "Ada"});
    let meta = json!({"id": TWO, "parent_thread_id": ONE, "source": {"subagent": {"thread_spawn": spawn}}});
    let mut child = Rollout::new(5, 0, meta);
    let task = json!([
        {"type": "input_text", "text": "Message Type: NEW_TASK\nPayload:\n"},
        {"type": "encrypted_content", "encrypted_content": "Look around."},
    ]);
    child.line("response_item", message("/root", "/root/look", task)).says("assistant", "Found it.").count(9, 9);
    write(&folder, "child.jsonl", &child.text());
    let report = all(&log, folder.path()).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    let (parent, child) = (session(&report, ONE), session(&report, TWO));
    let of_parent = events(&log, parent).await;
    let started = of_parent.iter().find_map(|(_, event)| match event {
        Event::Child(ChildEvent::Started(it)) => Some((it.child, it.call.as_ref().map(ToString::to_string))),
        _ => None,
    });
    assert_eq!(started, Some((child, Some("c".to_owned()))));
    let settled: Vec<&str> = of_parent
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Child(ChildEvent::Settled(it)) if it.child == child => it.result.inline(),
            Event::Message(MessageEvent::SyntheticAdded(it)) => it.text.inline(),
            _ => None,
        })
        .collect();
    assert_eq!(settled, ["Found it.", text]);
    let Event::Session(SessionEvent::Created(created)) = &events(&log, child).await[0].1 else { panic!("no start") };
    assert_eq!((created.title.as_deref(), created.parent.as_ref().map(|it| it.session)), (Some("look"), Some(parent)));
    let tasks = events(&log, child).await;
    let task = tasks.iter().find_map(|(_, event)| match event {
        Event::Input(InputEvent::Admitted(it)) => it.text.inline(),
        _ => None,
    });
    assert_eq!(task, Some("Message Type: NEW_TASK\nPayload:\nLook around."));
}

#[tokio::test]
async fn calls_of_a_script_are_calls_with_their_files() {
    let (folder, log) = (scratch(), memory());
    let item = |item: Value| json!({"type": "item_completed", "item": item});
    let mut thread = Rollout::new(0, 0, json!({}));
    thread.says("user", "patch").line(
        "response_item",
        json!({"type": "custom_tool_call", "call_id": "c", "name": "exec", "input": "await tools.apply_patch(x)"}),
    );
    let changes = json!({"/work/demo/a.py": {"type": "add", "content": "1\n"}});
    thread.line(
        "event_msg",
        item(json!({"type": "FileChange", "id": "exec-1", "changes": changes, "status": "completed", "stdout": "ok"})),
    );
    thread.line("event_msg", item(json!({"type": "CommandExecution", "id": "exec-2", "command": ["bash", "-lc", "false"], "status": "failed", "aggregated_output": "no", "exit_code": 1})));
    thread.line("response_item", json!({"type": "custom_tool_call_output", "call_id": "c", "output": "done"}));
    thread.line("event_msg", json!({"type": "task_complete", "error": {"message": "gone", "codex_error_info": {"http_connection_failed": {"http_status_code": 503}}}}));
    thread.line("event_msg", json!({"type": "a_new_event"}));
    let report = run(&log, &write(&folder, "a.jsonl", &thread.text())).await;
    let found = events(&log, report.sessions[0].session).await;
    let calls: Vec<String> = found
        .iter()
        .filter_map(|(_, event)| match event {
            Event::Tool(ToolEvent::Called(it)) => Some(format!("{} {}", it.name, it.input.0.inline().unwrap())),
            Event::Tool(ToolEvent::Settled(it)) => Some(format!("{} {}", it.outcome, it.output.inline().unwrap())),
            Event::Step(StepEvent::Failed(it)) => Some(format!("{} {:?}", it.error.kind, it.error.status)),
            _ => None,
        })
        .collect();
    assert_eq!(
        calls,
        [
            "exec \"await tools.apply_patch(x)\"",
            &format!("apply_patch {{\"changes\":{changes}}}"),
            "completed ok",
            "exec_command {\"command\":[\"bash\",\"-lc\",\"false\"]}",
            "failed no",
            "completed done",
            "http_connection_failed Some(503)",
        ]
    );
    assert!(report.sessions[0].losses.contains_key("event_msg: a_new_event: not recognised"), "{report:#?}");
}

#[tokio::test]
async fn names_of_threads_are_titles_and_a_later_name_is_appended() {
    let (folder, log) = (scratch(), memory());
    let mut thread = Rollout::new(0, 0, json!({}));
    thread.turn("first", "one", 1000, 1000);
    let path = write(&folder, &name(0, ONE), &thread.text());
    let named = |name: &str, second: u64| {
        let at = format!("2026-11-01T09:00:{second:02}.500Z");
        json!({"id": ONE, "thread_name": name, "updated_at": at}).to_string() + "\n"
    };
    write(&folder, "session_index.jsonl", &named("Early", 3));
    let report = run(&log, &path).await;
    assert_eq!(report.sessions[0].title.as_deref(), Some("Early"));
    std::fs::write(&path, thread.turn("second", "two", 3000, 2000).text()).unwrap();
    write(&folder, "session_index.jsonl", &(named("Early", 3) + &named("Late", 40)));
    let report = run(&log, &path).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    let titles: Vec<String> = events(&log, report.sessions[0].session)
        .await
        .into_iter()
        .filter_map(|(_, event)| match event {
            Event::Session(SessionEvent::Titled(titled)) => Some(titled.title),
            _ => None,
        })
        .collect();
    assert_eq!(titles, ["Early", "Late"]);
}

#[tokio::test]
async fn rollouts_of_before_september_2025_are_read() {
    let (folder, log) = (scratch(), memory());
    let text = [
        json!({"id": ONE, "timestamp": "2025-07-01T09:00:00.000Z", "instructions": null, "git": {"branch": "main"}}),
        json!({"record_type": "state"}),
        json!({"type": "message", "id": null, "role": "user", "content": [{"type": "input_text", "text": "<environment_context>\n  <cwd>/work/old</cwd>\n</environment_context>"}]}),
        json!({"type": "message", "id": null, "role": "user", "content": [{"type": "input_text", "text": "an old prompt"}]}),
        json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}),
        json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "an old answer"}]}),
    ]
    .map(|line| format!("{line}\n"))
    .concat();
    let report = run(&log, &write(&folder, "old.jsonl", &text)).await;
    assert!(!report.has_bad_news() && report.sessions[0].losses.is_empty(), "{report:#?}");
    let session = report.sessions[0].session;
    assert_eq!(prompts(&log, session).await, ["an old prompt"]);
    let Event::Session(SessionEvent::Created(created)) = &events(&log, session).await[0].1 else { panic!("no start") };
    assert_eq!(created.location.directory, "/work/old");
}
