//! What is said about a recorded request is what its body says: each text of the body is in the view, and no other.

use super::provider::Provider;
use super::{Scripted, said};
use crate::cli::command::Annals;
use serde_json::{Value, json};
use std::io;

/// Members that name things, or say how they are sent.
const STRUCTURE: [&str; 18] = [
    "type",
    "role",
    "id",
    "name",
    "model",
    "status",
    "phase",
    "detail",
    "cache_control",
    "signature",
    "thoughtSignature",
    "encrypted_content",
    "tool_use_id",
    "tool_call_id",
    "call_id",
    "media_type",
    "mimeType",
    "internal_chat_message_metadata_passthrough",
];

fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.trim().is_empty() => match serde_json::from_str::<Value>(text) {
            Ok(json @ (Value::Object(_) | Value::Array(_))) => leaves(&json, found),
            _ => found.push(text.trim().to_owned()),
        },
        Value::Array(values) => values.iter().for_each(|value| leaves(value, found)),
        Value::Object(members) => {
            let said = members.iter().filter(|(name, _)| !STRUCTURE.contains(&name.as_str()));
            said.for_each(|(_, value)| leaves(value, found));
        }
        _ => {}
    }
}

/// Compares what `why` shows of each recorded request of a session, or of an exported one, with the body; gives how many there are.
pub fn agree(annals: &Annals, session: &[&str]) -> usize {
    let mut compared = 0;
    for step in 1.. {
        let number = step.to_string();
        let wire = annals.run(&[&["requests"], session, &["--step", &number, "--wire", "--raw"]].concat());
        if wire.out.is_empty() {
            break;
        }
        let why = annals.run(&[&["why"], session, &["--step", &number, "--json", "--full"]].concat());
        let view: Value = serde_json::from_str(&why.out).unwrap_or_else(|error| panic!("{error}: {}", why.remarks));
        let body: Value = serde_json::from_str(&wire.out).expect("a body");
        let shown: Vec<String> = view["spans"]
            .as_array()
            .expect("spans")
            .iter()
            .filter_map(|span| span["text"].as_str().map(str::to_owned))
            .collect();
        let mut texts = Vec::new();
        for member in ["messages", "input", "contents", "system", "instructions", "systemInstruction"] {
            body.get(member).into_iter().for_each(|value| leaves(value, &mut texts));
        }
        let all = shown.join("\u{0}");
        for text in &texts {
            let escaped = json!(text).to_string();
            let is_shown = all.contains(text.as_str()) || all.contains(&escaped[1..escaped.len() - 1]);
            assert!(is_shown, "{session:?}, request {step}: only in the body: {text}");
        }
        let whole = wire.out.clone();
        let unescaped = texts.join("\u{0}");
        for span in view["spans"].as_array().expect("spans") {
            if ["tool", "options", "call", "attachment", "blank", "result", "unknown"]
                .contains(&span["sort"].as_str().unwrap_or_default())
            {
                continue;
            }
            let text = span["text"].as_str().unwrap_or_default().trim();
            let escaped = json!(text).to_string();
            let is_sent = unescaped.contains(text) || whole.contains(&escaped[1..escaped.len() - 1]);
            assert!(is_sent, "{session:?}, request {step}: only in the view: {text}");
        }
        compared += 1;
    }
    compared
}

#[test]
fn each_recorded_request_of_the_fixtures_is_what_its_body_says() {
    let annals = Annals::new();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/recordings");
    let mut compared = 0;
    for entry in std::fs::read_dir(folder).expect("fixtures").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            compared += agree(&annals, &[&path.to_string_lossy()]);
        }
    }
    assert!(compared > 20, "{compared}");
}

fn thinks() -> Scripted {
    let content = json!([{"type": "thinking", "thinking": "a hidden thought", "signature": "s"}, {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}]);
    let body = json!({"id": "m", "type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}});
    (200, "application/json", body.to_string())
}

#[test]
fn what_an_agent_changes_of_its_history_is_no_undo_and_is_never_denied() -> io::Result<()> {
    let (annals, provider) = (Annals::new(), Provider::start(vec![thinks(), said("Done."), said("End.")])?);
    let store = tempfile::tempdir()?;
    let at = store.path().to_string_lossy().into_owned();
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/edits.py");
    let record = ["record", "--store", &at, "--upstream", &provider.url, "--", "python3", agent];
    let recorded = annals.run(&record);
    assert_eq!(recorded.status, 0, "{}", recorded.remarks);
    let ask = |arguments: &[&str]| annals.run(&[arguments, &["--store", &at]].concat());
    assert_eq!(agree(&annals, &["@last", "--store", &at]), 3);
    let verified = ask(&["verify", "@last", "--requests", "--wire"]);
    assert!(verified.out.contains("the view matches 3 recorded bodies"), "{}{}", verified.out, verified.remarks);
    let listed: Value = serde_json::from_str(&ask(&["sessions", "--json"]).out).expect("sessions");
    assert_eq!(listed.as_array().expect("a list").len(), 1, "{listed}");
    let events = ask(&["log", "@last", "--json"]).out;
    assert!(!events.contains("revert.committed") && events.contains("messages.edited"), "{events}");
    // What ran is shown, and the reasoning that was not sent back is not.
    let history = ask(&["history", "@last"]).out;
    assert!(history.contains("ls -la") && !history.contains("a hidden thought"), "{history}");
    let when = ask(&["when", "@last", "the long output", "--json"]);
    let when: Value =
        serde_json::from_str(&when.out).unwrap_or_else(|error| panic!("{error}: {}{}", when.out, when.remarks));
    assert_eq!(when["sightings"][0]["stays"][0]["first"], 2, "{when}");
    assert_eq!(when["sightings"][0]["stays"][0]["last"], 2, "{when}");
    let novel = ask(&["why", "@last", "--step", "3", "a part of another time"]);
    assert!(novel.out.contains("/messages/2/content/1"), "{}{}", novel.out, novel.remarks);
    Ok(())
}
