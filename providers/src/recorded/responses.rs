//! Requests of OpenAI Responses in the neutral form.

use super::anthropic::{definition, options};
use super::conversation::{Speaker, SystemInstruction, Unit, WireConversation, WireItem};
use super::{list, said, text};
use annals_core::Json;
use annals_core::event::{Attachment, ToolDefinition};
use serde_json::Value;

/// Fields that are sampling and output controls.
const CONTROLS: [&str; 3] = ["max_output_tokens", "temperature", "top_p"];
/// Fields that are read elsewhere.
const READ: [&str; 4] = ["model", "input", "instructions", "tools"];
/// Fields that say nothing about the model's work, or link answers.
const EXCHANGE: [&str; 6] =
    ["stream", "metadata", "client_metadata", "prompt_cache_key", "previous_response_id", "conversation"];

/// How texts begin that an agent adds in the user's place.
const ADDED: [&str; 8] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
    "<skills_instructions>",
    "<multi_agent_role>",
    "<multi_agent_mode>",
    "<system-reminder>",
];

/// Reads a body; `None` if it is not a request for a response.
pub(super) fn conversation(body: &Value) -> Option<WireConversation> {
    let model = text(body, "model")?;
    let input = body.get("input")?;
    let mut tools: Vec<ToolDefinition> = list(body.get("tools")).iter().flat_map(offered).collect();
    let mut instructions = Vec::new();
    let mut instruct = |pointer: String, text: String| {
        if !text.is_empty() {
            instructions.push(SystemInstruction { pointer, text, is_volatile: false });
        }
    };
    match body.get("instructions") {
        Some(Value::String(text)) => instruct("/instructions".to_owned(), text.clone()),
        Some(value) if !value.is_null() => instruct("/instructions".to_owned(), value.to_string()),
        _ => {}
    }
    let has_instructions = body.get("instructions").is_some_and(|value| !value.is_null());
    let mut units: Vec<Unit> = Vec::new();
    match input {
        Value::String(text) => {
            let mut unit = Unit::new(Speaker::User);
            said::push(&mut unit, "/input", text.clone(), added);
            units.push(unit);
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let pointer = format!("/input/{at}");
                // Newer models are given their tools among the input.
                if kind(item) == "additional_tools" {
                    tools.extend(list(item.get("tools")).iter().flat_map(offered));
                    continue;
                }
                let unit = unit(item, &pointer);
                // And their instructions as its first messages.
                if units.is_empty() && !has_instructions && is_instruction(item) {
                    for (item, pointer) in unit.items.into_iter().zip(unit.pointers) {
                        if let WireItem::Context { text, .. } | WireItem::Unknown { text } = item {
                            instruct(pointer, text);
                        }
                    }
                    continue;
                }
                units.push(unit);
            }
        }
        _ => return None,
    }
    let (options, exchange) = options(body, &CONTROLS, &READ, &EXCHANGE);
    let output_limit = body.get("max_output_tokens").and_then(Value::as_u64);
    let previous = text(body, "previous_response_id");
    let references = list(Some(input)).iter().filter(|item| is_reference(item)).filter_map(|item| text(item, "id"));
    let references = references.collect();
    let read =
        WireConversation { model, instructions, tools, units, options, exchange, output_limit, previous, references };
    Some(read.joined())
}

fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or("message")
}

/// Whether an item only names one that the provider has. The type may be left out.
pub fn is_reference(item: &Value) -> bool {
    let has_content = || item.get("content").is_some() || item.get("role").is_some();
    kind(item) == "item_reference"
        || (item.get("type").is_none_or(Value::is_null) && item.get("id").is_some() && !has_content())
}

fn role(item: &Value) -> &str {
    item.get("role").and_then(Value::as_str).unwrap_or("user")
}

fn is_instruction(item: &Value) -> bool {
    kind(item) == "message" && matches!(role(item), "developer" | "system")
}

/// The tools of an entry: one, or those of a namespace. What a namespace says of all of its tools is a definition before them.
fn offered(entry: &Value) -> Vec<ToolDefinition> {
    if kind(entry) != "namespace" {
        return vec![tool(entry)];
    }
    let own = text(entry, "description").filter(|description| !description.trim().is_empty()).map(|description| {
        let (name, schema) = (text(entry, "name").unwrap_or_default(), serde_json::json!({"type": "namespace"}));
        ToolDefinition { name, description: description.into(), schema: Json::received(schema.to_string()) }
    });
    own.into_iter().chain(list(entry.get("tools")).iter().map(tool)).collect()
}

fn tool(tool: &Value) -> ToolDefinition {
    let name = text(tool, "name").unwrap_or_else(|| kind(tool).to_owned());
    definition(tool, name, "parameters")
}

fn unit(item: &Value, pointer: &str) -> Unit {
    let (speaker, items) = match kind(item) {
        "message" if !is_reference(item) => return message(item, pointer),
        "agent_message" => return from_agent(item, pointer),
        _ if is_reference(item) => (Speaker::Assistant, vec![WireItem::Reference { text: item.to_string() }]),
        // A summary that only the provider can read.
        "compaction" | "compaction_summary" => (Speaker::User, vec![WireItem::Text(item.to_string())]),
        kind => of_kind(kind, item),
    };
    let mut unit = Unit::new(speaker);
    items.into_iter().for_each(|item| unit.push(pointer, item));
    unit.push_unread(item, pointer);
    unit
}

/// What another agent says.
fn from_agent(item: &Value, pointer: &str) -> Unit {
    let mut unit = Unit::new(Speaker::User);
    for (at, part) in list(item.get("content")).iter().enumerate() {
        if let Some(text) = text(part, "text").or_else(|| text(part, "encrypted_content")) {
            unit.push(&format!("{pointer}/content/{at}"), WireItem::Text(text));
        }
    }
    unit.push_unread(item, pointer);
    unit
}

fn of_kind(kind: &str, item: &Value) -> (Speaker, Vec<WireItem>) {
    let of = |name: &str| text(item, name).unwrap_or_default();
    match kind {
        "reasoning" => {
            let parts = list(item.get("summary")).iter().chain(list(item.get("content")));
            let parts = parts.filter_map(|part| text(part, "text"));
            let metadata =
                item.get("encrypted_content").filter(|content| content.is_string()).map(|_| item.to_string());
            let text = parts.collect::<Vec<_>>().join("\n\n");
            (Speaker::Assistant, vec![WireItem::Reasoning { text, metadata }])
        }
        kind if kind.ends_with("_call_output") || kind == "tool_search_output" => {
            let (text, attachments) = output(item.get("output").or_else(|| item.get("tools")));
            (Speaker::User, vec![WireItem::Result { id: of("call_id"), text, failed: false, attachments }])
        }
        // A call with an id of its own is executed by the agent.
        kind if kind.ends_with("_call") && item.get("call_id").is_some_and(Value::is_string) => {
            (Speaker::Assistant, vec![local_call(item)])
        }
        "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
            (Speaker::Assistant, vec![local_call(item)])
        }
        kind if kind.ends_with("_call") => {
            let call = WireItem::Call {
                id: of("id"),
                name: kind.trim_end_matches("_call").to_owned(),
                input: "{}".to_owned(),
                hosted: true,
                metadata: None,
            };
            let result = WireItem::HostedResult { id: of("id"), result: item.to_string(), error: None };
            (Speaker::Assistant, vec![call, result])
        }
        _ => (Speaker::User, vec![WireItem::Unknown { text: item.to_string() }]),
    }
}

/// A call that the agent executes, also one of a kind of its own.
pub fn local_call(item: &Value) -> WireItem {
    let of = |name: &str| text(item, name).filter(|text| !text.is_empty());
    let name = of("name").unwrap_or_else(|| kind(item).trim_end_matches("_call").to_owned());
    let input = of("arguments").or_else(|| of("input")).or_else(|| Some(item.get("action")?.to_string()));
    let id = of("call_id").or_else(|| of("id")).unwrap_or_default();
    WireItem::Call { id, name, input: input.unwrap_or_default(), hosted: false, metadata: None }
}

/// What a text is that an agent adds in the user's place.
fn added(text: &str) -> Option<&'static str> {
    ADDED.iter().any(|start| text.trim_start().starts_with(start)).then_some("agent/context")
}

fn message(item: &Value, pointer: &str) -> Unit {
    let is_instruction = is_instruction(item);
    let speaker = if role(item) == "assistant" { Speaker::Assistant } else { Speaker::User };
    let mut unit = Unit::new(speaker);
    let mut push = |pointer: &str, item: WireItem| match (item, speaker) {
        (WireItem::Text(text), Speaker::User) if is_instruction => {
            unit.push(pointer, WireItem::Context { key: "agent/developer", text });
        }
        (WireItem::Text(text), Speaker::User) => said::push(&mut unit, pointer, text, added),
        (item, _) => unit.push(pointer, item),
    };
    let place = format!("{pointer}/content");
    match item.get("content") {
        Some(Value::String(text)) => push(&place, WireItem::Text(text.clone())),
        content => {
            let parts = list(content).iter().enumerate();
            parts.for_each(|(at, value)| push(&format!("{place}/{at}"), part(value)));
        }
    }
    unit.push_unread(item, pointer);
    unit
}

fn part(part: &Value) -> WireItem {
    match kind(part) {
        _ if part.is_string() => WireItem::Text(part.as_str().unwrap_or_default().to_owned()),
        "input_text" | "output_text" | "text" => WireItem::Text(text(part, "text").unwrap_or_default()),
        "refusal" => WireItem::Text(text(part, "refusal").unwrap_or_default()),
        "input_image" | "input_file" | "input_audio" => WireItem::Media(media(part)),
        _ => WireItem::Unknown { text: part.to_string() },
    }
}

fn media(part: &Value) -> Attachment {
    let uri = ["image_url", "file_data", "file_url"].iter().find_map(|name| text(part, name));
    let uri = uri.or_else(|| text(part, "file_id").map(|id| format!("file-id:{id}")));
    let audio = || {
        let of = |name: &str| part.pointer(name)?.as_str();
        Some(format!("data:audio/{};base64,{}", of("/input_audio/format")?, of("/input_audio/data")?))
    };
    let uri = uri.or_else(audio).unwrap_or_else(|| part.to_string());
    let mime = uri.strip_prefix("data:").and_then(|data| data.split([';', ',']).next()).filter(|mime| !mime.is_empty());
    let mime = mime.unwrap_or(if kind(part) == "input_image" { "image/*" } else { "application/octet-stream" });
    Attachment { mime: mime.to_owned(), name: text(part, "filename"), uri: uri.into() }
}

/// The text of the output of a call, and the media that came with it.
fn output(output: Option<&Value>) -> (String, Vec<Attachment>) {
    match output {
        Some(Value::String(text)) => (text.clone(), Vec::new()),
        Some(Value::Array(parts)) => {
            let (mut texts, mut attachments) = (Vec::new(), Vec::new());
            for item in parts.iter().map(part) {
                match item {
                    WireItem::Text(text) | WireItem::Unknown { text } => texts.push(text),
                    WireItem::Media(media) => attachments.push(media),
                    _ => {}
                }
            }
            (texts.join("\n"), attachments)
        }
        Some(other) => (other.to_string(), Vec::new()),
        None => (String::new(), Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_of_codex_is_read() {
        let body = json!({
            "model": "gpt-5", "instructions": "You are Codex.", "stream": true, "store": false,
            "tools": [{"type": "function", "name": "shell", "parameters": {"type": "object"}}, {"type": "web_search"}],
            "input": [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Rules."}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<environment_context>x"}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "list"}]},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}], "encrypted_content": "e"},
                {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{\"a\":1}"},
                {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin"},
                {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
                {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "ok"}]},
            ],
        });
        let read = conversation(&body).unwrap();
        assert_eq!((read.system().as_slice(), read.tools.len()), (&["You are Codex.".to_owned()][..], 2));
        assert_eq!(read.units.len(), 6);
        let rules = WireItem::Context { key: "agent/developer", text: "Rules.".into() };
        assert_eq!(read.units[0].items, [rules]);
        assert_eq!(read.units[3].items.len(), 3, "reasoning and both calls are one answer");
        let patched = WireItem::Result { id: "c2".into(), text: "ok".into(), failed: false, attachments: vec![] };
        assert_eq!(read.units[5].items, [patched]);
    }
}
