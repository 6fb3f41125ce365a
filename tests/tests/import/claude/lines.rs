//! Compactions, copies, titles, results, sub-agents: what transcripts of Claude Code have beside their requests.

use super::*;

#[tokio::test]
async fn words_of_the_program_are_not_the_users_and_settle_its_subagents() {
    let log = memory();
    let session = run(&log, &recorded()).await.sessions[0].session;
    let events = events(&log, session).await;
    let prompts =
        events.iter().filter(|(_, event)| matches!(event, Event::Input(annals_core::event::InputEvent::Admitted(_))));
    assert_eq!(prompts.count(), 5);
    let settled = events.iter().find_map(|(_, event)| match event {
        Event::Child(ChildEvent::Settled(settled)) => Some(settled.result.inline()?.to_owned()),
        _ => None,
    });
    assert_eq!(settled.as_deref(), Some("It has main.rs."));
    let (log, session, _) = imported(&[
        ("u1", user("hi")),
        ("a1", answer("one")),
        ("u2", json!({"type": "user", "origin": {"kind": "peer"}, "message": {"role": "user", "content": "from another agent"}})),
        ("a2", answer("two")),
        ("q1", json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "typed", "origin": {"kind": "human"}}})),
        ("q2", json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "done", "commandMode": "task-notification"}})),
        ("a3", answer("three")),
    ])
    .await;
    let expected = [
        "user hi",
        "model one",
        "program from another agent",
        "model two",
        "user typed",
        "program done",
        "model three",
    ];
    assert_eq!(said(&log, session).await, expected);
}

fn boundary(anchor: &str, kept: &[&str]) -> Value {
    json!({"type": "system", "subtype": "compact_boundary", "parentUuid": null, "logicalParentUuid": "a2",
        "compactMetadata": {"trigger": "manual", "preTokens": 900, "postTokens": 50,
            "preservedMessages": {"anchorUuid": anchor, "uuids": kept}}})
}

fn summary(text: &str) -> Value {
    json!({"type": "user", "isCompactSummary": true, "message": {"role": "user", "content": text}})
}

#[tokio::test]
async fn what_a_compaction_keeps_stays_in_the_history() {
    let story = |anchor: &str, kept: &[&str]| {
        vec![
            ("u1", user("first")),
            ("a1", answer("one")),
            ("u2", user("second")),
            ("a2", answer("two")),
            ("b1", boundary(anchor, kept)),
            ("s1", summary("SUMMARY")),
            ("u3", user("third")),
        ]
    };
    let (log, session, _) = imported(&story("b1", &["u1", "a1"])).await;
    assert_eq!(
        said(&log, session).await,
        ["user first", "model one", "summary SUMMARY", "user third"],
        "summarised from here"
    );
    let (log, session, _) = imported(&story("s1", &["u2", "a2"])).await;
    assert_eq!(said(&log, session).await, ["summary SUMMARY", "user second", "model two", "user third"]);
    let completed = events(&log, session).await.into_iter().find_map(|(_, event)| match event {
        Event::Compaction(CompactionEvent::Completed(completed)) => {
            Some((completed.reason.to_string(), completed.estimate))
        }
        _ => None,
    });
    assert_eq!(completed, Some(("manual".to_owned(), 50)));
    let (log, session, _) = imported(&story("s1", &[])).await;
    assert_eq!(said(&log, session).await, ["summary SUMMARY", "user third"]);
    // The next compaction keeps only what it names.
    let mut twice = story("b1", &["u1"]);
    twice.push(("b2", boundary("b2", &["u3"])));
    twice.push(("s2", summary("AGAIN")));
    let (log, session, _) = imported(&twice).await;
    assert_eq!(said(&log, session).await, ["user third", "summary AGAIN"]);
}

#[tokio::test]
async fn copies_of_lines_are_no_damage_and_other_lines_with_their_id_are() {
    let mut lines = vec![
        ("u1", user("first")),
        ("a1", answer("one")),
        ("b1", boundary("s1", &["a1"])),
        ("s1", summary("SUMMARY")),
        // What is kept is written once more, and what follows names it.
        ("a1", answer("one")),
        ("u2", user("second")),
    ];
    lines[2].1["logicalParentUuid"] = json!("elsewhere");
    lines[4].1["message"]["usage"] = json!({"input_tokens": 0, "output_tokens": 0});
    let (log, session, report) = imported(&lines).await;
    assert_eq!(said(&log, session).await, ["summary SUMMARY", "model one", "user second"]);
    assert_eq!(report.sessions.len(), 1, "no branch was abandoned: {report:#?}");
    lines[4] = ("a1", answer("other"));
    let report = run(&memory(), &write(&scratch(), "s.jsonl", &transcript(&lines))).await;
    assert!(report.sessions[0].damage.contains_key("a repeated uuid"), "{report:#?}");
}

fn copied(text: &str, session: &str) -> String {
    let copy = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["sessionId"] = json!(session);
        line["forkedFrom"] = json!({"sessionId": "s", "messageUuid": line["uuid"]});
        format!("{line}\n")
    };
    text.lines().map(copy).collect()
}

#[tokio::test]
async fn a_transcript_with_copied_lines_is_a_fork_in_whatever_order_they_are_read() {
    let original =
        transcript(&[("u1", user("first")), ("a1", answer("one")), ("u2", user("second")), ("a2", answer("two"))]);
    let own =
        transcript(&[("u1", user("first")), ("a1", answer("one")), ("u3", user("other")), ("a3", answer("three"))]);
    let own: Vec<&str> = own.split_inclusive('\n').collect();
    let both = original.split_inclusive('\n').take(2).collect::<String>();
    let fork = copied(&both, "f") + &own[2..].concat().replace(r#""sessionId":"s""#, r#""sessionId":"f""#);
    for forward in [true, false] {
        let (log, folder) = (memory(), scratch());
        let paths = [write(&folder, "s.jsonl", &original), write(&folder, "f.jsonl", &fork)];
        let order = if forward { [0, 1] } else { [1, 0] };
        let mut sessions = [SessionId([0; 16]); 2];
        for at in order {
            let report = run(&log, &paths[at]).await;
            assert!(!report.has_bad_news(), "{report:#?}");
            sessions[at] = report.sessions.last().unwrap().session;
        }
        assert_eq!(said(&log, sessions[0]).await, ["user first", "model one", "user second", "model two"]);
        assert_eq!(said(&log, sessions[1]).await, ["user first", "model one", "user other", "model three"]);
        let forked = events(&log, sessions[1]).await.into_iter().find_map(|(_, event)| match event {
            Event::Session(SessionEvent::Forked(forked)) => Some(forked.parent),
            _ => None,
        });
        assert_eq!(forked, Some(sessions[0]));
        // Again, and without the original: nothing is new.
        for is_gone in [false, true] {
            if is_gone {
                std::fs::remove_file(&paths[0]).unwrap();
            }
            let report = run(&log, &paths[1]).await;
            assert!(!report.has_bad_news() && report.new_batches() == 0, "{report:#?}");
        }
    }
    // Alone it is a session with all of its lines.
    let log = memory();
    let report = run(&log, &write(&scratch(), "f.jsonl", &fork)).await;
    assert_eq!(said(&log, report.sessions[0].session).await.len(), 4);
}

#[tokio::test]
async fn a_fork_of_a_compacted_session_has_only_what_is_behind_the_compaction() {
    let lines = [
        ("u1", user("first")),
        ("a1", answer("one")),
        ("b1", boundary("s1", &["a1"])),
        ("s1", summary("SUMMARY")),
        ("a1", answer("one")),
        ("u2", user("second")),
        ("a2", answer("two")),
    ];
    let original = transcript(&lines);
    let mut own = lines.to_vec();
    own.extend([("u3", user("third")), ("a3", answer("three"))]);
    // No line says that it is a copy; what the program notes first of the fork is younger than the copies.
    let begins = json!({"type": "queue-operation", "operation": "dequeue", "sessionId": "f", "timestamp": "2026-11-01T09:00:07.500Z"});
    let copies = transcript(&own).split_inclusive('\n').skip(2).collect::<String>();
    let fork = format!("{begins}\n{}", copies.replace(r#""sessionId":"s""#, r#""sessionId":"f""#));
    for forward in [true, false] {
        let (log, folder) = (memory(), scratch());
        let paths = [write(&folder, "s.jsonl", &original), write(&folder, "f.jsonl", &fork)];
        let mut sessions = [SessionId([0; 16]); 2];
        for at in if forward { [0, 1] } else { [1, 0] } {
            let report = run(&log, &paths[at]).await;
            assert!(!report.has_bad_news(), "{report:#?}");
            sessions[at] = report.sessions.last().unwrap().session;
        }
        let before = ["summary SUMMARY", "model one", "user second", "model two"];
        assert_eq!(said(&log, sessions[0]).await, before);
        assert_eq!(said(&log, sessions[1]).await, [&before[..], &["user third", "model three"]].concat());
        let forked = events(&log, sessions[1]).await.into_iter().find_map(|(_, event)| match event {
            Event::Session(SessionEvent::Forked(forked)) => Some(forked.parent),
            _ => None,
        });
        assert_eq!(forked, Some(sessions[0]));
        std::fs::remove_file(&paths[0]).unwrap();
        let report = run(&log, &paths[1]).await;
        assert!(!report.has_bad_news() && report.new_batches() == 0, "the agent deleted the original: {report:#?}");
    }
}

#[tokio::test]
async fn why_a_connection_failed_is_in_the_failure() {
    let error = json!({"message": "Connection error.", "connection": {"code": "ECONNRESET", "message": "The socket was closed."}});
    let failed = json!({"type": "system", "subtype": "api_error", "error": error, "retryInMs": 500, "retryAttempt": 1});
    let (log, session, _) = imported(&[("u1", user("hi")), ("e1", failed), ("a1", answer("one"))]).await;
    let message = events(&log, session).await.into_iter().find_map(|(_, event)| match event {
        Event::Step(StepEvent::RetryScheduled(retry)) => retry.error.message.inline().map(str::to_owned),
        _ => None,
    });
    assert_eq!(message.as_deref(), Some("Connection error. The socket was closed."));
}

#[tokio::test]
async fn a_summary_without_a_boundary_continues_the_session() {
    let mut lines = [("u1", user("first")), ("a1", answer("one")), ("s1", summary("SUMMARY")), ("u2", user("second"))];
    lines[2].1["parentUuid"] = Value::Null;
    let (log, session, report) = imported(&lines).await;
    assert_eq!(report.sessions.len(), 1, "{report:#?}");
    assert_eq!(said(&log, session).await, ["summary SUMMARY", "user second"]);
}

#[tokio::test]
async fn a_full_output_is_kept_and_stays_when_the_agent_deletes_its_file() {
    let (log, folder) = (memory(), scratch());
    let call = json!([{"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}]);
    let asked = json!({"type": "assistant", "message": {"id": "m1", "role": "assistant", "model": "m", "stop_reason": "tool_use", "content": call}});
    let preview = "<persisted-output>\nOutput too large. Full output saved to: /h/.claude/projects/-w/s/tool-results/b1.txt\n\nPreview\n</persisted-output>";
    let result = json!({"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": preview}]},
        "toolUseResult": {"stdout": "1"}});
    let text = transcript(&[("u1", user("go")), ("a1", asked), ("r1", result), ("a2", answer("done"))]);
    let path = write(&folder, "s.jsonl", &text);
    let output = write(&folder, "s/tool-results/b1.txt", "all \"lines\" of it");
    let session = run(&log, &path).await.sessions[0].session;
    let settled = || async {
        let found = events(&log, session).await.into_iter().find_map(|(_, event)| match event {
            Event::Tool(ToolEvent::Settled(settled)) => Some(*settled),
            _ => None,
        });
        found.unwrap()
    };
    let full = settled().await.structured.unwrap();
    assert_eq!(full.0.inline(), Some(r#"{"stdout":"1","fullOutput":"all \"lines\" of it"}"#));
    std::fs::remove_file(&output).unwrap();
    let report = run(&log, &path).await;
    assert!(!report.has_bad_news() && report.new_batches() == 0, "{report:#?}");
    let fresh = memory();
    let report = run(&fresh, &path).await;
    assert!(report.sessions[0].losses.keys().any(|what| what.contains("file of an output is missing")), "{report:#?}");
}

#[tokio::test]
async fn a_title_of_the_user_stays_and_a_prompt_that_was_only_queued_is_reported() {
    let title =
        |kind: &str, name: &str, text: &str| format!("{}\n", json!({"type": kind, name: text, "sessionId": "s"}));
    let queued = |operation: &str, text: &str| {
        format!("{}\n", json!({"type": "queue-operation", "operation": operation, "content": text, "sessionId": "s"}))
    };
    let text = [
        format!("{}\n", json!({"type": "summary", "summary": "OLD", "leafUuid": "a1"})),
        format!("{}\n", json!({"type": "summary", "summary": "OTHER", "leafUuid": "of another session"})),
        transcript(&[("u1", user("hi")), ("a1", answer("one"))]),
        title("custom-title", "customTitle", "MINE"),
        title("ai-title", "aiTitle", "ITS"),
        queued("enqueue", "sent"),
        queued("dequeue", ""),
        queued("enqueue", "only queued"),
    ];
    let log = memory();
    let report = run(&log, &write(&scratch(), "s.jsonl", &text.concat())).await;
    let titles: Vec<String> = (events(&log, report.sessions[0].session).await.into_iter())
        .filter_map(|(_, event)| match event {
            Event::Session(SessionEvent::Titled(titled)) => Some(titled.title),
            _ => None,
        })
        .collect();
    assert_eq!(titles, ["OLD", "MINE"]);
    let unsent = report.sessions[0].losses.iter().find(|(what, _)| what.contains("never sent"));
    assert_eq!(unsent.map(|(_, loss)| loss.lines.clone()), Some(vec![9]));
}

#[tokio::test]
async fn a_result_without_its_call_is_kept() {
    let result = json!({"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "gone", "content": "ORPHAN"}]}});
    let (log, session, _) =
        imported(&[("u1", user("hi")), ("a1", answer("one")), ("r1", result), ("a2", answer("two"))]).await;
    assert_eq!(said(&log, session).await, ["user hi", "model one", "program ORPHAN", "model two"]);
}

#[tokio::test]
async fn a_subagent_of_a_workflow_has_its_parent() {
    let (log, folder) = (memory(), scratch());
    let parent = run(&log, &write(&folder, "s.jsonl", &transcript(&[("u1", user("hi")), ("a1", answer("one"))]))).await;
    let aside = transcript(&[("u2", user("look")), ("a2", answer("seen"))])
        .replace(r#""isSidechain":false"#, r#""isSidechain":true,"agentId":"x1""#);
    let child = run(&log, &write(&folder, "s/subagents/workflows/wf_1/agent-x1.jsonl", &aside)).await;
    assert!(!child.has_bad_news(), "{child:#?}");
    let Event::Session(SessionEvent::Created(created)) = &events(&log, child.sessions[0].session).await[0].1 else {
        panic!("no beginning")
    };
    assert_eq!(created.parent.as_ref().map(|parent| parent.session), Some(parent.sessions[0].session));
}

#[tokio::test]
async fn a_session_in_the_folders_of_two_projects_is_one() {
    let (log, folder) = (memory(), scratch());
    let text = transcript(&[
        ("u1", user("first")),
        ("a1", answer("one")),
        ("u2", user("second")),
        ("a2", answer("two")),
        ("u3", user("third")),
    ]);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let main = write(&folder, "projects/-w/s.jsonl", &lines[..2].concat());
    let session = run(&log, &main).await.sessions[0].session;
    let tree = write(&folder, "projects/-w--claude-worktrees-x/s.jsonl", &lines[2..4].concat());
    let report = run(&log, &tree).await;
    assert!(!report.has_bad_news(), "{report:#?}");
    assert_eq!(report.sessions[0].session, session);
    write(&folder, "projects/-w/s.jsonl", &[lines[0], lines[1], lines[4]].concat());
    assert!(!run(&log, &main).await.has_bad_news());
    assert_eq!(said(&log, session).await, ["user first", "model one", "user second", "model two", "user third"]);
    assert_eq!(run(&log, &tree).await.new_batches(), 0);
}

#[test]
fn transcripts_are_found_in_every_place() {
    let folder = scratch();
    let at = |name: &str| folder.path().join(name);
    for name in [
        ".claude/projects",
        ".config/claude/projects",
        ".config/Claude/local-agent-mode-sessions/o",
        "a/projects",
        "b/projects",
    ] {
        std::fs::create_dir_all(at(name)).unwrap();
    }
    let homes = |list: Option<String>| {
        Homes::of(|name| match name {
            "HOME" => Some(folder.path().to_owned()),
            "CLAUDE_CONFIG_DIR" => list.clone().map(PathBuf::from),
            _ => None,
        })
    };
    let desktop = at(".config/Claude/local-agent-mode-sessions");
    assert_eq!(homes(None).claude, [at(".claude/projects"), at(".config/claude/projects"), desktop.clone()]);
    let list = format!("{}, {}", at("a").display(), at("b").display());
    assert_eq!(homes(Some(list)).claude, [at("a/projects"), at("b/projects"), desktop]);
}
