//! JSON Schemas (draft 2020-12) of events and values, derived from the types that read and write them.
//!
//! Feature `schema`. A schema describes what this version writes: every field that is required is there, and no field that is
//! not named.

use crate::absent::AbsentText;
use crate::commitment::StoredKey;
use crate::context::Key;
use crate::digest::Digest;
use crate::event::Kind;
use crate::id::{RequestId, SessionId};
use crate::text::{BlobRef, Text};
use alloc::borrow::{Cow, ToOwned};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// The largest whole number in a field of an event: 2^53 - 1.
const MAX: u64 = (1 << 53) - 1;

/// The schema of what a type writes as JSON, without references to other schemas.
pub fn of<T: JsonSchema>() -> Value {
    finished(|generator| T::json_schema(generator))
}

/// The schema of the events of a kind: `{type, ...payload}`.
pub fn event(kind: Kind) -> Value {
    let mut schema = finished(|generator| kind.payload_schema(generator));
    if let Value::Object(fields) = &mut schema {
        fields.insert("description".to_owned(), json!(kind.meaning()));
        let properties = fields.entry("properties").or_insert_with(|| json!({}));
        properties["type"] = json!({"const": kind.name()});
        let required = fields.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required {
            required.insert(0, json!("type"));
        }
        fields.insert("additionalProperties".to_owned(), json!(false));
    }
    schema
}

fn finished(schema: impl FnOnce(&mut SchemaGenerator) -> Schema) -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut generator = settings.into_generator();
    let mut schema = schema(&mut generator);
    RecursiveTransform(tidy).transform(&mut schema);
    RecursiveTransform(open_variants).transform(&mut schema);
    schema.into()
}

/// States what every schema has in common: objects have the fields that are named, whole numbers stay below 2^53.
fn tidy(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut() else { return };
    let format = fields.remove("format");
    // Of members that an older export may lack; what is written has them.
    fields.remove("default");
    if matches!(format.as_ref().and_then(Value::as_str), Some("uint64" | "int64" | "uint")) {
        fields.insert("maximum".to_owned(), json!(MAX));
    }
    let is_whole = ["oneOf", "anyOf", "allOf"].iter().all(|word| !fields.contains_key(*word));
    if is_whole && fields.contains_key("properties") {
        fields.entry("additionalProperties").or_insert(json!(false));
    }
}

/// Lets variants that are flattened into an object have its fields, too: only both together name every field.
fn open_variants(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut().filter(|fields| fields.contains_key("properties")) else { return };
    let mut flattened = false;
    for word in ["oneOf", "anyOf", "allOf"] {
        for variant in fields.get_mut(word).and_then(Value::as_array_mut).into_iter().flatten() {
            flattened = true;
            if let Some(variant) = variant.as_object_mut() {
                variant.remove("additionalProperties");
            }
        }
    }
    if flattened {
        fields.insert("unevaluatedProperties".to_owned(), json!(false));
    }
}

macro_rules! text_schema {
    ($($type:ident $pattern:literal)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "pattern": $pattern})
            }
        }
    )*};
}

text_schema! {
    SessionId "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"
    RequestId "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"
    Digest "^[0-9a-f]{64}$"
    StoredKey "^[0-9a-f]{64}$"
    Key "^[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9._/-]*$"
}

impl JsonSchema for Text {
    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"type": "string"}, BlobRef::json_schema(generator), AbsentText::json_schema(generator)]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{event, of};
    use crate::event::samples::samples;
    use crate::{Kind, Text};
    use alloc::collections::BTreeSet;
    use alloc::string::String;
    use serde_json::json;

    #[test]
    fn the_schema_of_a_kind_names_the_fields_that_its_events_have() {
        for sample in samples() {
            let (schema, json) = (event(sample.kind()), sample.to_json());
            let fields: BTreeSet<&String> = json.as_object().expect("an object").keys().collect();
            let properties: BTreeSet<&String> = schema["properties"].as_object().expect("properties").keys().collect();
            let required = schema["required"].as_array().expect("required");
            assert_eq!(properties, fields, "{schema}");
            let left_out = [(Kind::SessionCreated, "process"), (Kind::StepStarted, "answer")];
            let optional = |name: &str| left_out.contains(&(sample.kind(), name));
            assert!(fields.iter().all(|name| required.contains(&json!(name)) != optional(name)));
            assert_eq!(schema["additionalProperties"], false);
            assert_eq!(schema["properties"]["type"], json!({"const": sample.kind().name()}));
        }
    }

    #[test]
    fn a_schema_says_what_a_field_takes() {
        let schema = event(Kind::ToolSettled);
        let outcomes = json!(["completed", "failed", "interrupted", "exhausted"]);
        assert_eq!(schema["properties"]["outcome"]["enum"], outcomes);
        assert_eq!(schema["properties"]["paths"]["items"], json!({"type": "string"}));
        let cost = &event(Kind::StepEnded)["properties"]["cost"];
        assert_eq!((&cost["minimum"], &cost["maximum"]), (&json!(0), &json!((1_u64 << 53) - 1)));
        assert_eq!(of::<Text>()["anyOf"][0], json!({"type": "string"}));
        assert_eq!(of::<Option<crate::Digest>>()["type"], json!(["string", "null"]), "null is taken, too");
    }
}
