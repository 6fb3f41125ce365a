//! A server that is asked over sockets.

use crate::cli::command::{Annals, text};
use annals_tests::deadline::{Watched, WithDeadline};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long an answer may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Served {
    pub process: Watched,
    pub host: String,
    pub token: String,
    /// What follows the token in the link.
    pub place: String,
}

pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Response {
    pub fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        serde_json::from_str(&self.body).unwrap()
    }
}

impl Served {
    pub fn start(annals: &Annals, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_annals-test"));
        command.args(["serve", "--store", &text(&annals.store())]).args(options).env("HOME", annals.file("home"));
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn_watched().unwrap();
        let mut link = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut link).unwrap();
        let (host, token) = link.trim().strip_prefix("http://").and_then(|rest| rest.split_once("/#token=")).unwrap();
        let (token, place) = token.split_once("&").unwrap_or((token, ""));
        Self { host: host.to_owned(), token: token.to_owned(), place: place.to_owned(), process }
    }

    pub fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        let mut answer = Vec::new();
        self.send(&format!("{request}\r\n{body}")).read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Response { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    pub fn get(&self, path: &str) -> Response {
        let bearer = format!("Bearer {}", self.token);
        self.ask("GET", path, &[("Host", &self.host), ("Authorization", &bearer)], "")
    }

    pub fn of(&self, session: &str, rest: &str) -> Value {
        self.get(&format!("/v1/sessions/{session}{rest}")).json()
    }

    /// A stream of server-sent events after the message `last`.
    pub fn follow(&self, path: &str, last: &str) -> BufReader<TcpStream> {
        let (host, token) = (&self.host, &self.token);
        let accept = "Accept: text/event-stream";
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{accept}\r\nLast-Event-ID: {last}\r\n\r\n"
        );
        let mut stream = BufReader::new(self.send(&request));
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        assert!(line.contains(" 200 "), "{line}");
        stream
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The next message of a stream: its id, and its data.
pub fn message(stream: &mut BufReader<TcpStream>) -> (String, Value) {
    let (began, mut id) = (Instant::now(), String::new());
    loop {
        let mut line = String::new();
        assert!(began.elapsed() < PATIENCE, "no message in {PATIENCE:?}");
        assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended");
        if let Some(found) = line.strip_prefix("id: ") {
            id = found.trim().to_owned();
        } else if let Some(data) = line.strip_prefix("data: ") {
            return (id, serde_json::from_str(data).unwrap());
        }
    }
}
