//! A store whose every name and text tries to steer whatever shows it.

use annals_core::{Event, Seq};
use annals_projections::event_json;
use annals_store::{Draft, EventLog, OpenMode, SharedLog};
use serde_json::Value;
use std::path::Path;

/// A window title, the clipboard, the screen, a line over another, bidirectional overrides, what nobody sees.
pub const HOSTILE: &str = "\u{1b}]0;own\u{7}\u{1b}]52;c;b3du\u{7}\u{1b}[2J\r\u{8}\u{9b}31m\u{202e}txet\u{2066}\u{200f}\u{61c}a\u{200b}b\u{200d}c\u{2060}d\u{feff}";

/// Copies all sessions of the store in `from` into a new one in `to`; each text is followed by [`HOSTILE`], wherever an
/// event takes it.
pub fn copy(from: &Path, to: &Path) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let source = SharedLog::open(from, OpenMode::Existing).await.expect("a store");
        let target = SharedLog::open(to, OpenMode::Create).await.expect("a store");
        let blobs = source.blobs();
        for head in source.sessions().all().await.expect("a list") {
            let slices = source.read(head.session, Seq::ZERO, 10_000).await.expect("a log");
            let mut expected = Seq::ZERO;
            for slice in slices {
                let batch = &slice.batch;
                let mut events: Vec<Event> =
                    batch.events.iter().map(|event| spoiled(event_json(event, &*blobs))).collect();
                if let (Some(begins), Some(key)) = (events.first_mut(), batch.session_key()) {
                    begins.set_key(key);
                }
                let draft =
                    Draft { session: head.session, expected, at: batch.at, events, digest: None, states: Vec::new() };
                expected = target.append(draft).await.expect("an append").batch.next();
            }
        }
        source.close().await.expect("closed");
        target.close().await.expect("closed");
    });
}

/// The event with as many hostile texts as its form takes.
fn spoiled(mut json: Value) -> Event {
    for path in strings(&json, &mut Vec::new()) {
        let mut tried = json.clone();
        let Some(Value::String(text)) = at(&mut tried, &path) else { continue };
        if serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()) {
            // What a model or a tool gave as JSON stays JSON.
            let value = inside(serde_json::from_str(text).unwrap_or_default());
            *text = value.to_string();
        } else {
            text.push_str(HOSTILE);
        }
        if Event::from_json(tried.clone()).is_ok() {
            json = tried;
        }
    }
    Event::from_json(json).expect("an event")
}

/// The same value with hostile texts in it.
fn inside(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text + HOSTILE),
        Value::Array(items) => items.into_iter().map(inside).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, inside(value))).collect(),
        other => other,
    }
}

/// Where the texts of a value are; its kind and names of fields are none.
fn strings(value: &Value, path: &mut Vec<String>) -> Vec<Vec<String>> {
    let below = |name: String, value: &Value, path: &mut Vec<String>| {
        path.push(name);
        let found = strings(value, path);
        path.pop();
        found
    };
    match value {
        Value::String(_) if path.as_slice() == ["type"] => Vec::new(),
        Value::String(_) => vec![path.clone()],
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(at, item)| below(at.to_string(), item, path)).collect()
        }
        Value::Object(fields) => fields.iter().flat_map(|(name, value)| below(name.clone(), value, path)).collect(),
        _ => Vec::new(),
    }
}

fn at<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, name| match value {
        Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
        other => other.get_mut(name.as_str()),
    })
}

/// What in an answer could steer a terminal, or hide in it; styles of ours are taken out first.
pub fn unsafe_in(text: &str) -> Option<String> {
    let mut left = text;
    while let Some(at) = left.find(is_unsafe) {
        let rest = &left[at..];
        match rest.strip_prefix("\u{1b}[").and_then(|body| Some((body.find('m')?, body))) {
            Some((end, body)) if end <= 6 && body[..end].chars().all(|c| c.is_ascii_digit() || c == ';') => {
                left = &body[end + 1..];
            }
            _ => return Some(rest.chars().take(40).flat_map(char::escape_unicode).collect()),
        }
    }
    None
}

fn is_unsafe(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}
