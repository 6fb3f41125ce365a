//! What servers want to be asked otherwise than others of their protocol: settings under those of the configuration, by the
//! address that they answer at. They are recorded with a request's options like any other.

use super::Route;
use crate::wire::Protocol;
use serde_json::{Map, Value, json};

/// Protocol, address, settings.
fn known() -> [(Protocol, &'static str, Value); 2] {
    [
        // Its models that reason refuse `max_tokens`.
        (Protocol::OpenAiChat, "https://api.openai.com/", json!({"maxTokensField": "max_completion_tokens"})),
        // It refuses fields that it does not know, and reports usage without being asked to.
        (Protocol::OpenAiChat, "https://api.mistral.ai/", json!({"streamUsage": false, "reasoningField": "none"})),
    ]
}

/// The settings that suit a server.
pub(super) fn settings(route: &Route) -> Map<String, Value> {
    let base = format!("{}/", route.base_url.trim_end_matches('/'));
    let mut known = known().into_iter();
    match known.find(|(protocol, at, _)| *protocol == route.protocol && base.starts_with(at)) {
        Some((_, _, Value::Object(settings))) => settings,
        _ => Map::new(),
    }
}
