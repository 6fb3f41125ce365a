//! A scripted model server over OpenAI Chat Completions: one answer per connection.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a stalled answer takes.
const STILL: Duration = Duration::from_secs(60);

/// The answer to one request.
#[derive(Clone, Debug)]
pub enum Says {
    /// Text.
    Text(&'static str),
    /// Text, then calls: id, tool, input. A text as input is sent as it is, JSON or not.
    Calls(&'static str, Vec<(&'static str, &'static str, Value)>),
    /// The start of a text, then nothing.
    Begins(&'static str),
    /// An error: status and message.
    Refuses(u16, &'static str),
    /// An empty answer with this finish reason.
    Nothing(&'static str),
    /// The answer to the next request that contains a text, regardless of its position in the script.
    To(&'static str, Box<Says>),
    /// Sent after [`Model::release`].
    Held(Box<Says>),
}

impl Says {
    /// Answers the next request that contains `text`.
    #[must_use]
    pub fn to(self, text: &'static str) -> Self {
        Self::To(text, Box::new(self))
    }

    /// Waits for [`Model::release`].
    #[must_use]
    pub fn held(self) -> Self {
        Self::Held(Box::new(self))
    }
}

/// A server that runs until the test ends.
pub struct Model {
    url: String,
    shared: Arc<Mutex<Shared>>,
    released: Arc<(Mutex<bool>, Condvar)>,
}

#[derive(Default)]
struct Shared {
    script: VecDeque<Says>,
    received: Vec<Value>,
    headers: Vec<String>,
}

impl Model {
    /// A server on a free port with a script.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start(script: impl IntoIterator<Item = Says>) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}/v1", listener.local_addr()?);
        let shared = Arc::new(Mutex::new(Shared { script: script.into_iter().collect(), ..Shared::default() }));
        let released = Arc::new((Mutex::new(false), Condvar::new()));
        let (served, gate) = (shared.clone(), released.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (served, gate) = (served.clone(), gate.clone());
                // A client that went away is nobody's fault.
                thread::spawn(move || drop(serve(stream, &served, &gate)));
            }
        });
        Ok(Self { url, shared, released })
    }

    /// Sends waiting answers, now and later.
    pub fn release(&self) {
        *self.released.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.released.1.notify_all();
    }

    /// Its base URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Adds to the script.
    pub fn then(&self, says: impl IntoIterator<Item = Says>) {
        locked(&self.shared).script.extend(says);
    }

    /// The received bodies, oldest first.
    pub fn received(&self) -> Vec<Value> {
        locked(&self.shared).received.clone()
    }

    /// The received request heads.
    pub fn heads(&self) -> Vec<String> {
        locked(&self.shared).headers.clone()
    }
}

fn locked(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, shared: &Mutex<Shared>, gate: &(Mutex<bool>, Condvar)) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 0 && !head.ends_with("\r\n\r\n") {}
    if head.is_empty() {
        // Somebody looked whether a server is there.
        return Ok(());
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let says = {
        let mut shared = locked(shared);
        shared.headers.push(head);
        shared.received.push(serde_json::from_slice(&body).unwrap_or(Value::Null));
        let meant = String::from_utf8_lossy(&body);
        let to = |says: &Says| matches!(says, Says::To(text, _) if meant.contains(text));
        let any = |says: &Says| !matches!(says, Says::To(..));
        let at = shared.script.iter().position(to).or_else(|| shared.script.iter().position(any));
        at.and_then(|at| shared.script.remove(at)).unwrap_or(Says::Refuses(400, "the script has ended"))
    };
    let mut says = says;
    loop {
        says = match says {
            Says::To(_, says) => *says,
            Says::Held(held) => {
                let released = gate.0.lock().unwrap_or_else(PoisonError::into_inner);
                drop(gate.1.wait_while(released, |released| !*released).unwrap_or_else(PoisonError::into_inner));
                *held
            }
            says => break answer(&mut stream, says),
        };
    }
}

fn answer(stream: &mut TcpStream, says: Says) -> io::Result<()> {
    if let Says::Refuses(status, message) = &says {
        let body = json!({"error": {"message": message, "type": "refused"}}).to_string();
        let head = format!("HTTP/1.1 {status} Refused\r\ncontent-type: application/json\r\n");
        return write!(stream, "{head}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    }
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    let mut chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let event = json!({"id": "answer", "object": "chat.completion.chunk", "choices": [choice]});
        write!(stream, "data: {event}\n\n")?;
        stream.flush()
    };
    match says {
        Says::Text(text) => {
            for piece in text.split_inclusive(' ') {
                chunk(json!({"content": piece}), Value::Null)?;
            }
            chunk(json!({}), json!("stop"))?;
        }
        Says::Calls(text, calls) => {
            if !text.is_empty() {
                chunk(json!({"content": text}), Value::Null)?;
            }
            for (index, (id, name, input)) in calls.into_iter().enumerate() {
                let arguments = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
                let function = json!({"name": name, "arguments": arguments});
                let call = json!({"index": index, "id": id, "type": "function", "function": function});
                chunk(json!({"tool_calls": [call]}), Value::Null)?;
            }
            chunk(json!({}), json!("tool_calls"))?;
        }
        Says::Begins(text) => {
            chunk(json!({"content": text}), Value::Null)?;
            thread::sleep(STILL);
            return Ok(());
        }
        Says::Nothing(finish) => chunk(json!({}), json!(finish))?,
        Says::Refuses(..) | Says::To(..) | Says::Held(_) => {}
    }
    let usage = json!({"prompt_tokens": 120, "completion_tokens": 8, "total_tokens": 128});
    write!(stream, "data: {}\n\ndata: [DONE]\n\n", json!({"id": "answer", "choices": [], "usage": usage}))?;
    stream.flush()
}
