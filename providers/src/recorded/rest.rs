//! What no reader took from a message: every text of it that is in none of its items.

use super::conversation::WireItem;
use serde_json::Value;

/// Members that say how something is sent, not what it says.
pub(super) const STRUCTURE: [&str; 18] = [
    "type",
    "role",
    "id",
    "status",
    "phase",
    "cache_control",
    "signature",
    "thoughtSignature",
    "encrypted_content",
    "encrypted_index",
    "tool_use_id",
    "tool_call_id",
    "call_id",
    "media_type",
    "mime_type",
    "mimeType",
    "detail",
    // Codex: about the message, for its provider.
    "internal_chat_message_metadata_passthrough",
];

/// The texts of a value that none of the items has, each with its JSON Pointer. Where nothing below a place is known, the place
/// is one part: its JSON.
pub(super) fn unread(value: &Value, pointer: &str, items: &[WireItem]) -> Vec<(String, String)> {
    let (mut found, known) = (Vec::new(), KnownTexts::of(items));
    walk(value, pointer, true, &known, &mut found);
    found
}

#[derive(Clone, Copy, Default)]
struct Met {
    known: bool,
    unknown: bool,
}

fn walk(value: &Value, pointer: &str, is_root: bool, known: &KnownTexts<'_>, found: &mut Vec<(String, String)>) -> Met {
    let from = found.len();
    let mut met = Met::default();
    let mut below = |name: &str, value: &Value, found: &mut Vec<(String, String)>| {
        let name = name.replace('~', "~0").replace('/', "~1");
        let child = walk(value, &format!("{pointer}/{name}"), false, known, found);
        met = Met { known: met.known || child.known, unknown: met.unknown || child.unknown };
    };
    match value {
        Value::String(text) if text.trim().is_empty() => {}
        Value::String(text) if known.have(text) => met.known = true,
        Value::String(text) => {
            found.push((pointer.to_owned(), text.clone()));
            met.unknown = true;
        }
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                below(&at.to_string(), value, found);
            }
        }
        Value::Object(members) => {
            // A result says whose it is: the tool of its call.
            let is_result = pointer.ends_with("/functionResponse")
                || pointer.ends_with("/function_response")
                || members.get("role").and_then(Value::as_str) == Some("tool");
            let is_structure = |name: &str| STRUCTURE.contains(&name) || (is_result && name == "name");
            for (name, value) in members.iter().filter(|(name, _)| !is_structure(name)) {
                below(name, value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    if met.unknown && !met.known && !is_root && !value.is_string() {
        found.truncate(from);
        found.push((pointer.to_owned(), value.to_string()));
    }
    met
}

/// The texts of items.
struct KnownTexts<'i>(Vec<&'i str>);

impl<'i> KnownTexts<'i> {
    fn of(items: &'i [WireItem]) -> Self {
        let mut texts: Vec<&'i str> = Vec::new();
        for item in items {
            match item {
                WireItem::Text(text)
                | WireItem::Context { text, .. }
                | WireItem::Reference { text }
                | WireItem::Unknown { text } => texts.push(text),
                WireItem::Media(media) => {
                    texts.extend(media.uri.inline());
                    texts.extend(media.name.as_deref());
                }
                WireItem::Reasoning { text, metadata } => {
                    texts.push(text);
                    texts.extend(metadata.as_deref());
                }
                WireItem::Call { id, name, input, metadata, .. } => {
                    texts.extend([name.as_str(), input, id]);
                    texts.extend(metadata.as_deref());
                }
                WireItem::HostedResult { result, error, .. } => {
                    texts.push(result);
                    texts.extend(error.as_deref());
                }
                WireItem::Result { id, text, attachments, .. } => {
                    texts.extend([text.as_str(), id]);
                    texts.extend(attachments.iter().filter_map(|media| media.uri.inline()));
                    texts.extend(attachments.iter().filter_map(|media| media.name.as_deref()));
                }
            }
        }
        Self(texts)
    }

    fn have(&self, text: &str) -> bool {
        self.0.contains(&text)
            || self.0.iter().any(|known| known.contains(text))
            || self.0.iter().any(|known| in_json(known, text))
    }
}

/// Whether a text is one of those of a JSON text.
fn in_json(known: &str, text: &str) -> bool {
    if !known.starts_with(['{', '[']) {
        return false;
    }
    fn has(value: &Value, text: &str) -> bool {
        match value {
            Value::String(own) => own.contains(text),
            Value::Array(values) => values.iter().any(|value| has(value, text)),
            Value::Object(members) => members.values().any(|value| has(value, text)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    serde_json::from_str::<Value>(known).is_ok_and(|value| has(&value, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_in_no_item_has_its_place() {
        let message = json!({"role": "user", "name": "Ann", "content": [
            {"type": "text", "text": "said", "citations": [{"cited_text": "quoted", "a/b": "x"}]},
            {"type": "new", "value": "unheard"}]});
        let items = [WireItem::Text("said".into())];
        let places = [
            ("/m/0/content/0/citations".to_owned(), r#"[{"a/b":"x","cited_text":"quoted"}]"#.to_owned()),
            ("/m/0/content/1".to_owned(), r#"{"type":"new","value":"unheard"}"#.to_owned()),
            ("/m/0/name".to_owned(), "Ann".to_owned()),
        ];
        assert_eq!(unread(&message, "/m/0", &items), places);
        let result = json!({"parts": [{"functionResponse": {"id": "1", "name": "f", "response": {"output": "said"}}}]});
        assert_eq!(unread(&result, "", &items), []);
        assert_eq!(unread(&json!({"role": "tool", "name": "f", "content": "said"}), "", &items), []);
        let call = WireItem::Call {
            id: "1".into(),
            name: "f".into(),
            input: r#"{"a":"line\nend"}"#.into(),
            hosted: false,
            metadata: None,
        };
        assert_eq!(unread(&json!({"id": "1", "input": {"a": "line\nend"}, "name": "f"}), "", &[call]), []);
    }
}
