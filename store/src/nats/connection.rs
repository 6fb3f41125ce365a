//! The connection to a cluster: it reconnects by itself, on a thread of its own.

use super::address::NatsAddress;
use super::api::{ApiEnvelope, ApiError, GetMessage, PubAck};
use super::error::NatsError;
use super::message::{NewMessage, StreamMessage, from_direct};
use async_nats::{Client, ConnectOptions, HeaderMap, Request};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How long one request waits for its answer.
const ANSWER: Duration = Duration::from_secs(4);
/// How long a call takes at most while the cluster elects a leader or cannot be reached.
pub const BUDGET: Duration = Duration::from_secs(30);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(150);
/// Delay before the user is informed that a call is waiting.
const NOTICE: Duration = Duration::from_secs(1);

tokio::task_local! {
    /// When the call began that a request is part of.
    static SINCE: Instant;
}

/// Makes all requests of a call share one budget of time.
pub async fn one_call<T>(call: impl Future<Output = T>) -> T {
    match SINCE.try_with(|_| ()) {
        Ok(()) => call.await,
        Err(_) => SINCE.scope(Instant::now(), call).await,
    }
}

/// Hears what a user should know: that a call waits for the cluster, and when it continues.
pub type OnNotice = Arc<dyn Fn(&str) + Send + Sync>;

/// A connected client.
pub struct NatsConnection {
    pub client: Client,
    /// Taken when dropped.
    runtime: Option<Runtime>,
    notice: OnNotice,
    /// Whether it was said that calls wait.
    waits: AtomicBool,
}

impl Debug for NatsConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsConnection").finish_non_exhaustive()
    }
}

impl Drop for NatsConnection {
    fn drop(&mut self) {
        // Also inside of another runtime, where waiting is not allowed.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl NatsConnection {
    pub async fn open(address: &NatsAddress, notice: OnNotice) -> Result<Self, NatsError> {
        let failed = |reason: String| NatsError::Connect { address: Box::new(address.clone()), reason };
        let options = options(address)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("annals-nats")
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let scheme = if address.tls { "tls" } else { "nats" };
        let servers: Vec<String> = address.servers.iter().map(|server| format!("{scheme}://{server}")).collect();
        let connecting = runtime.spawn(async move { options.connect(servers).await });
        let connected = connecting.await.map_err(|error| error.to_string());
        let client = connected.and_then(|connected| connected.map_err(|error| error.to_string()));
        match client {
            Ok(client) => Ok(Self { client, runtime: Some(runtime), notice, waits: AtomicBool::new(false) }),
            Err(reason) => {
                runtime.shutdown_background();
                Err(failed(format!("no connection: {reason}")))
            }
        }
    }

    /// Where work of the connection runs that outlives a call.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(work);
        }
    }

    pub fn say(&self, text: &str) {
        (self.notice)(text);
    }

    /// One request.
    pub async fn once<T: DeserializeOwned>(&self, subject: &str, body: Bytes) -> Result<T, ApiError> {
        let request = Request::new().payload(body).timeout(Some(ANSWER));
        let answer = self.client.send_request(subject.to_owned(), request).await;
        let answer = answer.map_err(|error| ApiError::NoAnswer(error.to_string()))?;
        parsed(&answer.payload)
    }

    /// One request, again while the cluster has no answer.
    pub async fn ask<T: DeserializeOwned>(&self, subject: &str, body: &impl Serialize) -> Result<T, ApiError> {
        let body: Bytes = serde_json::to_vec(body).map_err(|error| ApiError::NoAnswer(error.to_string()))?.into();
        let mut patience = Patience::new(self);
        loop {
            match self.once(subject, body.clone()).await {
                Err(error) if error.is_passing() && patience.again(&error).await => {}
                answer => return answer,
            }
        }
    }

    /// Publishes a message once. [`ApiError::NoAnswer`]: it is not known whether it is stored.
    pub async fn publish(&self, subject: String, headers: HeaderMap, payload: Bytes) -> Result<PubAck, ApiError> {
        let request = Request::new().headers(headers).payload(payload).timeout(Some(ANSWER));
        let answer = self.client.send_request(subject, request).await;
        let answer = answer.map_err(|error| ApiError::NoAnswer(error.to_string()))?;
        parsed(&answer.payload)
    }

    /// The same with a message.
    pub async fn publish_message(&self, message: NewMessage) -> Result<PubAck, ApiError> {
        let NewMessage { subject, headers, payload } = message;
        self.publish(subject, headers, payload).await
    }

    /// Publishes messages of one stream together: all are stored, one after another, or none. The acknowledgement is that of the last.
    pub async fn publish_together(&self, messages: &[NewMessage]) -> Result<PubAck, ApiError> {
        let no_answer = |error: &dyn std::fmt::Display| ApiError::NoAnswer(error.to_string());
        let id = self.client.new_inbox();
        let id = id.rsplit('.').next().unwrap_or_default();
        for (at, message) in (1..).zip(messages) {
            let NewMessage { subject, mut headers, payload } = message.clone();
            headers.insert("Nats-Batch-Id", id);
            headers.insert("Nats-Batch-Sequence", at.to_string().as_str());
            if at == messages.len() {
                headers.insert("Nats-Batch-Commit", "1");
                return self.publish(subject, headers, payload).await;
            }
            let sent = self.client.publish_with_headers(subject, headers, payload).await;
            sent.map_err(|error| no_answer(&error))?;
        }
        Err(no_answer(&"nothing to publish"))
    }

    /// Messages from any replica, which may lag: in order, up to `get.batch`.
    pub async fn direct(&self, stream: &str, get: &GetMessage) -> Result<Vec<StreamMessage>, ApiError> {
        let no_answer = |error: &dyn std::fmt::Display| ApiError::NoAnswer(error.to_string());
        let body: Bytes = serde_json::to_vec(get).map_err(|error| no_answer(&error))?.into();
        let inbox = self.client.new_inbox();
        let mut answers = self.client.subscribe(inbox.clone()).await.map_err(|error| no_answer(&error))?;
        let subject = format!("$JS.API.DIRECT.GET.{stream}");
        self.client.publish_with_reply(subject, inbox, body).await.map_err(|error| no_answer(&error))?;
        let mut found = Vec::new();
        loop {
            let answer = tokio::time::timeout(ANSWER, answers.next()).await.map_err(|error| no_answer(&error))?;
            let answer = answer.ok_or_else(|| no_answer(&"the connection was closed"))?;
            match answer.status.map(|status| status.as_u16()) {
                None => found.push(from_direct(answer)?),
                // The end of a batch; nothing there.
                Some(204 | 404) => return Ok(found),
                Some(status) => return Err(ApiError::NoAnswer(format!("status {status}"))),
            }
            if get.batch.is_none() {
                return Ok(found);
            }
        }
    }
}

fn parsed<T: DeserializeOwned>(payload: &[u8]) -> Result<T, ApiError> {
    let malformed = |error: serde_json::Error| ApiError::NoAnswer(format!("an answer that makes no sense: {error}"));
    let envelope: ApiEnvelope = serde_json::from_slice(payload).map_err(malformed)?;
    match envelope.error {
        Some(error) => Err(ApiError::Refused { code: error.err_code, description: error.description }),
        None => serde_json::from_slice(payload).map_err(malformed),
    }
}

/// How long a call still tries.
pub struct Patience<'a> {
    connection: &'a NatsConnection,
    since: Instant,
    is_announced: bool,
}

impl<'a> Patience<'a> {
    /// Of the call that this is part of ([`one_call`]), or from now on.
    pub fn new(connection: &'a NatsConnection) -> Self {
        let since = SINCE.try_with(|since| *since).unwrap_or_else(|_| Instant::now());
        Self { connection, since, is_announced: false }
    }

    /// Waits a little; `false` when there is no time left.
    pub async fn again(&mut self, error: &ApiError) -> bool {
        let waited = self.since.elapsed();
        if waited + ANSWER > BUDGET {
            return false;
        }
        if waited > NOTICE && !self.is_announced {
            self.is_announced = true;
            tracing::warn!(%error, "waiting for the cluster");
            if self.connection.waits.swap(true, Ordering::AcqRel) {
                return self.wait().await;
            }
            let most = BUDGET.as_secs();
            self.connection
                .say(&format!("waiting for the cluster: it elects a leader or too few servers run (up to {most} s)"));
        }
        self.wait().await
    }

    async fn wait(&self) -> bool {
        tokio::time::sleep(PAUSE).await;
        true
    }
}

impl Drop for Patience<'_> {
    fn drop(&mut self) {
        if !self.is_announced || !self.connection.waits.swap(false, Ordering::AcqRel) {
            return;
        }
        let waited = self.since.elapsed();
        if waited + ANSWER <= BUDGET {
            self.connection.say(&format!("the cluster answered after {} s", waited.as_secs()));
        }
    }
}

fn options(address: &NatsAddress) -> Result<ConnectOptions, NatsError> {
    let login = &address.login;
    let read = |path: &std::path::PathBuf| {
        std::fs::read_to_string(path).map_err(|source| NatsError::File { path: path.clone(), source })
    };
    let mut options = ConnectOptions::new()
        .name("annals")
        .require_tls(address.tls)
        .connection_timeout(Duration::from_secs(5))
        .ping_interval(Duration::from_secs(5))
        .reconnect_delay_callback(|attempts| Duration::from_millis((attempts as u64 * 50).min(500)));
    if let Some(path) = &login.credentials {
        let credentials = read(path)?;
        options = options.credentials(&credentials).map_err(|source| NatsError::File { path: path.clone(), source })?;
    }
    if let Some(path) = &login.nkey {
        options = options.nkey(read(path)?.trim().to_owned());
    }
    if let Some((user, password)) = &login.user {
        options = options.user_and_password(user.clone(), password.clone());
    }
    if let Some(token) = &login.token {
        options = options.token(token.clone());
    }
    if let Some(path) = &login.ca {
        options = options.add_root_certificates(path.clone());
    }
    if let Some((certificate, key)) = &login.certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    Ok(options)
}
