//! `annals acp`, driven by the client of the protocol's TypeScript SDK; each line fits the published schema.

use crate::run::person::Person;
use annals_tests::aimock::{Aimock, calls, says, says_after_results};
use annals_tests::editor::EditorScript;
use serde_json::{Value, json};

type Tested = Result<(), Box<dyn std::error::Error>>;

fn initialize() -> Value {
    json!({"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": {"name": "tests", "version": "1"}})
}

fn at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[test]
fn an_editor_works_with_a_session_and_loads_it_again() -> Tested {
    let write = json!({"path": "a.txt", "content": "one\n"});
    let edit = json!({"path": "a.txt", "old_string": "one", "new_string": "two"});
    let plan = json!({"items": [{"content": "look", "status": "in_progress"}]});
    let fixtures = [
        calls("first", &[("c1", "write", write), ("c2", "todo", plan)]),
        says_after_results("first", "Written."),
        calls("second", &[("c3", "edit", edit)]),
        says_after_results("second", "Edited."),
        calls("third", &[("c4", "bash", json!({"command": "sleep 60"}))]),
        says_after_results("third", "Slept."),
        says("fourth", "Here is the plan."),
    ];
    let Some(server) = Aimock::start(&fixtures)? else { return Ok(()) };
    let person = Person::with_model(&server.openai(), "openai-chat");
    let agent = person.command(["acp"]);
    let here = person.project().canonicalize()?;
    let new = json!({"cwd": here, "mcpServers": []});
    let script = EditorScript::default()
        .asks("initialize", initialize())
        .asks("session/new", new)
        .chooses("once")
        .prompts("first: write a file")
        .chooses("always")
        .prompts("second: edit it")
        .cancels("third: wait", "tool_call")
        .asks("session/set_mode", json!({"sessionId": "$session", "modeId": "plan"}))
        .prompts("fourth: plan")
        .asks("session/set_mode", json!({"sessionId": "$session", "modeId": "nobody"}))
        .asks("session/list", json!({"cwd": here}))
        .asks("session/nothing", json!({}));
    let Some(seen) = script.play(&agent)? else { return Ok(()) };
    assert_eq!(seen.problems, [] as [Value; 0], "{seen:?}");
    let [initialized, opened, first, second, third, set, fourth, refused, listed, unknown] = seen.answers.as_slice()
    else {
        return Err(format!("{seen:?}").into());
    };
    assert_eq!(initialized.pointer("/agentCapabilities/loadSession"), Some(&json!(true)));
    assert_eq!(at(opened, "/modes/currentModeId"), "build");
    assert_eq!(at(opened, "/configOptions/0/currentValue"), "mock/one");
    let reasons = [first, second, third, fourth].map(|answer| at(answer, "/stopReason"));
    assert_eq!(reasons, ["end_turn", "end_turn", "cancelled", "end_turn"], "{seen:?}");
    assert_eq!(set, &json!({}));
    assert_eq!(refused.pointer("/error/code"), Some(&json!(-32602)));
    assert_eq!(unknown.pointer("/error/code"), Some(&json!(-32601)));
    let session = at(opened, "/sessionId");
    assert_eq!(at(listed, "/sessions/0/sessionId"), session);

    assert_eq!(seen.text("agent_message_chunk"), "Written.Edited.Here is the plan.");
    assert_eq!(seen.text("user_message_chunk"), "", "the editor shows what it sent itself");
    let question = seen.permissions.first().ok_or("no question")?;
    assert_eq!(at(question, "/toolCall/content/0/newText"), "one\n");
    let asked: Vec<String> = seen.permissions.iter().map(|question| at(question, "/toolCall/toolCallId")).collect();
    // A cancellation may come before the question about the call that it ends, or after it.
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    assert!(matches!(asked.as_slice(), ["c1", "c3"] | ["c1", "c3", "c4"]), "{asked:?}");
    let calls: Vec<String> = seen.kind("tool_call").iter().map(|call| at(call, "/kind")).collect();
    assert_eq!(calls, ["edit", "think", "edit", "execute"]);
    let ended = seen.kind("tool_call_update");
    let diff = ended.iter().find(|update| at(update, "/content/0/oldText") == "one\n").ok_or("no diff")?;
    assert_eq!((at(diff, "/content/0/newText"), at(diff, "/status")), ("two\n".into(), "completed".into()));
    assert_eq!(at(diff, "/content/0/path"), here.join("a.txt").display().to_string());
    assert!(ended.iter().any(|update| at(update, "/status") == "failed"), "the cancelled call has ended: {ended:?}");
    assert_eq!(seen.kind("plan").len(), 1);
    assert_eq!(seen.kind("current_mode_update").len(), 1);
    assert!(!seen.kind("usage_update").is_empty() && !seen.kind("available_commands_update").is_empty());

    let load = json!({"sessionId": session, "cwd": here, "mcpServers": []});
    let script = EditorScript::default()
        .asks("initialize", initialize())
        .asks("session/load", load)
        .asks("session/load", json!({"sessionId": "nothing", "cwd": here, "mcpServers": []}))
        .asks("session/close", json!({"sessionId": session}));
    let Some(seen) = script.play(&agent)? else { return Ok(()) };
    assert_eq!(seen.problems, [] as [Value; 0], "{seen:?}");
    assert_eq!(at(seen.answers.get(1).ok_or("no answer")?, "/modes/currentModeId"), "plan");
    assert_eq!(seen.answers.get(2).and_then(|answer| answer.pointer("/error/code")), Some(&json!(-32002)));
    assert!(seen.text("user_message_chunk").starts_with("first: write a file"), "{seen:?}");
    assert_eq!(seen.text("agent_message_chunk"), "Written.Edited.Here is the plan.");
    assert_eq!(seen.kind("tool_call").len(), 4);

    let verified = person.annals(&["verify", "@last", "--requests", "--wire"]);
    assert_eq!(verified.status, Some(0), "{verified:?}");
    Ok(())
}

#[test]
fn a_client_that_writes_nonsense_is_told_so_and_ends_the_agent_by_leaving() {
    let person = Person::with_model("http://127.0.0.1:9/v1", "openai-chat");
    let input = "nonsense\n{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":7}}\n\
                 {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"session/prompt\",\"params\":{}}\n";
    let answer = person.annals_reading(&["acp"], input);
    assert_eq!(answer.status, Some(0), "{answer:?}");
    let mut lines: Vec<Value> = answer.out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    lines.sort_by_key(|line| line.get("id").map(Value::to_string));
    let updates: Vec<Value> = lines
        .iter()
        .map(|line| {
            line.pointer("/error/code").or(line.pointer("/result/protocolVersion")).cloned().unwrap_or_default()
        })
        .collect();
    assert_eq!(updates, [json!(1), json!(-32602), json!(-32700)], "{answer:?}");
}
