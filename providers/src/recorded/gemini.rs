//! Requests and answers of the Gemini API in the neutral form.

use super::anthropic::{definition, options};
use super::conversation::{DecodedAnswer, Speaker, SystemInstruction, Unit, WireConversation, WireItem};
use super::{list, said, text};
use annals_core::Json;
use annals_core::event::{Attachment, Failure, Finish, ToolDefinition, Usage};
use serde_json::Value;

/// Fields that are read elsewhere.
const READ: [&str; 5] = ["model", "contents", "tools", "systemInstruction", "system_instruction"];

/// How a text begins that Gemini CLI adds in the user's place.
const ADDED: [&str; 1] = ["<session_context>"];

/// Reads a body; `path` names the model: `/v1beta/models/MODEL:generateContent`. `None` if it is not a request for content.
pub(super) fn conversation(path: &str, body: &Value) -> Option<WireConversation> {
    // To count tokens, and for Code Assist, the request may be wrapped.
    let wrapper =
        ["generateContentRequest", "request"].into_iter().find(|name| body.get(*name).is_some_and(Value::is_object));
    let (model, root) = (text(body, "model"), wrapper.map_or_else(String::new, |name| format!("/{name}")));
    let body = wrapper.and_then(|name| body.get(name)).unwrap_or(body);
    let contents = match body.get("contents")? {
        Value::Array(contents) => contents.clone(),
        // SDKs take one text or message for a list of one.
        one @ (Value::Object(_) | Value::String(_)) => vec![one.clone()],
        _ => return None,
    };
    let of_path = path.rsplit('/').next()?.split(':').next()?.to_owned();
    let model = model.filter(|_| of_path.starts_with("v1")).unwrap_or(of_path);
    let mut instructions = Vec::new();
    for name in ["systemInstruction", "system_instruction"] {
        let Some(system) = body.get(name) else { continue };
        let unit = unit(system, &format!("{root}/{name}"));
        for (item, pointer) in unit.items.into_iter().zip(unit.pointers) {
            if let WireItem::Text(text) | WireItem::Context { text, .. } | WireItem::Unknown { text } = item
                && !text.is_empty()
            {
                instructions.push(SystemInstruction { pointer, text, is_volatile: false });
            }
        }
    }
    let (options, exchange) = options(body, &["generationConfig"], &READ, &["labels"]);
    let output_limit = body.pointer("/generationConfig/maxOutputTokens").and_then(Value::as_u64);
    let units = contents.iter().enumerate().map(|(at, content)| unit(content, &format!("{root}/contents/{at}")));
    let units = units.collect();
    let tools = list(body.get("tools")).iter().flat_map(declared).collect();
    let (previous, references) = (None, Vec::new());
    let read =
        WireConversation { model, instructions, tools, units, options, exchange, output_limit, previous, references };
    Some(read.joined())
}

fn declared(tool: &Value) -> Vec<ToolDefinition> {
    let Some(functions) = tool.get("functionDeclarations").or_else(|| tool.get("function_declarations")) else {
        let name = tool.as_object().and_then(|tool| tool.keys().next().cloned()).unwrap_or_default();
        return vec![ToolDefinition { name, description: "".into(), schema: Json::received(tool.to_string()) }];
    };
    let declared = |function: &Value| {
        let schema = ["parametersJsonSchema", "parameters"].into_iter().find(|name| function.get(*name).is_some());
        definition(function, text(function, "name").unwrap_or_default(), schema.unwrap_or("parameters"))
    };
    list(Some(functions)).iter().map(declared).collect()
}

fn parts(content: &Value) -> &[Value] {
    list(content.get("parts"))
}

fn unit(content: &Value, pointer: &str) -> Unit {
    let is_model = content.get("role").and_then(Value::as_str) == Some("model");
    let speaker = if is_model { Speaker::Assistant } else { Speaker::User };
    let mut unit = Unit::new(speaker);
    let added = |text: &str| ADDED.iter().any(|start| text.trim_start().starts_with(start)).then_some("agent/context");
    if let Some(text) = content.as_str() {
        said::push(&mut unit, pointer, text.to_owned(), added);
        return unit;
    }
    for (at, part) in parts(content).iter().enumerate() {
        let pointer = format!("{pointer}/parts/{at}");
        match item(part, speaker) {
            WireItem::Text(text) if speaker == Speaker::User => said::push(&mut unit, &pointer, text, added),
            item => unit.push(&pointer, item),
        }
    }
    unit.push_unread(content, pointer);
    unit
}

fn item(part: &Value, speaker: Speaker) -> WireItem {
    if let Some(text) = text(part, "text") {
        let thought = part.get("thought").and_then(Value::as_bool) == Some(true);
        return match speaker {
            Speaker::Assistant if thought => WireItem::Reasoning { text, metadata: signature(part) },
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
            attachments: list(response.get("parts")).iter().filter_map(media).collect(),
        };
    }
    match media(part) {
        Some(media) => WireItem::Media(media),
        None => WireItem::Unknown { text: part.to_string() },
    }
}

fn media(part: &Value) -> Option<Attachment> {
    let data = ["inlineData", "inline_data", "fileData", "file_data"].into_iter().find_map(|name| part.get(name))?;
    let of = |one: &str, other: &str| text(data, one).or_else(|| text(data, other));
    let mime = of("mimeType", "mime_type").unwrap_or_else(|| "application/octet-stream".to_owned());
    let inline = text(data, "data").map(|bytes| format!("data:{mime};base64,{bytes}"));
    let uri = inline.or_else(|| of("fileUri", "file_uri")).unwrap_or_else(|| data.to_string());
    Some(Attachment { mime, name: text(data, "displayName"), uri: uri.into() })
}

fn signature(part: &Value) -> Option<String> {
    text(part, "thoughtSignature").map(|signature| serde_json::json!({"thoughtSignature": signature}).to_string())
}

/// Reads the chunks of a successful answer.
pub fn answer(chunks: &[Value]) -> DecodedAnswer {
    let mut answer = DecodedAnswer::default();
    let (mut calls, mut others) = (false, String::new());
    // Code Assist wraps its answers.
    for chunk in chunks.iter().map(|chunk| chunk.get("response").unwrap_or(chunk)) {
        if let Some(error) = chunk.get("error").filter(|error| error.is_object()) {
            let message = text(error, "message").unwrap_or_else(|| error.to_string());
            answer.error =
                Some(Failure { kind: "provider-internal".to_owned(), message: message.into(), status: None });
        }
        if let Some(reason) = chunk.pointer("/promptFeedback/blockReason").and_then(Value::as_str) {
            let words = chunk.pointer("/promptFeedback/blockReasonMessage").and_then(Value::as_str);
            let words = words.map(|words| format!(" ({words})")).unwrap_or_default();
            let message = format!("the provider blocked the prompt: {reason}{words}");
            answer.error = Some(Failure { kind: "content-filter".to_owned(), message: message.into(), status: None });
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
        for other in list(chunk.get("candidates")).iter().skip(1) {
            let texts =
                other.get("content").map(parts).unwrap_or_default().iter().filter_map(|part| text(part, "text"));
            others.push_str(&texts.collect::<String>());
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
    // What further candidates say follows the first.
    answer.items.extend(Some(WireItem::Text(others)).filter(|item| *item != WireItem::Text(String::new())));
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
