//! Views as text for eyes.

use serde::Serialize;
use serde_json::Value;

/// A view as indented lines: members by name, items after `-`, texts as they are.
pub fn draw(view: &impl Serialize) -> String {
    let value = serde_json::to_value(view).unwrap_or_else(|error| panic!("the view cannot be drawn: {error}"));
    let mut lines = Vec::new();
    lines_of(&value, 0, &mut lines);
    lines.join("\n")
}

fn lines_of(value: &Value, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(name, value)| member(&format!("{name}:"), value, depth, lines));
        }
        Value::Array(items) if !items.is_empty() => items.iter().for_each(|item| member("-", item, depth, lines)),
        value => lines.extend(word(value).lines().map(|line| format!("{indent}{line}"))),
    }
}

/// A member or an item: on one line if its value is a word.
fn member(label: &str, value: &Value, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    let word = word(value);
    let nested = match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => word.contains('\n'),
    };
    match nested {
        true => {
            lines.push(format!("{indent}{label}"));
            lines_of(value, depth + 1, lines);
        }
        false => lines.push(format!("{indent}{label} {word}").trim_end().to_owned()),
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::draw;
    use serde_json::json;

    #[test]
    fn members_and_items_are_lines() {
        let drawn = draw(&json!({"calls": [{"tool": "bash", "ok": true}], "none": [], "text": "a\nb"}));
        assert_eq!(drawn, "calls:\n  -\n    ok: true\n    tool: bash\nnone: []\ntext:\n  a\n  b");
    }
}
