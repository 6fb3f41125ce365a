//! `annals serve` beside other processes: questions that a terminal asks, and an agent that is recorded.

use crate::run::person::Person;
use crate::run::serving::{CHAT, PATIENCE, Served, message, text, writes};
use crate::run::terminal::Terminal;
use annals_tests::deadline::WithDeadline;
use annals_tests::model::{Model, Says};
use serde_json::{Value, json};
use std::io::BufReader;
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

impl Served {
    /// The first permission question that is as expected.
    fn waiting(&self, is: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let answer = self.get("/permissions");
            let waiting = answer["permissions"].as_array().expect("a list");
            if let Some(found) = waiting.iter().find(|question| is(question)) {
                return found.clone();
            }
            assert!(began.elapsed() < PATIENCE, "{answer}");
            thread::yield_now();
        }
    }

    /// The list of sessions once it is as expected.
    fn sessions_that(&self, is: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let answer = self.get("/sessions");
            if is(&answer["sessions"]) {
                return answer["sessions"].clone();
            }
            assert!(began.elapsed() < PATIENCE, "{answer}");
            thread::yield_now();
        }
    }

    /// A server that only reads, once another process made the store.
    fn start_when_there_is_a_store(person: &Person) -> Self {
        let began = Instant::now();
        // A store that is being made is not one yet.
        while person.annals(&["sessions", "--all"]).out.is_empty() {
            assert!(began.elapsed() < PATIENCE, "no store");
            thread::yield_now();
        }
        Self::start(person, &[])
    }
}

/// The data of the next message with a name.
fn message_named(stream: &mut BufReader<TcpStream>, name: &str) -> Value {
    message(stream, &[name]).1
}

#[test]
fn a_question_that_a_terminal_asks_is_answered_over_http_and_the_terminal_says_so() {
    annals_tests::needs!("python3");
    let script = [writes("c1", "a.txt"), writes("c2", "b.txt"), Says::Text("Done.")];
    let model = Model::start(script).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let mut terminal = Terminal::open(&person, &["run", "Write it down."]);
    terminal.expect("asks for permission");
    let served = Served::start(&person, &["--write"]);
    let question = served.waiting(|question| question["call"] == "c1");
    assert_eq!((text(&question, "tool"), &question["elsewhere"]), ("write", &json!(true)));
    assert!(text(&question, "input").contains("seven jars"), "{question}");
    let path = format!("/sessions/{}/permissions/{}", text(&question, "session"), text(&question, "permission"));
    served.post(&path, &json!({"answer": "once"}));
    assert_eq!(served.tried(&path, &json!({"answer": "reject"})).0, 404, "the first answer counts");
    terminal.expect("allowed (annals serve)");
    let second = served.waiting(|question| question["call"] == "c2");
    terminal.send("y\r");
    terminal.expect("Done.");
    assert_eq!(terminal.ended(), 0);
    let path = format!("/sessions/{}/permissions/{}", text(&second, "session"), text(&second, "permission"));
    assert_eq!(served.tried(&path, &json!({"answer": "reject"})).0, 404, "it was answered in the terminal");
    assert_eq!(served.get("/permissions")["permissions"], json!([]));
    for name in ["a.txt", "b.txt"] {
        assert_eq!(std::fs::read_to_string(person.project().join(name)).expect("a file"), "seven jars\n");
    }
}

#[test]
fn an_answer_to_a_recorded_agent_is_shown_while_it_arrives() {
    let model = Model::start([Says::Text("Hello."), Says::Begins("Seven jars, I")]).expect("a port");
    let person = Person::with_model(model.url(), CHAT);
    let message = |role: &str, content: &str| json!({"role": role, "content": content});
    let first = [message("user", "hello")];
    let second = [first[0].clone(), message("assistant", "Hello."), message("user", "How many jars are there?")];
    person.write("first.json", &json!({"model": "test", "stream": true, "messages": first}).to_string());
    person.write("second.json", &json!({"model": "test", "stream": true, "messages": second}).to_string());
    let asks = |file: &str| {
        format!("curl -sN -H 'Content-Type: application/json' -d @{file} \"$OPENAI_BASE_URL/chat/completions\"")
    };
    let agent = format!("{}; {}", asks("first.json"), asks("second.json"));
    let upstream = model.url().trim_end_matches("/v1").to_owned();
    let mut record =
        person.command(["record", "--upstream", &upstream, "--", "sh", "-c", &agent]).spawn_watched().expect("it runs");
    let served = Served::start_when_there_is_a_store(&person);
    let session = text(&served.sessions_that(|list| list[0].is_object())[0], "id").to_owned();
    let mut stream = served.follow(&format!("/sessions/{session}/events?deltas=true"));
    assert_eq!(text(&message_named(&mut stream, "text.ended"), "text"), "Hello.");
    let delta = message_named(&mut stream, "delta");
    assert_eq!((text(&delta, "of"), text(&delta, "text")), ("text", "Seven jars, I"));
    std::process::Command::new("kill").args(["-TERM", &record.id().to_string()]).status().expect("a signal");
    assert_eq!(message_named(&mut stream, "settled")["request"], delta["request"]);
    record.wait().expect("it ends");
}
