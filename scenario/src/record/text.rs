//! Formats a scenario: values that fit on a line are written on one.

use serde_json::Value;

const WIDTH: usize = 118;

/// The JSON text of a document whose fields keep their order.
pub(super) fn write(document: &[(&'static str, Value)]) -> String {
    let mut out = String::from("{\n");
    for (at, (name, value)) in document.iter().enumerate() {
        let comma = if at + 1 == document.len() { "" } else { "," };
        out.push_str(&format!("  {}: {}{comma}\n", Value::from(*name), wrapped(value, 2)));
    }
    out.push_str("}\n");
    out
}

fn wrapped(value: &Value, indent: usize) -> String {
    let line = inline(value);
    if indent + line.chars().count() <= WIDTH {
        return line;
    }
    let pad = " ".repeat(indent + 2);
    let lines: Vec<String> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| format!("{pad}{}: {}", Value::from(name.as_str()), wrapped(value, indent + 2)))
            .collect(),
        Value::Array(items) => items.iter().map(|item| format!("{pad}{}", wrapped(item, indent + 2))).collect(),
        _ => return line,
    };
    let (open, close) = if value.is_object() { ('{', '}') } else { ('[', ']') };
    format!("{open}\n{}\n{}{close}", lines.join(",\n"), " ".repeat(indent))
}

fn inline(value: &Value) -> String {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), inline(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::write;
    use serde_json::json;

    #[test]
    fn what_fits_on_a_line_stands_on_one() {
        let text =
            write(&[("scenario", json!(1)), ("script", json!([{ "prompt": "a" }, { "prompt": "x".repeat(110) }]))]);
        let long = "x".repeat(110);
        let expected = format!(
            "{{\n  \"scenario\": 1,\n  \"script\": [\n    {{ \"prompt\": \"a\" }},\n    {{\n      \"prompt\": \"{long}\"\n    }}\n  ]\n}}\n"
        );
        assert_eq!(text, expected);
    }
}
