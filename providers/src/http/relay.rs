//! Passes requests of other programs on to a provider, bytes and headers unchanged.

use super::client::{is_local, plain};
use super::faults::cause;
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use reqwest::header::HeaderMap;
use reqwest::{Body, Client, Method, Response, Url};
use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(30);

/// Sends requests of other programs. Follows no redirect, retries nothing, decompresses nothing.
#[derive(Default)]
pub struct Relay {
    /// For addresses elsewhere, and for those on this machine, which are reached without a proxy.
    clients: Mutex<[Option<Client>; 2]>,
}

/// A request could not be passed on.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The address is not a URL.
    #[error("{0} is not a URL")]
    Url(String),
    /// No answer came: the provider cannot be reached, or the connection broke.
    #[error("{0}")]
    Unreachable(String),
}

/// The beginning of an answer; its body follows.
#[derive(Debug)]
pub struct RelayedAnswer(Response);

impl Relay {
    /// Passes a request on.
    pub async fn send<S, E>(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Option<S>,
    ) -> Result<RelayedAnswer, RelayError>
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
    {
        let parsed: Url = url.parse().map_err(|_| RelayError::Url(url.to_owned()))?;
        let unreachable = |error: reqwest::Error| RelayError::Unreachable(cause(&error.without_url()));
        let client = self.client(is_local(&parsed)).map_err(unreachable)?;
        let request = client.request(method, parsed).headers(headers);
        let request = match body {
            Some(body) => request.body(Body::wrap_stream(body)),
            None => request,
        };
        request.send().await.map(RelayedAnswer).map_err(unreachable)
    }

    fn client(&self, local: bool) -> Result<Client, reqwest::Error> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let [elsewhere, here] = &mut *clients;
        let place = if local { here } else { elsewhere };
        if let Some(client) = place {
            return Ok(client.clone());
        }
        let client = plain(CONNECT, local)?;
        *place = Some(client.clone());
        Ok(client)
    }
}

impl RelayedAnswer {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// The body as it arrives, compressed as it was sent. An error says why it broke off.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, String>> + Send + 'static {
        self.0.bytes_stream().map_err(|error| cause(&error.without_url()))
    }
}
