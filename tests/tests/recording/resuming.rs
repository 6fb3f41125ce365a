//! Where requests land: of agents that continue their sessions in a later recording, and of several agents at once.

use super::provider::{Provider, Scripted};
use crate::cli::command::{Annals, ends};
use serde_json::{Value, json};

fn said(text: &str) -> Scripted {
    let parts = json!([{"text": text}]);
    let candidate = json!({"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0});
    let usage = json!({"promptTokenCount": 9, "candidatesTokenCount": 3});
    (200, "application/json", json!({"candidates": [candidate], "usageMetadata": usage}).to_string())
}

#[test]
fn a_request_aside_before_a_resumed_turn_begins_no_session() -> std::io::Result<()> {
    annals_tests::needs!("python3");
    let complexity = || said(r#"{"complexity": 3}"#);
    let script = [complexity(), said("Answer 1."), complexity(), said("Answer 2.")];
    let (annals, provider, store) = (Annals::new(), Provider::start(script)?, tempfile::tempdir()?);
    let at = store.path().to_string_lossy().into_owned();
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/gemini.py");
    for turn in ["1", "2"] {
        let record = ["record", "--store", &at, "--agent", "gemini", "--upstream", &provider.url];
        let recorded = annals.run(&[&record[..], &["--", "python3", agent, turn]].concat());
        assert_eq!(recorded.status, 0, "{}", recorded.remarks);
        assert!(recorded.remarks.contains(" · 2 requests · "), "{}", recorded.remarks);
    }
    let sessions: Value = serde_json::from_str(&annals.run(&["sessions", "--all", "--store", &at, "--json"]).out)?;
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
    let requests: Value = serde_json::from_str(&annals.run(&["requests", "@last", "--store", &at, "--json"]).out)?;
    let purposes: Vec<_> = requests.as_array().into_iter().flatten().map(|one| one["purpose"].as_str()).collect();
    assert_eq!(purposes, [Some("other"), Some("turn"), Some("other"), Some("turn")]);
    let history = annals.run(&["history", "@last", "--store", &at]).out;
    for text in ["number 1 of", "Answer 1.", "number 2 of", "Answer 2."] {
        assert!(history.contains(text), "{text} in {history}");
    }
    let verified = ends(&annals, 0, &["verify", "@last", "--store", &at, "--requests", "--wire"]);
    assert!(verified.contains("4 requests proved byte for byte"), "{verified}");
    Ok(())
}

#[test]
fn a_summary_of_an_agent_without_ids_continues_its_session() -> std::io::Result<()> {
    annals_tests::needs!("python3");
    let complexity = || said(r#"{"complexity": 3}"#);
    let snapshot = "<state_snapshot>The user asked twice.</state_snapshot>";
    let script = [complexity(), said("Answer 1."), complexity(), said(snapshot), said(snapshot), said("Answer 2.")];
    let (annals, provider, store) = (Annals::new(), Provider::start(script)?, tempfile::tempdir()?);
    let at = store.path().to_string_lossy().into_owned();
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/gemini.py");
    for turn in [&["1"][..], &["2", "compact"]] {
        let record = ["record", "--store", &at, "--agent", "gemini", "--upstream", &provider.url];
        let recorded = annals.run(&[&record[..], &["--", "python3", agent], turn].concat());
        assert_eq!(recorded.status, 0, "{}", recorded.remarks);
    }
    let sessions: Value = serde_json::from_str(&annals.run(&["sessions", "--all", "--store", &at, "--json"]).out)?;
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
    let compactions = annals.run(&["compactions", "@last", "--store", &at, "--json"]).out;
    let compactions: Value = serde_json::from_str(&compactions)?;
    assert_eq!(compactions.as_array().map(Vec::len), Some(1), "{compactions}");
    let history = annals.run(&["history", "@last", "--store", &at]).out;
    for (text, there) in [("The user asked twice.", true), ("Answer 2.", true), ("Answer 1.", false)] {
        assert_eq!(history.contains(text), there, "{text} in {history}");
    }
    let verified = ends(&annals, 0, &["verify", "@last", "--store", &at, "--requests", "--wire"]);
    assert!(verified.contains("6 requests proved byte for byte"), "{verified}");
    let usage: Value = serde_json::from_str(&annals.run(&["usage", "@last", "--store", &at, "--json"]).out)?;
    assert_eq!((&usage["input"], &usage["output"]), (&json!(6 * 9), &json!(6 * 3)), "both answers count: {usage}");
    Ok(())
}

#[test]
fn a_conversation_that_the_provider_compacts_stays_one_session() -> std::io::Result<()> {
    annals_tests::needs!("python3");
    let usage = json!({"input_tokens": 9, "output_tokens": 3, "total_tokens": 12});
    let prompt = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Prompt number 1 of the user"}]});
    let answered = |text: &str| {
        let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
        let body = json!({"id": "r", "object": "response", "status": "completed", "output": [said], "usage": usage});
        (200, "application/json", body.to_string())
    };
    let sealed = json!({"type": "compaction", "encrypted_content": "gAAAA-sealed"});
    let compacted = json!({"id": "c", "object": "response.compaction", "output": [prompt, sealed], "usage": usage});
    let compacted = (200, "application/json", compacted.to_string());
    let script = [answered("Answer 1."), answered("Answer 2."), compacted, answered("Answer 3.")];
    let (annals, provider, store) = (Annals::new(), Provider::start(script)?, tempfile::tempdir()?);
    let at = store.path().to_string_lossy().into_owned();
    let (agent, folder) = (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/codex.py"), tempfile::tempdir()?);
    let file = folder.path().join("session.json").to_string_lossy().into_owned();
    for turn in [&["1"][..], &["2"], &["3", "compact"]] {
        let record = ["record", "--store", &at, "--agent", "codex", "--upstream", &provider.url];
        let recorded = annals.run(&[&record[..], &["--", "python3", agent, &file], turn].concat());
        assert_eq!(recorded.status, 0, "{}", recorded.remarks);
    }
    let sessions: Value = serde_json::from_str(&annals.run(&["sessions", "--all", "--store", &at, "--json"]).out)?;
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
    let requests: Value = serde_json::from_str(&annals.run(&["requests", "@last", "--store", &at, "--json"]).out)?;
    let purposes: Vec<_> = requests.as_array().into_iter().flatten().map(|one| one["purpose"].as_str()).collect();
    assert_eq!(purposes, [Some("turn"), Some("turn"), Some("summary"), Some("turn")]);
    let compactions = annals.run(&["compactions", "@last", "--store", &at, "--json"]).out;
    let compactions: Value = serde_json::from_str(&compactions)?;
    assert_eq!(compactions.as_array().map(Vec::len), Some(1), "{compactions}");
    assert_eq!(compactions[0]["fidelity"], Value::Null, "nobody but the provider can compare it: {compactions}");
    let history = annals.run(&["history", "@last", "--store", &at]).out;
    for (text, there) in [("gAAAA-sealed", true), ("number 3 of", true), ("Answer 3.", true), ("Answer 2.", false)] {
        assert_eq!(history.contains(text), there, "{text} in {history}");
    }
    assert_eq!(sessions[0]["turns"], json!(3), "the summary counts as a prompt: {sessions}");
    let verified = ends(&annals, 0, &["verify", "@last", "--store", &at, "--requests", "--wire"]);
    assert!(verified.contains("4 requests proved byte for byte"), "{verified}");
    Ok(())
}

#[test]
fn parallel_subagents_are_children_of_the_session_that_started_them() -> std::io::Result<()> {
    annals_tests::needs!("python3");
    let usage = json!({"input_tokens": 9, "output_tokens": 3});
    let message = |content: Value, stop: &str| {
        let body = json!({"id": "m", "type": "message", "role": "assistant", "content": content, "stop_reason": stop, "usage": usage});
        (200, "application/json", body.to_string())
    };
    let calls = (0..3).map(|at| {
        let input = json!({"prompt": format!("Look into folder number {at}")});
        json!({"type": "tool_use", "id": format!("toolu_{at}"), "name": "Agent", "input": input})
    });
    let text = |text: &str| message(json!([{"type": "text", "text": text}]), "end_turn");
    let calls: Vec<Value> = calls.collect();
    let script =
        [message(json!(calls), "tool_use"), text("Empty."), text("Empty."), text("Empty."), text("All empty.")];
    let (annals, provider, store) = (Annals::new(), Provider::start(script)?, tempfile::tempdir()?);
    let at = store.path().to_string_lossy().into_owned();
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/parallel.py");
    let record = ["record", "--store", &at, "--agent", "claude", "--upstream", &provider.url, "--", "python3", agent];
    let recorded = annals.run(&record);
    assert_eq!(recorded.status, 0, "{}", recorded.remarks);
    let tree: Value = serde_json::from_str(&annals.run(&["tree", "@last", "--store", &at, "--json"]).out)?;
    let depths: Vec<_> = tree.as_array().into_iter().flatten().map(|one| one["depth"].as_u64()).collect();
    assert_eq!(depths, [Some(0), Some(1), Some(1), Some(1)], "{tree}");
    let calls: std::collections::BTreeSet<_> =
        tree.as_array().into_iter().flatten().filter_map(|one| one["parent"]["call"].as_str()).collect();
    assert_eq!(calls.len(), 3, "each is of a call of its own: {tree}");
    let verified = ends(&annals, 0, &["verify", "--store", &at, "--requests", "--wire"]);
    assert!(verified.contains("5 requests proved byte for byte"), "{verified}");
    Ok(())
}

#[test]
fn an_agent_that_names_its_session_to_one_provider_alone_has_one_session() -> std::io::Result<()> {
    annals_tests::needs!("python3");
    let message = |text: &str| {
        let usage = json!({"input_tokens": 9, "output_tokens": 3});
        let content = json!([{"type": "text", "text": text}]);
        let body = json!({"id": "m", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": usage});
        (200, "application/json", body.to_string())
    };
    let usage = json!({"input_tokens": 9, "output_tokens": 3, "total_tokens": 12});
    let said =
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Answer 2."}]});
    let response = json!({"id": "r", "object": "response", "status": "completed", "output": [said], "usage": usage});
    let response = (200, "application/json", response.to_string());
    let script = || [message("Answer 1."), response.clone(), message("Answer 3."), message("Answer 4.")];
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/switching.py");
    let one = |turn: &str| format!("python3 '{agent}' {turn}");
    // In a recording each, and in one.
    for recordings in [vec![one("0"), one("1"), one("2"), one("3")], vec![["0", "1", "2", "3"].map(one).join(" && ")]] {
        let (annals, provider, store) = (Annals::new(), Provider::start(script())?, tempfile::tempdir()?);
        let at = store.path().to_string_lossy().into_owned();
        for command in &recordings {
            let record = ["record", "--store", &at, "--upstream", &provider.url, "--", "sh", "-c", command];
            let recorded = annals.run(&record);
            assert_eq!(recorded.status, 0, "{}", recorded.remarks);
        }
        let sessions: Value = serde_json::from_str(&annals.run(&["sessions", "--all", "--store", &at, "--json"]).out)?;
        let turns: Vec<_> = sessions.as_array().into_iter().flatten().map(|one| one["turns"].as_u64()).collect();
        assert_eq!(turns, [Some(4)], "{sessions}");
        let verified = ends(&annals, 0, &["verify", "@last", "--store", &at, "--requests", "--wire"]);
        assert!(verified.contains("4 requests proved byte for byte"), "{verified}");
    }
    Ok(())
}

#[test]
fn a_session_that_an_agent_continues_under_another_name_is_forked() -> std::io::Result<()> {
    annals_tests::needs!("python3");
    let usage = json!({"input_tokens": 9, "output_tokens": 3, "total_tokens": 12});
    let answered = |number: u64| {
        let text = format!("Answer {number}.");
        let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
        let body = json!({"id": "r", "object": "response", "status": "completed", "output": [said], "usage": usage});
        (200, "application/json", body.to_string())
    };
    let (annals, provider) = (Annals::new(), Provider::start([1, 2, 3, 4, 5].map(answered))?);
    let (store, folder) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let at = store.path().to_string_lossy().into_owned();
    let (agent, file) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/codex.py"), folder.path().join("s.json"));
    let one = format!("python3 '{agent}' {}", file.display());
    let fork = format!("SESSION=other python3 '{agent}' {}.fork", file.display());
    let commands = [
        format!("{one} 1 && {one} 2"),
        format!("cp {0} {0}.fork && {fork} 3 && {fork} 4", file.display()),
        format!("{one} 3"),
    ];
    for command in &commands {
        let record = ["record", "--store", &at, "--agent", "codex", "--upstream", &provider.url];
        let recorded = annals.run(&[&record[..], &["--", "sh", "-c", command]].concat());
        assert_eq!(recorded.status, 0, "{}", recorded.remarks);
    }
    let tree: Value = serde_json::from_str(&annals.run(&["tree", "--all", "--store", &at, "--json"]).out)?;
    let depths: Vec<_> = tree.as_array().into_iter().flatten().map(|one| one["depth"].as_u64()).collect();
    assert_eq!(depths, [Some(0), Some(1)], "{tree}");
    let sessions: Value = serde_json::from_str(&annals.run(&["sessions", "--all", "--store", &at, "--json"]).out)?;
    let fork = sessions.as_array().into_iter().flatten().find(|one| !one["fork"].is_null()).expect("a fork");
    let fork = fork["id"].as_str().expect("an id");
    let history = annals.run(&["history", fork, "--store", &at]).out;
    for text in ["number 1 of", "Answer 2.", "Answer 3.", "number 4 of", "Answer 4."] {
        assert!(history.contains(text), "{text} in {history}");
    }
    let when = annals.run(&["when", fork, "number 3 of", "--store", &at]).out;
    assert!(when.contains("requests 1 to 2 carried it"), "{when}");
    // What no event has is found in the bodies.
    let option = annals.run(&["when", fork, "gpt-5.2-codex", "--store", &at]).out;
    assert!(option.contains("requests 1 to 2 carried it"), "{option}");
    let usage: Value = serde_json::from_str(&annals.run(&["usage", fork, "--store", &at, "--json"]).out)?;
    assert_eq!(usage["input"], json!(2 * 9), "what it inherits was used by the other session: {usage}");
    let verified = ends(&annals, 0, &["verify", "--store", &at, "--requests", "--wire"]);
    assert!(verified.contains("5 requests proved byte for byte"), "{verified}");
    Ok(())
}
