//! An independent mock of the model providers: the npm package `@copilotkit/aimock`.
//!
//! `tests/aimock/install` installs it into `target/aimock`, or the folder in `ANNALS_AIMOCK`; [`Aimock::start`] finds it there.
//! If Node or the package is missing, tests print why they are skipped; when `ANNALS_AIMOCK` or `CI` is set they fail.
//!
//! ```no_run
//! use annals_tests::aimock::{Aimock, says};
//! use serde_json::json;
//! # fn story() -> Result<(), Box<dyn std::error::Error>> {
//! let Some(server) = Aimock::start(&[says("hello", "Hi there.")])? else { return Ok(()) };
//! let base = server.openai(); // http://127.0.0.1:PORT/v1
//! // ... talk to it ...
//! assert_eq!(server.received()?.len(), 1);
//! # Ok(()) }
//! ```

use crate::deadline::{Watched, WithDeadline};
use crate::needed::{in_ci, skipped};
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

/// Node ends with its standard input, so that a test that is killed leaves no server behind.
const ENDS_WITH_ITS_PARENT: &str =
    "data:text/javascript,process.stdin.on('end',()=>process.exit()).on('error',()=>process.exit()).resume()";

/// How long Node may take to listen on a busy machine.
const READY: Duration = Duration::from_secs(60);

/// A server that runs until it is dropped.
pub struct Aimock {
    child: Watched,
    url: String,
    _fixtures: TempDir,
}

/// The server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AimockError {
    /// The package is missing, and `ANNALS_AIMOCK` or `CI` is set.
    #[error("CI or ANNALS_AIMOCK is set, but {} is not there: run tests/aimock/install", .0.display())]
    Missing(PathBuf),
    /// It printed no port; its output follows.
    #[error("aimock did not start: {0}")]
    NotReady(String),
    /// The connection, the folder or the process failed.
    #[error("aimock: {0}")]
    Io(#[from] io::Error),
    /// An unexpected answer.
    #[error("aimock answered {0:?}")]
    Answer(String),
}

/// A fixture: when the last user message contains `when` and no result of this turn follows it, this text.
pub fn says(when: &str, text: &str) -> Value {
    json!({"match": {"userMessage": when, "hasToolResult": false}, "response": {"content": text}})
}

/// A fixture: when the last user message contains `when` and no result of this turn follows it, these calls
/// (`(id, tool, arguments)`).
pub fn calls(when: &str, calls: &[(&str, &str, Value)]) -> Value {
    let calls: Vec<Value> =
        calls.iter().map(|(id, name, input)| json!({"id": id, "name": name, "arguments": input})).collect();
    json!({"match": {"userMessage": when, "hasToolResult": false}, "response": {"toolCalls": calls}})
}

/// A fixture: when results follow the last user message, which contains `when`, this text.
pub fn says_after_results(when: &str, text: &str) -> Value {
    json!({"match": {"userMessage": when, "hasToolResult": true}, "response": {"content": text}})
}

/// A fixture: when the last user message contains `when`, this status the first `times` times, with an error body.
pub fn fails(when: &str, times: usize, status: u16, message: &str) -> Vec<Value> {
    let error = json!({"error": {"message": message, "type": "error"}, "status": status, "retryAfter": 1});
    (0..times).map(|n| json!({"match": {"userMessage": when, "sequenceIndex": n}, "response": error})).collect()
}

impl Aimock {
    /// Starts a server on a free port with these fixtures: the first that matches answers, and a request that none
    /// matches is refused with 404. `None`, with the reason printed, when it is not there.
    ///
    /// # Errors
    /// When it is there and does not start, or has to be there and is not.
    pub fn start(fixtures: &[Value]) -> Result<Option<Self>, AimockError> {
        Self::start_with(fixtures, &[])
    }

    /// The same with further command line options, such as `--chunk-size 3` or `--latency 5`.
    ///
    /// # Errors
    /// As [`Aimock::start`].
    pub fn start_with(fixtures: &[Value], options: &[&str]) -> Result<Option<Self>, AimockError> {
        let Some(script) = script()? else { return Ok(None) };
        let folder = TempDir::new()?;
        let file = folder.path().join("fixtures.json");
        fs::write(&file, json!({"fixtures": fixtures}).to_string())?;
        let spawned = Command::new("node")
            .args(["--import", ENDS_WITH_ITS_PARENT])
            .arg(script)
            .args(["--port", "0", "--validate-on-load", "--fixtures"])
            .arg(&file)
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn_watched();
        let mut child = match spawned {
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && env::var_os("ANNALS_AIMOCK").is_none() && !in_ci() =>
            {
                skipped("node", "Node is missing");
                return Ok(None);
            }
            spawned => spawned?,
        };
        let (sender, receiver) = mpsc::channel();
        listen(child.stdout.take(), &sender);
        listen(child.stderr.take(), &sender);
        drop(sender);
        let mut server = Self { child, url: String::new(), _fixtures: folder };
        let mut said = String::new();
        loop {
            match receiver.recv_timeout(READY) {
                Ok(line) => match line.split_once("listening on ") {
                    Some((_, url)) => {
                        server.url = url.trim().to_owned();
                        return Ok(Some(server));
                    }
                    None => said = said + &line + "\n",
                },
                Err(_) => return Err(AimockError::NotReady(said)),
            }
        }
    }

    /// Where it is: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The base URL of the OpenAI protocols, both Chat Completions and Responses.
    pub fn openai(&self) -> String {
        format!("{}/v1", self.url)
    }

    /// The base URL of the Anthropic protocol.
    pub fn anthropic(&self) -> String {
        format!("{}/v1", self.url)
    }

    /// Every request that reached it, oldest first: `{method, path, headers, body, response, ...}`.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn received(&self) -> Result<Vec<Value>, AimockError> {
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(READY))?;
        write!(stream, "GET /__aimock/journal HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        match serde_json::from_str(body) {
            Ok(Value::Array(entries)) => Ok(entries),
            _ => Err(AimockError::Answer(answer)),
        }
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        // Gone already, or gone soon: there is nothing to do about either.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The command line of the installed package, if it is there.
fn script() -> Result<Option<PathBuf>, AimockError> {
    let given = env::var_os("ANNALS_AIMOCK").map(PathBuf::from);
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"));
    let folder = given.clone().unwrap_or_else(|| target.join("aimock"));
    let script = folder.join("node_modules/@copilotkit/aimock/dist/cli.js");
    if script.is_file() {
        return Ok(Some(script));
    }
    if given.is_some() || in_ci() {
        return Err(AimockError::Missing(script));
    }
    skipped("node", "aimock is not installed (tests/aimock/install installs it)");
    Ok(None)
}

/// Tells the lines of a stream for as long as somebody listens, and reads it to its end anyway, so that the server
/// never waits for a reader.
fn listen(stream: Option<impl Read + Send + 'static>, sender: &mpsc::Sender<String>) {
    let Some(stream) = stream else { return };
    let sender = sender.clone();
    std::thread::spawn(move || {
        let mut sender = Some(sender);
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.as_ref().is_some_and(|sender| sender.send(line).is_err()) {
                sender = None;
            }
        }
    });
}
