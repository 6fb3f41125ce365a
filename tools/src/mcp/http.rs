//! JSON-RPC over HTTP (streamable HTTP): each message is posted; the answer is one message, or a stream of events with it.

use super::connection::RpcAnswer;
use super::elicitation::Elicitor;
use super::error::McpError;
use super::message::{Incoming, Outgoing, Params, RemoteError};
use super::oauth::Tokens;
use super::settings::{McpEndpoint, McpServer};
use annals_providers::http::{ExchangeError, ExchangeMethod, Exchanged, Exchanges};
use futures_util::StreamExt;
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::AbortHandle;

/// How often a stream that broke off before the answer is asked for its rest, and after which time if the server names none.
const RESUMPTIONS: usize = 5;
const AGAIN: Duration = Duration::from_secs(1);

/// How much of an error's body is shown, in characters.
const TOLD: usize = 300;

/// A server at an address.
pub(super) struct HttpLink(Arc<HttpState>, Mutex<Option<AbortHandle>>);

struct HttpState {
    server: McpServer,
    endpoint: McpEndpoint,
    exchanges: Exchanges,
    tokens: Tokens,
    elicitor: Arc<Elicitor>,
    next: AtomicU64,
    closed: AtomicBool,
    /// What the server wants every request to carry.
    session: Mutex<HttpSession>,
}

#[derive(Clone, Default)]
struct HttpSession {
    id: Option<String>,
    protocol: Option<&'static str>,
}

/// Why an exchange gave no answer.
enum Failed {
    /// The server has forgotten the session.
    Forgotten,
    Error(McpError),
}

impl From<McpError> for Failed {
    fn from(error: McpError) -> Self {
        Self::Error(error)
    }
}

impl HttpLink {
    pub(super) fn new(server: &McpServer, endpoint: &McpEndpoint, elicitor: Arc<Elicitor>) -> Result<Self, McpError> {
        let unreachable =
            |error: ExchangeError| McpError::Unreachable { url: endpoint.url.clone(), why: error.to_string() };
        let exchanges = Exchanges::new().map_err(unreachable)?;
        Ok(Self(
            Arc::new(HttpState {
                tokens: Tokens::of(server, endpoint, exchanges.clone()),
                server: server.clone(),
                endpoint: endpoint.clone(),
                exchanges,
                elicitor,
                next: AtomicU64::new(1),
                closed: AtomicBool::new(false),
                session: Mutex::default(),
            }),
            Mutex::default(),
        ))
    }

    /// Whether the session is over: another one has to be begun.
    pub(super) fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Relaxed)
    }

    /// The version that was agreed on, which every further request names.
    pub(super) fn agreed(&self, protocol: &'static str) {
        self.0.session.lock().unwrap_or_else(PoisonError::into_inner).protocol = Some(protocol);
    }

    /// Hears what the server asks of its own accord, over a stream that it may offer, until the link is dropped.
    pub(super) fn hear(&self) {
        let state = Arc::downgrade(&self.0);
        let hearing = tokio::spawn(async move {
            for _ in 0..=RESUMPTIONS {
                let Some(open) = state.upgrade() else { return };
                let Ok(headers) = open.headers(None, None).await else { return };
                let answer = open.exchanges.send(ExchangeMethod::Get, &open.endpoint.url, &headers, None).await;
                drop(open);
                let Some(answer) = answer.ok().filter(|answer| answer.status() == 200 && answer.is_events()) else {
                    return;
                };
                let mut events = answer.events();
                while let Some(Ok(event)) = events.next().await {
                    let Some(open) = state.upgrade() else { return };
                    if let Ok(incoming) = serde_json::from_str::<Incoming>(&event.data) {
                        open.take(incoming);
                    }
                }
                tokio::time::sleep(AGAIN).await;
            }
        });
        let before = self.1.lock().unwrap_or_else(PoisonError::into_inner).replace(hearing.abort_handle());
        before.iter().for_each(AbortHandle::abort);
    }

    /// Sends a notification without parameters.
    pub(super) async fn notify(&self, method: &'static str) {
        self.0.notify(method, Params::new()).await;
    }

    /// Sends a request and waits for the answer. If the caller stops waiting, the server is informed.
    pub(super) async fn request(&self, method: &'static str, params: &Params) -> Result<RpcAnswer, McpError> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let waited = WaitedFor { state: &self.0, id, answered: false };
        let answer = self.0.clone().exchange(id, method, params).await;
        waited.end();
        match answer {
            Ok(answer) => Ok(answer),
            Err(Failed::Error(error)) => Err(error),
            Err(Failed::Forgotten) => {
                self.0.closed.store(true, Ordering::Relaxed);
                Err(McpError::Ended(": it has forgotten the session".into()))
            }
        }
    }
}

impl Drop for HttpLink {
    /// The server may forget the session.
    fn drop(&mut self) {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(AbortHandle::abort);
        let state = self.0.clone();
        if state.session().id.is_none() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        tokio::spawn(async move {
            let headers = state.headers(None, None).await.unwrap_or_default();
            drop(state.exchanges.send(ExchangeMethod::Delete, &state.endpoint.url, &headers, None).await);
        });
    }
}

/// A request that is waited for.
struct WaitedFor<'a> {
    state: &'a Arc<HttpState>,
    id: u64,
    answered: bool,
}

impl WaitedFor<'_> {
    fn end(mut self) {
        self.answered = true;
    }
}

impl Drop for WaitedFor<'_> {
    fn drop(&mut self) {
        if self.answered || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (state, id) = (self.state.clone(), self.id);
        tokio::spawn(async move {
            let params = [("requestId", json!(id)), ("reason", json!("no longer waited for"))];
            state.notify("notifications/cancelled", super::message::params(params)).await;
        });
    }
}

impl HttpState {
    fn session(&self) -> HttpSession {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn unreachable(&self, why: impl ToString) -> McpError {
        McpError::Unreachable { url: self.endpoint.url.clone(), why: why.to_string() }
    }

    /// The headers of a request about a method and what it names.
    async fn headers(&self, method: Option<&str>, params: Option<&Params>) -> Result<Vec<(String, String)>, McpError> {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut headers = self.endpoint.headers.clone();
        headers.push(header("Accept", "application/json, text/event-stream"));
        headers.push(header("Content-Type", "application/json"));
        let HttpSession { id, protocol } = self.session();
        headers.extend(id.map(|id| header("Mcp-Session-Id", &id)));
        headers.extend(protocol.map(|protocol| header("MCP-Protocol-Version", protocol)));
        if protocol == Some(super::peer::STATELESS)
            && let Some(method) = method
        {
            headers.push(header("Mcp-Method", method));
            let key = if method == "resources/read" { "uri" } else { "name" };
            let named = params.and_then(|params| serde_json::from_str::<String>(params.get(key)?.get()).ok());
            let plain = |name: &String| name.chars().all(|c| c.is_ascii_graphic());
            headers.extend(named.filter(plain).map(|name| header("Mcp-Name", &name)));
        }
        let token = match &self.endpoint.bearer {
            Some(bearer) => Some(bearer.clone()),
            None => self.tokens.access().await?,
        };
        headers.extend(token.map(|token| header("Authorization", &format!("Bearer {token}"))));
        Ok(headers)
    }

    async fn post(&self, method: Option<&str>, params: Option<&Params>, body: String) -> Result<Exchanged, Failed> {
        let mut is_refreshed = false;
        loop {
            let headers = self.headers(method, params).await?;
            let sent = self.exchanges.send(ExchangeMethod::Post, &self.endpoint.url, &headers, Some(body.clone()));
            let answer = sent.await.map_err(|error| self.unreachable(error))?;
            match answer.status() {
                401 | 403 if self.endpoint.bearer.is_none() => {
                    let challenge = answer.header("www-authenticate").unwrap_or_default().to_owned();
                    if answer.status() == 403 && !challenge.contains("insufficient_scope") {
                        return Err(self.refused(answer).await.into());
                    }
                    if answer.status() == 403 {
                        self.tokens.lacks(&challenge).await?;
                    }
                    if !is_refreshed && answer.status() == 401 && self.tokens.refresh().await? {
                        is_refreshed = true;
                        continue;
                    }
                    return Err(McpError::LoginNeeded { server: self.server.name.clone() }.into());
                }
                404 if self.session().id.is_some() => return Err(Failed::Forgotten),
                200..300 => return Ok(answer),
                _ => return Err(self.refused(answer).await.into()),
            }
        }
    }

    /// An answer that says no: its JSON-RPC error, or what it shows.
    async fn refused(&self, answer: Exchanged) -> McpError {
        let status = answer.status();
        let body = answer.text().await.unwrap_or_default();
        match serde_json::from_str::<Incoming>(&body) {
            Ok(Incoming { error: Some(RemoteError { code, message }), .. }) => McpError::Refused { code, message },
            _ => {
                let body: String = body.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(TOLD).collect();
                self.unreachable(format!("status {status} {body}").trim_end())
            }
        }
    }

    /// Sends a message that has no answer.
    async fn notify(self: &Arc<Self>, method: &'static str, params: Params) {
        let body = message(None, method, &params);
        match self.post(Some(method), Some(&params), body).await {
            Ok(_) => {}
            Err(Failed::Error(error)) => tracing::debug!(%error, method, "a message was not taken"),
            Err(Failed::Forgotten) => tracing::debug!(method, "a message was not taken: the session is over"),
        }
    }

    async fn exchange(self: Arc<Self>, id: u64, method: &'static str, params: &Params) -> Result<RpcAnswer, Failed> {
        let answer = self.post(Some(method), Some(params), message(Some(id), method, params)).await?;
        if let (true, Some(session)) = (method == "initialize", answer.header("mcp-session-id")) {
            self.session.lock().unwrap_or_else(PoisonError::into_inner).id = Some(session.to_owned());
        }
        if !answer.is_events() {
            let body = answer.text().await.map_err(|error| self.unreachable(error))?;
            let incoming: Incoming = serde_json::from_str(&body)
                .map_err(|error| self.unreachable(format!("the answer to {method} is not a message: {error}")))?;
            return Ok(answered(incoming));
        }
        self.from_events(id, method, answer).await
    }

    /// Reads events until the answer comes. A stream that breaks off is asked for its rest.
    async fn from_events(
        self: &Arc<Self>,
        id: u64,
        method: &'static str,
        answer: Exchanged,
    ) -> Result<RpcAnswer, Failed> {
        let (mut events, mut last, mut again) = (answer.events(), String::new(), AGAIN);
        for _ in 0..=RESUMPTIONS {
            while let Some(Ok(event)) = events.next().await {
                if !event.id.is_empty() {
                    last = event.id;
                }
                again = event.retry.unwrap_or(again);
                if event.data.is_empty() {
                    continue;
                }
                let Ok(incoming) = serde_json::from_str::<Incoming>(&event.data) else { continue };
                match incoming.id.as_ref().and_then(serde_json::Value::as_u64) {
                    Some(of) if of == id && incoming.method.is_none() => return Ok(answered(incoming)),
                    _ => self.take(incoming),
                }
            }
            if last.is_empty() {
                break;
            }
            tokio::time::sleep(again).await;
            let mut headers = self.headers(None, None).await?;
            headers.push(("Last-Event-ID".into(), last.clone()));
            let rest = self.exchanges.send(ExchangeMethod::Get, &self.endpoint.url, &headers, None).await;
            let rest = rest.map_err(|error| self.unreachable(error))?;
            if !rest.is_events() {
                break;
            }
            events = rest.events();
        }
        Err(McpError::Ended(format!(" the connection before it answered {method}")).into())
    }

    /// Takes a request of the server, which is answered by a message of its own.
    fn take(self: &Arc<Self>, incoming: Incoming) {
        let (id, method, params) = match incoming {
            Incoming { id: Some(id), method: Some(method), params, .. } => (id, method, params),
            Incoming { id: None, method: Some(method), .. } => return self.elicitor.hears(&method),
            _ => return,
        };
        let state = self.clone();
        tokio::spawn(async move {
            let body = match method.as_str() {
                "elicitation/create" => {
                    json!({"jsonrpc": "2.0", "id": id, "result": state.elicitor.answer(&params).await})
                }
                "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
                _ => {
                    let error = json!({"code": -32601, "message": "not supported by this client"});
                    json!({"jsonrpc": "2.0", "id": id, "error": error})
                }
            };
            if let Err(Failed::Error(error)) = state.post(None, None, body.to_string()).await {
                tracing::debug!(%error, "an answer was not taken");
            }
        });
    }
}

fn message(id: Option<u64>, method: &str, params: &Params) -> String {
    // Numbers, texts and JSON: nothing in a message cannot be written.
    serde_json::to_string(&Outgoing { jsonrpc: "2.0", id, method, params }).unwrap_or_default()
}

fn answered(incoming: Incoming) -> RpcAnswer {
    match (incoming.error, incoming.result) {
        (Some(error), _) => Err(error),
        (None, Some(result)) => Ok(result),
        (None, None) => Ok(RawValue::NULL.to_owned()),
    }
}
