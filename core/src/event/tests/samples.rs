//! One fact of every kind, with every optional field filled, and thousands of facts near them.

use crate::SessionKey;
use crate::event::Event;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use serde_json::{Value, json};

/// The canonical JSON of one fact per kind, by number. Shared with the other crates' tests.
pub(crate) const LINES: &str = include_str!("../../../../fixtures/events.jsonl");

/// The fields that hold a map, as JSON pointers: their keys are data, not field names.
pub(crate) const MAPS: [&str; 7] =
    ["/entries", "/set", "/counts", "/tools", "/options/controls", "/options/options", "/options/body"];

/// The key whose hash `fixtures/events.jsonl` contains.
const KEY: SessionKey = SessionKey([0x0f; 32]);

/// One fact of every kind.
pub(crate) fn samples() -> Vec<Event> {
    let with_key = |line| {
        let mut event = read(line);
        event.set_key(KEY);
        event
    };
    LINES.lines().map(with_key).collect()
}

/// Every sample as its JSON.
pub(crate) fn values() -> Vec<Value> {
    LINES.lines().map(|line| serde_json::from_str(line).expect("the fixture holds JSON")).collect()
}

/// The samples, and every legal fact that differs from one of them in one place: a field emptied, zeroed, at its
/// largest, or moved to a blob.
pub(crate) fn variants() -> Vec<Event> {
    let mut all = samples();
    for value in values() {
        let near = replaced_once(&value).into_iter().filter(|near| near["type"] == value["type"]);
        all.extend(near.filter_map(|near| Event::from_json(near).ok()));
    }
    all
}

/// Every value that differs from `value` in one place.
pub(crate) fn replaced_once(value: &Value) -> Vec<Value> {
    let blob = json!({"blob": "f0".repeat(32), "bytes": 9001, "chars": 9000});
    let mut all = vec![
        Value::Null,
        json!([]),
        json!({}),
        json!(false),
        json!(true),
        json!(0),
        json!(-1),
        json!((1_u64 << 53) - 1),
        json!(""),
        json!("\u{0}\u{e9}\u{1f600}\\\""),
        blob,
    ];
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                all.extend(replaced_once(inner).into_iter().map(|inner| {
                    let mut fields = fields.clone();
                    fields.insert(key.clone(), inner);
                    Value::Object(fields)
                }));
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                all.extend(replaced_once(inner).into_iter().map(|inner| {
                    let mut items = items.clone();
                    items[at] = inner;
                    Value::Array(items)
                }));
            }
        }
        _ => {}
    }
    all
}

/// The JSON pointers of all objects inside `value`, itself (`""`) included.
pub(crate) fn objects(value: &Value) -> Vec<String> {
    fn visit(value: &Value, at: String, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(key, inner)| {
                    visit(inner, alloc::format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
                });
                found.push(at);
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(n, inner)| visit(inner, alloc::format!("{at}/{n}"), found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    visit(value, String::new(), &mut found);
    found
}

fn read(line: &str) -> Event {
    let value = serde_json::from_str(line).expect("the fixture holds JSON");
    Event::from_json(value).unwrap_or_else(|error| panic!("{error}\n{line}"))
}
