//! Where a model answers: address, headers, key, limits.

use super::key::KeySource;
use super::secrets::without_credentials;
use annals_core::ModelName;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Says where models answer. Asked before every attempt, so that a host may look at its configuration anew.
pub trait Endpoints: Send + Sync {
    /// Where a model answers.
    ///
    /// # Errors
    /// When no address is configured.
    fn endpoint(&self, model: &ModelName) -> Result<Endpoint, EndpointError>;
}

/// An address and what is sent along. Its `Debug` form shows no key, no credentials and no value of a header.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// What the protocol's path is added to: `https://host/v1`. A query in it is kept.
    pub base_url: String,
    /// Sent with every request, over what the protocol says. Values count as secrets: no error shows them.
    pub headers: BTreeMap<String, String>,
    /// Where the key comes from; a local server may want none.
    pub key: Option<KeySource>,
    /// How long and how much.
    pub limits: EndpointLimits,
}

impl Endpoint {
    /// An address without a key.
    pub fn at(base_url: impl Into<String>) -> Self {
        Self { base_url: base_url.into(), headers: BTreeMap::new(), key: None, limits: EndpointLimits::default() }
    }

    /// The same with a key.
    #[must_use]
    pub fn key(self, key: KeySource) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The same with a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// The same with other limits.
    #[must_use]
    pub fn limits(self, limits: EndpointLimits) -> Self {
        Self { limits, ..self }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("base_url", &without_credentials(&self.base_url))
            .field("headers", &self.headers.keys())
            .field("key", &self.key)
            .field("limits", &self.limits)
            .finish()
    }
}

/// How long an attempt may take and how much it may bring. What exceeds a limit ends it with an error that says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointLimits {
    /// Until a connection is established, name lookup and TLS included.
    pub connect: Duration,
    /// Without a byte: before the first one, when a model may read for minutes, and between any two.
    pub idle: Duration,
    /// From beginning to end.
    pub total: Duration,
    /// Bytes of one event of the stream. An event is held in memory until it is whole.
    pub event_bytes: usize,
    /// Bytes of a whole answer as it comes over the wire, which is some ten times its content.
    pub answer_bytes: u64,
    /// Bytes of what the answer holds: text, reasoning, names, ids and input of calls, native metadata. What is held for the
    /// end of a call or of reasoning counts as it comes.
    pub content_bytes: usize,
}

impl Default for EndpointLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            idle: Duration::from_secs(5 * 60),
            total: Duration::from_secs(60 * 60),
            event_bytes: 8 << 20,
            answer_bytes: 256 << 20,
            content_bytes: 16 << 20,
        }
    }
}

/// A model has no usable endpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The model's provider is not configured: add it to the configuration.
    #[error("no provider is configured for the model {0}")]
    UnknownProvider(ModelName),
    /// The provider is known, its address is not: set it.
    #[error("the provider of the model {0} has no base URL: set one in the configuration")]
    NoBaseUrl(ModelName),
}

/// The same endpoint for every model: for a host with one.
#[derive(Clone, Debug)]
pub struct OneEndpoint(pub Endpoint);

impl Endpoints for OneEndpoint {
    fn endpoint(&self, _: &ModelName) -> Result<Endpoint, EndpointError> {
        Ok(self.0.clone())
    }
}
