//! Reading JSON that people write: comments on lines of their own, no field twice.

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Reads one JSON document. A line whose first characters are `//` is a comment (a JSON text cannot contain such a
/// line otherwise, since no string spans lines).
///
/// # Errors
/// When it is not JSON, or an object has a field twice; the error has line and column.
pub(super) fn read(text: &str) -> Result<Value, serde_json::Error> {
    let text = without_comments(text);
    let mut reader = serde_json::Deserializer::from_str(&text);
    let value = Strict.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Keeps the number of lines, so that an error names the line of the file.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("//") {
            kept.push('\n');
        } else {
            kept.push_str(line);
        }
    }
    kept
}

/// A [`Value`] without repeated fields: `serde_json` alone would silently keep the last one.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number too large for JSON"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(Strict)?;
            if object.contains_key(&name) {
                return Err(de::Error::custom(format_args!("the field {name:?} occurs twice in one object")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use serde_json::json;

    #[test]
    fn a_line_of_comment_is_no_json_and_keeps_line_numbers() {
        let text = "// what it shows\n{\n  // inside\n  \"a\": \"// not a comment\"\n}\n";
        assert_eq!(read(text).expect("valid"), json!({ "a": "// not a comment" }));
        let error = read("// one\n// two\n{ \"a\": }").expect_err("not JSON");
        assert_eq!(error.line(), 3);
    }

    #[test]
    fn a_field_that_occurs_twice_is_an_error() {
        let error = read(r#"{ "a": { "b": 1, "b": 2 } }"#).expect_err("twice");
        assert!(error.to_string().contains("\"b\" occurs twice"), "{error}");
    }

    #[test]
    fn nothing_may_follow_the_document() {
        assert!(read("{} {}").is_err());
        assert_eq!(read(" [1, -2, 1.5, null, true] ").expect("valid"), json!([1, -2, 1.5, null, true]));
    }
}
