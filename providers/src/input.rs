//! The input of a call, as received and as a value.

use serde_json::{Map, Value};

/// The input of a call. Always an object: any other value is stored in its field `value`.
///
/// ```
/// use annals_providers::CallInput;
/// assert_eq!(CallInput::received("\"a.txt\"").text(), "{\"value\":\"a.txt\"}");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CallInput {
    text: String,
    fields: Map<String, Value>,
    /// Whether another value than an object was received.
    wrapped: bool,
    /// What is wrong with it, if it is not JSON.
    fault: Option<String>,
}

impl CallInput {
    /// The input of a call as a provider gave it. An object stays as received, letter for letter. Nothing at all is an
    /// object without fields, as providers write calls without input; anything that is not JSON is taken as a text.
    pub fn received(text: &str) -> Self {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Self { text: "{}".into(), fields: Map::new(), wrapped: false, fault: None };
        }
        let mut fault = None;
        let (inner, value) = match serde_json::from_str(trimmed) {
            Ok(Value::Object(fields)) => return Self { text: text.into(), fields, wrapped: false, fault },
            // Not re-written, since that would change large numbers.
            Ok(value) => (trimmed.to_string(), value),
            Err(error) => {
                fault = Some(described(&error));
                let value = Value::String(text.into());
                (annals_core::canonical::value(&value), value)
            }
        };
        let fields = Map::from_iter([("value".to_string(), value)]);
        Self { text: format!("{{\"value\":{inner}}}"), fields, wrapped: true, fault }
    }

    /// Why it is not JSON and where, for the model; `None` of one that is.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// The kind of a JSON value that is not an object, for the model: `an array`.
    pub fn other_than_object(&self) -> Option<&'static str> {
        Some(match self.wrapped.then(|| self.fields.get("value"))?? {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => return None,
        })
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

/// Where a text stops being JSON: `EOF at column 36`. Lines and columns count from 1, columns in bytes.
fn described(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    let place = if line > 1 { format!("line {line}, column {column}") } else { format!("column {column}") };
    if error.is_eof() {
        return format!("EOF at {place}");
    }
    let message = error.to_string();
    let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
    format!("{what} at {place}")
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

    #[test]
    fn what_is_no_object_says_what_it_is() {
        let found = |text: &str| CallInput::received(text).other_than_object();
        assert_eq!(
            [found("[]"), found("null"), found("\"a\""), found("7")].map(Option::unwrap_or_default),
            ["an array", "null", "a string", "a number"]
        );
        assert_eq!([found("{}"), found(""), found("{\"value\":[]}")], [None, None, None]);
    }

    #[test]
    fn what_is_not_json_says_where_it_stops_being_it() {
        let fault = |text: &str| CallInput::received(text).fault().map(str::to_owned);
        assert_eq!(fault(r#"{"path": "a.txt", "content": "abc"#), Some("EOF at column 33".into()));
        assert_eq!(fault("{\"a\": 1,\n \"b\": }"), Some("expected value at line 2, column 7".into()));
        assert_eq!(fault("{'a': 1}"), Some("key must be a string at column 2".into()));
        assert_eq!([fault(""), fault("{}"), fault("[1]"), fault("null")], [None, None, None, None]);
    }
}
