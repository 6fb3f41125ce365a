//! The input of a call, as received and as a value.

use serde_json::{Map, Value};

/// The input of a call. Always an object: anything else stands in its field `value`.
///
/// ```
/// use annals_providers::CallInput;
/// assert_eq!(CallInput::received("\"a.txt\"").text(), "{\"value\":\"a.txt\"}");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CallInput {
    text: String,
    fields: Map<String, Value>,
}

impl CallInput {
    /// The input of a call as a provider gave it. An object stays as received, letter for letter. Nothing at all is an
    /// object without fields, as providers write calls without input; what is no JSON is taken as a text.
    pub fn received(text: &str) -> Self {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Self { text: "{}".into(), fields: Map::new() };
        }
        let (inner, value) = match serde_json::from_str(trimmed) {
            Ok(Value::Object(fields)) => return Self { text: text.into(), fields },
            // Not re-written, since that would change large numbers.
            Ok(value) => (trimmed.to_string(), value),
            Err(_) => {
                let value = Value::String(text.into());
                (annals_core::canonical::value(&value), value)
            }
        };
        let fields = Map::from_iter([("value".to_string(), value)]);
        Self { text: format!("{{\"value\":{inner}}}"), fields }
    }

    /// The JSON text that the log keeps.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its fields. Whole numbers beyond 64 bits are inexact here and exact in [`CallInput::text`].
    pub fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// All of it as a value.
    pub fn value(&self) -> Value {
        Value::Object(self.fields.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_stands_in_a_field() {
        for (received, kept) in [
            ("{ \"a\": 1 }", "{ \"a\": 1 }"),
            ("", "{}"),
            (" \n", "{}"),
            ("[1, 2]", "{\"value\":[1, 2]}"),
            ("12345678901234567890123", "{\"value\":12345678901234567890123}"),
            ("null", "{\"value\":null}"),
            ("{\"a\":", "{\"value\":\"{\\\"a\\\":\"}"),
        ] {
            let input = CallInput::received(received);
            assert_eq!(input.text(), kept);
            let parsed: Value = serde_json::from_str(input.text()).unwrap_or_default();
            assert_eq!(parsed, input.value());
        }
    }
}
