//! Forms of requests that agents use and that none of the fixtures has: what is said about each is what its body says.

use super::Scripted;
use super::provider::Provider;
use super::views::agree;
use crate::cli::command::{Annals, Answer};
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

const MESSAGES: &str = "/v1/messages";
const CHAT: &str = "/chat/completions";
const RESPONSES: &str = "/responses";

/// A path, a body as it is sent, and the answer.
type Exchange = (&'static str, String, Scripted);

struct Recorded {
    annals: Annals,
    folder: TempDir,
}

impl Recorded {
    /// Records exchanges of an agent without ids; those of each list are a process.
    fn of(processes: &[Vec<Exchange>]) -> Self {
        let answers = processes.iter().flatten().map(|(.., answer)| answer.clone());
        let provider = Provider::start(answers.collect::<Vec<_>>()).expect("a provider");
        let own = Self { annals: Annals::new(), folder: tempfile::tempdir().expect("a folder") };
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/forms.py");
        let file = own.folder.path().join("requests.json");
        for exchanges in processes {
            let sent: Vec<(&str, &String)> = exchanges.iter().map(|(path, body, _)| (*path, body)).collect();
            fs::write(&file, json!(sent).to_string()).expect("a file");
            let file = file.to_string_lossy().into_owned();
            let recorded = own.ask(&["record", "--upstream", &provider.url, "--", "python3", program, &file]);
            assert_eq!(recorded.status, 0, "{}", recorded.remarks);
        }
        own
    }

    fn store(&self) -> String {
        self.folder.path().join("store").to_string_lossy().into_owned()
    }

    fn ask(&self, arguments: &[&str]) -> Answer {
        let (command, rest) = arguments.split_first().expect("a command");
        self.annals.run(&[&[*command, "--store", &self.store()], rest].concat())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ask(&[arguments, &["--json"]].concat());
        serde_json::from_str(&output.out).unwrap_or_else(|error| panic!("{error}: {}{}", output.out, output.remarks))
    }

    /// There is one session with so many turns, and everything about its requests is what their bodies say.
    fn is_one(&self, turns: u64, requests: usize) {
        let sessions = self.json(&["sessions", "--all"]);
        let counts: Vec<&Value> = sessions.as_array().expect("a list").iter().map(|one| &one["turns"]).collect();
        assert_eq!(counts, [&json!(turns)], "{sessions}");
        let verified = self.ask(&["verify", "@last", "--requests", "--wire"]);
        let bodies = if requests == 1 { "1 recorded body".to_owned() } else { format!("{requests} recorded bodies") };
        let line = format!("the view matches {bodies}");
        assert!(verified.out.contains(&line), "{}{}", verified.out, verified.remarks);
        assert_eq!(agree(&self.annals, &["@last", "--store", &self.store()]), requests);
    }

    /// The requests that carried a text, as pairs of the first and the last.
    fn when(&self, text: &str) -> Vec<(u64, u64)> {
        let when = self.json(&["when", "@last", text]);
        let stays = when["sightings"]
            .as_array()
            .expect("a list")
            .iter()
            .flat_map(|one| one["stays"].as_array().expect("a list"));
        let mut found: Vec<(u64, u64)> =
            stays.filter_map(|stay| Some((stay["first"].as_u64()?, stay["last"].as_u64()?))).collect();
        found.sort_unstable();
        found
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn message(role: &str, content: impl Into<Value>) -> Value {
    json!({"role": role, "content": content.into()})
}

fn answered(content: Value) -> Scripted {
    let usage = json!({"input_tokens": 9, "output_tokens": 2});
    let body = json!({"id": "m", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": usage});
    (200, "application/json", body.to_string())
}

fn chosen(texts: &[&str]) -> Scripted {
    let choice = |(at, text): (usize, &&str)| json!({"index": at, "message": message("assistant", *text), "finish_reason": "stop"});
    let choices: Vec<Value> = texts.iter().enumerate().map(choice).collect();
    (200, "application/json", json!({"id": "c", "model": "m", "choices": choices}).to_string())
}

fn responded(id: &str, item: &str, text: &str) -> Scripted {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    let output =
        json!([{"type": "message", "id": item, "role": "assistant", "status": "completed", "content": content}]);
    let body = json!({"id": id, "object": "response", "status": "completed", "model": "m", "output": output});
    (200, "application/json", body.to_string())
}

fn anthropic(messages: &[Value]) -> String {
    json!({"model": "m", "max_tokens": 9, "system": "You work.", "messages": messages}).to_string()
}

#[test]
fn pictures_before_the_text_of_a_prompt_are_one_prompt_with_it() {
    annals_tests::needs!("python3");
    let image =
        |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let mut said = vec![message("user", vec![image("AAAA"), image("BBBB"), text("what are these")])];
    let first = anthropic(&said);
    said.extend([message("assistant", "Two dots."), message("user", vec![image("CCCC"), text("and this")])]);
    let second = anthropic(&said);
    said.extend([message("assistant", "Another."), message("user", "thanks")]);
    let bodies = [(first, "Two dots."), (second, "Another."), (anthropic(&said), "Welcome.")];
    let exchange = |(body, said): (String, &str)| (MESSAGES, body, answered(json!([text(said)])));
    Recorded::of(&[bodies.map(exchange).to_vec()]).is_one(3, 3);
    let image =
        |data: &str| json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}});
    let mut said = vec![message("user", vec![image("AAAA"), image("BBBB"), text("what are these")])];
    let first = json!({"model": "m", "messages": said}).to_string();
    said.extend([message("assistant", "Two dots."), message("user", "thanks")]);
    let second = json!({"model": "m", "messages": said}).to_string();
    Recorded::of(&[vec![(CHAT, first, chosen(&["Two dots."])), (CHAT, second, chosen(&["Welcome."]))]]).is_one(2, 2);
}

#[test]
fn a_text_is_found_however_its_characters_are_escaped() {
    annals_tests::needs!("python3");
    let body = |more: &str| {
        let system = r#""system":"Sei h\u00f6flich in \/etc\/x""#;
        format!(
            r#"{{"model":"m","max_tokens":9,{system},"messages":[{{"role":"user","content":"Gr\u00f6\u00dfe"}}{more}]}}"#
        )
    };
    let more = r#",{"role":"assistant","content":"12"},{"role":"user","content":"und?"}"#;
    let said = |words: &str| answered(json!([text(words)]));
    let recorded = Recorded::of(&[vec![(MESSAGES, body(""), said("12")), (MESSAGES, body(more), said("13"))]]);
    recorded.is_one(2, 2);
    for text in ["Sei höflich", "/etc/x", "Größe"] {
        assert_eq!(recorded.when(text), [(1, 2)], "{text}");
    }
}

#[test]
fn what_the_provider_keeps_of_a_conversation_was_read_by_the_model() {
    annals_tests::needs!("python3");
    // With blank space, as Python writes JSON.
    let asks = |text: &str, previous: &str| {
        format!(r#"{{"model": "m", "input": "{text}", "previous_response_id": {previous}}}"#)
    };
    let first = vec![
        (RESPONSES, asks("the first", "null"), responded("resp_1", "msg_1", "answer one")),
        (RESPONSES, asks("the second", "\"resp_1\""), responded("resp_2", "msg_2", "answer two")),
    ];
    // Another process continues it, and then an earlier answer.
    let later = vec![
        (RESPONSES, asks("the third", "\"resp_2\""), responded("resp_3", "msg_3", "answer three")),
        (RESPONSES, asks("a branch", "\"resp_1\""), responded("resp_4", "msg_4", "answer four")),
    ];
    let recorded = Recorded::of(&[first, later]);
    recorded.is_one(4, 4);
    assert_eq!(recorded.when("the first"), [(1, 4)]);
    assert_eq!(recorded.when("answer one"), [(2, 4)]);
    assert_eq!(recorded.when("the second"), [(2, 3)]);
    assert_eq!(recorded.when("answer two"), [(3, 3)]);
    assert_eq!(recorded.when("a branch"), [(4, 4)]);
    let history = recorded.ask(&["history", "@last"]).out;
    assert!(history.contains("answer one") && !history.contains("answer three"), "{history}");
    assert!(recorded.ask(&["when", "@last", "never said"]).out.contains("in nothing that was recorded"));
}

#[test]
fn items_that_a_request_names_by_id_are_part_of_it() {
    annals_tests::needs!("python3");
    let user = |text: &str| json!({"role": "user", "content": [{"type": "input_text", "text": text}]});
    let item = |id: &str| json!({"type": "item_reference", "id": id});
    let body = |input: Value| json!({"model": "m", "input": input}).to_string();
    let recorded = Recorded::of(&[vec![
        (RESPONSES, body(json!([user("one")])), responded("resp_1", "msg_1", "the stored words")),
        (RESPONSES, body(json!([user("one"), item("msg_1"), user("two")])), responded("resp_2", "msg_2", "more words")),
        (
            RESPONSES,
            body(json!([user("one"), item("msg_1"), user("two"), item("msg_2"), user("three")])),
            responded("resp_3", "msg_3", "the end"),
        ),
    ]]);
    recorded.is_one(3, 3);
    assert_eq!(recorded.when("the stored words"), [(2, 3)]);
    let history = recorded.ask(&["history", "@last"]).out;
    assert!(history.contains("the stored words") && history.contains("more words"), "{history}");
}

#[test]
fn the_text_of_a_body_that_cannot_be_decoded_is_not_denied() {
    annals_tests::needs!("python3");
    let clean = anthropic(&[message("user", "a clean prompt")]);
    let cut = clean.replace("a clean prompt", r"an emoji \ud83d that was cut in caf\u00e9");
    let refused = (200, "application/json", "{}".to_owned());
    let recorded = Recorded::of(&[vec![(MESSAGES, clean, answered(json!([text("Yes.")]))), (MESSAGES, cut, refused)]]);
    for text in ["that was cut", "in café"] {
        let why = recorded.ask(&["why", "@last", text, "--step", "2"]);
        assert_eq!(why.status, 0, "{text}: {}{}", why.out, why.remarks);
        assert_eq!(recorded.when(text), [(2, 2)], "{text}");
    }
    let shown = recorded.ask(&["requests", "@last", "--step", "2"]).out;
    assert!(shown.contains("not decoded: lone surrogate at byte") && shown.contains("that was cut"), "{shown}");
    assert_eq!(recorded.ask(&["why", "@last", "nowhere", "--step", "2"]).status, 1);
}

#[test]
fn an_agent_may_send_back_one_of_several_choices_or_ask_again_where_an_answer_broke_off() {
    annals_tests::needs!("python3");
    let mut said = vec![message("system", "You work."), message("user", "three, please")];
    let first = json!({"model": "m", "n": 3, "messages": said}).to_string();
    said.extend([message("assistant", "beta"), message("user", "I take beta")]);
    let second = json!({"model": "m", "messages": said}).to_string();
    let recorded =
        Recorded::of(&[vec![(CHAT, first, chosen(&["alpha", "beta", "gamma"])), (CHAT, second, chosen(&["Good."]))]]);
    recorded.is_one(2, 2);
    assert!(!recorded.ask(&["history", "@last"]).out.contains("gamma"));
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default());
    let stream = [
        event(
            json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        ),
        event(json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})),
        event(json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "half an"}})),
        event(json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})),
    ];
    let asks = anthropic(&[message("user", "begin")]);
    let more = anthropic(&[message("user", "begin"), message("assistant", "A whole one."), message("user", "on")]);
    let recorded = Recorded::of(&[vec![
        (MESSAGES, asks.clone(), (200, "text/event-stream", stream.concat())),
        (MESSAGES, asks, answered(json!([text("A whole one.")]))),
        (MESSAGES, more, answered(json!([text("End.")]))),
    ]]);
    recorded.is_one(2, 3);
    assert!(!recorded.ask(&["history", "@last"]).out.contains("half an"));
}

#[test]
fn parts_of_a_prompt_that_no_reader_knows_are_shown() {
    annals_tests::needs!("python3");
    let novel = json!({"type": "hologram", "hologram": {"words": "seen by none"}});
    let chat = json!({"model": "m", "messages": [message("user", vec![text("look"), novel])]}).to_string();
    let document = json!({"type": "document", "source": {"type": "content", "content": [text("words of a document")]}});
    let body = anthropic(&[message("user", vec![document, text("read it")])]);
    for (exchange, words) in [
        ((CHAT, chat, chosen(&["Yes."])), "seen by none"),
        ((MESSAGES, body, answered(json!([text("Yes.")]))), "words of a document"),
    ] {
        let recorded = Recorded::of(&[vec![exchange]]);
        recorded.is_one(1, 1);
        let shown = recorded.ask(&["requests", "@last", "--step", "1", "--json"]).out;
        assert!(shown.contains(words), "{shown}");
        assert!(recorded.ask(&["log", "@last", "--json"]).out.contains("part.unknown"));
    }
}
