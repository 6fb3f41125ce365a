//! JSON Schemas of events and views: what a program may rely on.
//!
//! Those of events are traced from the very code that reads them, so they cannot differ from it; those of views follow
//! `scenarios/FORMAT.md`.

mod events;
mod trace;
mod views;

pub use events::{event, events};
pub use views::{NAMES as VIEWS, view};

use serde_json::{Value, json};

/// The schema of one view, of one event kind (`tool.called`), of `events`, or of everything; `None` for another name.
pub fn named(name: &str) -> Option<Value> {
    let schema = match name {
        "all" => all(),
        _ => view(name).or_else(|| event(annals_core::Kind::of_name(name)?))?,
    };
    let Value::Object(mut fields) = schema else { return None };
    fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    fields.entry("title").or_insert_with(|| json!(name));
    Some(Value::Object(fields))
}

/// Every view under its name.
fn all() -> Value {
    let properties: serde_json::Map<String, Value> =
        VIEWS.iter().filter_map(|name| Some(((*name).to_owned(), view(name)?))).collect();
    json!({"title": "annals", "type": "object", "properties": properties})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_event_has_a_schema() {
        for kind in annals_core::Kind::ALL {
            let schema = event(*kind).unwrap_or_default();
            assert_eq!(schema["properties"]["type"]["const"], kind.name());
            assert_eq!(schema["additionalProperties"], false, "{}", kind.name());
        }
    }

    #[test]
    fn a_schema_says_what_the_reader_of_an_event_takes() {
        let schema = event(annals_core::Kind::ToolSettled).unwrap_or_default();
        assert_eq!(
            schema["properties"]["outcome"],
            json!({"enum": ["completed", "failed", "interrupted", "exhausted"]})
        );
        assert_eq!(schema["properties"]["paths"], json!({"type": "array", "items": {"type": "string"}}));
        assert!(schema["required"].as_array().is_some_and(|names| names.len() == 12), "{schema}");
    }

    #[test]
    fn every_view_has_a_schema() {
        assert!(VIEWS.iter().all(|name| view(name).is_some()));
    }
}
