//! Requests of OpenAI Chat Completions in the neutral form.

use crate::anthropic::{options, text};
use crate::conversation::{Speaker, Unit, WireConversation, WireItem};
use annals_core::Json;
use annals_core::event::{Attachment, ToolDefinition};
use serde_json::Value;

/// Fields that are sampling and output controls.
const CONTROLS: [&str; 8] = [
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
];
/// Fields that are read elsewhere, or say nothing about the model's work.
const OTHERS: [&str; 7] = ["model", "messages", "tools", "stream", "stream_options", "metadata", "user"];

/// Reads a body; `None` if it is not a request for a completion.
pub(crate) fn conversation(body: &Value) -> Option<WireConversation> {
    let model = text(body, "model")?;
    let messages = body.get("messages")?.as_array()?;
    let is_system = |message: &&Value| matches!(role(message), "system" | "developer");
    // Those at the beginning are the system prompt; later ones are context.
    let leading = messages.iter().take_while(is_system).count();
    let (system, rest) = messages.split_at(leading);
    let system = system.iter().map(|message| content(message.get("content")).0).filter(|text| !text.is_empty());
    let limit = ["max_completion_tokens", "max_tokens"].iter().find_map(|name| body.get(*name)?.as_u64());
    let tools = body.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Some(
        WireConversation {
            model,
            system: system.collect(),
            tools: tools.iter().map(tool).collect(),
            units: rest.iter().map(unit).collect(),
            options: options(body, &CONTROLS, &OTHERS),
            output_limit: limit,
        }
        .joined(),
    )
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or("user")
}

fn tool(tool: &Value) -> ToolDefinition {
    let function = tool.get("function").unwrap_or(tool);
    let name = text(function, "name").or_else(|| text(tool, "type")).unwrap_or_default();
    let description = text(function, "description").unwrap_or_default().into();
    let schema = function.get("parameters").unwrap_or(function);
    ToolDefinition { name, description, schema: Json::received(schema.to_string()) }
}

/// The text of a content, and its media.
fn content(content: Option<&Value>) -> (String, Vec<Attachment>) {
    match content {
        Some(Value::String(text)) => (text.clone(), Vec::new()),
        Some(Value::Array(parts)) => {
            let (mut texts, mut attachments) = (Vec::new(), Vec::new());
            for part in parts {
                match text(part, "text").or_else(|| text(part, "refusal")) {
                    Some(text) => texts.push(text),
                    None => attachments.push(media(part)),
                }
            }
            (texts.join("\n"), attachments)
        }
        _ => (String::new(), Vec::new()),
    }
}

fn media(part: &Value) -> Attachment {
    let uri = ["/image_url/url", "/file/file_data", "/input_audio/data", "/file/file_id"];
    let uri = uri.iter().find_map(|path| part.pointer(path)?.as_str()).map_or_else(|| part.to_string(), str::to_owned);
    let mime = uri.strip_prefix("data:").and_then(|data| data.split([';', ',']).next()).filter(|mime| !mime.is_empty());
    let usual = if part.get("image_url").is_some() { "image/*" } else { "application/octet-stream" };
    Attachment { mime: mime.unwrap_or(usual).to_owned(), name: None, uri: uri.into() }
}

fn unit(message: &Value) -> Unit {
    let (said, attachments) = content(message.get("content"));
    match role(message) {
        "assistant" => {
            let mut items = Vec::new();
            let reasoning = text(message, "reasoning_content").or_else(|| text(message, "reasoning"));
            items.extend(
                reasoning.filter(|text| !text.is_empty()).map(|text| WireItem::Reasoning { text, metadata: None }),
            );
            if !said.is_empty() {
                items.push(WireItem::Text(said));
            }
            let calls = message.get("tool_calls").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            items.extend(calls.iter().map(call));
            Unit { speaker: Speaker::Assistant, items }
        }
        "tool" => {
            let id = text(message, "tool_call_id").unwrap_or_default();
            let result = WireItem::Result { id, text: said, failed: false, attachments };
            Unit { speaker: Speaker::User, items: vec![result] }
        }
        "system" | "developer" => {
            Unit { speaker: Speaker::User, items: vec![WireItem::Context { key: "agent/system", text: said }] }
        }
        _ => {
            let text = (!said.is_empty()).then_some(match said.trim_start().starts_with("<system-reminder>") {
                true => WireItem::Context { key: "agent/reminder", text: said },
                false => WireItem::Text(said),
            });
            let items = text.into_iter().chain(attachments.into_iter().map(WireItem::Media)).collect();
            Unit { speaker: Speaker::User, items }
        }
    }
}

fn call(call: &Value) -> WireItem {
    let function = call.get("function").or_else(|| call.get("custom")).unwrap_or(call);
    WireItem::Call {
        id: text(call, "id").unwrap_or_default(),
        name: text(function, "name").unwrap_or_default(),
        input: text(function, "arguments").or_else(|| text(function, "input")).unwrap_or_default(),
        hosted: false,
        metadata: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_with_calls_is_read() {
        let body = json!({
            "model": "gpt-4.1", "temperature": 0, "stream": true,
            "tools": [{"type": "function", "function": {"name": "ls", "description": "Lists.", "parameters": {}}}],
            "messages": [
                {"role": "system", "content": "You are."},
                {"role": "user", "content": [{"type": "text", "text": "list"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "a.txt"},
                {"role": "system", "content": "Be brief."},
            ],
        });
        let read = conversation(&body).unwrap();
        assert_eq!(read.system, ["You are."]);
        assert_eq!(read.units.len(), 4);
        assert!(matches!(&read.units[0].items[1], WireItem::Media(media) if media.mime == "image/png"));
        let called =
            WireItem::Call { id: "c".into(), name: "ls".into(), input: "{}".into(), hosted: false, metadata: None };
        assert_eq!(read.units[1].items, [called]);
        assert_eq!(read.units[3].items, [WireItem::Context { key: "agent/system", text: "Be brief.".into() }]);
    }
}
