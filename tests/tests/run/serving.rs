//! `annals serve --write`: sessions that are started, asked, stopped and changed over HTTP.

use crate::run::person::Person;
use annals_tests::deadline::{Watched, WithDeadline};
use annals_tests::model::{Model, Says};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

pub const CHAT: &str = "openai-chat";

/// How long an answer may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server that a person started.
pub struct Served {
    process: Watched,
    host: String,
    token: String,
}

impl Served {
    /// `annals serve` with further options.
    pub fn start(person: &Person, options: &[&str]) -> Self {
        let args = [&["serve"], options].concat();
        let mut process = person.command(args).stderr(Stdio::null()).spawn_watched().expect("it runs");
        let mut link = String::new();
        BufReader::new(process.stdout.as_mut().expect("a pipe")).read_line(&mut link).expect("a link");
        let (host, token) =
            link.trim().strip_prefix("http://").and_then(|rest| rest.split_once("/#token=")).expect("a link");
        Self { host: host.to_owned(), token: token.to_owned(), process }
    }

    fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.write_all(request.as_bytes()).expect("it reads");
        stream
    }

    /// The status and the body of an answer.
    fn asked(&self, method: &str, path: &str, host: &str, token: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut answer = String::new();
        self.send(&request).read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    /// What a path below `/v1` gives.
    pub fn get(&self, path: &str) -> Value {
        let (status, answer) = self.asked("GET", &format!("/v1{path}"), &self.host, &self.token, &Value::Null);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    pub fn tried(&self, path: &str, body: &Value) -> (u16, Value) {
        self.asked("POST", &format!("/v1{path}"), &self.host, &self.token, body)
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.tried(path, body);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// A stream of server-sent events.
    pub fn follow(&self, path: &str) -> BufReader<TcpStream> {
        let (host, token) = (&self.host, &self.token);
        let request = format!(
            "GET /v1{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n"
        );
        BufReader::new(self.send(&request))
    }

    /// The state of a session's run once it is as expected.
    fn run_that(&self, session: &str, is: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let state = self.get(&format!("/sessions/{session}/run"));
            if is(&state) {
                return state;
            }
            assert!(began.elapsed() < PATIENCE, "{state}");
            thread::yield_now();
        }
    }

    fn events(&self, session: &str) -> u64 {
        self.get(&format!("/sessions/{session}"))["events"].as_u64().expect("a number")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

pub fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name}: {value}"))
}

fn is_idle(state: &Value) -> bool {
    state["running"] == false && state["ended"] == "idle"
}

pub fn writes(id: &'static str, path: &'static str) -> Says {
    Says::Calls("", vec![(id, "write", json!({"path": path, "content": "seven jars\n"}))])
}

#[test]
fn a_session_is_started_and_a_prompt_sent_twice_is_admitted_once() {
    let model = Model::start([Says::Text("Hello Ada."), Says::Text("You are Ada.")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let served = Served::start(&person, &["--write"]);
    assert_eq!(served.get("/info")["write"], true);
    let prompt = json!({"id": "first", "text": "I am Ada."});
    let made = served.post("/sessions", &json!({"prompt": prompt}));
    let session = text(&made, "session").to_owned();
    assert_eq!((&made["input"], &made["known"]), (&json!("first"), &json!(false)));
    served.run_that(&session, is_idle);
    let inputs = format!("/sessions/{session}/inputs");
    let events = served.events(&session);
    let again = served.post(&inputs, &prompt);
    assert_eq!((text(&again, "session"), &again["known"]), (session.as_str(), &json!(true)));
    let asked = served.post(&inputs, &json!({"text": "who am I?"}));
    assert_eq!(asked["known"], false);
    served.run_that(&session, |state| is_idle(state) && model.received().len() == 2);
    let log = served.get(&format!("/sessions/{session}/events?limit=1000"));
    let admitted = log["events"].as_array().expect("a list").iter().filter(|event| event["type"] == "input.admitted");
    assert_eq!(admitted.count(), 2);
    assert!(served.events(&session) > events);
    // As if it had been run in a terminal.
    assert_eq!(
        person.json(&["transcript", &session, "--json"]),
        served.get(&format!("/sessions/{session}/views/transcript"))
    );
    assert_eq!(served.tried(&inputs, &json!({"text": "  "})).0, 400);
    assert_eq!(served.tried(&inputs, &json!({"text": "x", "unknown": 1})).0, 400);
    assert_eq!(served.tried("/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV/inputs", &json!({"text": "x"})).0, 404);
    let (status, problem) =
        served.tried("/sessions", &json!({"directory": "/no/such/folder", "prompt": {"text": "x"}}));
    assert_eq!((status, problem["status"].as_u64()), (422, Some(422)), "{problem}");
    assert!(text(&problem, "detail").contains("/no/such/folder"), "{problem}");
}

#[test]
fn a_permission_question_is_shown_and_answered() {
    let script = [writes("c1", "a.txt"), writes("c2", "b.txt"), Says::Text("Done.")];
    let model = Model::start(script).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let served = Served::start(&person, &["--write"]);
    let made = served.post("/sessions", &json!({"prompt": {"text": "Write it down."}}));
    let session = text(&made, "session").to_owned();
    let asks = |state: &Value| state["permissions"][0].is_object();
    let question = served.run_that(&session, asks)["permissions"][0].clone();
    assert_eq!(
        (text(&question, "tool"), text(&question, "call"), text(&question, "session")),
        ("write", "c1", &*session)
    );
    assert!(text(&question, "input").contains("seven jars"), "{question}");
    let permissions = format!("/sessions/{session}/permissions");
    assert_eq!(served.tried(&format!("{permissions}/unknown"), &json!({"answer": "once"})).0, 404);
    let path = format!("{permissions}/{}", text(&question, "permission"));
    assert_eq!(served.tried(&path, &json!({"answer": "once", "feedback": "no"})).0, 400);
    assert_eq!(served.tried(&path, &json!({"answer": "perhaps"})).0, 400);
    assert!(!person.project().join("a.txt").exists());
    assert_eq!(served.get("/permissions")["permissions"], json!([question]));
    served.post(&path, &json!({"answer": "once"}));
    assert_eq!(served.tried(&path, &json!({"answer": "once"})).0, 404, "it is answered");
    let second = served.run_that(&session, |state| state["permissions"][0]["call"] == "c2");
    assert_eq!(std::fs::read_to_string(person.project().join("a.txt")).expect("a file"), "seven jars\n");
    let path = format!("{permissions}/{}", text(&second["permissions"][0], "permission"));
    served.post(&path, &json!({"answer": "reject", "feedback": "One file is enough."}));
    served.run_that(&session, is_idle);
    assert!(!person.project().join("b.txt").exists());
    assert!(model.received()[2].to_string().contains("One file is enough."));
    let log = served.get(&format!("/sessions/{session}/events?limit=1000"));
    let replied =
        log["events"].as_array().expect("a list").iter().filter(|event| event["type"] == "permission.replied");
    assert_eq!(replied.count(), 2);
}

#[test]
fn a_turn_is_interrupted_and_what_arrived_is_kept() {
    let model = Model::start([Says::Begins("Let me think")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let served = Served::start(&person, &["--write"]);
    let made = served.post("/sessions", &json!({"prompt": {"text": "Think."}}));
    let session = text(&made, "session").to_owned();
    served.run_that(&session, |state| state["running"] == true && !model.received().is_empty());
    let interrupt = format!("/sessions/{session}/interrupt");
    assert_eq!(served.post(&interrupt, &json!({}))["interrupted"], true);
    let ended = served.run_that(&session, |state| state["running"] == false && !state["ended"].is_null());
    assert_eq!(ended["ended"], "stopped", "{ended}");
    assert_eq!(served.post(&interrupt, &json!({}))["interrupted"], false);
    assert_eq!(served.tried("/sessions/01ARZ3NDEKTSV4RRFFQ69G5FAV/interrupt", &json!({})).0, 404);
}

#[test]
fn sessions_are_forked_undone_and_pinned() {
    let model = Model::start([Says::Text("Hello Ada."), Says::Text("You are Ada.")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    for (at, prompt) in ["I am Ada.", "who am I?"].into_iter().enumerate() {
        let continued: &[&str] = if at == 0 { &[] } else { &["-s", "@last"] };
        assert_eq!(person.annals(&[&["run"], continued, &[prompt]].concat()).status, Some(0));
    }
    let served = Served::start(&person, &["--write"]);
    let session = text(&served.get("/sessions")["sessions"][0], "id").to_owned();
    let one = format!("/sessions/{session}");
    let messages = served.get(&format!("{one}/views/transcript"));
    let second = messages.as_array().expect("a list").iter().filter(|message| message["type"] == "user").nth(1);
    let second = second.and_then(|message| message["seq"].as_u64()).expect("a message");
    let fork = served.post(&format!("{one}/fork"), &json!({"at": second}));
    assert_eq!((text(&fork, "from"), fork["cut"].as_u64() >= Some(second)), (session.as_str(), true));
    let forked = text(&fork, "session").to_owned();
    assert_ne!(forked, session);
    let inherited = served.get(&format!("/sessions/{forked}/views/transcript"));
    assert!(
        inherited.to_string().contains("I am Ada.") && !inherited.to_string().contains("You are Ada."),
        "{inherited}"
    );
    let pinned = served.post(&format!("{one}/pins"), &json!({"seq": second}));
    assert_eq!((pinned["message"].as_u64(), &pinned["pinned"]), (Some(second), &json!(true)));
    let unpinned = served.post(&format!("{one}/pins"), &json!({"seq": second, "pinned": false}));
    assert_eq!(unpinned["pinned"], false);
    let revert = format!("{one}/revert");
    assert_eq!(served.post(&revert, &json!({"clear": true}))["state"], "nothing-staged");
    let staged = served.post(&revert, &json!({"to": second}));
    assert_eq!((text(&staged, "state"), staged["first_removed"].as_u64()), ("staged", Some(second)), "{staged}");
    assert_eq!(served.post(&revert, &json!({"clear": true}))["state"], "cleared");
    served.post(&revert, &json!({"to": second, "files": false}));
    assert_eq!(served.post(&revert, &json!({"commit": true}))["state"], "committed");
    assert!(!served.get(&format!("{one}/views/history")).to_string().contains("You are Ada."));
    for wrong in [json!({}), json!({"to": 3, "commit": true}), json!({"clear": true, "commit": true})] {
        assert_eq!(served.tried(&revert, &wrong).0, 400, "{wrong}");
    }
    assert_eq!(served.tried(&format!("{one}/fork"), &json!({"at": 99_999})).0, 400);
    assert_eq!(served.tried(&format!("{one}/pins"), &json!({"seq": 99_999})).0, 422);
    assert_eq!(person.annals(&["verify"]).status, Some(0));
}

#[test]
fn only_a_server_that_may_write_changes_something_and_only_for_who_may_ask() {
    let model = Model::start([Says::Text("Hello Ada.")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    assert_eq!(person.annals(&["run", "I am Ada."]).status, Some(0));
    let reads = Served::start(&person, &[]);
    let session = text(&reads.get("/sessions")["sessions"][0], "id").to_owned();
    let events = reads.events(&session);
    let changes = [
        ("/v1/sessions", json!({"prompt": {"text": "x"}})),
        ("/v1/sessions/{session}/inputs", json!({"text": "x"})),
        ("/v1/sessions/{session}/permissions/{permission}", json!({"answer": "once"})),
        ("/v1/sessions/{session}/questions/{question}", json!({"answer": null})),
        ("/v1/sessions/{session}/interrupt", json!({})),
        ("/v1/sessions/{session}/fork", json!({})),
        ("/v1/sessions/{session}/revert", json!({"to": 4})),
        ("/v1/sessions/{session}/pins", json!({"seq": 4})),
    ];
    let of = |path: &str| path.replace("{session}", &session).replace("{permission}", "p").replace("{question}", "1");
    for (path, body) in &changes {
        let (status, problem) = reads.asked("POST", &of(path), &reads.host, &reads.token, body);
        assert_eq!((status, problem["title"].as_str()), (403, Some("read only")), "{path}: {problem}");
    }
    assert_eq!(reads.asked("GET", &of("/v1/sessions/{session}/run"), &reads.host, &reads.token, &Value::Null).0, 403);
    let writes = Served::start(&person, &["--write"]);
    for (path, body) in &changes {
        assert_eq!(writes.asked("POST", &of(path), &writes.host, "wrong", body).0, 401, "{path}");
        assert_eq!(writes.asked("POST", &of(path), "evil.example", &writes.token, body).0, 403, "{path}");
        assert_eq!(writes.asked("DELETE", &of(path), &writes.host, &writes.token, &Value::Null).0, 405, "{path}");
    }
    assert_eq!(writes.events(&session), events);
    assert_eq!(writes.get("/sessions")["total"], 1);
    let document = |server: &Served| {
        server.asked("GET", "/openapi.json", &server.host, &server.token, &Value::Null).1["paths"].clone()
    };
    let (paths, read_only) = (document(&writes), document(&reads));
    for (path, _) in &changes {
        assert!(paths[path]["post"].is_object() && read_only[path]["post"].is_null(), "{path}");
    }
}

/// The next message of a stream whose name is one of these: its name, and its data.
pub fn message(stream: &mut BufReader<TcpStream>, names: &[&str]) -> (String, Value) {
    let (began, mut name) = (Instant::now(), String::new());
    loop {
        let mut line = String::new();
        // What keeps the connection alive keeps its read timeout from firing.
        assert!(began.elapsed() < PATIENCE, "no message {names:?} in {PATIENCE:?}");
        let read = stream.read_line(&mut line).unwrap_or_else(|error| panic!("{error}, waiting for {names:?}"));
        assert!(read > 0, "the stream ended, waiting for {names:?}");
        if let Some(event) = line.strip_prefix("event: ") {
            name = event.trim().to_owned();
        } else if let Some(data) = line.strip_prefix("data: ").filter(|_| names.contains(&name.as_str())) {
            return (name, serde_json::from_str(data).expect("JSON"));
        }
    }
}

#[test]
fn a_stream_shows_the_answer_that_another_process_is_still_receiving() {
    let model =
        Model::start([Says::Text("Hello."), Says::Begins("Seven jars, I").to("jars are there")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    assert_eq!(person.annals(&["run", "hello"]).status, Some(0));
    let served = Served::start(&person, &[]);
    let session = text(&served.get("/sessions")["sessions"][0], "id").to_owned();
    let events = served.events(&session);
    let mut stream = served.follow(&format!("/sessions/{session}/events?deltas=true&from={events}"));
    let mut plain = served.follow(&format!("/sessions/{session}/events?from={events}"));
    let run = person.command(["run", "-s", &session, "How many jars are there?"]).spawn_watched().expect("it runs");
    let (_, delta) = message(&mut stream, &["delta"]);
    assert_eq!((text(&delta, "of"), &delta["place"], text(&delta, "text")), ("text", &json!(0), "Seven jars, I"));
    assert_eq!((text(&delta, "type"), text(&delta, "session")), ("delta", session.as_str()));
    assert!(delta["request"].is_string(), "{delta}");
    // Whoever comes later sees it from its beginning.
    let mut late = served.follow(&format!("/sessions/{session}/events?deltas=true&from={events}"));
    assert_eq!(text(&message(&mut late, &["delta"]).1, "text"), "Seven jars, I");
    std::process::Command::new("kill").args(["-INT", &run.id().to_string()]).status().expect("a signal");
    // The process and the log are followed separately: either may be first.
    let ends = ["settled", "text.ended"];
    let both: BTreeMap<String, Value> =
        ends.iter().map(|_| message(&mut stream, &["delta", ends[0], ends[1]])).collect();
    assert_eq!(both.keys().collect::<Vec<_>>(), ends, "nothing more of the answer arrives");
    assert_eq!(both["settled"]["request"], delta["request"]);
    assert_eq!(text(&both["text.ended"], "text"), "Seven jars, I");
    let (name, _) = message(&mut plain, &["delta", "settled", "text.ended"]);
    assert_eq!(name, "text.ended", "a stream brings events alone, unless it is asked for more");
    person.ended(run);
    let left = std::fs::read_dir(person.store().join("live")).expect("a folder");
    assert_eq!(left.count(), 0, "the process removed its socket");
}

#[test]
fn replay_follows_a_run_of_another_process() {
    let model =
        Model::start([Says::Text("Hello."), Says::Begins("Seven jars, I").to("jars are there")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    assert_eq!(person.annals(&["run", "hello"]).status, Some(0));
    let mut replay = person.command(["replay", "@last", "--follow", "--json"]).spawn_watched().expect("it runs");
    let mut lines = BufReader::new(replay.stdout.take().expect("a pipe")).lines();
    let mut next = |wanted: &str| -> Value {
        let mut values =
            lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.expect("a line")).expect("JSON"));
        values.find(|value| value["type"] == wanted).expect("it follows")
    };
    assert_eq!(text(&next("text.ended"), "text"), "Hello.");
    let run = person.command(["run", "-s", "@last", "How many jars are there?"]).spawn_watched().expect("it runs");
    assert_eq!(text(&next("delta"), "text"), "Seven jars, I");
    std::process::Command::new("kill").args(["-INT", &run.id().to_string()]).status().expect("a signal");
    assert_eq!(text(&next("text.ended"), "text"), "Seven jars, I");
    person.ended(run);
    replay.kill().ok();
    replay.wait().ok();
}
