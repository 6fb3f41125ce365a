//! JSON-RPC with the process of a language server: messages with a `Content-Length`.

use crate::process_group::ProcessGroup;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The longest message, in bytes.
const LONGEST: usize = 64 * 1024 * 1024;

/// How much of the end of stderr is kept, in bytes.
const REMEMBERED: usize = 1_000;

/// Takes what a server announces: the method, and its parameters.
pub(super) type Announced = Box<dyn Fn(&str, Value) + Send + Sync>;

type PendingAnswers = Arc<Mutex<BTreeMap<i64, oneshot::Sender<Result<Value, String>>>>>;

/// A running server. Dropping it ends its process group.
pub(super) struct LspConnection {
    outgoing: mpsc::UnboundedSender<Value>,
    pending: PendingAnswers,
    closed: Arc<AtomicBool>,
    stderr: Arc<Mutex<Vec<u8>>>,
    next: AtomicI64,
    tasks: [JoinHandle<()>; 3],
    _process: ProcessGroup,
}

impl LspConnection {
    /// Starts the process of a server.
    pub(super) fn start(command: &mut Command, announced: Announced) -> io::Result<Self> {
        let mut process = ProcessGroup::start(command)?;
        let (input, output, errors) =
            process.pipes().ok_or_else(|| io::Error::other("its pipes could not be opened"))?;
        let (outgoing, waiting) = mpsc::unbounded_channel();
        let (pending, closed, stderr) =
            (PendingAnswers::default(), Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<u8>>>::default());
        let reading =
            MessageReader { pending: pending.clone(), closed: closed.clone(), replies: outgoing.clone(), announced };
        let tasks = [
            tokio::spawn(write(input, waiting)),
            tokio::spawn(reading.read(output)),
            tokio::spawn(remember(errors, stderr.clone())),
        ];
        Ok(Self { outgoing, pending, closed, stderr, next: AtomicI64::new(1), tasks, _process: process })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn notify(&self, method: &str, params: Value) {
        // If the server is gone, requests say so.
        drop(self.outgoing.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })));
    }

    /// The answer to a request.
    pub(super) async fn request(&self, method: &str, params: Value, limit: Duration) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        if self.is_closed() {
            return Err(self.ending());
        }
        drop(self.outgoing.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })));
        let answer = timeout(limit, answer).await;
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(self.ending()),
            Err(_) => Err(format!("it did not answer `{method}` within {} s", limit.as_secs())),
        }
    }

    fn ending(&self) -> String {
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let stderr = String::from_utf8_lossy(&stderr);
        match stderr.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(line) => format!("it ended: {}", line.trim()),
            None => "it ended".into(),
        }
    }
}

impl Drop for LspConnection {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn write(mut input: ChildStdin, mut waiting: mpsc::UnboundedReceiver<Value>) {
    while let Some(message) = waiting.recv().await {
        let body = message.to_string();
        let framed = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        if let Err(error) = input.write_all(framed.as_bytes()).await {
            return tracing::debug!(%error, "a language server reads no more");
        }
    }
}

async fn remember(mut errors: ChildStderr, stderr: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 4096];
    while let Ok(length @ 1..) = errors.read(&mut buffer).await {
        let mut stderr = stderr.lock().unwrap_or_else(PoisonError::into_inner);
        stderr.extend(buffer.get(..length).unwrap_or_default());
        let over = stderr.len().saturating_sub(REMEMBERED);
        stderr.drain(..over);
    }
}

struct MessageReader {
    pending: PendingAnswers,
    closed: Arc<AtomicBool>,
    replies: mpsc::UnboundedSender<Value>,
    announced: Announced,
}

impl MessageReader {
    async fn read(self, output: ChildStdout) {
        let mut output = BufReader::new(output);
        loop {
            match message(&mut output).await {
                Ok(Some(message)) => self.take(message),
                Ok(None) => break,
                Err(error) => {
                    tracing::debug!(%error, "a language server cannot be understood");
                    break;
                }
            }
        }
        self.closed.store(true, Ordering::Release);
        // Dropping the senders wakes who waits.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn take(&self, mut message: Value) {
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        let params = message.get_mut("params").map(Value::take).unwrap_or_default();
        match (method, message.get("id").cloned()) {
            (Some(method), Some(id)) => {
                // What servers ask of an editor: settings (none), progress, registrations.
                let result = match method.as_str() {
                    "workspace/configuration" => {
                        let count = params.get("items").and_then(Value::as_array).map_or(0, Vec::len);
                        Value::Array(vec![Value::Null; count])
                    }
                    "workspace/applyEdit" => json!({ "applied": false }),
                    _ => Value::Null,
                };
                drop(self.replies.send(json!({ "jsonrpc": "2.0", "id": id, "result": result })));
            }
            (Some(method), None) => (self.announced)(&method, params),
            (None, id) => {
                let sender = id
                    .and_then(|id| id.as_i64())
                    .and_then(|id| self.pending.lock().unwrap_or_else(PoisonError::into_inner).remove(&id));
                let answer = match message.get_mut("error").map(Value::take) {
                    Some(error) if !error.is_null() => {
                        Err(error.get("message").and_then(Value::as_str).unwrap_or("it refused").to_owned())
                    }
                    _ => Ok(message.get_mut("result").map(Value::take).unwrap_or_default()),
                };
                // An answer that came too late has no receiver.
                let _ = sender.map(|sender| sender.send(answer));
            }
        }
    }
}

async fn message(output: &mut BufReader<ChildStdout>) -> io::Result<Option<Value>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if (&mut *output).take(8 * 1024).read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        match line.trim() {
            "" if length.is_some() => break,
            "" => {}
            line => {
                if let Some((name, value)) = line.split_once(':')
                    && name.eq_ignore_ascii_case("content-length")
                {
                    length = value.trim().parse::<usize>().ok();
                }
            }
        }
    }
    let length = length.filter(|length| *length <= LONGEST).ok_or_else(|| io::Error::other("a message is too long"))?;
    let mut body = vec![0; length];
    output.read_exact(&mut body).await?;
    serde_json::from_slice(&body).map(Some).map_err(io::Error::other)
}
