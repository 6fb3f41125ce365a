//! Requests of OpenAI Responses in the neutral form.

use crate::anthropic::{options, text};
use crate::conversation::{Speaker, Unit, WireConversation, WireItem};
use annals_core::Json;
use annals_core::event::{Attachment, ToolDefinition};
use serde_json::Value;

/// Fields that are sampling and output controls.
const CONTROLS: [&str; 3] = ["max_output_tokens", "temperature", "top_p"];
/// Fields that are read elsewhere, or say nothing about the model's work.
const OTHERS: [&str; 9] = [
    "model",
    "input",
    "instructions",
    "tools",
    "stream",
    "metadata",
    "client_metadata",
    "prompt_cache_key",
    "previous_response_id",
];

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
pub(crate) fn conversation(body: &Value) -> Option<WireConversation> {
    let model = text(body, "model")?;
    let input = body.get("input")?;
    let mut tools: Vec<ToolDefinition> = list(body.get("tools")).iter().flat_map(offered).collect();
    let mut units = Vec::new();
    let mut system: Vec<String> = text(body, "instructions").filter(|text| !text.is_empty()).into_iter().collect();
    match input {
        Value::String(text) => units.push(user(vec![WireItem::Text(text.clone())])),
        Value::Array(items) => {
            for item in items {
                // Newer models are given their tools among the input.
                if kind(item) == "additional_tools" {
                    tools.extend(list(item.get("tools")).iter().flat_map(offered));
                    continue;
                }
                // And their instructions as its first messages.
                if units.is_empty() && body.get("instructions").is_none() && is_instruction(item) {
                    system.extend(list(item.get("content")).iter().filter_map(|part| text(part, "text")));
                    continue;
                }
                units.extend(unit(item));
            }
        }
        _ => return None,
    }
    let output_limit = body.get("max_output_tokens").and_then(Value::as_u64);
    let options = options(body, &CONTROLS, &OTHERS);
    Some(WireConversation { model, system, tools, units, options, output_limit }.joined())
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or("message")
}

fn is_instruction(item: &Value) -> bool {
    kind(item) == "message" && matches!(item.get("role").and_then(Value::as_str), Some("developer" | "system"))
}

/// The tools of an entry: one, or those of a namespace.
fn offered(entry: &Value) -> Vec<ToolDefinition> {
    if kind(entry) != "namespace" {
        return vec![tool(entry)];
    }
    list(entry.get("tools")).iter().map(tool).collect()
}

fn tool(tool: &Value) -> ToolDefinition {
    let name = text(tool, "name").unwrap_or_else(|| kind(tool).to_owned());
    let description = text(tool, "description").unwrap_or_default().into();
    let schema = tool.get("parameters").unwrap_or(tool);
    ToolDefinition { name, description, schema: Json::received(schema.to_string()) }
}

fn user(items: Vec<WireItem>) -> Unit {
    Unit { speaker: Speaker::User, items }
}

fn assistant(item: WireItem) -> Unit {
    Unit { speaker: Speaker::Assistant, items: vec![item] }
}

fn unit(item: &Value) -> Option<Unit> {
    let of = |name: &str| text(item, name).unwrap_or_default();
    Some(match kind(item) {
        "message" => message(item),
        "reasoning" => {
            let parts = list(item.get("summary")).iter().filter_map(|part| text(part, "text"));
            let metadata =
                item.get("encrypted_content").filter(|content| content.is_string()).map(|_| item.to_string());
            assistant(WireItem::Reasoning { text: parts.collect::<Vec<_>>().join("\n\n"), metadata })
        }
        "function_call" => assistant(local_call(item)),
        "custom_tool_call" | "local_shell_call" | "tool_search_call" => assistant(local_call(item)),
        kind if kind.ends_with("_call_output") || kind == "tool_search_output" => {
            let (text, attachments) = output(item.get("output").or_else(|| item.get("tools")));
            user(vec![WireItem::Result { id: of("call_id"), text, failed: false, attachments }])
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
            Unit { speaker: Speaker::Assistant, items: vec![call, result] }
        }
        "item_reference" => return None,
        "agent_message" => {
            let content = list(item.get("content")).iter();
            let texts = content.filter_map(|part| text(part, "text").or_else(|| text(part, "encrypted_content")));
            user(vec![WireItem::Text(texts.collect::<Vec<_>>().join("\n"))])
        }
        // A summary that only the provider can read.
        "compaction" | "compaction_summary" => user(vec![WireItem::Text(item.to_string())]),
        _ => user(vec![WireItem::Context { key: "agent/input", text: item.to_string() }]),
    })
}

/// A call that the agent executes, also one of a kind of its own.
pub(crate) fn local_call(item: &Value) -> WireItem {
    let of = |name: &str| text(item, name).filter(|text| !text.is_empty());
    let name = of("name").unwrap_or_else(|| kind(item).trim_end_matches("_call").to_owned());
    let input = of("arguments").or_else(|| of("input")).or_else(|| Some(item.get("action")?.to_string()));
    let id = of("call_id").or_else(|| of("id")).unwrap_or_default();
    WireItem::Call { id, name, input: input.unwrap_or_default(), hosted: false, metadata: None }
}

fn message(item: &Value) -> Unit {
    let role = item.get("role").and_then(Value::as_str).unwrap_or("user");
    let texts = match item.get("content") {
        Some(Value::String(text)) => vec![WireItem::Text(text.clone())],
        content => list(content).iter().map(part).collect(),
    };
    if role == "assistant" {
        return Unit { speaker: Speaker::Assistant, items: texts };
    }
    let context = |text: &str| match role {
        "developer" | "system" => Some("agent/developer"),
        _ => ADDED.iter().any(|start| text.trim_start().starts_with(start)).then_some("agent/context"),
    };
    let items = texts.into_iter().map(|item| match item {
        WireItem::Text(text) => match context(&text) {
            Some(key) => WireItem::Context { key, text },
            None => WireItem::Text(text),
        },
        other => other,
    });
    user(items.collect())
}

fn part(part: &Value) -> WireItem {
    match kind(part) {
        "input_text" | "output_text" | "text" => WireItem::Text(text(part, "text").unwrap_or_default()),
        "refusal" => WireItem::Text(text(part, "refusal").unwrap_or_default()),
        "input_image" | "input_file" => WireItem::Media(media(part)),
        _ => WireItem::Text(part.to_string()),
    }
}

fn media(part: &Value) -> Attachment {
    let uri = ["image_url", "file_data", "file_url"].iter().find_map(|name| text(part, name));
    let uri = uri.or_else(|| text(part, "file_id").map(|id| format!("file-id:{id}"))).unwrap_or_default();
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
                    WireItem::Text(text) => texts.push(text),
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
        assert_eq!((read.system.as_slice(), read.tools.len()), (&["You are Codex.".to_owned()][..], 2));
        let named: Vec<bool> = read.units.iter().map(|unit| unit.name().is_some()).collect();
        assert_eq!(named, [false, false, true, true, true, true]);
        assert_eq!(read.units[3].items.len(), 3, "reasoning and both calls are one answer");
        let patched = WireItem::Result { id: "c2".into(), text: "ok".into(), failed: false, attachments: vec![] };
        assert_eq!(read.units[5].items, [patched]);
    }
}
