//! Requests of Anthropic Messages in the neutral form.

use crate::conversation::{Speaker, Unit, WireConversation, WireItem};
use annals_core::Json;
use annals_core::event::{Attachment, RequestOptions, ToolDefinition};
use serde_json::Value;

/// Fields that are sampling and output controls.
const CONTROLS: [&str; 5] = ["max_tokens", "temperature", "top_p", "top_k", "stop_sequences"];
/// Fields that are read elsewhere, or say nothing about the model's work.
const OTHERS: [&str; 6] = ["model", "messages", "system", "tools", "stream", "metadata"];

/// How a text begins that names the agent's build, not the model's work; it changes with each request.
const BILLING: &str = "x-anthropic-billing-header:";
const REMINDER: &str = "<system-reminder>";
/// How texts begin with which Claude Code says that the user gave it a command.
const COMMANDS: [&str; 3] = ["<local-command-", "<command-name>", "<command-message>"];

/// Reads a body; `None` if it is not a request for messages.
pub(crate) fn conversation(body: &Value) -> Option<WireConversation> {
    let messages = body.get("messages")?.as_array()?;
    let model = text(body, "model")?;
    let tools = body.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let system = texts(body.get("system")).into_iter().filter(|text| !text.starts_with(BILLING));
    Some(
        WireConversation {
            model,
            system: system.collect(),
            tools: tools.iter().map(tool).collect(),
            units: messages.iter().map(unit).collect(),
            options: options(body, &CONTROLS, &OTHERS),
            output_limit: body.get("max_tokens").and_then(Value::as_u64),
        }
        .joined(),
    )
}

/// The controls and the other fields of a body.
pub(crate) fn options(body: &Value, controls: &[&str], others: &[&str]) -> RequestOptions {
    let mut options = RequestOptions::default();
    for (name, value) in body.as_object().into_iter().flatten() {
        let json = Json::received(annals_core::canonical::value(value));
        if controls.contains(&name.as_str()) {
            options.controls.insert(name.clone(), json);
        } else if !others.contains(&name.as_str()) {
            options.body.insert(name.clone(), json);
        }
    }
    options
}

/// A text member of an object.
pub(crate) fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) if !text.is_empty() => vec![text.clone()],
        Some(Value::Array(blocks)) => blocks.iter().filter_map(|block| text(block, "text")).collect(),
        _ => Vec::new(),
    }
}

fn tool(tool: &Value) -> ToolDefinition {
    let name = text(tool, "name").or_else(|| text(tool, "type")).unwrap_or_default();
    let description = text(tool, "description").unwrap_or_default().into();
    let schema = tool.get("input_schema").unwrap_or(tool);
    ToolDefinition { name, description, schema: Json::received(schema.to_string()) }
}

fn unit(message: &Value) -> Unit {
    let speaker = match message.get("role").and_then(Value::as_str) {
        Some("assistant") => Speaker::Assistant,
        _ => Speaker::User,
    };
    let system = message.get("role").and_then(Value::as_str) == Some("system");
    let items = match message.get("content") {
        Some(Value::String(text)) => vec![text_item(text.clone(), speaker, system)],
        Some(Value::Array(blocks)) => blocks.iter().map(|block| item(block, speaker, system)).collect(),
        _ => Vec::new(),
    };
    Unit { speaker, items }
}

/// A text: of the user or model, or what the agent adds in the user's place.
fn text_item(text: String, speaker: Speaker, system: bool) -> WireItem {
    let reminds = text.trim_start().starts_with(REMINDER) && text.trim_end().ends_with("</system-reminder>");
    match speaker {
        Speaker::User if system => WireItem::Context { key: "agent/system", text },
        Speaker::User if COMMANDS.iter().any(|start| text.trim_start().starts_with(start)) => {
            WireItem::Context { key: "agent/command", text }
        }
        Speaker::User if reminds => WireItem::Context { key: "agent/reminder", text },
        _ => WireItem::Text(text),
    }
}

fn item(block: &Value, speaker: Speaker, system: bool) -> WireItem {
    let id = |name: &str| text(block, name).unwrap_or_default();
    match block.get("type").and_then(Value::as_str).unwrap_or_default() {
        "text" => text_item(id("text"), speaker, system),
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
        "image" | "document" => WireItem::Media(media(block)),
        // What later versions add is kept as its JSON.
        _ => WireItem::Text(block.to_string()),
    }
}

/// The text of a result, and the media that came with it.
fn result(content: Option<&Value>) -> (String, Vec<Attachment>) {
    match content {
        Some(Value::String(text)) => (text.clone(), Vec::new()),
        Some(Value::Array(blocks)) => {
            let (mut texts, mut attachments) = (Vec::new(), Vec::new());
            for block in blocks {
                match block.get("type").and_then(Value::as_str) {
                    Some("text") => texts.push(text(block, "text").unwrap_or_default()),
                    Some("image" | "document") => attachments.push(media(block)),
                    _ => texts.push(block.to_string()),
                }
            }
            (texts.join("\n"), attachments)
        }
        Some(other) if !other.is_null() => (other.to_string(), Vec::new()),
        _ => (String::new(), Vec::new()),
    }
}

fn media(block: &Value) -> Attachment {
    let source = block.get("source").unwrap_or(&Value::Null);
    let mime = text(source, "media_type").unwrap_or_else(|| "application/octet-stream".to_owned());
    let uri = match (text(source, "data"), text(source, "url"), text(source, "file_id")) {
        (Some(data), ..) if text(source, "type").as_deref() == Some("text") => format!("data:{mime},{data}"),
        (Some(data), ..) => format!("data:{mime};base64,{data}"),
        (None, Some(url), _) => url,
        (None, None, Some(file)) => format!("file-id:{file}"),
        _ => block.to_string(),
    };
    Attachment { mime, name: text(block, "title"), uri: uri.into() }
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
        assert_eq!(read.system, ["You are."]);
        assert_eq!((read.tools.len(), read.units.len(), read.output_limit), (1, 3, Some(32000)));
        assert_eq!(read.options.controls.keys().collect::<Vec<_>>(), ["max_tokens"]);
        assert_eq!(read.options.body.keys().collect::<Vec<_>>(), ["thinking"]);
        assert!(matches!(&read.units[0].items[0], WireItem::Context { key: "agent/reminder", .. }));
        assert_eq!(read.units[0].items[1], WireItem::Text("list".into()));
        let metadata = Some(r#"{"signature":"s"}"#.to_owned());
        assert_eq!(read.units[1].items[0], WireItem::Reasoning { text: "Hm".into(), metadata });
        let failed = WireItem::Result { id: "t1".into(), text: "a".into(), failed: true, attachments: vec![] };
        assert_eq!(read.units[2].items, [failed]);
    }

    #[test]
    fn what_is_no_request_is_none() {
        assert_eq!(conversation(&json!({"model": "m"})), None);
        assert_eq!(conversation(&json!({"messages": []})), None);
    }
}
