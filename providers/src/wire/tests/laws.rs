//! Laws of bodies: whatever a log holds, what goes out is JSON that the provider takes.

use super::rich::*;
use crate::wire::Protocol;
use annals_core::event::SystemMessages;
use annals_projections::{Block, Request, RequestMessage, Role};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeSet;

fn words() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[ -~ä\u{1F600}\\n]{1,12}"]
}

fn metadata() -> impl Strategy<Value = Option<String>> {
    prop::sample::select(vec![
        None,
        Some("no json".to_owned()),
        Some("{}".to_owned()),
        Some(r#"{"signature":"s"}"#.to_owned()),
        Some(r#"{"type":"redacted_thinking","data":"d"}"#.to_owned()),
        Some(r#"{"encrypted_content":"e","summary":[]}"#.to_owned()),
        Some(r#"{"openai":{"reasoningEncryptedContent":"e"}}"#.to_owned()),
        Some(r#"{"type":"server_tool_use"}"#.to_owned()),
        Some(r#"{"type":"web_search_call"}"#.to_owned()),
        Some(r#"{"type":7,"signature":null,"citations":null,"phase":[]}"#.to_owned()),
    ])
}

/// A piece of an answer: text, reasoning, a call, a hosted call with or without its result.
#[derive(Clone, Debug)]
enum Piece {
    Text(String, Option<String>),
    Reasoning(String, Option<String>),
    Call(String, String, bool),
    Hosted(Option<String>, bool),
}

fn piece() -> impl Strategy<Value = Piece> {
    let input = prop::sample::select(vec!["{}", "{ \"n\": 1e999 }", "[1]", "no json", "", "null"]);
    let id = prop::sample::select(vec!["a", "call:1", "ä", ""]);
    prop_oneof![
        (words(), metadata()).prop_map(|(text, metadata)| Piece::Text(text, metadata)),
        (words(), metadata()).prop_map(|(text, metadata)| Piece::Reasoning(text, metadata)),
        (id, input, any::<bool>()).prop_map(|(id, input, settled)| Piece::Call(id.into(), input.into(), settled)),
        (metadata(), any::<bool>()).prop_map(|(metadata, settled)| Piece::Hosted(metadata, settled)),
    ]
}

#[derive(Clone, Debug)]
enum Turn {
    User(String, bool),
    System(String),
    Answer(Vec<Piece>),
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        (words(), any::<bool>()).prop_map(|(text, media)| Turn::User(text, media)),
        words().prop_map(Turn::System),
        prop::collection::vec(piece(), 1..5).prop_map(Turn::Answer),
    ]
}

/// The messages of some turns, as the projection would lower them: results right after their calls.
fn messages(turns: Vec<Turn>) -> Vec<RequestMessage> {
    let mut out = Vec::new();
    for (at, turn) in turns.into_iter().enumerate() {
        match turn {
            Turn::User(said, media) => {
                let mut blocks = vec![text(&said)];
                if media {
                    blocks.push(Block::Media { attachment: attachment("image/png", None, PNG), seq: None });
                }
                out.push(message(Role::User, blocks));
            }
            Turn::System(content) => out.push(message(Role::System, vec![text(&content)])),
            Turn::Answer(pieces) => {
                let (mut blocks, mut results) = (Vec::new(), Vec::new());
                for (n, piece) in pieces.into_iter().enumerate() {
                    match piece {
                        Piece::Text(text, metadata) => blocks.push(Block::Text { text, metadata, seq: None }),
                        Piece::Reasoning(text, metadata) => blocks.push(Block::Reasoning { text, metadata, seq: None }),
                        Piece::Call(id, input, settled) => {
                            let id = format!("{id}{at}.{n}");
                            blocks.push(call(&id, "read it", &input));
                            if settled {
                                let shot = attachment("image/png", Some("shot"), PNG);
                                results.push(result(&id, if n % 2 == 0 { Ok("fine") } else { Err("bad") }, vec![shot]));
                            }
                        }
                        Piece::Hosted(metadata, settled) => {
                            let id = format!("h{at}{n}");
                            blocks.push(hosted(&id, "web_search", "{}", metadata.as_deref()));
                            if settled {
                                blocks.push(hosted_result(&id, r#"{"type":"web_search_tool_result"}"#));
                            } else {
                                results.push(result(&id, Err("Provider did not return a tool result"), Vec::new()));
                            }
                        }
                    }
                }
                out.push(message(Role::Assistant, blocks));
                if !results.is_empty() {
                    out.push(message(Role::Tool, results));
                }
            }
        }
    }
    out
}

fn encoded(protocol: Protocol, turns: Vec<Turn>, native: bool) -> Result<Value, TestCaseError> {
    let mut request: Request = rich(protocol);
    request.model.system_messages = if native { SystemMessages::Native } else { SystemMessages::Wrapped };
    request.messages = messages(turns).into_iter().collect();
    let one = body(&request).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(&one, &body(&request).unwrap_or_default());
    // Numbers beyond what a float holds stand in it as they came; a reader of ours would not take them.
    let readable = one.replace("1e999", "1").replace("1e400", "1");
    serde_json::from_str(&readable).map_err(|error| TestCaseError::fail(format!("{error}: {one}")))
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

proptest! {
    #[test]
    fn every_call_of_chat_completions_has_its_result_right_after_it(turns in prop::collection::vec(turn(), 1..6)) {
        let body = encoded(Protocol::OpenAiChat, turns, true)?;
        let mut open: BTreeSet<String> = BTreeSet::new();
        for message in list(&body, "messages") {
            if message["role"] == "tool" {
                prop_assert!(open.remove(message["tool_call_id"].as_str().unwrap_or_default()), "{message}");
                continue;
            }
            prop_assert!(open.is_empty(), "{open:?} before {message}");
            open.extend(list(message, "tool_calls").iter().filter_map(|call| call["id"].as_str().map(Into::into)));
        }
        prop_assert!(open.is_empty());
    }

    #[test]
    fn every_call_of_responses_has_its_output(turns in prop::collection::vec(turn(), 1..6)) {
        let body = encoded(Protocol::OpenAiResponses, turns, true)?;
        let ids = |kind: &str| -> Vec<String> {
            let items = list(&body, "input").iter().filter(|item| item["type"] == kind);
            items.map(|item| item["call_id"].as_str().unwrap_or_default().to_owned()).collect()
        };
        let (mut calls, mut outputs) = (ids("function_call"), ids("function_call_output"));
        calls.sort();
        outputs.sort();
        prop_assert_eq!(calls, outputs);
    }

    #[test]
    fn messages_take_turns_and_answer_every_call_at_once(
        turns in prop::collection::vec(turn(), 1..6), native in any::<bool>(),
    ) {
        let body = encoded(Protocol::AnthropicMessages, turns, native)?;
        let messages = list(&body, "messages");
        for pair in messages.windows(2) {
            prop_assert!(pair[0]["role"] != pair[1]["role"], "{} {}", pair[0], pair[1]);
        }
        for (at, message) in messages.iter().enumerate() {
            let blocks = |message: &Value, kind: &str, id: &str| -> BTreeSet<String> {
                let blocks = list(message, "content").iter().filter(|block| block["type"] == kind);
                blocks.map(|block| block[id].as_str().unwrap_or_default().to_owned()).collect()
            };
            let calls = blocks(message, "tool_use", "id");
            let results = messages.get(at + 1).map(|next| blocks(next, "tool_result", "tool_use_id"));
            if !calls.is_empty() {
                prop_assert_eq!(Some(calls), results);
            }
            let blank = list(message, "content").iter().any(|block| block["type"] == "text" && block["text"].as_str().is_some_and(|text| text.trim().is_empty()));
            prop_assert!(!blank && !list(message, "content").is_empty(), "{message}");
        }
        let marks = body.to_string().matches("\"cache_control\"").count();
        prop_assert!(marks <= 4, "{marks} marks");
    }
}
