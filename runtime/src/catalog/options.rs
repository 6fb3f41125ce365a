//! Settings in the shape of the AI SDK, taken apart into what they are: Generation Controls, Model Request Options, and
//! compatibility fields of a request's body (spec 13.3).

use super::routing::{ANTHROPIC_MESSAGES, OPENAI_CHAT, OPENAI_RESPONSES};
use annals_core::Json;
use annals_core::event::RequestOptions;
use serde_json::{Map, Value};

/// Generation Controls: the name that the log uses, and what else they are called.
const CONTROLS: [(&str, &[&str]); 8] = [
    ("max_tokens", &["maxOutputTokens", "maxTokens", "max_output_tokens", "max_completion_tokens"]),
    ("temperature", &[]),
    ("top_p", &["topP"]),
    ("top_k", &["topK"]),
    ("presence_penalty", &["presencePenalty"]),
    ("frequency_penalty", &["frequencyPenalty"]),
    ("seed", &[]),
    ("stop", &["stopSequences", "stop_sequences"]),
];

/// Model Request Options by namespace, in the camel case of the AI SDK.
const OPTIONS: [(&str, &[&str]); 3] = [
    (
        "openai",
        &[
            "store",
            "promptCacheKey",
            "reasoningEffort",
            "reasoningSummary",
            "include",
            "textVerbosity",
            "serviceTier",
            "instructions",
            "parallelToolCalls",
        ],
    ),
    ("anthropic", &["thinking", "effort"]),
    ("gemini", &["thinkingConfig"]),
];

/// What belongs to a connection, and to no request: it is left out, keys above all.
const CONNECTION: [&str; 8] = ["apiKey", "baseURL", "baseUrl", "headers", "fetch", "name", "timeout", "organization"];

/// How much a model may think.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Fields of a body that its encoder alone writes.
const OWNED_BY_ALL: [&str; 5] = ["model", "stream", "stream_options", "tools", "tool_choice"];

/// Settings cannot be taken apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// A body field is the protocol's own: say it as a setting, if there is one.
    #[error("http.body cannot overlay protocol-owned field(s): {}", .0.join(", "))]
    ProtocolOwned(Vec<String>),
    /// No model thinks so.
    #[error("{name}: there is no reasoning effort {value}; it is one of {}", EFFORTS.join(", "))]
    Effort {
        /// The setting.
        name: String,
        /// What it says, as JSON.
        value: String,
    },
    /// A setting that holds others is no object.
    #[error("{0}: expected a table of settings")]
    NotATable(String),
}

/// Takes settings apart for a protocol.
///
/// A control may have any of its usual names. A provider's option stands at the top, in its namespace
/// (`openai: {...}`), or in `providerOptions`; one that belongs to no protocol of ours, or to another one, is kept as it
/// is. Whatever else stands at the top, in `body` or in `extraBody` is laid over the body. What is `null` is not said.
/// Later places win: the top, its namespaces, `providerOptions`, `body`.
///
/// # Errors
/// When a body field is the protocol's own, or an effort is none.
pub fn partition(protocol: &str, settings: &Map<String, Value>) -> Result<RequestOptions, OptionsError> {
    let mut parts = Parts { namespace: namespace(protocol), protocol, options: RequestOptions::default() };
    let nested = |name: &str| settings.get(name).filter(|value| !value.is_null());
    for (name, value) in settings.iter().filter(|(name, value)| !is_nested(name) && !value.is_null()) {
        parts.take(name, value)?;
    }
    for (namespace, _) in OPTIONS {
        if let Some(value) = nested(namespace) {
            parts.take_namespace(namespace, value)?;
        }
    }
    if let Some(namespaces) = nested("providerOptions") {
        for (namespace, value) in table("providerOptions", namespaces)? {
            parts.take_namespace(namespace, value)?;
        }
    }
    for name in ["extraBody", "body"] {
        if let Some(fields) = nested(name) {
            for (field, value) in table(name, fields)? {
                parts.lay(field, value);
            }
        }
    }
    parts.checked()
}

fn is_nested(name: &str) -> bool {
    matches!(name, "providerOptions" | "extraBody" | "body") || OPTIONS.iter().any(|(namespace, _)| *namespace == name)
}

fn table<'a>(name: &str, value: &'a Value) -> Result<&'a Map<String, Value>, OptionsError> {
    value.as_object().ok_or_else(|| OptionsError::NotATable(name.to_owned()))
}

/// The namespace that a protocol's own options have.
fn namespace(protocol: &str) -> Option<&'static str> {
    match protocol {
        OPENAI_CHAT | OPENAI_RESPONSES => Some("openai"),
        ANTHROPIC_MESSAGES => Some("anthropic"),
        _ => None,
    }
}

/// `reasoning_effort` is `reasoningEffort`.
fn is_called(camel: &str, name: &str) -> bool {
    let mut snake = String::with_capacity(camel.len() + 4);
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    camel == name || snake == name
}

struct Parts<'p> {
    namespace: Option<&'static str>,
    protocol: &'p str,
    options: RequestOptions,
}

impl Parts<'_> {
    /// One setting at the top.
    fn take(&mut self, name: &str, value: &Value) -> Result<(), OptionsError> {
        if CONNECTION.contains(&name) {
            return Ok(());
        }
        let control = CONTROLS.iter().find(|(ours, others)| *ours == name || others.contains(&name));
        if let Some((control, _)) = control {
            self.options.controls.insert((*control).to_owned(), Json::canonical(value));
            return Ok(());
        }
        // The protocol's own namespace first: `thinking` is an option of some, a body field of others.
        match self.namespace.and_then(|namespace| Some((namespace, semantic(namespace, name)?))) {
            Some((namespace, option)) => self.insert(namespace, option, value),
            None => {
                self.lay(name, value);
                Ok(())
            }
        }
    }

    /// The settings of one provider.
    fn take_namespace(&mut self, namespace: &str, value: &Value) -> Result<(), OptionsError> {
        for (name, value) in table(namespace, value)?.iter().filter(|(_, value)| !value.is_null()) {
            match semantic(namespace, name) {
                Some(option) => self.insert(namespace, option, value)?,
                None if CONNECTION.contains(&name.as_str()) => {}
                // Its adapter would send what it does not know of its own provider as it is.
                None if Some(namespace) == self.namespace => self.lay(name, value),
                None => self.insert(namespace, name, value)?,
            }
        }
        Ok(())
    }

    fn insert(&mut self, namespace: &str, option: &str, value: &Value) -> Result<(), OptionsError> {
        let name = format!("{namespace}.{option}");
        let is_effort = matches!(option, "reasoningEffort" | "effort");
        if is_effort && !value.as_str().is_some_and(|effort| EFFORTS.contains(&effort)) {
            return Err(OptionsError::Effort { name, value: value.to_string() });
        }
        self.options.options.insert(name, Json::canonical(value));
        Ok(())
    }

    fn lay(&mut self, field: &str, value: &Value) {
        if !CONNECTION.contains(&field) && !value.is_null() {
            self.options.body.insert(field.to_owned(), Json::canonical(value));
        }
    }

    fn checked(self) -> Result<RequestOptions, OptionsError> {
        let own: &[&str] = match self.protocol {
            OPENAI_CHAT => &["messages"],
            OPENAI_RESPONSES => &["input", "instructions"],
            ANTHROPIC_MESSAGES => &["messages", "system"],
            _ => &[],
        };
        let owned = |field: &&String| OWNED_BY_ALL.contains(&field.as_str()) || own.contains(&field.as_str());
        let refused: Vec<String> = self.options.body.keys().filter(owned).cloned().collect();
        if refused.is_empty() { Ok(self.options) } else { Err(OptionsError::ProtocolOwned(refused)) }
    }
}

/// The name of a provider's option, if it is one that we know.
fn semantic(namespace: &str, name: &str) -> Option<&'static str> {
    let (_, known) = OPTIONS.iter().find(|(known, _)| *known == namespace)?;
    known.iter().copied().find(|option| is_called(option, name))
}

#[cfg(test)]
mod tests;
