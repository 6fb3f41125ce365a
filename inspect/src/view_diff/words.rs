//! A changed value as a person reads it: messages by author and text, calls with or without their results.

use serde_json::Value;

/// A value in words, calls without their results.
pub fn in_brief(value: &Value) -> String {
    text_of(value, false)
}

/// A value in words with the results of calls: what is compared line by line.
pub fn in_full(value: &Value) -> String {
    text_of(value, true)
}

fn text_of(value: &Value, outputs: bool) -> String {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) => match (text("type"), text("text").or(text("summary"))) {
            (Some("assistant"), _) => {
                let content = value.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let parts: Vec<String> = content.iter().map(|value| part(value, outputs)).collect();
                format!("assistant: {}", parts.join("\n"))
            }
            (Some("text"), _) | (Some("tool"), _) | (Some("reasoning"), _) => part(value, outputs),
            (Some(kind), Some(text)) => format!("{kind}: {text}"),
            _ => on_lines(value),
        },
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().map(|item| text_of(item, outputs)).collect::<Vec<_>>().join("\n")
        }
        other => on_lines(other),
    }
}

/// JSON on one line, or indented where that would be long.
fn on_lines(value: &Value) -> String {
    let line = value.to_string();
    if line.len() <= 100 { line } else { serde_json::to_string_pretty(value).unwrap_or(line) }
}

fn part(part: &Value, outputs: bool) -> String {
    let text = |name: &str| part.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "tool" => {
            let head = format!(
                "[{} {}] {}",
                text("name"),
                text("status"),
                on_lines(part.get("input").unwrap_or(&Value::Null))
            );
            let results = [text("output"), text("error")].into_iter().filter(|text| outputs && !text.is_empty());
            std::iter::once(head.as_str()).chain(results).collect::<Vec<_>>().join("\n")
        }
        "reasoning" => format!("[reasoning] {}", text("text")),
        _ => text("text").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{in_brief, in_full};
    use serde_json::json;

    #[test]
    fn a_call_has_its_result_only_in_full() {
        let call =
            json!({"type": "tool", "name": "read", "status": "completed", "input": {"path": "a"}, "output": "text"});
        let message = json!({"type": "assistant", "content": [{"type": "text", "text": "I read it."}, call]});
        assert_eq!(in_brief(&message), "assistant: I read it.\n[read completed] {\"path\":\"a\"}");
        assert_eq!(in_full(&message), in_brief(&message) + "\ntext");
    }
}
