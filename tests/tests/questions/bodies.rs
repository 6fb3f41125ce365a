//! Requests that were not recorded, rebuilt from an imported log, beside the bodies that OpenCode really sent
//! (`fixtures/opencode/README.md`): every message is the same, in order.
//!
//! The log of OpenCode holds no request. Not compared is what it does not hold (the agent's own text, tools, options),
//! and the words around the summary of a compaction, which are each agent's own.

use crate::questions::harness::{fixtures, imported};
use annals_inspect::{SessionAt, views};
use serde_json::Value;

/// What a model is told, piece by piece, in whatever form it is sent.
#[derive(Debug, PartialEq)]
enum Piece {
    /// Who speaks, and what.
    Text(String, String),
    /// A Mid-Conversation System Message.
    Told(String),
    /// The summary and the kept tail of a compaction.
    Checkpoint(String, String),
    Reasoning(String),
    Call(String, String, Value),
    Result(String, String),
}

fn string(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn between(text: &str, open: &str, close: &str) -> String {
    let from = text.find(open).unwrap() + open.len();
    text[from..from + text[from..].find(close).unwrap()].to_owned()
}

/// A text of the user, or what stands in its place.
fn said(role: &str, text: &str) -> Piece {
    if !text.starts_with("<conversation-checkpoint>") {
        return Piece::Text(role.to_owned(), text.to_owned());
    }
    let part = |name: &str| between(text, &format!("<{name}>\n"), &format!("\n</{name}>"));
    Piece::Checkpoint(part("summary"), part("recent-context"))
}

/// A text of the user as OpenCode sends it: what it tells beside is wrapped and appended.
fn sent_by_user(text: &str, out: &mut Vec<Piece>) {
    const OPEN: &str = "<system-update>\n";
    let (user, updates) = match text.find(OPEN) {
        Some(at) => (text[..at].strip_suffix('\n').unwrap_or(&text[..at]), &text[at..]),
        None => (text, ""),
    };
    if !user.is_empty() || updates.is_empty() {
        out.push(said("user", user));
    }
    for update in updates.split(OPEN).skip(1) {
        let told = update.trim_end_matches('\n').strip_suffix("\n</system-update>").unwrap();
        out.push(Piece::Told(told.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")));
    }
}

fn call(id: &Value, name: &Value, input: &Value) -> Piece {
    Piece::Call(string(id), string(name), serde_json::from_str(input.as_str().unwrap()).unwrap())
}

/// A body as OpenCode sent it: its system text and its messages. In the form of Chat Completions or of Responses.
fn sent(body: &Value) -> (String, Vec<Piece>) {
    let (mut system, mut out) = (String::new(), Vec::new());
    for message in body.get("messages").or(body.get("input")).unwrap().as_array().unwrap() {
        match message["type"].as_str() {
            Some("function_call") => {
                out.push(call(&message["call_id"], &message["name"], &message["arguments"]));
                continue;
            }
            Some("function_call_output") => {
                out.push(Piece::Result(string(&message["call_id"]), string(&message["output"])));
                continue;
            }
            Some("reasoning") => {
                out.push(Piece::Reasoning(string(&message["summary"][0]["text"])));
                continue;
            }
            _ => {}
        }
        let texts: Vec<String> = match &message["content"] {
            Value::String(text) => vec![text.clone()],
            Value::Array(parts) => parts.iter().map(|part| string(&part["text"])).collect(),
            _ => Vec::new(),
        };
        out.extend(message.get("reasoning_content").map(|text| Piece::Reasoning(string(text))));
        for text in texts {
            match message["role"].as_str().unwrap() {
                "system" => system.push_str(&text),
                "user" => sent_by_user(&text, &mut out),
                "tool" => out.push(Piece::Result(string(&message["tool_call_id"]), text)),
                role => out.push(Piece::Text(role.to_owned(), text)),
            }
        }
        for tool in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            out.push(call(&tool["id"], &tool["function"]["name"], &tool["function"]["arguments"]));
        }
    }
    (system, out)
}

/// A body as it is rebuilt from the log.
fn rebuilt(body: &Value) -> (Vec<String>, Vec<Piece>) {
    let mut out = Vec::new();
    for message in body["messages"].as_array().unwrap() {
        for block in message["blocks"].as_array().unwrap() {
            out.push(match (block["block"].as_str().unwrap(), message["role"].as_str().unwrap()) {
                ("text", "system") => Piece::Told(string(&block["text"])),
                ("text", role) => said(role, block["text"].as_str().unwrap()),
                ("reasoning", _) => Piece::Reasoning(string(&block["text"])),
                ("call", _) => call(&block["id"], &block["tool"], &block["input"]),
                ("result", _) => {
                    Piece::Result(string(&block["id"]), string(block.get("output").unwrap_or(&block["error"])))
                }
                other => panic!("{other:?} is in none of these Sessions"),
            });
        }
    }
    (body["system"].as_array().unwrap().iter().map(string).collect(), out)
}

async fn bodies(past: &SessionAt) -> Vec<Value> {
    let mut bodies = Vec::new();
    views::bodies(past, past.until, |body| bodies.push(serde_json::from_str(body).unwrap())).await.unwrap();
    bodies
}

#[tokio::test]
async fn every_request_rebuilt_from_an_imported_log_says_what_was_really_sent() {
    let mut baselines = 0;
    for (name, requests) in [("wire-chat", 4), ("wire-responses", 4), ("compaction", 10)] {
        let file = fixtures().join(format!("opencode/v2/{name}.requests.jsonl"));
        let text = std::fs::read_to_string(file).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        // Summary requests have no system text; OpenCode's log does not say that there were any.
        let sent: Vec<_> = lines.map(|line| sent(&line["body"])).filter(|(system, _)| !system.is_empty()).collect();
        let rebuilt: Vec<_> =
            bodies(&imported(&format!("opencode/v2/{name}.events.jsonl")).await).await.iter().map(rebuilt).collect();
        assert_eq!((sent.len(), rebuilt.len()), (requests, requests), "{name}");
        for (number, ((system, messages), (known, found))) in sent.iter().zip(&rebuilt).enumerate() {
            assert_eq!(found, messages, "request {} of {name}", number + 1);
            assert!(known.iter().all(|text| system.ends_with(text)), "request {} of {name}: {system}", number + 1);
            baselines += known.len();
        }
    }
    assert_eq!(baselines, 10, "where the log holds the baseline, it ends what the model was told as system text");
}
