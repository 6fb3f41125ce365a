//! The JSON Schemas of the answers of this crate. Feature `schema`.

use crate::answer::{AuditedRule, RuleAudit};
use annals_core::schema::of;
use serde_json::{Value, json};

/// The answers that have a schema: of `annals audit --where` and `--rules`, and a rule of `--list-rules`.
pub const RULE_ANSWERS: [&str; 2] = ["audit-rules", "rule"];

/// The schema of an answer; `None` for another name.
pub fn answer_schema(name: &str) -> Option<Value> {
    let schema = match name {
        "audit-rules" => of::<RuleAudit>(),
        "rule" => of::<AuditedRule>(),
        _ => return None,
    };
    let Value::Object(mut fields) = schema else { return None };
    fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    fields.insert("title".to_owned(), json!(name));
    Some(Value::Object(fields))
}
