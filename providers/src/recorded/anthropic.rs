//! Requests of Anthropic Messages in the neutral form.

use super::conversation::{Speaker, SystemInstruction, Unit, WireConversation, WireItem};
use super::{list, said, text};
use annals_core::Json;
use annals_core::event::{Attachment, RequestOptions, ToolDefinition};
use serde_json::Value;
use std::collections::BTreeMap;

/// Fields that are sampling and output controls.
const CONTROLS: [&str; 5] = ["max_tokens", "temperature", "top_p", "top_k", "stop_sequences"];
/// Fields that are read elsewhere.
const READ: [&str; 4] = ["model", "messages", "system", "tools"];
/// Fields that say nothing about the model's work.
const EXCHANGE: [&str; 2] = ["stream", "metadata"];

/// How a text begins that names the agent's build, not the model's work; it changes with each request.
const BILLING: &str = "x-anthropic-billing-header:";
/// How texts begin with which Claude Code says that the user gave it a command.
const COMMANDS: [&str; 3] = ["<local-command-", "<command-name>", "<command-message>"];

/// Reads a body; `None` if it is not a request for messages.
pub(super) fn conversation(body: &Value) -> Option<WireConversation> {
    let messages = body.get("messages")?.as_array()?;
    let (options, exchange) = options(body, &CONTROLS, &READ, &EXCHANGE);
    let units = messages.iter().enumerate().map(|(at, message)| unit(message, &format!("/messages/{at}")));
    Some(
        WireConversation {
            model: text(body, "model")?,
            instructions: instructions(body.get("system"), "/system"),
            tools: list(body.get("tools")).iter().map(tool).collect(),
            units: units.collect(),
            options,
            exchange,
            output_limit: body.get("max_tokens").and_then(Value::as_u64),
            previous: None,
            references: Vec::new(),
        }
        .joined(),
    )
}

/// The controls and the other fields of a body; and those about the exchange.
pub(super) fn options(
    body: &Value,
    controls: &[&str],
    read: &[&str],
    exchanged: &[&str],
) -> (RequestOptions, BTreeMap<String, Json>) {
    let (mut options, mut exchange) = (RequestOptions::default(), BTreeMap::new());
    for (name, value) in body.as_object().into_iter().flatten() {
        let members = match name.as_str() {
            name if read.contains(&name) => continue,
            name if exchanged.contains(&name) => &mut exchange,
            name if controls.contains(&name) => &mut options.controls,
            _ => &mut options.body,
        };
        members.insert(name.clone(), Json::received(annals_core::canonical::value(value)));
    }
    (options, exchange)
}

/// A system prompt: a text, or blocks of text.
fn instructions(system: Option<&Value>, pointer: &str) -> Vec<SystemInstruction> {
    let instruction = |pointer: String, text: String| {
        let is_volatile = text.starts_with(BILLING);
        SystemInstruction { pointer, text, is_volatile }
    };
    match system {
        Some(Value::String(text)) if !text.is_empty() => vec![instruction(pointer.to_owned(), text.clone())],
        Some(Value::Array(blocks)) => {
            let block = |(at, block): (usize, &Value)| {
                let said = text(block, "text").unwrap_or_else(|| block.to_string());
                instruction(format!("{pointer}/{at}"), said)
            };
            blocks.iter().enumerate().map(block).filter(|instruction| !instruction.text.is_empty()).collect()
        }
        _ => Vec::new(),
    }
}

/// A definition whose schema is all of it where it has more than name, description and schema.
pub(super) fn definition(tool: &Value, name: String, schema: &str) -> ToolDefinition {
    const KNOWN: [&str; 6] = ["type", "name", "description", "cache_control", "strict", "defer_loading"];
    let is_plain = tool
        .as_object()
        .is_some_and(|members| members.keys().all(|member| member == schema || KNOWN.contains(&member.as_str())));
    let described = tool.get(schema).filter(|_| is_plain).unwrap_or(tool);
    let description = text(tool, "description").unwrap_or_default().into();
    ToolDefinition { name, description, schema: Json::received(described.to_string()) }
}

fn tool(tool: &Value) -> ToolDefinition {
    let name = text(tool, "name").or_else(|| text(tool, "type")).unwrap_or_default();
    definition(tool, name, "input_schema")
}

fn unit(message: &Value, pointer: &str) -> Unit {
    let role = message.get("role").and_then(Value::as_str);
    let speaker = if role == Some("assistant") { Speaker::Assistant } else { Speaker::User };
    let mut unit = Unit::new(speaker);
    let is_system = matches!(role, Some("system" | "developer"));
    match message.get("content") {
        Some(Value::String(text)) => push_text(&mut unit, &format!("{pointer}/content"), text.clone(), is_system),
        Some(Value::Array(blocks)) => {
            for (at, block) in blocks.iter().enumerate() {
                let pointer = format!("{pointer}/content/{at}");
                match block {
                    Value::String(text) => push_text(&mut unit, &pointer, text.clone(), is_system),
                    block if block.get("type").and_then(Value::as_str) == Some("text") => {
                        push_text(&mut unit, &pointer, text(block, "text").unwrap_or_default(), is_system);
                    }
                    block => unit.push(&pointer, item(block)),
                }
            }
        }
        _ => {}
    }
    unit.push_unread(message, pointer);
    unit
}

/// Adds a text: of the user or model, or what the agent adds in the user's place.
fn push_text(unit: &mut Unit, pointer: &str, text: String, is_system: bool) {
    if unit.speaker == Speaker::Assistant {
        unit.push(pointer, WireItem::Text(text));
        return;
    }
    said::push(unit, pointer, text, |text| match () {
        () if is_system => Some("agent/system"),
        () if COMMANDS.iter().any(|start| text.trim_start().starts_with(start)) => Some("agent/command"),
        () => None,
    });
}

fn item(block: &Value) -> WireItem {
    let id = |name: &str| text(block, name).unwrap_or_default();
    match block.get("type").and_then(Value::as_str).unwrap_or_default() {
        "thinking" => {
            let signature = text(block, "signature").filter(|signature| !signature.is_empty());
            let metadata = signature.map(|signature| serde_json::json!({"signature": signature}).to_string());
            WireItem::Reasoning { text: id("thinking"), metadata }
        }
        "redacted_thinking" => WireItem::Reasoning { text: String::new(), metadata: Some(block.to_string()) },
        kind @ ("tool_use" | "server_tool_use" | "mcp_tool_use") => WireItem::Call {
            id: id("id"),
            name: id("name"),
            input: block.get("input").map_or_else(|| "{}".to_owned(), Value::to_string),
            hosted: kind != "tool_use",
            metadata: (kind != "tool_use").then(|| serde_json::json!({"type": kind}).to_string()),
        },
        "tool_result" => {
            let (text, attachments) = result(block.get("content"));
            let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
            WireItem::Result { id: id("tool_use_id"), text, failed, attachments }
        }
        kind if kind.ends_with("_tool_result") => {
            WireItem::HostedResult { id: id("tool_use_id"), result: block.to_string(), error: None }
        }
        // What later versions add is kept as its JSON.
        _ => media(block).map_or_else(|| WireItem::Unknown { text: block.to_string() }, WireItem::Media),
    }
}

/// The text of a result, and the media that came with it.
fn result(content: Option<&Value>) -> (String, Vec<Attachment>) {
    match content {
        Some(Value::String(text)) => (text.clone(), Vec::new()),
        Some(Value::Array(blocks)) => {
            let (mut texts, mut attachments) = (Vec::new(), Vec::new());
            for block in blocks {
                match (block.get("type").and_then(Value::as_str), media(block)) {
                    (Some("text"), _) => texts.push(text(block, "text").unwrap_or_default()),
                    (_, Some(media)) => attachments.push(media),
                    (_, None) => texts.push(block.to_string()),
                }
            }
            (texts.join("\n"), attachments)
        }
        Some(other) if !other.is_null() => (other.to_string(), Vec::new()),
        _ => (String::new(), Vec::new()),
    }
}

/// An image or a document; a document of blocks, such as search results, is text.
fn media(block: &Value) -> Option<Attachment> {
    block.get("type").and_then(Value::as_str).filter(|kind| matches!(*kind, "image" | "document"))?;
    let source = block.get("source")?;
    let mime = text(source, "media_type").unwrap_or_else(|| "application/octet-stream".to_owned());
    let uri = match (text(source, "data"), text(source, "url"), text(source, "file_id")) {
        (Some(data), ..) if text(source, "type").as_deref() == Some("text") => format!("data:{mime},{data}"),
        (Some(data), ..) => format!("data:{mime};base64,{data}"),
        (None, Some(url), _) => url,
        (None, None, Some(file)) => format!("file-id:{file}"),
        _ => return None,
    };
    Some(Attachment { mime, name: text(block, "title"), uri: uri.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_of_claude_code_is_read() {
        let body = json!({
            "model": "claude-sonnet-4-5", "max_tokens": 32000, "stream": true, "thinking": {"type": "enabled"},
            "system": [{"type": "text", "text": "x-anthropic-billing-header: cc"}, {"type": "text", "text": "You are."}],
            "tools": [{"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "<system-reminder>\nToday.\n</system-reminder>"},
                    {"type": "text", "text": "list", "cache_control": {"type": "ephemeral"}}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm", "signature": "s"},
                    {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a"}], "is_error": true}]},
            ],
        });
        let read = conversation(&body).unwrap();
        assert_eq!(read.system(), ["You are."]);
        assert_eq!(read.instructions[0].pointer, "/system/0");
        assert_eq!((read.tools.len(), read.units.len(), read.output_limit), (1, 3, Some(32000)));
        assert_eq!(read.options.controls.keys().collect::<Vec<_>>(), ["max_tokens"]);
        assert_eq!(read.options.body.keys().collect::<Vec<_>>(), ["thinking"]);
        assert!(matches!(&read.units[0].items[0], WireItem::Context { key: "agent/reminder", .. }));
        assert_eq!(read.units[0].items[1], WireItem::Text("list".into()));
        let metadata = Some(r#"{"signature":"s"}"#.to_owned());
        assert_eq!(read.units[1].items[0], WireItem::Reasoning { text: "Hm".into(), metadata });
        assert_eq!(read.units[2].pointers, ["/messages/2/content/0"]);
        let failed = WireItem::Result { id: "t1".into(), text: "a".into(), failed: true, attachments: vec![] };
        assert_eq!(read.units[2].items, [failed]);
    }

    #[test]
    fn what_is_no_request_is_none() {
        assert_eq!(conversation(&json!({"model": "m"})), None);
        assert_eq!(conversation(&json!({"messages": []})), None);
    }
}
