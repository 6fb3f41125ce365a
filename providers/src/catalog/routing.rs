//! The protocol and the address for each model (`docs/configuration.md#models`).

use super::{ModelEntry, ProviderEntry};
use crate::wire::Protocol;

/// The protocol of each package of the AI SDK, and the address of its provider. Providers that also have an address
/// compatible with OpenAI's are used through that address.
const PACKAGES: [(&str, Protocol, Option<&str>); 12] = [
    ("@ai-sdk/openai", Protocol::OpenAiResponses, Some("https://api.openai.com/v1")),
    ("@ai-sdk/anthropic", Protocol::AnthropicMessages, Some("https://api.anthropic.com/v1")),
    ("@ai-sdk/openai-compatible", Protocol::OpenAiChat, None),
    ("@openrouter/ai-sdk-provider", Protocol::OpenAiChat, Some("https://openrouter.ai/api/v1")),
    ("@ai-sdk/google", Protocol::OpenAiChat, Some("https://generativelanguage.googleapis.com/v1beta/openai")),
    ("@ai-sdk/xai", Protocol::OpenAiChat, Some("https://api.x.ai/v1")),
    ("@ai-sdk/mistral", Protocol::OpenAiChat, Some("https://api.mistral.ai/v1")),
    ("@ai-sdk/groq", Protocol::OpenAiChat, Some("https://api.groq.com/openai/v1")),
    ("@ai-sdk/cerebras", Protocol::OpenAiChat, Some("https://api.cerebras.ai/v1")),
    ("@ai-sdk/deepinfra", Protocol::OpenAiChat, Some("https://api.deepinfra.com/v1/openai")),
    ("@ai-sdk/togetherai", Protocol::OpenAiChat, Some("https://api.together.xyz/v1")),
    ("@ai-sdk/perplexity", Protocol::OpenAiChat, Some("https://api.perplexity.ai")),
];

/// The protocol and the address of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The protocol.
    pub protocol: Protocol,
    /// Where, without the path of the protocol: `https://api.openai.com/v1`.
    pub base_url: String,
}

/// No supported protocol reaches a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedApi {
    /// Its package is unknown: give the provider a protocol and an address that it also serves.
    #[error(
        "provider {provider}: the package {npm} uses a protocol that Annals does not support; give the provider a `protocol` and a `base_url` that it also serves"
    )]
    Package {
        /// The provider.
        provider: String,
        /// Its package.
        npm: String,
    },
    /// Neither a protocol nor a package is configured.
    #[error("provider {provider}: unknown protocol; set `protocol` to one of {}", words())]
    Silent {
        /// The provider.
        provider: String,
    },
    /// The name of the protocol is unknown.
    #[error("provider {provider}: there is no protocol {protocol:?}; it is one of {}", words())]
    Protocol {
        /// The provider.
        provider: String,
        /// The word.
        protocol: String,
    },
    /// It has no address.
    #[error("provider {provider}: unknown address; set `base_url`")]
    Nowhere {
        /// The provider.
        provider: String,
    },
}

fn words() -> String {
    Protocol::ALL.map(Protocol::as_str).join(", ")
}

/// The route of a model: the settings of the model precede those of its provider, and a protocol precedes a package.
pub(super) fn route(provider: &str, entry: &ProviderEntry, model: &ModelEntry) -> Result<Route, UnsupportedApi> {
    let provider = || provider.to_owned();
    let own = model.provider.as_ref();
    let protocol = match own
        .and_then(|own| own.protocol.as_ref().map(StatedApi::Protocol))
        .or(own.and_then(|own| own.npm.as_ref().map(StatedApi::Package)))
        .or(entry.protocol.as_ref().map(StatedApi::Protocol))
        .or(entry.npm.as_ref().map(StatedApi::Package))
    {
        None => return Err(UnsupportedApi::Silent { provider: provider() }),
        Some(StatedApi::Protocol(word)) => Protocol::of(word)
            .ok_or_else(|| UnsupportedApi::Protocol { provider: provider(), protocol: word.clone() })?,
        Some(StatedApi::Package(npm)) => package(npm)
            .map(|(protocol, _)| protocol)
            .ok_or_else(|| UnsupportedApi::Package { provider: provider(), npm: npm.clone() })?,
    };
    let base_url = base_url(entry, Some(model)).ok_or_else(|| UnsupportedApi::Nowhere { provider: provider() })?;
    Ok(Route { protocol, base_url })
}

enum StatedApi<'a> {
    Protocol(&'a String),
    Package(&'a String),
}

/// Where a provider, or one model of it, is.
pub(super) fn base_url(entry: &ProviderEntry, model: Option<&ModelEntry>) -> Option<String> {
    let own = model.and_then(|model| model.provider.as_ref());
    let written = own.and_then(|own| own.api.as_ref()).or(entry.api.as_ref());
    let usual = |npm: Option<&String>| npm.and_then(|npm| package(npm)).and_then(|(_, url)| url);
    let url = match written {
        Some(url) => Some(url.as_str()),
        None => usual(own.and_then(|own| own.npm.as_ref())).or(usual(entry.npm.as_ref())),
    };
    url.map(|url| url.trim_end_matches('/').to_owned())
}

fn package(npm: &str) -> Option<(Protocol, Option<&'static str>)> {
    PACKAGES.iter().find(|(name, ..)| *name == npm).map(|(_, protocol, url)| (*protocol, *url))
}
