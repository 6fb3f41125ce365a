//! A server that answers connections byte by byte as a test says.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// One thing that the server does on a connection after it has read a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Sends bytes at once.
    Send(Vec<u8>),
    /// Sends the same bytes so many times, or until nobody takes them.
    Flood(Vec<u8>, usize),
    /// Waits.
    Wait(Duration),
    /// Sends nothing until the other side closes.
    Hang,
    /// Reads the next request on the same connection, and answers it with the next reply.
    Keep,
}

/// What the server does with one request. After its last act the connection is closed.
pub type Reply = Vec<Act>;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// The first line.
    pub line: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
}

/// A server on a free port of this machine. It ends when it is dropped.
pub struct Server {
    port: u16,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    replies: Mutex<Vec<Reply>>,
    received: Mutex<Vec<Received>>,
    connections: AtomicUsize,
    sent: AtomicUsize,
    /// Told when the other side closed a connection on which the server hung.
    hung_up: Notify,
}

impl Server {
    /// A server that gives these replies one after the other, and closes connections when none is left.
    pub async fn new(replies: impl IntoIterator<Item = Reply>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let mut replies: Vec<Reply> = replies.into_iter().collect();
        replies.reverse();
        let shared = Arc::new(Shared {
            replies: Mutex::new(replies),
            received: Mutex::default(),
            connections: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
            hung_up: Notify::new(),
        });
        let serving = shared.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serving.connections.fetch_add(1, SeqCst);
                let shared = serving.clone();
                // A connection that breaks is the business of the other side.
                tokio::spawn(async move { drop(serve(stream, &shared).await) });
            }
        });
        Ok(Self { port, shared, task })
    }

    /// Where it is, to be completed by the protocol's path.
    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The requests that came, in order.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many connections were opened.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(SeqCst)
    }

    /// How many bytes somebody took.
    pub fn sent(&self) -> usize {
        self.shared.sent.load(SeqCst)
    }

    /// Waits until the other side closes a connection on which the server hangs.
    pub async fn hung_up(&self) {
        self.shared.hung_up.notified().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    'next: loop {
        let Some(received) = request(&mut stream).await? else { return Ok(()) };
        shared.received.lock().unwrap_or_else(PoisonError::into_inner).push(received);
        let reply = shared.replies.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        for act in reply {
            match act {
                Act::Send(bytes) => {
                    stream.write_all(&bytes).await?;
                    shared.sent.fetch_add(bytes.len(), SeqCst);
                }
                Act::Flood(bytes, times) => {
                    for _ in 0..times {
                        stream.write_all(&bytes).await?;
                        shared.sent.fetch_add(bytes.len(), SeqCst);
                    }
                }
                Act::Wait(time) => tokio::time::sleep(time).await,
                Act::Hang => {
                    let mut rest = [0; 64];
                    while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
                    shared.hung_up.notify_one();
                }
                Act::Keep => continue 'next,
            }
        }
        return stream.shutdown().await;
    }
}

async fn request(stream: &mut TcpStream) -> io::Result<Option<Received>> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        let mut more = [0; 4096];
        match stream.read(&mut more).await? {
            0 => return Ok(None),
            read => bytes.extend_from_slice(&more[..read]),
        }
    };
    let mut body = bytes.split_off(head + 4);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut lines = text.lines();
    let line = lines.next().unwrap_or_default().to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let missing = length - body.len().min(length);
    let mut rest = vec![0; missing];
    stream.read_exact(&mut rest).await?;
    body.extend_from_slice(&rest);
    Ok(Some(Received { line, headers, body }))
}

/// The head of a stream of events, in chunks, on a connection that stays.
pub fn head() -> Act {
    Act::Send(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_vec(),
    )
}

/// A chunk.
pub fn chunk(bytes: impl AsRef<[u8]>) -> Act {
    let bytes = bytes.as_ref();
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    Act::Send(chunk)
}

/// The chunk that ends an answer.
pub fn end() -> Act {
    Act::Send(b"0\r\n\r\n".to_vec())
}

/// A whole answer of events that ends as it should; the connection stays.
pub fn stream(events: impl AsRef<[u8]>) -> Reply {
    vec![head(), chunk(events), end(), Act::Keep]
}

/// An answer that is no stream: a status line such as `429 Too Many Requests`, headers, a body.
pub fn plain(status: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let mut text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    vec![Act::Send(format!("{text}\r\n{body}").into_bytes()), Act::Keep]
}

/// A refusal with a body of JSON.
pub fn refusal(status: &str, headers: &[(&str, &str)], message: &str) -> Reply {
    let body = serde_json::json!({"error": {"message": message}}).to_string();
    let mut all = vec![("content-type", "application/json")];
    all.extend_from_slice(headers);
    plain(status, &all, &body)
}

/// Events of OpenAI Chat Completions.
pub mod chat {
    use serde_json::{Value, json};

    /// An event with a value.
    pub fn event(value: &Value) -> String {
        format!("data: {value}\n\n")
    }

    /// A piece of text.
    pub fn text(text: &str) -> String {
        event(&json!({"choices": [{"index": 0, "delta": {"content": text}}]}))
    }

    /// A whole call.
    pub fn call(index: u64, id: &str, name: &str, input: &str) -> String {
        let function = json!({"name": name, "arguments": input});
        let call = json!({"index": index, "id": id, "type": "function", "function": function});
        event(&json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}))
    }

    /// The end, with usage.
    pub fn done(reason: &str) -> String {
        let finish = event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
        let usage = event(&json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3}}));
        finish + &usage + "data: [DONE]\n\n"
    }

    /// A whole answer of one text.
    pub fn says(said: &str) -> String {
        text(said) + &done("stop")
    }
}
