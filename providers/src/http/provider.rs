//! The provider behind HTTP: one POST of exactly the encoded bytes, an event stream back
//! (`docs/reference/wire.md#http`).

use super::answer::AnswerReader;
use super::client::{Clients, is_local};
use super::endpoint::{Endpoint, Endpoints};
use super::faults::{fault, no_stream, redirected, unsent};
use super::key::{self, ApiKey, KeySource};
use super::post::{BodyBytes, Post, address, headers};
use super::retry_after;
use super::secrets::{EndpointSecrets, shown};
use crate::provider::{AnswerStream, Provider, ProviderError, ProviderErrorKind, ProviderRequest};
use crate::wire::{self, Protocol};
use annals_core::Time;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How much of a refusal's body is read.
const REFUSAL: usize = 64 << 10;

/// The current time, from the clock of the host.
pub type Now = Arc<dyn Fn() -> Time + Send + Sync>;

/// Sends requests to models behind HTTP.
///
/// It sends the bytes that the turn encoded ([`ProviderRequest::body`]) and gives what the protocol's decoder reads from
/// the event stream. Dropping the answer closes the connection. Every failure is one sentence without a secret in it.
///
/// ```
/// use annals_providers::http::{Endpoint, HttpProvider, KeySource, OneEndpoint};
/// use std::sync::Arc;
/// let endpoint = Endpoint::at("https://api.openai.com/v1").key(KeySource::Env("OPENAI_API_KEY".into()));
/// let now = Arc::new(|| annals_core::Time(1_780_488_000_000));
/// let provider = HttpProvider::new(Arc::new(OneEndpoint(endpoint)), now);
/// ```
#[derive(Clone)]
pub struct HttpProvider(Arc<Inner>);

struct Inner {
    endpoints: Arc<dyn Endpoints>,
    now: Now,
    clients: Clients,
    /// What commands gave. A key that was refused is forgotten.
    keys: Mutex<BTreeMap<KeySource, ApiKey>>,
}

impl HttpProvider {
    /// A provider for the models of some endpoints. `now` turns a date in a `Retry-After` header into a wait.
    pub fn new(endpoints: Arc<dyn Endpoints>, now: Now) -> Self {
        Self(Arc::new(Inner { endpoints, now, clients: Clients::default(), keys: Mutex::default() }))
    }
}

impl Provider for HttpProvider {
    fn send(&self, request: ProviderRequest) -> AnswerStream {
        let inner = self.0.clone();
        stream::once(async move { inner.open(&request).await })
            .flat_map(|opened| match opened {
                Ok(reader) => reader.answer(),
                Err(error) => stream::once(async move { Err(error) }).boxed(),
            })
            .boxed()
    }
}

impl Inner {
    #[tracing::instrument(level = "debug", skip_all, fields(
        session = %request.session, request = %request.id, attempt = request.attempt, model = %request.request.model.model,
    ))]
    async fn open(&self, request: &ProviderRequest) -> Result<AnswerReader, ProviderError> {
        let model = &request.request.model;
        let wrong = |message: String| fault(ProviderErrorKind::InvalidRequest, message);
        let (Some(protocol), Some(body)) = (Protocol::of(&model.protocol), &request.body) else {
            return Err(wrong(format!("the model {} is not spoken to over HTTP ({})", model.model, model.protocol)));
        };
        let endpoint = self.endpoints.endpoint(&model.model).map_err(|error| wrong(error.to_string()))?;
        let url = address(&endpoint.base_url, protocol).map_err(wrong)?;
        let key = match &endpoint.key {
            Some(source) => Some(self.key(source).await.map_err(|error| {
                let message = format!("there is no key for the model {}: {error}", model.model);
                fault(ProviderErrorKind::Authentication, message)
            })?),
            None => None,
        };
        let secrets = EndpointSecrets::of(&endpoint, key.as_ref());
        let headers = headers(request, protocol, &endpoint, key.as_ref())?;
        let post = Post { protocol, endpoint, secrets, url, headers, body: body.clone() };
        self.post(&post).await.map_err(|error| {
            if let (ProviderErrorKind::Authentication, Some(source)) = (error.kind, &post.endpoint.key) {
                self.keys().remove(source);
            }
            ProviderError { message: post.secrets.replace(error.message), ..error }
        })
    }

    async fn post(&self, post: &Post) -> Result<AnswerReader, ProviderError> {
        let Post { protocol, endpoint, secrets, url, headers, body } = post;
        let (at, limits, local) = (shown(url), endpoint.limits, is_local(url));
        let deadline = Instant::now() + limits.total;
        let client = self.clients.client(url, limits.connect).map_err(|error| unsent(&error, &at, local))?;
        let body = Bytes::from_owner(BodyBytes(body.clone()));
        let posted = client.post(url.clone()).headers(headers.clone()).body(body).send();
        let first = limits.idle.min(limits.total);
        let response = match timeout(first, posted).await {
            Ok(response) => response.map_err(|error| unsent(&error, &at, local))?,
            Err(_) => {
                let message = format!("{at} did not begin to answer within {} s", first.as_secs_f64());
                return Err(fault(ProviderErrorKind::Transport, message));
            }
        };
        tracing::debug!(status = response.status().as_u16(), %at, "answered");
        let response = self.judge(response, *protocol, endpoint, &at).await?;
        Ok(AnswerReader::new(response, wire::decoder(*protocol), limits, deadline, secrets.clone(), at))
    }

    /// Gives the response if it is a stream of events, and explains what else it is.
    async fn judge(
        &self,
        response: Response,
        protocol: Protocol,
        endpoint: &Endpoint,
        at: &str,
    ) -> Result<Response, ProviderError> {
        let status = response.status();
        let text = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        if status.is_redirection() {
            return Err(redirected(status.as_u16(), text(LOCATION), at));
        }
        let kind = text(CONTENT_TYPE).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        // Some servers say nothing, or `text/plain`: what they send decides then.
        let refused = !status.is_success();
        let other = kind == "text/html" || kind == "application/json" || kind.ends_with("+json");
        if !refused && !other {
            return Ok(response);
        }
        let advice = retry_after::read(response.headers(), (self.now)());
        let body = beginning(response, endpoint).await;
        let status = if refused { Some(status.as_u16()) } else { status_in(&body) };
        match status {
            Some(status) => Err(wire::refusal(protocol, status, advice, &body)),
            None => Err(no_stream(&kind, &body, at)),
        }
    }

    async fn key(&self, source: &KeySource) -> Result<ApiKey, key::KeyError> {
        if let Some(key) = self.keys().get(source) {
            return Ok(key.clone());
        }
        let key = key::read(source).await?;
        // A variable is read each time; a command may ask the user.
        if matches!(source, KeySource::Command(_)) {
            self.keys().insert(source.clone(), key.clone());
        }
        Ok(key)
    }

    fn keys(&self) -> MutexGuard<'_, BTreeMap<KeySource, ApiKey>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long the explanation of a refusal may take: its status is known already.
const EXPLAINING: Duration = Duration::from_secs(10);

/// The beginning of a body that is not a stream, as far as it arrives.
async fn beginning(mut response: Response, endpoint: &Endpoint) -> String {
    let mut bytes = Vec::new();
    let deadline = Instant::now() + endpoint.limits.idle.min(EXPLAINING);
    while bytes.len() < REFUSAL {
        match tokio::time::timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
            // The status counts, also without an explanation.
            Ok(Ok(None) | Err(_)) | Err(_) => break,
        }
    }
    bytes.truncate(REFUSAL);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The status of an error that came with a good one, as gateways do.
fn status_in(body: &str) -> Option<u16> {
    let body: serde_json::Value = serde_json::from_str(body).ok()?;
    let error = body.get("error")?;
    let number = ["code", "status"].iter().find_map(|name| error.get(name)?.as_u64());
    number.and_then(|number| u16::try_from(number).ok()).filter(|status| (400..600).contains(status))
}
