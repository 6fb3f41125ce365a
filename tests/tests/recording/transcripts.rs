//! Recordings beside what the agent itself keeps: its transcript, and bodies that it writes to a folder.

use super::provider::Provider;
use super::{SECRET, script};
use crate::cli::command::{Annals, ends};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

#[test]
fn a_transcript_is_tied_to_the_recording_of_the_same_session() -> io::Result<()> {
    annals_tests::needs!("python3");
    let (annals, provider, store) = (Annals::new(), Provider::start(script())?, tempfile::tempdir()?);
    let at = store.path().to_string_lossy().into_owned();
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/agent.py");
    let record = ["record", "--store", &at, "--agent", "claude", "--upstream", &provider.url, "--", "python3", agent];
    assert_eq!(annals.run(&[&record[..], &[SECRET]].concat()).status, 7);
    let recording = annals.run(&["sessions", "--all", "--store", &at, "--json"]).out;
    let recording: Value = serde_json::from_str(&recording)?;
    let recording = recording[0]["id"].as_str().unwrap_or_default().to_owned();
    let alone = ends(&annals, 2, &["diff", "@last", "--transcript", "--store", &at]);
    assert!(alone.contains("is not a recording with an imported transcript"), "{alone}");
    // What the agent kept: the prompt and the last answer.
    let line = |kind: &str, id: &str, parent: Option<&str>, message: Value| {
        json!({"type": kind, "uuid": id, "parentUuid": parent, "sessionId": "one", "cwd": "/p", "version": "2.1.0",
            "timestamp": "2026-03-18T10:00:00.000Z", "userType": "external", "isSidechain": false, "message": message})
    };
    let answer = json!({"id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Thanks."}], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}});
    let prompt = json!({"role": "user", "content": "list the files"});
    let lines = [line("user", "a", None, prompt), line("assistant", "b", Some("a"), answer)];
    let transcript = tempfile::tempdir()?;
    let file = transcript.path().join("one.jsonl");
    fs::write(&file, lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    ends(&annals, 0, &["import", &file.to_string_lossy(), "--store", &at]);
    let tree: Value = serde_json::from_str(&annals.run(&["tree", &recording, "--store", &at, "--json"]).out)?;
    assert_eq!(tree.as_array().map(Vec::len), Some(2), "{tree}");
    assert_eq!((&tree[0]["id"], &tree[1]["recording"]), (&json!(recording), &json!(recording)));
    assert_eq!(tree[1]["depth"], 1);
    let found = ends(&annals, 1, &["diff", &recording, "--transcript", "--store", &at, "--json"]);
    let found: Value = serde_json::from_str(
        found.lines().take_while(|line| !line.starts_with("annals:")).collect::<Vec<_>>().join("\n").as_str(),
    )?;
    let kind = |name: &str| {
        let kinds = found["kinds"].as_array().into_iter().flatten();
        let of = kinds.into_iter().find(|kind| kind["kind"] == name).cloned().unwrap_or_default();
        (of["recorded"].as_u64(), of["left_out"].as_array().map(Vec::len))
    };
    assert_eq!(kind("system"), (Some(1), Some(1)), "{found}");
    assert_eq!(kind("tools"), (Some(1), Some(1)));
    assert_eq!(kind("context"), (Some(1), Some(1)));
    assert_eq!(kind("input"), (Some(2), Some(1)), "the prompt is in both");
    assert_eq!(kind("answer"), (Some(3), Some(2)));
    assert_eq!(kind("request"), (Some(4), Some(4)), "the agent noted none");
    // The agent's own id means the recording.
    let shown = annals.run(&["requests", "one", "--store", &at]).out;
    assert_eq!(shown.lines().count(), 5, "{shown}");
    Ok(())
}

/// Writes a body, with the time of its file.
fn body(folder: &Path, name: &str, second: u64, body: &Value) -> io::Result<()> {
    let path = folder.join(name);
    fs::write(&path, body.to_string())?;
    File::options().write(true).open(path)?.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second))
}

fn asking(session: &str, texts: &[&str]) -> Value {
    let messages = texts.iter().enumerate().map(|(number, text)| {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        json!({"role": role, "content": [{"type": "text", "text": text}]})
    });
    let messages: Vec<Value> = messages.collect();
    let user = json!({"session_id": session}).to_string();
    let tool = json!({"name": "Bash", "description": "Runs a command.", "input_schema": {"type": "object"}});
    let system =
        json!([{"type": "text", "text": "Environment:\n - Primary working directory: /work/project\n - Git: no"}]);
    json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": messages, "system": system, "tools": [tool],
        "betas": ["one-2025", "two-2026"], "metadata": {"user_id": user}, "stream": true})
}

fn saying(text: &str) -> Value {
    json!({"id": "m", "type": "message", "role": "assistant", "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 9, "output_tokens": 3}})
}

#[test]
fn bodies_in_a_folder_are_recorded_once_and_as_they_were_sent() -> io::Result<()> {
    let (annals, store, folder) = (Annals::new(), tempfile::tempdir()?, tempfile::tempdir()?);
    let at = store.path().to_string_lossy().into_owned();
    let named = folder.path().to_string_lossy().into_owned();
    body(folder.path(), "aa.request.json", 1, &asking("s", &["Count the files"]))?;
    body(folder.path(), "req_1.response.json", 2, &saying("There are two."))?;
    body(folder.path(), "zz.request.json", 3, &asking("s", &["Count the files", "There are two.", "Thanks"]))?;
    fs::write(folder.path().join("cut.request.json"), "{\"model\":")?;
    let first = annals.run(&["import", &named, "--store", &at]);
    assert!(first.remarks.contains(" · 2 requests · "), "{}", first.remarks);
    assert!(first.remarks.contains("1 request not recorded"), "the file that is cut: {}", first.remarks);
    assert_eq!(first.status, 1);
    fs::remove_file(folder.path().join("cut.request.json"))?;
    let wire = annals.run(&["requests", "@last", "--store", &at, "--step", "1", "--wire", "--raw"]).out;
    let mut sent = asking("s", &["Count the files"]);
    sent.as_object_mut().map(|sent| sent.remove("betas"));
    assert_eq!(wire, sent.to_string());
    let again = annals.run(&["import", &named, "--store", &at]);
    assert!(again.remarks.contains("nothing is new"), "{}", again.remarks);
    // The folder grew.
    body(folder.path(), "req_2.response.json", 4, &saying("You are welcome."))?;
    let grown = ["Count the files", "There are two.", "Thanks", "You are welcome.", "Bye"];
    body(folder.path(), "bb.request.json", 5, &asking("s", &grown))?;
    body(folder.path(), "req_3.response.json", 6, &saying("Bye."))?;
    let third = annals.run(&["import", &named, "--store", &at]);
    assert!(third.remarks.contains(" · 1 request · "), "{}", third.remarks);
    let verified = ends(&annals, 0, &["verify", "@last", "--store", &at, "--requests", "--wire"]);
    assert!(verified.contains("3 requests proved byte for byte"), "{verified}");
    let sessions: Value = serde_json::from_str(&annals.run(&["sessions", "--all", "--store", &at, "--json"]).out)?;
    assert_eq!((sessions.as_array().map(Vec::len), &sessions[0]["directory"]), (Some(1), &json!("/work/project")));
    let history = annals.run(&["history", "@last", "--store", &at]).out;
    for text in grown {
        assert!(history.contains(text), "{text} in {history}");
    }
    Ok(())
}
