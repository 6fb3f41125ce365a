//! Settings in the shape of the AI SDK, divided into Generation Controls, Model Request Options, and compatibility
//! fields of a request's body (`docs/wire.md#options`).

use crate::wire::Protocol;
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

/// Model Request Options by protocol, each with the namespace that they have in it, in the camel case of the AI SDK.
const OPTIONS: [(Protocol, &str, &[&str]); 3] = [
    (
        Protocol::OpenAiChat,
        "openai",
        &[
            "emptyContent",
            "maxTokensField",
            "parallelToolCalls",
            "promptCacheKey",
            "reasoningEffort",
            "reasoningField",
            "serviceTier",
            "store",
            "streamUsage",
            "textVerbosity",
        ],
    ),
    (
        Protocol::OpenAiResponses,
        "openai",
        &[
            "hostedTools",
            "include",
            "instructions",
            "parallelToolCalls",
            "promptCacheKey",
            "reasoningEffort",
            "reasoningSummary",
            "serviceTier",
            "store",
            "textVerbosity",
        ],
    ),
    (
        Protocol::AnthropicMessages,
        "anthropic",
        &["cache", "cacheTtl", "disableParallelToolUse", "effort", "hostedTools", "serviceTier", "thinking"],
    ),
];

/// Namespaces of providers whose protocol is not supported: their content is kept unchanged.
const OTHERS: [&str; 1] = ["gemini"];

/// What belongs to a connection, and to no request: it is left out, keys above all.
const CONNECTION: [&str; 8] = ["apiKey", "baseURL", "baseUrl", "headers", "fetch", "name", "timeout", "organization"];

/// How much a model may think.
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Fields of a body that its encoder alone writes.
const fn owned(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::OpenAiChat => &["model", "messages", "tools", "tool_choice", "stream", "stream_options"],
        Protocol::OpenAiResponses => &["model", "input", "tools", "tool_choice", "stream"],
        Protocol::AnthropicMessages => &["model", "system", "messages", "tools", "tool_choice", "stream"],
    }
}

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
    /// A setting that should hold others is not an object.
    #[error("{0}: expected a table of settings")]
    NotATable(String),
}

/// Splits settings into the parts of a request for a protocol.
///
/// A control may have any of its usual names. A provider's option is at the top level, in its namespace
/// (`openai: {...}`), or in `providerOptions`. One that only another protocol knows is ignored; what
/// belongs to another provider is kept under its namespace. Other members at the top level, in the protocol's own
/// namespace, in `extraBody` or in `body` are merged into the body. A `null` counts as absent. Later places win: the top,
/// its namespaces, `providerOptions`, `extraBody`, `body`.
///
/// # Errors
/// When a body field is reserved by the protocol, an effort is unknown, or a place for settings is not a table.
pub fn partition(protocol: Protocol, settings: &Map<String, Value>) -> Result<RequestOptions, OptionsError> {
    let mut parts = Parts { protocol, options: RequestOptions::default() };
    let nested = |name: &str| settings.get(name).filter(|value| !value.is_null());
    for (name, value) in settings.iter().filter(|(name, value)| !is_nested(name) && !value.is_null()) {
        parts.take(name, value)?;
    }
    for namespace in namespaces() {
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

/// The same settings for a request to any provider: an option that only one provider knows goes into its namespace, where no
/// other provider is sent it. A server that takes it as a field of its own gets it by the options of its model.
pub fn for_owners(settings: Map<String, Value>) -> Map<String, Value> {
    let owner = |name: &str| {
        let known = |(.., options): &&(Protocol, &str, &[&str])| options.iter().any(|option| is_called(option, name));
        let mut owners = OPTIONS.iter().filter(known).map(|(_, namespace, _)| *namespace);
        let first = owners.next()?;
        owners.all(|other| other == first).then_some(first)
    };
    let mut sorted = Map::new();
    let mut owned = Vec::new();
    for (name, value) in settings {
        match owner(&name) {
            Some(namespace) => owned.push((namespace, name, value)),
            None => drop(sorted.insert(name, value)),
        }
    }
    for (namespace, name, value) in owned {
        // What its namespace says itself counts.
        if let Value::Object(options) = sorted.entry(namespace).or_insert_with(|| Value::Object(Map::new())) {
            options.entry(name).or_insert(value);
        }
    }
    sorted
}

fn namespaces() -> impl Iterator<Item = &'static str> {
    ["openai", "anthropic"].into_iter().chain(OTHERS)
}

fn is_nested(name: &str) -> bool {
    matches!(name, "providerOptions" | "extraBody" | "body") || namespaces().any(|namespace| namespace == name)
}

fn table<'a>(name: &str, value: &'a Value) -> Result<&'a Map<String, Value>, OptionsError> {
    value.as_object().ok_or_else(|| OptionsError::NotATable(name.to_owned()))
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

/// Whose an option is.
enum OptionOwner {
    /// The protocol's that is asked for.
    Own(&'static str, &'static str),
    /// Another one's: its namespace and name.
    Other(&'static str, &'static str),
    /// Of no known owner.
    Nobody,
}

struct Parts {
    protocol: Protocol,
    options: RequestOptions,
}

impl Parts {
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
        match self.owner(name) {
            OptionOwner::Own(namespace, option) => self.insert(namespace, option, value),
            // Servers that are compatible with Chat Completions take some of these as fields, such as `thinking`.
            OptionOwner::Other(namespace, _)
                if self.protocol == Protocol::OpenAiChat && namespace != self.namespace() =>
            {
                self.lay(name, value);
                Ok(())
            }
            OptionOwner::Other(namespace, _) if namespace == self.namespace() => Ok(()),
            OptionOwner::Other(namespace, option) => self.insert(namespace, option, value),
            OptionOwner::Nobody => {
                self.lay(name, value);
                Ok(())
            }
        }
    }

    /// The settings of one provider.
    fn take_namespace(&mut self, namespace: &str, value: &Value) -> Result<(), OptionsError> {
        let known = |name: &str| {
            let of = OPTIONS.iter().filter(|(_, theirs, _)| *theirs == namespace);
            of.flat_map(|(.., options)| options.iter()).copied().find(|option| is_called(option, name))
        };
        let settings = table(namespace, value)?.iter();
        for (name, value) in settings.filter(|(name, value)| !value.is_null() && !CONNECTION.contains(&name.as_str())) {
            if namespace != self.namespace() {
                self.insert(namespace, known(name).unwrap_or(name), value)?;
                continue;
            }
            match self.owner(name) {
                OptionOwner::Own(namespace, option) => self.insert(namespace, option, value)?,
                OptionOwner::Other(theirs, _) if theirs == namespace => {}
                // The provider's own adapter would send what it does not know as it is.
                OptionOwner::Other(..) | OptionOwner::Nobody => self.lay(name, value),
            }
        }
        Ok(())
    }

    fn namespace(&self) -> &'static str {
        OPTIONS.iter().find(|(protocol, ..)| *protocol == self.protocol).map_or("", |(_, namespace, _)| namespace)
    }

    fn owner(&self, name: &str) -> OptionOwner {
        let mut owner = OptionOwner::Nobody;
        for (protocol, namespace, options) in OPTIONS {
            if let Some(option) = options.iter().copied().find(|option| is_called(option, name)) {
                if protocol == self.protocol {
                    return OptionOwner::Own(namespace, option);
                }
                // Of two others, the one of the same provider.
                if !matches!(owner, OptionOwner::Other(theirs, _) if theirs == self.namespace()) {
                    owner = OptionOwner::Other(namespace, option);
                }
            }
        }
        owner
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
        let owned = |field: &&String| owned(self.protocol).contains(&field.as_str());
        let refused: Vec<String> = self.options.body.keys().filter(owned).cloned().collect();
        if refused.is_empty() { Ok(self.options) } else { Err(OptionsError::ProtocolOwned(refused)) }
    }
}

#[cfg(test)]
mod tests;
