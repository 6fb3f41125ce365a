//! JSON-RPC with the process of a server: one message per line.

use super::elicitation::Elicitor;
use super::error::McpError;
use super::message::{Incoming, Outgoing, RemoteError};
use super::settings::McpServer;
use crate::git_environment::git_settings;
use crate::process_group::ProcessGroup;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The longest message, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// How many messages wait for the server to read them.
const WAITING: usize = 64;

/// How much of the end of stderr is kept for a remark, in bytes, and how long its end is waited for.
const REMEMBERED: usize = 1_000;
const DRAIN: Duration = Duration::from_millis(200);

/// Variables that every server sees; `LC_` and `XDG_` are beginnings.
const SEEN: [&str; 10] = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER", "SSL_CERT_FILE"];
const SEEN_BEGINNINGS: [&str; 2] = ["LC_", "XDG_"];

/// "Method not found" of JSON-RPC.
const NO_METHOD: i64 = -32601;

/// A running server. Dropping it closes its stdin and ends its process group.
pub(super) struct McpConnection {
    outgoing: mpsc::Sender<String>,
    calls: Arc<PendingRequests>,
    next: AtomicU64,
    tasks: [JoinHandle<()>; 3],
    _process: ProcessGroup,
}

/// The answer to a request.
pub(super) type RpcAnswer = Result<Box<RawValue>, RemoteError>;

/// The requests that have no answer yet.
#[derive(Default)]
struct PendingRequests(Mutex<RpcState>);

enum RpcState {
    Open(BTreeMap<u64, oneshot::Sender<RpcAnswer>>),
    /// Why it is closed, for a sentence that begins "the server ended".
    Closed(String),
}

impl Default for RpcState {
    fn default() -> Self {
        Self::Open(BTreeMap::new())
    }
}

impl PendingRequests {
    fn state(&self) -> MutexGuard<'_, RpcState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, id: u64) -> Result<oneshot::Receiver<RpcAnswer>, McpError> {
        match &mut *self.state() {
            RpcState::Open(calls) => {
                let (sender, receiver) = oneshot::channel();
                calls.insert(id, sender);
                Ok(receiver)
            }
            RpcState::Closed(why) => Err(McpError::Ended(why.clone())),
        }
    }

    fn take(&self, id: u64) -> Option<oneshot::Sender<RpcAnswer>> {
        match &mut *self.state() {
            RpcState::Open(calls) => calls.remove(&id),
            RpcState::Closed(_) => None,
        }
    }

    fn closed(&self) -> Option<String> {
        match &*self.state() {
            RpcState::Open(_) => None,
            RpcState::Closed(why) => Some(why.clone()),
        }
    }

    /// Every open call ends: dropping its sender wakes it.
    fn close(&self, why: String) {
        *self.state() = RpcState::Closed(why);
    }
}

impl McpConnection {
    /// Starts the process of a server.
    pub(super) fn start(settings: &McpServer, directory: &Path, elicitor: Arc<Elicitor>) -> Result<Self, McpError> {
        let (process, input, output, errors) = start_process(settings, directory)?;
        let (outgoing, waiting) = mpsc::channel(WAITING);
        let (calls, stderr) = (Arc::new(PendingRequests::default()), Arc::new(Mutex::new(Vec::new())));
        let (ended, stderr_ended) = oneshot::channel();
        let reader = ServerOutput {
            calls: calls.clone(),
            replies: outgoing.clone(),
            stderr: stderr.clone(),
            stderr_ended,
            elicitor,
        };
        let tasks = [
            tokio::spawn(write(input, waiting)),
            tokio::spawn(remember(errors, stderr, ended)),
            tokio::spawn(reader.read(output)),
        ];
        Ok(Self { outgoing, calls, next: AtomicU64::new(1), tasks, _process: process })
    }

    /// Whether the process has ended, or can no longer be understood.
    pub(super) fn is_closed(&self) -> bool {
        self.calls.closed().is_some()
    }

    /// Sends a notification without parameters.
    pub(super) async fn notify(&self, method: &'static str) {
        // If the server is gone, the next request says so.
        let _ = self.outgoing.send(message(None, method, json!({}))).await;
    }

    /// Sends a request and waits for the answer. If the caller stops waiting, the server is informed.
    pub(super) async fn request(
        &self,
        method: &'static str,
        params: impl Serialize,
        within: Duration,
    ) -> Result<RpcAnswer, McpError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let receiver = self.calls.begin(id)?;
        let call = PendingRequest { connection: self, id };
        let answered = timeout(within, async {
            let _ = self.outgoing.send(message(Some(id), method, params)).await;
            receiver.await
        });
        let answered = answered.await.map_err(|_| McpError::Late { method, ms: within.as_millis() })?;
        drop(call);
        answered.map_err(|_| McpError::Ended(self.calls.closed().unwrap_or_default()))
    }
}

/// Starts the process of a server: its group, stdin, stdout and stderr.
fn start_process(
    settings: &McpServer,
    directory: &Path,
) -> Result<(ProcessGroup, ChildStdin, ChildStdout, ChildStderr), McpError> {
    let failed = |source| McpError::Start { program: settings.program.clone(), source };
    let seen = |name: &str| SEEN.contains(&name) || SEEN_BEGINNINGS.iter().any(|start| name.starts_with(start));
    let seen = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(seen));
    let mut command = Command::new(&settings.program);
    command.args(&settings.arguments).current_dir(directory).env_clear().envs(seen).envs(git_settings(None));
    command.envs(settings.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = ProcessGroup::start(&mut command).map_err(failed)?;
    let (input, output, errors) =
        process.pipes().ok_or_else(|| failed(io::Error::other("its pipes could not be opened")))?;
    Ok((process, input, output, errors))
}

impl Drop for McpConnection {
    fn drop(&mut self) {
        // The writer holds the server's stdin.
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A request that is waited for. If it is dropped before its answer came, the server is informed.
struct PendingRequest<'a> {
    connection: &'a McpConnection,
    id: u64,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        if self.connection.calls.take(self.id).is_some() {
            let params = json!({"requestId": self.id, "reason": "no longer waited for"});
            // A server that reads nothing is not waited for.
            let _ = self.connection.outgoing.try_send(message(None, "notifications/cancelled", params));
        }
    }
}

fn message(id: Option<u64>, method: &str, params: impl Serialize) -> String {
    // Numbers, texts and JSON: nothing in a message cannot be written.
    serde_json::to_string(&Outgoing { jsonrpc: "2.0", id, method, params }).unwrap_or_default()
}

/// Writes messages, one per line, until the connection is dropped or the server reads no more.
async fn write(mut input: ChildStdin, mut messages: mpsc::Receiver<String>) {
    while let Some(mut message) = messages.recv().await {
        message.push('\n');
        if let Err(error) = input.write_all(message.as_bytes()).await {
            tracing::debug!(%error, "an MCP server reads no more");
            return;
        }
    }
}

/// Keeps the end of what a server writes to stderr.
async fn remember(mut errors: ChildStderr, stderr: Arc<Mutex<Vec<u8>>>, ended: oneshot::Sender<()>) {
    let mut part = [0; 1024];
    while let Ok(length @ 1..) = errors.read(&mut part).await {
        let mut stderr = stderr.lock().unwrap_or_else(PoisonError::into_inner);
        stderr.extend_from_slice(part.get(..length).unwrap_or_default());
        let more = stderr.len().saturating_sub(REMEMBERED);
        stderr.drain(..more);
    }
    let _ = ended.send(());
}

/// Reads what a server writes.
struct ServerOutput {
    calls: Arc<PendingRequests>,
    replies: mpsc::Sender<String>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_ended: oneshot::Receiver<()>,
    elicitor: Arc<Elicitor>,
}

impl ServerOutput {
    async fn read(self, output: ChildStdout) {
        let (mut output, mut line) = (BufReader::new(output), Vec::new());
        let why = loop {
            line.clear();
            match (&mut output).take(LONGEST).read_until(b'\n', &mut line).await {
                Ok(0) => break String::new(),
                Ok(_) if line.last() != Some(&b'\n') && line.len() as u64 >= LONGEST => {
                    break format!(", because it wrote a message of more than {LONGEST} bytes");
                }
                Ok(_) => self.take(&line),
                Err(error) => break format!(": {error}"),
            }
        };
        let _ = timeout(DRAIN, self.stderr_ended).await;
        let stderr = String::from_utf8_lossy(&self.stderr.lock().unwrap_or_else(PoisonError::into_inner)).into_owned();
        let stderr = match stderr.trim() {
            "" => String::new(),
            stderr => format!("; it wrote: {stderr}"),
        };
        self.calls.close(format!("{why}{stderr}"));
    }

    /// Takes one message. Other lines are skipped: some programs print remarks.
    fn take(&self, line: &[u8]) {
        let Ok(incoming) = serde_json::from_slice::<Incoming>(line) else {
            tracing::debug!(bytes = line.len(), "an MCP server wrote a line that is not a message");
            return;
        };
        match incoming {
            Incoming { id: Some(id), method: Some(method), params, .. } if method == "elicitation/create" => {
                let (elicitor, replies) = (self.elicitor.clone(), self.replies.clone());
                // The user takes a while; the server may send other messages meanwhile.
                tokio::spawn(async move {
                    let answer = elicitor.answer(&params).await;
                    let reply = json!({"jsonrpc": "2.0", "id": id, "result": answer});
                    let _ = replies.send(reply.to_string()).await;
                });
            }
            Incoming { id: Some(id), method: Some(method), .. } => {
                let reply = match method.as_str() {
                    "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
                    _ => {
                        let error = json!({"code": NO_METHOD, "message": "not supported by this client"});
                        json!({"jsonrpc": "2.0", "id": id, "error": error})
                    }
                };
                // A server that asks and never reads gets no answer.
                let _ = self.replies.try_send(reply.to_string());
            }
            Incoming { id: Some(id), method: None, result, error, .. } => {
                let Some(call) = id.as_u64().and_then(|id| self.calls.take(id)) else { return };
                let answer = match (error, result) {
                    (Some(error), _) => Err(error),
                    (None, Some(result)) => Ok(result),
                    (None, None) => Ok(RawValue::NULL.to_owned()),
                };
                let _ = call.send(answer);
            }
            Incoming { id: None, method, .. } => self.elicitor.hears(&method.unwrap_or_default()),
        }
    }
}
