//! What servers want to be asked otherwise than others of their protocol: settings under those of the configuration. They
//! are recorded with a request's options like any other.

use super::Route;
use crate::wire::Protocol;
use serde_json::{Map, Value, json};

/// What a server is known by.
enum ServerMatch {
    /// The provider's id in the Catalog: a server of one's own may be anywhere.
    Named(&'static str),
    /// The beginning of its address.
    At(&'static str),
}

fn known() -> [(Protocol, ServerMatch, Value); 3] {
    use ServerMatch::{At, Named};
    let chat = Protocol::OpenAiChat;
    [
        // Its models that reason refuse `max_tokens`.
        (chat, At("https://api.openai.com/"), json!({"maxTokensField": "max_completion_tokens"})),
        // It refuses fields that it does not know, and reports usage without being asked to.
        (chat, At("https://api.mistral.ai/"), json!({"streamUsage": false, "reasoningField": "none"})),
        // LM Studio refuses `null`, which others want, in the place of a text.
        (chat, Named("lmstudio"), json!({"emptyContent": "text"})),
    ]
}

/// The settings that suit a provider's server.
pub(super) fn settings(provider: &str, route: &Route) -> Map<String, Value> {
    let base = format!("{}/", route.base_url.trim_end_matches('/'));
    let is_it = |server: &ServerMatch| match server {
        ServerMatch::Named(name) => *name == provider,
        ServerMatch::At(address) => base.starts_with(address),
    };
    match known().into_iter().find(|(protocol, server, _)| *protocol == route.protocol && is_it(server)) {
        Some((_, _, Value::Object(settings))) => settings,
        _ => Map::new(),
    }
}
