//! Requests and answers of the Gemini API in the neutral form.

use crate::anthropic::text;
use crate::conversation::{DecodedAnswer, Speaker, Unit, WireConversation, WireItem};
use annals_core::Json;
use annals_core::event::{Attachment, Failure, Finish, RequestOptions, ToolDefinition, Usage};
use serde_json::Value;

/// How a text begins that Gemini CLI adds in the user's place.
const ADDED: [&str; 2] = ["<session_context>", "This is the Gemini CLI. We are setting up the context"];

/// Reads a body; `path` names the model: `/v1beta/models/MODEL:generateContent`. `None` if it is not a request for
/// content.
pub(crate) fn conversation(path: &str, body: &Value) -> Option<WireConversation> {
    // To count tokens, the request may be wrapped.
    let body = body.get("generateContentRequest").unwrap_or(body);
    let contents = body.get("contents")?.as_array()?;
    let model = path.rsplit('/').next()?.split(':').next()?.to_owned();
    let system = body.get("systemInstruction").or_else(|| body.get("system_instruction"));
    let system = system.map(|system| texts(system).join("\n\n")).filter(|text| !text.is_empty());
    let tools = body.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut options = RequestOptions::default();
    for (name, value) in body.as_object().into_iter().flatten() {
        let json = Json::received(annals_core::canonical::value(value));
        match name.as_str() {
            "generationConfig" => drop(options.controls.insert(name.clone(), json)),
            "toolConfig" | "safetySettings" | "cachedContent" => drop(options.body.insert(name.clone(), json)),
            _ => {}
        }
    }
    let output_limit = body.pointer("/generationConfig/maxOutputTokens").and_then(Value::as_u64);
    let units = contents.iter().map(unit).collect();
    let tools = tools.iter().flat_map(declared).collect();
    Some(WireConversation { model, system: system.into_iter().collect(), tools, units, options, output_limit }.joined())
}

fn declared(tool: &Value) -> Vec<ToolDefinition> {
    let Some(functions) = tool.get("functionDeclarations").and_then(Value::as_array) else {
        let name = tool.as_object().and_then(|tool| tool.keys().next().cloned()).unwrap_or_default();
        return vec![ToolDefinition { name, description: "".into(), schema: Json::received(tool.to_string()) }];
    };
    let definition = |function: &Value| ToolDefinition {
        name: text(function, "name").unwrap_or_default(),
        description: text(function, "description").unwrap_or_default().into(),
        schema: Json::received(
            function.get("parametersJsonSchema").or_else(|| function.get("parameters")).unwrap_or(function).to_string(),
        ),
    };
    functions.iter().map(definition).collect()
}

fn parts(content: &Value) -> &[Value] {
    content.get("parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn texts(content: &Value) -> Vec<String> {
    parts(content).iter().filter_map(|part| text(part, "text")).collect()
}

fn unit(content: &Value) -> Unit {
    let is_model = content.get("role").and_then(Value::as_str) == Some("model");
    let speaker = if is_model { Speaker::Assistant } else { Speaker::User };
    Unit { speaker, items: parts(content).iter().map(|part| item(part, speaker)).collect() }
}

fn item(part: &Value, speaker: Speaker) -> WireItem {
    if let Some(text) = text(part, "text") {
        let thought = part.get("thought").and_then(Value::as_bool) == Some(true);
        let added = ADDED.iter().any(|start| text.trim_start().starts_with(start));
        return match speaker {
            Speaker::Assistant if thought => WireItem::Reasoning { text, metadata: signature(part) },
            Speaker::User if added => WireItem::Context { key: "agent/context", text },
            _ => WireItem::Text(text),
        };
    }
    if let Some(call) = part.get("functionCall") {
        let name = text(call, "name").unwrap_or_default();
        return WireItem::Call {
            id: text(call, "id").filter(|id| !id.is_empty()).unwrap_or_else(|| name.clone()),
            name,
            input: call.get("args").map_or_else(|| "{}".to_owned(), Value::to_string),
            hosted: false,
            metadata: signature(part),
        };
    }
    if let Some(response) = part.get("functionResponse") {
        let name = text(response, "name").unwrap_or_default();
        let value = response.get("response").unwrap_or(&Value::Null);
        let only = |field: &str| value.as_object().filter(|value| value.len() == 1)?.get(field)?.as_str();
        return WireItem::Result {
            id: text(response, "id").filter(|id| !id.is_empty()).unwrap_or(name),
            text: only("output").or_else(|| only("error")).map_or_else(|| value.to_string(), str::to_owned),
            failed: value.get("error").is_some(),
            attachments: Vec::new(),
        };
    }
    let data = part.get("inlineData").or_else(|| part.get("fileData"));
    match data {
        Some(data) => {
            let mime = text(data, "mimeType").unwrap_or_else(|| "application/octet-stream".to_owned());
            let inline = text(data, "data").map(|bytes| format!("data:{mime};base64,{bytes}"));
            let uri = inline.or_else(|| text(data, "fileUri")).unwrap_or_default();
            WireItem::Media(Attachment { mime, name: None, uri: uri.into() })
        }
        None => WireItem::Text(part.to_string()),
    }
}

fn signature(part: &Value) -> Option<String> {
    text(part, "thoughtSignature").map(|signature| serde_json::json!({"thoughtSignature": signature}).to_string())
}

/// Reads the chunks of a successful answer.
pub(crate) fn answer(chunks: &[Value]) -> DecodedAnswer {
    let mut answer = DecodedAnswer::default();
    let mut calls = false;
    for chunk in chunks {
        if let Some(error) = chunk.get("error").filter(|error| error.is_object()) {
            let message = text(error, "message").unwrap_or_else(|| error.to_string());
            answer.error =
                Some(Failure { kind: "provider-internal".to_owned(), message: message.into(), status: None });
        }
        if let Some(usage) = chunk.get("usageMetadata") {
            answer.usage = Some(used(usage));
        }
        let Some(candidate) = chunk.pointer("/candidates/0") else { continue };
        for part in candidate.get("content").map(parts).unwrap_or_default() {
            let item = item(part, Speaker::Assistant);
            calls |= matches!(item, WireItem::Call { .. });
            add(&mut answer.items, item);
        }
        answer.finish = match candidate.get("finishReason").and_then(Value::as_str) {
            None | Some("" | "FINISH_REASON_UNSPECIFIED") => answer.finish,
            Some("STOP") if calls => Some(Finish::ToolCalls),
            Some("STOP") => Some(Finish::Stop),
            Some("MAX_TOKENS") => Some(Finish::Length),
            Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII") => Some(Finish::ContentFilter),
            Some(_) => Some(Finish::Other),
        };
    }
    answer
}

/// Adds a piece of an answer: text and reasoning come in pieces.
fn add(items: &mut Vec<WireItem>, item: WireItem) {
    match (items.last_mut(), item) {
        (_, WireItem::Text(piece)) if piece.is_empty() => {}
        (Some(WireItem::Text(text)), WireItem::Text(piece)) => text.push_str(&piece),
        (Some(WireItem::Reasoning { text, metadata }), WireItem::Reasoning { text: piece, metadata: signed }) => {
            text.push_str(&piece);
            if signed.is_some() {
                *metadata = signed;
            }
        }
        (_, item) => items.push(item),
    }
}

fn used(usage: &Value) -> Usage {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
    let cached = count("cachedContentTokenCount");
    Usage {
        input: (count("promptTokenCount") + count("toolUsePromptTokenCount")).saturating_sub(cached),
        output: count("candidatesTokenCount"),
        reasoning: count("thoughtsTokenCount"),
        cache_read: cached,
        cache_write: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_and_its_answer_are_read() {
        let body = json!({
            "systemInstruction": {"parts": [{"text": "You are."}]},
            "tools": [{"functionDeclarations": [{"name": "ls", "parametersJsonSchema": {}}, {"name": "cat"}]}],
            "generationConfig": {"temperature": 0},
            "contents": [
                {"role": "user", "parts": [{"text": "list"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {"a": 1}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a.txt"}}}]},
            ],
        });
        let read = conversation("/v1beta/models/gemini-2.5-pro:streamGenerateContent", &body).unwrap();
        assert_eq!((read.model.as_str(), read.tools.len(), read.units.len()), ("gemini-2.5-pro", 2, 3));
        let listed = WireItem::Result { id: "ls".into(), text: "a.txt".into(), failed: false, attachments: vec![] };
        assert_eq!(read.units[2].items, [listed]);
        let chunks = [
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Do"}]}}]}),
            json!({"candidates": [{"content": {"parts": [{"text": "ne."}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "cachedContentTokenCount": 4}}),
        ];
        let said = answer(&chunks);
        assert_eq!((said.items.as_slice(), said.finish), (&[WireItem::Text("Done.".into())][..], Some(Finish::Stop)));
        assert_eq!(said.usage.map(|usage| (usage.input, usage.output, usage.cache_read)), Some((5, 2, 4)));
    }
}
