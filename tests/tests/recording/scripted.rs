//! Recordings of an agent that sends bodies from a list.

use super::Scripted;
use super::provider::Provider;
use crate::cli::command::{Annals, Answer};
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;

/// A store in which the bodies of some processes were recorded, one after another.
pub struct Recordings {
    annals: Annals,
    store: TempDir,
}

impl Recordings {
    /// Records `bodies`, those of each process in a list, as an agent; each is answered with a text and the input tokens counted.
    pub fn of(agent: &str, processes: &[Vec<(Value, &str, u64)>]) -> (Self, Vec<Answer>) {
        let answers = processes.iter().flatten().map(|(_, text, tokens)| answer(text, *tokens));
        let provider = Provider::start(answers.collect::<Vec<_>>()).expect("a provider");
        let own = Self { annals: Annals::new(), store: tempfile::tempdir().expect("a folder") };
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/bodies.py");
        let file = own.store.path().join("bodies.json");
        let recorded = processes.iter().map(|bodies| {
            let bodies: Vec<&Value> = bodies.iter().map(|(body, ..)| body).collect();
            fs::write(&file, json!(bodies).to_string()).expect("a file");
            let file = file.to_string_lossy().into_owned();
            let record = ["record", "--agent", agent, "--upstream", &provider.url, "--", "python3", program, &file];
            let output = own.ask(&record);
            assert_eq!(output.status, 0, "{}", output.remarks);
            output
        });
        let recorded = recorded.collect();
        (own, recorded)
    }

    /// Asks a question of the store.
    pub fn ask(&self, arguments: &[&str]) -> Answer {
        let store = self.store.path().join("store").to_string_lossy().into_owned();
        let (command, rest) = arguments.split_first().expect("a command");
        self.annals.run(&[&[*command, "--store", &store], rest].concat())
    }

    /// The answer to a question as JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ask(&[arguments, &["--json"]].concat());
        serde_json::from_str(&output.out).unwrap_or_else(|error| panic!("{error}: {}{}", output.out, output.remarks))
    }

    /// Every recorded body and the events say the same.
    pub fn agree(&self, count: usize) {
        let verified = self.ask(&["verify", "@last", "--requests", "--wire"]);
        let line = format!("the view matches {count} recorded bodies");
        assert!(verified.out.contains(&line), "{}{}", verified.out, verified.remarks);
    }
}

fn answer(text: &str, tokens: u64) -> Scripted {
    let usage = json!({"input_tokens": 4, "output_tokens": 7, "cache_read_input_tokens": tokens - 4});
    let content = json!([{"type": "text", "text": text}]);
    let body = json!({"id": "m", "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn", "usage": usage});
    (200, "application/json", body.to_string())
}

/// A body with these messages and a tool.
pub fn body(messages: &[Value]) -> Value {
    let tools = json!([{"name": "bash", "description": "Runs a command", "input_schema": {"type": "object"}}]);
    json!({"model": "m", "max_tokens": 9, "system": "You work.", "tools": tools, "messages": messages})
}

/// A message of the user of several texts.
pub fn user(texts: &[&str]) -> Value {
    let texts: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
    json!({"role": "user", "content": texts})
}

/// A message of the model.
pub fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
}
