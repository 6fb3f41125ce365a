//! Whatever form a body has, each of its texts is in what is read of it.

use super::rest::STRUCTURE;
use super::*;
use crate::wire::Protocol;
use serde_json::json;

fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.trim().is_empty() => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| leaves(value, found)),
        Value::Object(members) => {
            let said = members.iter().filter(|(name, _)| !STRUCTURE.contains(&name.as_str()));
            said.for_each(|(_, value)| leaves(value, found));
        }
        _ => {}
    }
}

/// Everything that was read of a body, as one text.
fn read(protocol: RecordedProtocol, target: &str, body: &Value) -> (WireConversation, String) {
    let said = conversation(protocol, target, body).expect("a request");
    let mut all: Vec<String> = said.instructions.iter().map(|instruction| instruction.text.clone()).collect();
    for unit in &said.units {
        assert_eq!(unit.items.len(), unit.pointers.len());
        for (item, pointer) in unit.items.iter().zip(&unit.pointers) {
            assert!(body.pointer(pointer).is_some(), "{pointer}: {item:?}");
            all.push(format!("{item:?}"));
        }
    }
    (said, all.join("\n"))
}

/// Nothing that the messages of a body say is lost.
fn holds(protocol: RecordedProtocol, target: &str, body: &Value, members: &[&str]) {
    let (_, all) = read(protocol, target, body);
    let mut said = Vec::new();
    members.iter().filter_map(|name| body.get(*name)).for_each(|value| leaves(value, &mut said));
    for text in said {
        // A text in the text of JSON is escaped twice.
        let once = format!("{text:?}");
        let once = &once[1..once.len() - 1];
        let twice = once.replace('\\', "\\\\");
        let thrice = once.replace('\\', "\\\\").replace('"', "\\\"");
        assert!([&text[..], once, &twice, &thrice].iter().any(|text| all.contains(text)), "{text}\nis not in\n{all}");
    }
}

fn image() -> Value {
    json!({"type": "base64", "media_type": "image/png", "data": "aW1hZ2U="})
}

#[test]
fn no_text_of_a_body_of_messages_is_lost() {
    let citation = json!([{"type": "char_location", "cited_text": "cited words", "document_title": "A title"}]);
    let user = [
        json!("plain words"),
        json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two", "citations": citation}]),
        json!([{"type": "text", "text": "<system-reminder>Rules.</system-reminder>\n\nthe prompt"}]),
        json!([{"type": "image", "source": image()}, {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}]),
        json!([{"type": "document", "title": "T", "context": "C", "source": {"type": "text", "media_type": "text/plain", "data": "document words"}}]),
        json!([{"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "block words"}]}}]),
        json!([{"type": "document", "source": {"type": "file", "file_id": "file_1"}}]),
        json!([{"type": "search_result", "source": "https://s", "title": "S", "content": [{"type": "text", "text": "found words"}]}]),
        json!([{"type": "tool_result", "tool_use_id": "t1", "content": "result words"}]),
        json!([{"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [{"type": "text", "text": "a"}, {"type": "image", "source": image()}, {"type": "search_result", "title": "in result"}]}]),
        json!([{"type": "container_upload", "file_id": "file_2"}]),
        json!([{"type": "what_comes_next", "deep": {"er": [{"words": "unknown words"}]}}]),
    ];
    let assistant = [
        json!("answer"),
        json!([{"type": "text", "text": "answer", "citations": citation}]),
        json!([{"type": "thinking", "thinking": "thoughts", "signature": "s"}, {"type": "redacted_thinking", "data": "sealed"}]),
        json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls \"a\"\nb", "deep": ["x"]}}]),
        json!([{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "query words"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "title": "W", "url": "https://w", "encrypted_content": "e"}]}]),
        json!([{"type": "mcp_tool_use", "id": "m1", "name": "tool", "server_name": "server", "input": {"a": "b"}},
            {"type": "mcp_tool_result", "tool_use_id": "m1", "content": [{"type": "text", "text": "mcp words"}]}]),
        json!([{"type": "code_execution_tool_result", "tool_use_id": "c", "content": {"type": "code_execution_result", "stdout": "out words"}}]),
        json!([{"type": "compaction", "content": "compacted words"}]),
    ];
    for (user, answer) in user.iter().flat_map(|user| assistant.iter().map(move |answer| (user, answer))) {
        let body = json!({"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "x-anthropic-billing-header: b"}, {"type": "text", "text": "You are."}],
            "messages": [{"role": "user", "content": user}, {"role": "assistant", "content": answer}, {"role": "system", "content": "mid words"}, {"role": "user", "content": "next"}]});
        holds(RecordedProtocol::Spoken(Protocol::AnthropicMessages), "/v1/messages", &body, &["messages", "system"]);
    }
}

#[test]
fn no_text_of_a_body_of_chat_is_lost() {
    let messages = json!([
        {"role": "developer", "content": [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}]},
        {"role": "system", "content": "third", "name": "a_name"},
        {"role": "user", "name": "Ann", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}, {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,BB"}}]},
        {"role": "assistant", "content": null, "reasoning_content": "thoughts", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":\"b\\n\\\"c\\\"\"}"}},
            {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "free words"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "result"}]},
        {"role": "assistant", "content": "", "refusal": "no words", "audio": {"id": "audio_1", "transcript": "spoken words"}},
        {"role": "assistant", "function_call": {"name": "old", "arguments": "{\"q\":1}"}},
        {"role": "function", "name": "old", "content": "old words"},
        {"role": "user", "content": "<reminder>R.</reminder>\nthe prompt"},
        {"role": "assistant", "content": [{"type": "text", "text": "part"}, {"type": "refusal", "refusal": "refused"}], "annotations": [{"url_citation": {"url": "https://c", "title": "cited"}}]},
        {"role": "system", "content": "later words"},
    ]);
    let body = json!({"model": "m", "messages": messages, "functions": [{"name": "old", "description": "d", "parameters": {}}]});
    let chat = RecordedProtocol::Spoken(Protocol::OpenAiChat);
    holds(chat, "/v1/chat/completions", &body, &["messages"]);
    let (said, _) = read(chat, "/v1/chat/completions", &body);
    assert_eq!(said.system(), ["first", "second", "third", "a_name"]);
    let old = |item: &&WireItem| matches!(item, WireItem::Call { id, .. } | WireItem::Result { id, .. } if id == "old");
    assert_eq!(said.units.iter().flat_map(|unit| &unit.items).filter(old).count(), 2);
    assert_eq!(said.tools.len(), 1);
}

#[test]
fn no_text_of_a_body_of_responses_is_lost() {
    let items = json!([
        {"role": "developer", "content": "as a string"},
        {"role": "system", "content": [{"type": "input_text", "text": "as a list"}]},
        {"role": "user", "content": "asked as a string"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "asked"}, {"type": "input_image", "image_url": "data:image/png;base64,AA"},
            {"type": "input_file", "filename": "a.pdf", "file_id": "file_1"}, {"type": "input_new", "words": "new words"}]},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "summed"}], "content": [{"type": "reasoning_text", "text": "thought"}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\":\"b\"}"},
        {"type": "function_call_output", "call_id": "c1", "output": "out"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "patched"}, {"type": "input_image", "image_url": "https://i"}]},
        {"type": "computer_call", "id": "cc", "call_id": "c3", "action": {"type": "type", "text": "typed words"}},
        {"type": "computer_call_output", "call_id": "c3", "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,CC"}},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "query words"}},
        {"type": "mcp_list_tools", "id": "l", "server_label": "label", "tools": [{"name": "t", "description": "listed words"}]},
        {"type": "mcp_approval_request", "id": "a", "name": "t", "arguments": "{\"x\":1}", "server_label": "label"},
        {"type": "item_reference", "id": "item_1", "note": "referred"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "answered", "annotations": [{"type": "url_citation", "url": "https://u", "title": "cited"}]}, {"type": "refusal", "refusal": "refused"}]},
        {"role": "assistant", "content": "answered as a string"},
        {"role": "user", "content": "<environment_context>x</environment_context>"},
    ]);
    let responses = RecordedProtocol::Spoken(Protocol::OpenAiResponses);
    let body = json!({"model": "m", "input": items, "previous_response_id": "resp_1", "store": true});
    holds(responses, "/v1/responses", &body, &["input"]);
    let (said, _) = read(responses, "/v1/responses", &body);
    assert_eq!(said.system(), ["as a string", "as a list"]);
    assert_eq!(said.previous.as_deref(), Some("resp_1"));
    assert!(said.options.body.contains_key("store"));
    let with = json!({"model": "m", "instructions": "You are.", "input": "only a text"});
    holds(responses, "/v1/responses", &with, &["input", "instructions"]);
}

#[test]
fn no_text_of_a_body_of_gemini_is_lost() {
    let contents = json!([
        {"role": "user", "parts": [{"text": "asked"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}, {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://v"}, "videoMetadata": {"startOffset": "1s"}}]},
        {"role": "model", "parts": [{"text": "thought", "thought": true}, {"text": "said", "thoughtSignature": "s"}, {"functionCall": {"name": "f", "args": {"a": "b"}}},
            {"executableCode": {"language": "PYTHON", "code": "print(1)"}}, {"codeExecutionResult": {"outcome": "OK", "output": "1 line"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": "given", "more": "words"}, "parts": [{"inlineData": {"mimeType": "image/png", "data": "BB"}}]}}]},
        {"parts": [{"text": "without a role"}]},
    ]);
    let path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent";
    for system in ["systemInstruction", "system_instruction"] {
        let body = json!({"contents": contents, (system): {"parts": [{"text": "You are."}, {"text": "And so on."}]}});
        holds(RecordedProtocol::Gemini, path, &body, &["contents", system]);
        assert_eq!(read(RecordedProtocol::Gemini, path, &body).0.system(), ["You are.", "And so on."]);
    }
    let wrapped = json!({"model": "gemini-x", "request": {"contents": contents}});
    let (said, _) = read(RecordedProtocol::Gemini, "/v1internal:generateContent", &wrapped);
    assert_eq!((said.model.as_str(), said.units.len()), ("gemini-x", 4));
}
