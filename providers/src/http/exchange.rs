//! Single exchanges with servers other than providers: a request, and an answer whose events are read as they arrive.

use super::client::{is_local, plain};
use super::endpoint::EndpointLimits;
use super::events::{ServerEvent, events};
use super::faults::cause;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use reqwest::{Client, Method, Response, Url};
use std::time::Duration;
use tokio::time::Instant;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(30);

/// The largest answer or event, in bytes.
const LARGEST: usize = 16 * 1024 * 1024;

/// How long a stream of events may last.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How this program names itself.
const AGENT: &str = concat!("annals/", env!("CARGO_PKG_VERSION"));

/// What is done with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeMethod {
    /// GET.
    Get,
    /// POST.
    Post,
    /// DELETE.
    Delete,
}

/// Connections for exchanges. No redirect is followed, nothing is tried again. Clones share them.
#[derive(Clone, Debug)]
pub struct Exchanges {
    elsewhere: Client,
    here: Client,
}

/// There is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeError {
    /// The address is not a URL.
    #[error("{0} is not a URL")]
    Url(String),
    /// The server cannot be reached, or the connection broke.
    #[error("{0}")]
    Broken(String),
    /// More than is read.
    #[error("the answer exceeds {0} bytes")]
    TooLarge(usize),
}

/// An answer; its body follows.
#[derive(Debug)]
pub struct Exchanged(Response);

impl Exchanges {
    /// Connections.
    ///
    /// # Errors
    /// When the certificates of the system cannot be read.
    pub fn new() -> Result<Self, ExchangeError> {
        let failed = |error: reqwest::Error| ExchangeError::Broken(cause(&error));
        Ok(Self { elsewhere: plain(CONNECT, false).map_err(failed)?, here: plain(CONNECT, true).map_err(failed)? })
    }

    /// Sends a request.
    pub async fn send(
        &self,
        method: ExchangeMethod,
        url: &str,
        headers: &[(String, String)],
        body: Option<String>,
    ) -> Result<Exchanged, ExchangeError> {
        let parsed: Url = url.parse().map_err(|_| ExchangeError::Url(url.to_owned()))?;
        let client = if is_local(&parsed) { &self.here } else { &self.elsewhere };
        let method = match method {
            ExchangeMethod::Get => Method::GET,
            ExchangeMethod::Post => Method::POST,
            ExchangeMethod::Delete => Method::DELETE,
        };
        let mut request = client.request(method, parsed).header("User-Agent", AGENT);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(body) = body {
            request = request.body(body);
        }
        let answer = request.send().await;
        answer.map(Exchanged).map_err(|error| ExchangeError::Broken(cause(&error.without_url())))
    }
}

impl Exchanged {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// A header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    /// Whether the body is a stream of events.
    pub fn is_events(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
    }

    /// The whole body.
    ///
    /// # Errors
    /// When the connection breaks, or it is too large.
    pub async fn text(mut self) -> Result<String, ExchangeError> {
        let mut body = Vec::new();
        let broken = |error: reqwest::Error| ExchangeError::Broken(cause(&error.without_url()));
        while let Some(piece) = self.0.chunk().await.map_err(broken)? {
            body.extend_from_slice(&piece);
            if body.len() > LARGEST {
                return Err(ExchangeError::TooLarge(LARGEST));
            }
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// The events of the body as they arrive.
    pub fn events(self) -> BoxStream<'static, Result<ServerEvent, ExchangeError>> {
        let limits = EndpointLimits { idle: LONGEST, event_bytes: LARGEST, ..EndpointLimits::default() };
        let bytes = self.0.bytes_stream().map_err(|error| cause(&error.without_url()));
        let events = events(bytes, limits, Instant::now() + LONGEST);
        events.map_err(|broken| ExchangeError::Broken(broken.to_string())).boxed()
    }
}
