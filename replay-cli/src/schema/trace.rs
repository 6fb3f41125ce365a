//! Traces what a type reads: a deserializer that notes what is asked of it and answers with samples.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::fmt;

/// Texts that are tried where a text is read: the first that is taken says what the text must be.
const SAMPLES: &[(&str, &str)] = &[
    ("", r#"{"type": "string"}"#),
    ("01ARZ3NDEKTSV4RRFFQ69G5FAV", r#"{"type": "string", "pattern": "^[0-9A-HJKMNP-TV-Z]{26}$"}"#),
    (
        "0000000000000000000000000000000000000000000000000000000000000000",
        r#"{"type": "string", "pattern": "^[0-9a-f]{64}$"}"#,
    ),
    ("a/b", r#"{"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._/-]*$"}"#),
];

/// The schema of what `T` reads; `None` when it reads something that no sample fits.
pub fn schema_of<T: DeserializeOwned>() -> Option<Value> {
    // Which sample each text of the type takes, in the order in which they are read.
    let choices = RefCell::new(Vec::new());
    loop {
        let run = Run { choices: &choices, read: RefCell::new(0) };
        let mut schema = Value::Null;
        if T::deserialize(Tracer { run: &run, schema: &mut schema }).is_ok() {
            return Some(schema);
        }
        // The text that was read last was not taken: try the next sample for it.
        let last = run.read.borrow().checked_sub(1)?;
        let mut choices = choices.borrow_mut();
        choices.truncate(last + 1);
        let choice: &mut usize = choices.get_mut(last)?;
        *choice += 1;
        SAMPLES.get(*choice)?;
    }
}

struct Run<'r> {
    choices: &'r RefCell<Vec<usize>>,
    /// Texts read so far.
    read: RefCell<usize>,
}

impl Run<'_> {
    fn sample(&self) -> (&'static str, Value) {
        let mut choices = self.choices.borrow_mut();
        let mut read = self.read.borrow_mut();
        if choices.len() <= *read {
            choices.push(0);
        }
        let choice = choices.get(*read).copied().unwrap_or_default();
        *read += 1;
        let (text, schema) = SAMPLES.get(choice).copied().unwrap_or(("", "true"));
        (text, serde_json::from_str(schema).unwrap_or_default())
    }
}

struct Tracer<'a, 'r> {
    run: &'a Run<'r>,
    schema: &'a mut Value,
}

#[derive(Debug)]
struct NotTaken(String);

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotTaken {}

impl de::Error for NotTaken {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

macro_rules! whole {
    ($($method:ident $visit:ident $minimum:expr, $maximum:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
            *self.schema = json!({"type": "integer", "minimum": $minimum, "maximum": $maximum});
            visitor.$visit(0)
        }
    )*};
}

macro_rules! refused {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NotTaken> {
            Err(NotTaken(stringify!($method).to_owned()))
        }
    )*};
}

/// The largest whole number in a field of ours.
const MAX: u64 = (1 << 53) - 1;

impl<'de> Deserializer<'de> for Tracer<'_, '_> {
    type Error = NotTaken;

    whole! {
        deserialize_u8 visit_u8 0, u8::MAX;
        deserialize_u16 visit_u16 0, u16::MAX;
        deserialize_u32 visit_u32 0, u32::MAX;
        deserialize_u64 visit_u64 0, MAX;
        deserialize_i8 visit_i8 i8::MIN, i8::MAX;
        deserialize_i16 visit_i16 i16::MIN, i16::MAX;
        deserialize_i32 visit_i32 i32::MIN, i32::MAX;
        deserialize_i64 visit_i64 -(MAX as i64), MAX;
    }

    refused! { deserialize_f32 deserialize_f64 deserialize_char deserialize_bytes deserialize_byte_buf
    deserialize_unit deserialize_ignored_any }

    /// Only texts that may be blobs read whatever comes.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        *self.schema = json!({"anyOf": [{"type": "string"}, {
            "type": "object", "additionalProperties": false, "required": ["blob", "bytes", "chars"],
            "properties": {
                "blob": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                "bytes": {"type": "integer", "minimum": 0, "maximum": MAX},
                "chars": {"type": "integer", "minimum": 0, "maximum": MAX},
            },
        }]});
        visitor.visit_str("")
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        *self.schema = json!({"type": "boolean"});
        visitor.visit_bool(false)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        let (text, schema) = self.run.sample();
        *self.schema = schema;
        visitor.visit_borrowed_str(text)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        let mut inner = Value::Null;
        let value = visitor.visit_some(Tracer { run: self.run, schema: &mut inner });
        *self.schema = match inner {
            Value::Object(mut fields) if fields.contains_key("anyOf") => {
                if let Some(Value::Array(kinds)) = fields.get_mut("anyOf") {
                    kinds.push(json!({"type": "null"}));
                }
                Value::Object(fields)
            }
            inner => json!({"anyOf": [inner, {"type": "null"}]}),
        };
        value
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, NotTaken> {
        *self.schema = json!({"type": "null"});
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, NotTaken> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        let mut items = Value::Null;
        let value = visitor.visit_seq(One { run: self.run, schema: &mut items, given: false });
        *self.schema = json!({"type": "array", "items": items});
        value
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, NotTaken> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, NotTaken> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotTaken> {
        let (mut names, mut values) = (Value::Null, Value::Null);
        let value = visitor.visit_map(OnePair { run: self.run, names: &mut names, values: &mut values, given: false });
        *self.schema = json!({"type": "object", "propertyNames": names, "additionalProperties": values});
        value
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotTaken> {
        let mut properties = Map::new();
        let value = visitor.visit_map(Fields { run: self.run, left: fields, properties: &mut properties, name: "" });
        *self.schema = json!({
            "type": "object", "additionalProperties": false, "required": fields, "properties": properties,
        });
        value
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotTaken> {
        *self.schema = json!({"enum": variants});
        visitor.visit_enum(Word(variants.first().copied().unwrap_or_default()))
    }
}

/// A list of one item.
struct One<'a, 'r> {
    run: &'a Run<'r>,
    schema: &'a mut Value,
    given: bool,
}

impl<'de> SeqAccess<'de> for One<'_, '_> {
    type Error = NotTaken;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, NotTaken> {
        if std::mem::replace(&mut self.given, true) {
            return Ok(None);
        }
        seed.deserialize(Tracer { run: self.run, schema: self.schema }).map(Some)
    }
}

/// A map of one pair.
struct OnePair<'a, 'r> {
    run: &'a Run<'r>,
    names: &'a mut Value,
    values: &'a mut Value,
    given: bool,
}

impl<'de> MapAccess<'de> for OnePair<'_, '_> {
    type Error = NotTaken;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, NotTaken> {
        if std::mem::replace(&mut self.given, true) {
            return Ok(None);
        }
        seed.deserialize(Tracer { run: self.run, schema: self.names }).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, NotTaken> {
        seed.deserialize(Tracer { run: self.run, schema: self.values })
    }
}

/// Every field of a structure.
struct Fields<'a, 'r> {
    run: &'a Run<'r>,
    left: &'static [&'static str],
    properties: &'a mut Map<String, Value>,
    name: &'static str,
}

impl<'de> MapAccess<'de> for Fields<'_, '_> {
    type Error = NotTaken;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, NotTaken> {
        let Some((name, left)) = self.left.split_first() else { return Ok(None) };
        (self.name, self.left) = (name, left);
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, NotTaken> {
        let mut schema = Value::Null;
        let value = seed.deserialize(Tracer { run: self.run, schema: &mut schema });
        self.properties.insert(self.name.to_owned(), schema);
        value
    }
}

/// One word of an enum.
struct Word(&'static str);

impl<'de> EnumAccess<'de> for Word {
    type Error = NotTaken;
    type Variant = Plain;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Plain), NotTaken> {
        Ok((seed.deserialize(BorrowedStrDeserializer::new(self.0))?, Plain))
    }
}

/// A word without content.
struct Plain;

impl<'de> de::VariantAccess<'de> for Plain {
    type Error = NotTaken;

    fn unit_variant(self) -> Result<(), NotTaken> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, NotTaken> {
        Err(NotTaken("a word with content".to_owned()))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, NotTaken> {
        Err(NotTaken("a word with content".to_owned()))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, NotTaken> {
        Err(NotTaken("a word with content".to_owned()))
    }
}
