//! The proxy: listens on loopback, passes every byte on unchanged and at once, and copies what passes.

use crate::capture::{
    BodyEnd, CaptureQueue, Captured, CapturedAnswer, CapturedBody, CapturedRequest, CopyingStream, SharedStream,
    WhenPassed,
};
use crate::coding::StreamCoding;
use crate::files::FileCaptures;
use crate::headers::{self, AgentIds};
use crate::peer;
use annals_core::event::CompactionReason;
use annals_providers::http::{Now, Relay};
use annals_providers::recorded::{self, RecordedProtocol};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, TryStreamExt};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long a stop waits for answers that still stream.
const LINGER: Duration = Duration::from_millis(200);

/// How long the accepting of connections pauses when the system refuses, such as for want of open files.
const PAUSE: Duration = Duration::from_millis(50);

/// Where the requests below one local path go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// The first part of the local path: `anthropic`, `openai`, `gemini`.
    pub name: String,
    /// What precedes the rest of the path: `https://api.anthropic.com`.
    pub url: String,
}

/// A proxy that listens.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    token: String,
    accepting: JoinHandle<()>,
    open: Arc<AtomicU64>,
}

/// The proxy cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The address is taken, or not of this machine: choose another one.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// What the system reported.
        #[source]
        source: io::Error,
    },
    /// Only this machine may connect: choose an address such as 127.0.0.1:0.
    #[error("{0} is not an address of this machine alone (127.0.0.1, ::1)")]
    NotLoopback(SocketAddr),
}

/// How long the rest of a request is read that no provider took.
const REST_WAIT: Duration = Duration::from_secs(10);

/// The first part of paths that only programs of the same user may ask for: it may be in arguments, which every user reads.
const OWN: &str = "own";

type AnswerBody = UnsyncBoxBody<Bytes, io::Error>;

/// What every connection shares.
struct ProxyState {
    token: String,
    upstreams: Vec<Upstream>,
    relay: Relay,
    queue: CaptureQueue,
    files: Option<FileCaptures>,
    requests: AtomicU64,
    /// Whether anyone watches answers while they arrive.
    shows: bool,
    now: Now,
}

impl Proxy {
    /// Listens on an address of this machine; port 0 chooses one. `token` is the first part of every path.
    ///
    /// # Errors
    /// When it cannot.
    pub(crate) async fn listen(
        address: &str,
        token: String,
        upstreams: Vec<Upstream>,
        queue: CaptureQueue,
        files: Option<FileCaptures>,
        shows: bool,
        now: Now,
    ) -> Result<Self, ProxyError> {
        let failed = |source| ProxyError::Listen { address: address.to_owned(), source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        if !local.ip().is_loopback() {
            return Err(ProxyError::NotLoopback(local));
        }
        let relay = Relay::default();
        let requests = AtomicU64::new(0);
        let shared =
            Arc::new(ProxyState { token: token.clone(), upstreams, relay, queue, files, requests, shows, now });
        let open = Arc::new(AtomicU64::new(0));
        let accepting = tokio::spawn(accept(listener, shared, open.clone()));
        Ok(Self { address: local, token, accepting, open })
    }

    /// The address for the requests of an upstream.
    pub fn base_url(&self, upstream: &str) -> String {
        format!("http://{}/{}/{upstream}", self.address, self.token)
    }

    /// The same for the arguments of a program. Where the system says whose a connection is, it holds no secret.
    pub fn shown_url(&self, upstream: &str) -> String {
        match peer::is_known() {
            true => format!("http://{}/{OWN}/{upstream}", self.address),
            false => self.base_url(upstream),
        }
    }

    /// Accepts no more connections; answers that still stream get a moment to end.
    pub async fn stop(self) {
        self.accepting.abort();
        let deadline = Instant::now() + LINGER;
        while self.open.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Counts an exchange until its answer ended.
struct OpenExchange(Arc<AtomicU64>);

impl OpenExchange {
    fn new(open: &Arc<AtomicU64>) -> Self {
        open.fetch_add(1, Ordering::AcqRel);
        Self(open.clone())
    }
}

impl Drop for OpenExchange {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

async fn accept(listener: TcpListener, shared: Arc<ProxyState>, open: Arc<AtomicU64>) {
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Without it, a small piece of a stream would wait for the one before it to be acknowledged.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "no TCP_NODELAY");
        }
        let ends = stream.local_addr().map(|local| (peer, local)).ok();
        let (shared, open) = (shared.clone(), open.clone());
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let (shared, open) = (shared.clone(), OpenExchange::new(&open));
                async move { Ok::<_, Infallible>(shared.handle(request, ends, open).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection of the agent ended");
            }
        });
    }
}

impl ProxyState {
    async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
        ends: Option<(SocketAddr, SocketAddr)>,
        open: OpenExchange,
    ) -> Response<AnswerBody> {
        let is_own =
            || !headers::is_of_a_page(request.headers()) && ends.is_some_and(|(peer, local)| peer::is_own(peer, local));
        let Some((url, path)) = self.destination(request.uri().path(), is_own) else {
            return plain(StatusCode::NOT_FOUND, "annals record: no such path");
        };
        if headers::asks_for_websocket(request.headers()) {
            return plain(StatusCode::UPGRADE_REQUIRED, "annals record: use HTTP");
        }
        let query = request.uri().query().map(str::to_owned);
        let url = query.as_ref().map_or_else(|| url.clone(), |query| format!("{url}?{query}"));
        let (answering, answered) = oneshot::channel();
        let exchange = Exchange {
            answering,
            id: self.requests.fetch_add(1, Ordering::Relaxed),
            began: Instant::now(),
            shared: self.clone(),
            recorded: request.method() == Method::POST,
        };
        let (parts, body) = request.into_parts();
        let captured = CapturedRequest {
            id: exchange.id,
            at: (self.now)(),
            method: parts.method.to_string(),
            target: headers::target(&path, query.as_deref()),
            host: host(&url),
            ids: AgentIds::of(&parts.headers),
            agent: headers::agent(&parts.headers),
            compaction: headers::compaction(&parts.headers)
                .or_else(|| recorded::compacts(&path).then_some(CompactionReason::Unknown)),
            secrets: headers::secrets(&parts.headers, query.as_deref()),
            coding: headers::text(&parts.headers, header::CONTENT_ENCODING),
            body: self.queue.body(),
            files: self.files.as_ref().filter(|_| exchange.recorded && is_turn(&path)).map(FileCaptures::begin),
            answered: Some(answered),
        };
        let announced = length(&parts.headers);
        let body =
            (!body.is_end_stream()).then(|| SharedStream::of(exchange.copied_request(body, announced, captured)));
        let rest = body.clone();
        let sent = self.relay.send(parts.method, &url, headers::passed_on(&parts.headers), body).await;
        match sent {
            Ok(answer) => {
                drop(rest);
                let (status, headers) = (answer.status(), headers::passed_on(answer.headers()));
                let stream = exchange.copied_answer(answer.into_stream().boxed(), status, &headers, open);
                let frames = stream.map_ok(Frame::data).map_err(io::Error::other);
                let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
                *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
                *response.headers_mut() = headers;
                response
            }
            Err(error) => {
                // What the agent wanted to send is recorded although no provider took it.
                if let Some(mut rest) = rest {
                    let read = async { while rest.next().await.is_some_and(|piece| piece.is_ok()) {} };
                    drop(tokio::time::timeout(REST_WAIT, read).await);
                }
                exchange.unreachable(error.to_string());
                plain(StatusCode::BAD_GATEWAY, &format!("annals record: {error}"))
            }
        }
    }

    /// The URL for a local path, without a query, and the path at the provider.
    fn destination(&self, path: &str, is_own: impl FnOnce() -> bool) -> Option<(String, String)> {
        let (first, rest) = path.strip_prefix('/')?.split_once('/')?;
        if first != self.token && !(first == OWN && is_own()) {
            return None;
        }
        let (name, rest) =
            rest.split_once('/').map_or((rest, String::new()), |(name, rest)| (name, format!("/{rest}")));
        let upstream = self.upstreams.iter().find(|upstream| upstream.name == name)?;
        Some((format!("{}{rest}", upstream.url.trim_end_matches('/')), rest))
    }
}

/// The header with which providers name a request.
const REQUEST_ID: header::HeaderName = header::HeaderName::from_static("request-id");

/// One request and its answer.
struct Exchange {
    id: u64,
    began: Instant,
    shared: Arc<ProxyState>,
    /// Whether it may be a request to a model.
    recorded: bool,
    /// Dropped when the answer begins.
    answering: oneshot::Sender<()>,
}

impl Exchange {
    /// The body of the request, copied on its way.
    fn copied_request(
        &self,
        body: Incoming,
        announced: Option<u64>,
        mut captured: CapturedRequest,
    ) -> impl Stream<Item = Result<Bytes, hyper::Error>> + Send + use<> {
        let (queue, recorded) = (self.shared.queue.clone(), self.recorded);
        let copy = queue.body();
        let ended = move |copy: CapturedBody, end: BodyEnd, _| match (recorded, end) {
            (false, _) => {}
            (true, BodyEnd::BrokenOff(_)) => queue.miss(),
            (true, BodyEnd::Complete) => {
                captured.body = copy;
                queue.send(Captured::Request(Box::new(captured)));
            }
        };
        CopyingStream::new(body.into_data_stream(), announced, copy, Box::new(ended))
    }

    /// The body of the answer, copied on its way.
    fn copied_answer(
        self,
        body: BoxStream<'static, Result<Bytes, String>>,
        status: u16,
        headers: &HeaderMap,
        open: OpenExchange,
    ) -> impl Stream<Item = Result<Bytes, String>> + Send + use<> {
        let media = headers::text(headers, header::CONTENT_TYPE);
        let coding = headers::text(headers, header::CONTENT_ENCODING);
        let request_id = headers::text(headers, REQUEST_ID);
        let (copy, announced) = (self.shared.queue.body(), length(headers));
        // Shown while it arrives: a stream whose content is known before its end.
        let is_stream = media.as_deref().is_some_and(|media| media.starts_with("text/event-stream"));
        let is_shown = self.shared.shows && self.recorded && is_stream && (200..300).contains(&status);
        let read = StreamCoding::of(coding.as_deref()).filter(|_| is_shown);
        let passes: Option<WhenPassed> = read.map(|coding| {
            let (queue, id) = (self.shared.queue.clone(), self.id);
            Box::new(move |piece: &[u8]| queue.piece(id, coding, piece)) as WhenPassed
        });
        let Self { id, began, shared, recorded, answering } = self;
        let mut answering = Some(answering);
        let body = body.inspect(move |_| drop(answering.take()));
        let ended = move |body: CapturedBody, end: BodyEnd, first: Option<Instant>| {
            let since = |at: Instant| u64::try_from(at.duration_since(began).as_millis()).unwrap_or(u64::MAX);
            let fault = match &end {
                BodyEnd::BrokenOff(Some(why)) => Some(why.clone()),
                _ => None,
            };
            if recorded {
                shared.queue.send(Captured::Answer(Box::new(CapturedAnswer {
                    id,
                    at: (shared.now)(),
                    status: Some(status),
                    media,
                    request_id,
                    coding,
                    body,
                    complete: end == BodyEnd::Complete,
                    fault,
                    first_byte_ms: first.map(since),
                    duration_ms: since(Instant::now()),
                })));
            }
            drop(open);
        };
        CopyingStream::new(body, announced, copy, Box::new(ended)).passing(passes)
    }

    fn unreachable(self, why: String) {
        if !self.recorded {
            return;
        }
        let duration_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.shared.queue.send(Captured::Answer(Box::new(CapturedAnswer {
            id: self.id,
            at: (self.shared.now)(),
            status: None,
            media: None,
            request_id: None,
            coding: None,
            body: self.shared.queue.body(),
            complete: false,
            fault: Some(why),
            first_byte_ms: None,
            duration_ms,
        })));
    }
}

/// Whether a request may be one of a turn, by its path.
fn is_turn(path: &str) -> bool {
    matches!(RecordedProtocol::of(path), Some((_, false)))
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or_default().to_owned()
}

fn plain(status: StatusCode, text: &str) -> Response<AnswerBody> {
    let body = Full::new(Bytes::from(format!("{text}\n"))).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
