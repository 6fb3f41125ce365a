//! Requests of OpenAI Chat Completions in the neutral form.

use super::anthropic::{definition, options};
use super::conversation::{Speaker, SystemInstruction, Unit, WireConversation, WireItem};
use super::{list, said, text};
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
/// Fields that are read elsewhere.
const READ: [&str; 4] = ["model", "messages", "tools", "functions"];
/// Fields that say nothing about the model's work.
const EXCHANGE: [&str; 4] = ["stream", "stream_options", "metadata", "user"];

/// Reads a body; `None` if it is not a request for a completion.
pub(super) fn conversation(body: &Value) -> Option<WireConversation> {
    let messages = body.get("messages")?.as_array()?;
    // Those at the beginning are the system prompt; later ones are context.
    let leading = messages.iter().take_while(|message| is_system(message)).count();
    let mut instructions = Vec::new();
    let mut units = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let unit = unit(message, &format!("/messages/{at}"));
        if at >= leading {
            units.push(unit);
            continue;
        }
        for (item, pointer) in unit.items.into_iter().zip(unit.pointers) {
            if let WireItem::Context { text, .. } | WireItem::Unknown { text } = item
                && !text.is_empty()
            {
                instructions.push(SystemInstruction { pointer, text, is_volatile: false });
            }
        }
    }
    let (options, exchange) = options(body, &CONTROLS, &READ, &EXCHANGE);
    let functions = list(body.get("functions")).iter();
    Some(
        WireConversation {
            model: text(body, "model")?,
            instructions,
            tools: list(body.get("tools")).iter().chain(functions).map(tool).collect(),
            units,
            options,
            exchange,
            output_limit: ["max_completion_tokens", "max_tokens"].iter().find_map(|name| body.get(*name)?.as_u64()),
            previous: None,
            references: Vec::new(),
        }
        .joined(),
    )
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or("user")
}

fn is_system(message: &Value) -> bool {
    matches!(role(message), "system" | "developer")
}

fn tool(tool: &Value) -> ToolDefinition {
    let function = tool.get("function").or_else(|| tool.get("custom")).unwrap_or(tool);
    let name = text(function, "name").or_else(|| text(tool, "type")).unwrap_or_default();
    definition(function, name, "parameters")
}

/// The parts of a content, each with its place.
fn content(content: Option<&Value>, pointer: &str) -> Vec<(String, WireItem)> {
    match content {
        Some(Value::String(text)) => vec![(pointer.to_owned(), WireItem::Text(text.clone()))],
        Some(Value::Array(parts)) => {
            let part = |(at, part): (usize, &Value)| {
                let said = text(part, "text").or_else(|| text(part, "refusal"));
                let said = said.or_else(|| part.as_str().map(str::to_owned)).map(WireItem::Text);
                let item = said.or_else(|| media(part).map(WireItem::Media));
                (format!("{pointer}/{at}"), item.unwrap_or_else(|| WireItem::Unknown { text: part.to_string() }))
            };
            parts.iter().enumerate().map(part).collect()
        }
        _ => Vec::new(),
    }
}

fn media(part: &Value) -> Option<Attachment> {
    let uri = ["/image_url/url", "/image_url", "/file/file_data", "/file/file_id"];
    let of = |path: &str| part.pointer(path)?.as_str();
    let audio = || Some(format!("data:audio/{};base64,{}", of("/input_audio/format")?, of("/input_audio/data")?));
    let uri = uri.into_iter().find_map(of).map(str::to_owned).or_else(audio)?;
    let mime = uri.strip_prefix("data:").and_then(|data| data.split([';', ',']).next()).filter(|mime| !mime.is_empty());
    let usual = match part {
        part if part.get("image_url").is_some() => "image/*",
        _ => "application/octet-stream",
    };
    let name = part.pointer("/file/filename").and_then(Value::as_str).map(str::to_owned);
    Some(Attachment { mime: mime.unwrap_or(usual).to_owned(), name, uri: uri.into() })
}

fn unit(message: &Value, pointer: &str) -> Unit {
    let mut unit = match role(message) {
        "assistant" => answered(message, pointer),
        // A result of an old function has its name for an id.
        role @ ("tool" | "function") => {
            let id = if role == "tool" { "tool_call_id" } else { "name" };
            result(message, text(message, id).unwrap_or_default(), pointer)
        }
        _ => asked(message, pointer),
    };
    unit.push_unread(message, pointer);
    unit
}

fn answered(message: &Value, pointer: &str) -> Unit {
    let mut unit = Unit::new(Speaker::Assistant);
    for name in ["reasoning_content", "reasoning"] {
        if let Some(text) = text(message, name).filter(|text| !text.is_empty()) {
            unit.push(&format!("{pointer}/{name}"), WireItem::Reasoning { text, metadata: None });
            break;
        }
    }
    for (pointer, part) in content(message.get("content"), &format!("{pointer}/content")) {
        match part {
            WireItem::Text(text) if text.is_empty() => {}
            part => unit.push(&pointer, part),
        }
    }
    if let Some(text) = text(message, "refusal").filter(|text| !text.is_empty()) {
        unit.push(&format!("{pointer}/refusal"), WireItem::Text(text));
    }
    for (at, call) in list(message.get("tool_calls")).iter().enumerate() {
        unit.push(&format!("{pointer}/tool_calls/{at}"), called(call));
    }
    if let Some(function) = message.get("function_call").filter(|function| function.is_object()) {
        let id = text(function, "name").unwrap_or_default();
        let item = match called(function) {
            WireItem::Call { name, input, hosted, metadata, .. } => {
                WireItem::Call { id, name, input, hosted, metadata }
            }
            other => other,
        };
        unit.push(&format!("{pointer}/function_call"), item);
    }
    unit
}

fn result(message: &Value, id: String, pointer: &str) -> Unit {
    let (mut texts, mut attachments) = (Vec::new(), Vec::new());
    for (_, part) in content(message.get("content"), pointer) {
        match part {
            WireItem::Media(media) => attachments.push(media),
            WireItem::Text(text) | WireItem::Unknown { text } => texts.push(text),
            _ => {}
        }
    }
    let mut unit = Unit::new(Speaker::User);
    unit.push(pointer, WireItem::Result { id, text: texts.join("\n"), failed: false, attachments });
    unit
}

fn asked(message: &Value, pointer: &str) -> Unit {
    let mut unit = Unit::new(Speaker::User);
    let context = is_system(message).then_some("agent/system");
    for (pointer, part) in content(message.get("content"), &format!("{pointer}/content")) {
        match part {
            WireItem::Text(text) if text.is_empty() => {}
            WireItem::Text(text) => said::push(&mut unit, &pointer, text, |_| context),
            part => unit.push(&pointer, part),
        }
    }
    unit
}

fn called(call: &Value) -> WireItem {
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
        assert_eq!(read.system(), ["You are."]);
        assert_eq!(read.units.len(), 4);
        assert!(matches!(&read.units[0].items[1], WireItem::Media(media) if media.mime == "image/png"));
        let called =
            WireItem::Call { id: "c".into(), name: "ls".into(), input: "{}".into(), hosted: false, metadata: None };
        assert_eq!(read.units[1].items, [called]);
        assert_eq!(read.units[3].items, [WireItem::Context { key: "agent/system", text: "Be brief.".into() }]);
    }
}
