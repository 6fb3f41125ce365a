//! The JSON Schema of the report. Feature `schema`.

use crate::report::LabReport;
use annals_core::schema::of;
use serde_json::{Value, json};

/// The answers that have a schema: of `annals dev lab --json`.
pub const LAB_ANSWERS: [&str; 1] = ["lab"];

/// The schema of an answer; `None` for another name.
pub fn lab_schema(name: &str) -> Option<Value> {
    if !LAB_ANSWERS.contains(&name) {
        return None;
    }
    let Value::Object(mut fields) = of::<LabReport>() else { return None };
    fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    fields.insert("title".to_owned(), json!(name));
    Some(Value::Object(fields))
}
