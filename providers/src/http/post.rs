//! What is posted: address, headers, body.

use super::endpoint::Endpoint;
use super::faults::fault;
use super::key::ApiKey;
use super::secrets::{EndpointSecrets, shown};
use crate::provider::{ProviderError, ProviderErrorKind, ProviderRequest};
use crate::wire::{Protocol, RequestBody};
use reqwest::Url;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, InvalidHeaderName, InvalidHeaderValue,
};
use std::sync::Arc;

/// The version of the Anthropic API whose encoding this is.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// One attempt, ready to go out.
pub(super) struct Post {
    pub(super) protocol: Protocol,
    pub(super) endpoint: Endpoint,
    pub(super) secrets: EndpointSecrets,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Arc<RequestBody>,
}

/// The encoded bytes, not copied.
pub(super) struct BodyBytes(pub(super) Arc<RequestBody>);

impl AsRef<[u8]> for BodyBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}

/// Where a protocol is spoken below a base URL. A base URL without a path gets the usual `/v1`, one that names the
/// protocol's own path is taken as it is, and a query is kept.
pub(super) fn address(base: &str, protocol: Protocol) -> Result<Url, String> {
    let mut url = Url::parse(base).map_err(|error| format!("the base URL is invalid: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!("the base URL is not an http or https address: {}", shown(&url)));
    }
    let path = match protocol {
        Protocol::OpenAiChat => "/chat/completions",
        Protocol::OpenAiResponses => "/responses",
        Protocol::AnthropicMessages => "/messages",
    };
    let base = url.path().trim_end_matches('/');
    if !base.ends_with(path) {
        let base = if base.is_empty() { "/v1" } else { base };
        let path = format!("{base}{path}");
        url.set_path(&path);
    }
    Ok(url)
}

pub(super) fn headers(
    request: &ProviderRequest,
    protocol: Protocol,
    endpoint: &Endpoint,
    key: Option<&ApiKey>,
) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::new();
    let session = HeaderValue::from_str(&request.session.to_string()).map_err(unsendable("X-Session-Id"))?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-session-affinity", session.clone());
    headers.insert("x-session-id", session);
    if let Some(parent) = request.parent {
        let parent = HeaderValue::from_str(&parent.to_string()).map_err(unsendable("x-parent-session-id"))?;
        headers.insert("x-parent-session-id", parent);
    }
    let (name, before) = match protocol {
        Protocol::OpenAiChat | Protocol::OpenAiResponses => (AUTHORIZATION, "Bearer "),
        Protocol::AnthropicMessages => (HeaderName::from_static("x-api-key"), ""),
    };
    if protocol == Protocol::AnthropicMessages {
        headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
    }
    if let Some(key) = key {
        let mut value =
            HeaderValue::from_str(&format!("{before}{}", key.expose())).map_err(unsendable(name.as_str()))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    for (name, value) in &endpoint.headers {
        let mut value = HeaderValue::from_str(value).map_err(unsendable(name))?;
        value.set_sensitive(true);
        let name: HeaderName = name.parse().map_err(|_: InvalidHeaderName| {
            fault(ProviderErrorKind::InvalidRequest, format!("{name:?} is not a valid header name: correct it"))
        })?;
        headers.insert(name, value);
    }
    Ok(headers)
}

fn unsendable(name: &str) -> impl Fn(InvalidHeaderValue) -> ProviderError + use<'_> {
    move |_| {
        let message = format!("the value of the header {name} cannot be sent: correct it");
        fault(ProviderErrorKind::InvalidRequest, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::KeySource;
    use crate::http::key::read;
    use crate::provider::test_model;
    use annals_core::event::{Purpose, RequestOptions};
    use annals_core::{RequestId, SessionId};
    use annals_projections::{Request, ToolChoice};

    #[test]
    fn the_path_of_the_protocol_is_added_to_the_base_url() {
        let addresses = [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            ("https://host/openai/v1/", "https://host/openai/v1/chat/completions"),
            ("http://localhost:11434", "http://localhost:11434/v1/chat/completions"),
            ("https://host/api/chat/completions", "https://host/api/chat/completions"),
            ("https://host/deploy?api-version=2", "https://host/deploy/chat/completions?api-version=2"),
        ];
        for (base, expected) in addresses {
            assert_eq!(address(base, Protocol::OpenAiChat).map(String::from), Ok(expected.into()));
        }
        let paths = Protocol::ALL.map(|protocol| address("https://host/v1", protocol).map(|url| url.path().to_owned()));
        assert_eq!(paths, ["/v1/chat/completions", "/v1/responses", "/v1/messages"].map(|path| Ok(path.into())));
    }

    fn request() -> ProviderRequest {
        let request = Request {
            purpose: Purpose::Turn,
            agent: "build".into(),
            model: test_model(&"test/alpha".into(), 200_000, 32_000),
            system: Vec::new(),
            messages: annals_projections::RequestMessages::new(),
            tools: Vec::new(),
            tool_choice: ToolChoice::None,
            options: RequestOptions::default(),
        };
        ProviderRequest {
            session: SessionId([1; 16]),
            parent: Some(SessionId([2; 16])),
            id: RequestId([3; 16]),
            attempt: 1,
            request: Arc::new(request),
            body: None,
        }
    }

    #[tokio::test]
    async fn headers_are_those_of_the_protocol_and_the_configured_ones_come_over_them() -> Result<(), ProviderError> {
        let key = read(&KeySource::Command(["echo", "sk-planted"].map(Into::into).to_vec())).await.ok();
        let endpoint = Endpoint::at("https://host").header("Anthropic-Version", "2099-01-01");
        let sent = headers(&request(), Protocol::AnthropicMessages, &endpoint, key.as_ref())?;
        let text = |name: &str| sent.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        assert_eq!(text("x-api-key"), Some("sk-planted".into()));
        assert_eq!(text("anthropic-version"), Some("2099-01-01".into()));
        assert_eq!(text("authorization"), None);
        assert_eq!(text("x-parent-session-id"), Some(SessionId([2; 16]).to_string()));
        assert!(!format!("{sent:?}").contains("planted"), "headers that carry a key do not show it");
        Ok(())
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named_without_its_value() {
        let refusal = |endpoint: Endpoint| {
            headers(&request(), Protocol::OpenAiChat, &endpoint, None).map(|_| ()).map_err(|error| error.message)
        };
        let value = refusal(Endpoint::at("https://host").header("x-team", "a\nb"));
        assert_eq!(value, Err("the value of the header x-team cannot be sent: correct it".into()));
        let name = refusal(Endpoint::at("https://host").header("x team", "a"));
        assert_eq!(name, Err("\"x team\" is not a valid header name: correct it".into()));
    }
}
