//! Texts searched in bodies: as they are, and in their JSON.

use serde_json::Value;

/// Where a text is first in a body: its JSON Pointer. Texts that are JSON are read, too.
pub(crate) fn pointer_of(body: &Value, text: &str) -> Option<String> {
    fn within(value: &Value, text: &str, pointer: &str) -> Option<String> {
        match value {
            Value::String(own) => holds(own, text).then(|| pointer.to_owned()),
            Value::Array(values) => {
                values.iter().enumerate().find_map(|(at, value)| within(value, text, &format!("{pointer}/{at}")))
            }
            Value::Object(members) => members.iter().find_map(|(name, value)| {
                within(value, text, &format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")))
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }
    within(body, text, "")
}

/// Whether a text has another one: as it is, or in the texts of its JSON.
pub(crate) fn holds(own: &str, text: &str) -> bool {
    own.contains(text)
        || (own.starts_with(['{', '[']) && own.contains('\\'))
            && serde_json::from_str::<Value>(own).is_ok_and(|value| pointer_of(&value, text).is_some())
}

/// A JSON text of a body, or a part of one that does not begin within a string.
pub(crate) fn piece_holds(piece: &str, text: &str) -> bool {
    if piece.contains(text) {
        return true;
    }
    if !piece.contains('\\') {
        return false;
    }
    match serde_json::from_str::<Value>(piece) {
        Ok(value) => pointer_of(&value, text).is_some(),
        Err(_) => strings(piece).any(|string| holds(&string, text)),
    }
}

/// The strings of a part of a JSON text, without their escapes. Half of a surrogate pair is U+FFFD.
fn strings(part: &str) -> impl Iterator<Item = String> + '_ {
    let mut rest = part;
    std::iter::from_fn(move || {
        let literal = rest.get(rest.find('"')?..)?;
        let mut is_escaped = false;
        let end = literal.char_indices().skip(1).find(|(_, character)| match (is_escaped, character) {
            (true, _) => {
                is_escaped = false;
                false
            }
            (false, '\\') => {
                is_escaped = true;
                false
            }
            (false, character) => *character == '"',
        });
        let end = end.map_or(literal.len(), |(at, _)| at + 1);
        let (literal, behind) = literal.split_at(end);
        rest = behind;
        Some(serde_json::from_str(literal).unwrap_or_else(|_| unescaped(literal)))
    })
}

/// A string that is not valid JSON, as far as it can be read.
fn unescaped(literal: &str) -> String {
    let mut read = String::new();
    let literal = literal.strip_prefix('"').unwrap_or(literal);
    let mut rest = literal.strip_suffix('"').unwrap_or(literal);
    while let Some(at) = rest.find('\\') {
        read.push_str(rest.get(..at).unwrap_or_default());
        let escape = rest.get(at..).unwrap_or_default();
        // A surrogate pair, another escape of four digits, or a short one.
        let whole = [12, 6, 2].into_iter().find_map(|length| {
            let json = format!("\"{}\"", escape.get(..length)?);
            Some((length, serde_json::from_str::<String>(&json).ok().filter(|text| text.chars().count() == 1)?))
        });
        let (length, text) = whole.unwrap_or_else(|| {
            let is_unit = escape.get(2..6).is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
            match escape.starts_with("\\u") && is_unit {
                true => (6, char::REPLACEMENT_CHARACTER.to_string()),
                false => (1, "\\".to_owned()),
            }
        });
        read.push_str(&text);
        rest = escape.get(length..).unwrap_or_default();
    }
    read + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_found_wherever_it_is_in_a_body() {
        let body = json!({"messages": [{"content": "one"}, {"calls": [{"arguments": "{\"a\":\"two\\nlines\"}"}]}]});
        assert_eq!(pointer_of(&body, "one").as_deref(), Some("/messages/0/content"));
        assert_eq!(pointer_of(&body, "two\nlines").as_deref(), Some("/messages/1/calls/0/arguments"));
        assert_eq!(pointer_of(&body, "three"), None);
        assert!(piece_holds(r#"{"text":"caf\u00e9 \"now\""}"#, "café \"now\""));
        assert!(piece_holds(r#"{"model":"m","system":"a \"b\"","#, "a \"b\""));
        assert!(piece_holds(r#"{"model":"m","system":"Gr\u00fc\u00dfe","n":1"#, "Grüße"));
        assert!(piece_holds(r#","path":"\/etc\/x","n":"#, "/etc/x"));
        assert!(piece_holds(r#"[{"text":"a \ud83d\ude00 \ud83d caf\u00e9 \"x\""}]"#, "\u{fffd} café \"x\""));
        assert!(!piece_holds(r#"{"text":"a"}"#, "b"));
    }
}
