//! An agent on an SDK is recorded: what it sent is proved byte for byte, and every question has an answer.

mod agents;
mod compactions;
mod forms;
mod middle;
mod provider;
mod resuming;
mod scripted;
mod transcripts;
mod views;

use crate::cli::command::{Annals, ends};
use memchr::memmem;
use provider::{Provider, Scripted};
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// A key that the agent sends in a message.
const SECRET: &str = "sk-ant-api03-Zq8wT5vKx2mYb7Rj4Nc9Ls6Hd3Gf1Pa0Eu8Wi5Ot2Xk7Vn4Bm9Qz6Cy3Jr1Dl-planted-AA";
/// What the agent sends as its credential.
const CREDENTIAL: &str = "sk-planted-credential-1";

fn usage() -> Value {
    json!({"input_tokens": 100, "output_tokens": 7, "cache_read_input_tokens": 50})
}

fn said(text: &str) -> Scripted {
    let content = json!([{"type": "text", "text": text}]);
    let body = json!({"id": "m", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": usage()});
    (200, "application/json", body.to_string())
}

fn stream() -> Scripted {
    let events = [
        json!({"type": "message_start", "message": {"id": "m1", "usage": usage()}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I look."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"command\": \"ls\"}"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ];
    (200, "text/event-stream", events.iter().map(|event| format!("data: {event}\n\n")).collect())
}

fn script() -> Vec<Scripted> {
    let busy = json!({"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}});
    let counted = (200, "application/json", json!({"input_tokens": 99}).to_string());
    vec![stream(), (529, "application/json", busy.to_string()), said("One file."), counted, said("Thanks.")]
}

/// Whether a file below a folder contains a text.
fn holds(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).expect("a folder").flatten().any(|entry| match entry.file_type().expect("a type").is_dir() {
        true => holds(&entry.path(), text),
        false => {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            memmem::find(&bytes, text.as_bytes()).is_some()
        }
    })
}

#[test]
fn what_an_agent_sent_is_proved_byte_for_byte() -> std::io::Result<()> {
    annals_tests::needs!("python3");
    let (annals, provider) = (Annals::new(), Provider::start(script())?);
    let store = tempfile::tempdir()?;
    let at = store.path().to_string_lossy().into_owned();
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/agent.py");
    let upstream = ["--upstream", &provider.url];
    let record =
        ["record", "--store", &at, "--agent", "claude", upstream[0], upstream[1], "--", "python3", agent, SECRET];
    let recorded = annals.run(&record);
    assert_eq!(recorded.status, 7, "the status of the agent: {}", recorded.remarks);
    assert!(recorded.remarks.contains(" · 5 requests · "), "{}", recorded.remarks);
    let received = provider.received();
    assert_eq!(received.len(), 5);
    for (number, body) in received.iter().enumerate().take(4) {
        let step = (number + 1).to_string();
        let wire = annals.run(&["requests", "@last", "--store", &at, "--step", &step, "--wire", "--raw"]);
        assert_eq!((wire.status, wire.out.as_bytes()), (0, body.as_slice()), "{}", wire.remarks);
    }
    let redacted = annals.run(&["requests", "@last", "--store", &at, "--step", "5", "--wire", "--raw"]);
    assert!(redacted.remarks.contains("recorded redacted: secrets were replaced"), "{}", redacted.remarks);
    let sent = String::from_utf8_lossy(&received[4]).into_owned();
    assert_eq!(redacted.out, sent.replace(SECRET, "[redacted:anthropic-key]"));
    assert!(sent.contains(SECRET) && !holds(store.path(), SECRET) && !holds(store.path(), CREDENTIAL));
    let verified = ends(&annals, 0, &["verify", "@last", "--store", &at, "--requests", "--wire"]);
    for line in ["5 requests rebuilt from the log", "4 requests proved byte for byte", "1 request recorded redacted"] {
        assert!(verified.contains(line), "{line} in {verified}");
    }
    let requests: Value = serde_json::from_str(&annals.run(&["requests", "@last", "--store", &at, "--json"]).out)?;
    let purposes: Vec<_> = requests
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (one["purpose"].as_str(), one["attempt"].as_u64()))
        .collect();
    let (turn, other) = (Some("turn"), Some("other"));
    assert_eq!(purposes, [(turn, Some(1)), (turn, Some(1)), (turn, Some(2)), (other, Some(1)), (turn, Some(1))]);
    let history = annals.run(&["history", "@last", "--store", &at]).out;
    for text in ["It is Monday.", "list the files", "I look.", "README.md", "One file.", "Thanks."] {
        assert!(history.contains(text), "{text} in {history}");
    }
    let why = annals.run(&["why", "@last", "It is Monday", "--store", &at]).out;
    assert!(why.contains("context.admitted"), "{why}");
    Ok(())
}

/// An answer that cannot be written: the disk is full, or its reader went away.
struct Refusing(io::ErrorKind);

impl Write for Refusing {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Err(self.0.into())
    }
}

#[test]
fn the_status_of_the_agent_stays_when_the_report_cannot_be_written() -> io::Result<()> {
    let (annals, store) = (Annals::new(), tempfile::tempdir()?);
    let at = store.path().to_string_lossy().into_owned();
    for kind in [io::ErrorKind::StorageFull, io::ErrorKind::BrokenPipe] {
        let args = ["record", "--json", "--store", &at, "--", "sh", "-c", "exit 7"];
        let (status, remarks) = annals.run_to(&args, &mut Refusing(kind));
        assert_eq!(status, 7, "{remarks}");
        assert!(remarks.contains("cannot write the report of the recording"), "{remarks}");
    }
    Ok(())
}
