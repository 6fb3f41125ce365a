//! The templates with which a declared context source renders its value.

use annals_core::canonical;
use serde_json::Value;

/// A text with the placeholders `{value}` and `{previous}`. Other braces are literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<TemplatePart>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Value,
    Previous,
}

impl Template {
    /// Parses a template; every text is valid.
    pub fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut rest = text;
        loop {
            let value = rest.find("{value}").map(|at| (at, TemplatePart::Value, "{value}".len()));
            let previous = rest.find("{previous}").map(|at| (at, TemplatePart::Previous, "{previous}".len()));
            let Some((at, piece, length)) = value.into_iter().chain(previous).min_by_key(|(at, ..)| *at) else { break };
            let (before, after) = rest.split_at(at);
            if !before.is_empty() {
                pieces.push(TemplatePart::Text(before.to_owned()));
            }
            pieces.push(piece);
            rest = after.get(length..).unwrap_or_default();
        }
        if !rest.is_empty() {
            pieces.push(TemplatePart::Text(rest.to_owned()));
        }
        Self { pieces }
    }

    /// The text for a value. Without a previous one (a baseline, a removal) `{previous}` is empty.
    ///
    /// Strings are inserted without quotes, other values as canonical JSON. Inserted text is not searched for placeholders.
    pub fn render(&self, value: &Value, previous: Option<&Value>) -> String {
        self.pieces
            .iter()
            .map(|piece| match piece {
                TemplatePart::Text(text) => text.clone(),
                TemplatePart::Value => shown(value),
                TemplatePart::Previous => previous.map(shown).unwrap_or_default(),
            })
            .collect()
    }
}

impl Default for Template {
    /// `{value}`.
    fn default() -> Self {
        Self { pieces: vec![TemplatePart::Value] }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => canonical::value(other),
    }
}

#[cfg(test)]
mod tests {
    use super::Template;
    use serde_json::json;

    fn render(template: &str, value: serde_json::Value) -> String {
        Template::new(template).render(&value, Some(&json!({ "b": [1, 2.0], "a": null })))
    }

    #[test]
    fn a_text_stands_bare_and_anything_else_as_canonical_json() {
        assert_eq!(render("It is {value}.", json!("a \"b\"\n")), "It is a \"b\"\n.");
        assert_eq!(render("{value}", json!({ "z": 1, "a": "x y" })), r#"{"a":"x y","z":1}"#);
        assert_eq!(render("{value}{value}", json!(null)), "nullnull");
        assert_eq!(render("{previous} -> {value}", json!(3)), r#"{"a":null,"b":[1,2]} -> 3"#);
    }

    #[test]
    fn a_rendered_value_is_not_a_template() {
        assert_eq!(render("<{value}>", json!("{previous}{value}")), "<{previous}{value}>");
    }

    #[test]
    fn other_braces_stand_for_themselves() {
        assert_eq!(render("{ {value } {}", json!(1)), "{ {value } {}");
        assert_eq!(render("", json!(1)), "");
        assert_eq!(render("{{value}}", json!(1)), "{1}");
    }
}
