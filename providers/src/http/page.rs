//! Single answers of servers other than providers: pages and searches. One request, no redirect followed, bounded.

use super::client::is_local;
use super::faults::cause;
use reqwest::{Client, Method, Url, header, redirect, retry};
use std::net::SocketAddr;
use std::time::Duration;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);

/// A request.
#[derive(Clone, Debug, Default)]
pub struct PageRequest {
    /// The address: `http` or `https`.
    pub url: String,
    /// Headers by name.
    pub headers: Vec<(String, String)>,
    /// A JSON body, which is posted.
    pub json: Option<String>,
    /// The addresses of the host, if they were looked up: it is reached at no other.
    pub addresses: Vec<SocketAddr>,
    /// The most bytes that are read of the body.
    pub largest: usize,
    /// How long it may take.
    pub limit: Duration,
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct PageAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The media type with its parameters; empty if there is none.
    pub content_type: String,
    /// Where a redirect leads, as an absolute address.
    pub location: Option<String>,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// Whether there is more of it.
    pub is_cut: bool,
}

/// There is no answer.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The address is not a URL.
    #[error("{0} is not a URL")]
    Url(String),
    /// The server cannot be reached, or the connection broke.
    #[error("{0}")]
    Unreachable(String),
    /// It took too long.
    #[error("no complete answer within {0} s")]
    Late(u64),
}

/// Sends a request.
pub async fn page(request: PageRequest) -> Result<PageAnswer, PageError> {
    let limit = request.limit;
    match tokio::time::timeout(limit, answer(request)).await {
        Ok(answer) => answer,
        Err(_) => Err(PageError::Late(limit.as_secs())),
    }
}

async fn answer(request: PageRequest) -> Result<PageAnswer, PageError> {
    let url: Url = request.url.parse().map_err(|_| PageError::Url(request.url.clone()))?;
    let unreachable = |error: reqwest::Error| PageError::Unreachable(cause(&error.without_url()));
    let client = client(&url, &request.addresses).map_err(unreachable)?;
    let method = if request.json.is_some() { Method::POST } else { Method::GET };
    let mut sent = client.request(method, url.clone());
    for (name, value) in &request.headers {
        sent = sent.header(name, value);
    }
    if let Some(json) = request.json {
        sent = sent.header(header::CONTENT_TYPE, "application/json").body(json);
    }
    let mut answer = sent.send().await.map_err(unreachable)?;
    let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let content_type = header(header::CONTENT_TYPE).unwrap_or_default();
    let location = header(header::LOCATION).filter(|_| answer.status().is_redirection());
    let location = location.and_then(|to| url.join(&to).ok()).map(String::from);
    let status = answer.status().as_u16();
    let (mut body, mut is_cut) = (Vec::new(), false);
    while let Some(piece) = answer.chunk().await.map_err(unreachable)? {
        let room = request.largest - body.len();
        body.extend(piece.get(..piece.len().min(room)).unwrap_or_default());
        if piece.len() > room {
            is_cut = true;
            break;
        }
    }
    Ok(PageAnswer { status, content_type, location, body, is_cut })
}

fn client(url: &Url, addresses: &[SocketAddr]) -> Result<Client, reqwest::Error> {
    super::client::install_tls();
    let client = Client::builder()
        .user_agent(concat!("annals/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        // The caller judges where a redirect leads.
        .redirect(redirect::Policy::none())
        .retry(retry::never());
    let client = match (url.host_str(), addresses) {
        (Some(host), [_, ..]) => client.resolve_to_addrs(host, addresses),
        _ => client,
    };
    match is_local(url) {
        true => client.no_proxy().tls_certs_only([]).build(),
        false => client.build(),
    }
}
