//! What changed in every view between two cuts of a session.

mod words;

pub use words::{in_brief, in_full};

use annals_core::Blobs;
use annals_projections::{SessionView, ToJson};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The view: `history`, `snapshot`, ...
    pub view: &'static str,
    /// Where in it: a field, a key, or `seq 12` of an item.
    pub path: String,
    /// The value before; `None` when it did not exist.
    pub before: Option<Value>,
    /// The value after; `None` when it does not exist.
    pub after: Option<Value>,
}

/// The views that are compared, in the order in which they are shown; of the requests those from a place on.
fn views(view: &SessionView, requests_from: usize, blobs: &dyn Blobs) -> [(&'static str, Value); 10] {
    let without = |mut value: Value, fields: &[&str]| {
        if let Value::Object(map) = &mut value {
            fields.iter().for_each(|field| drop(map.remove(*field)));
        }
        value
    };
    let baseline = without(view.epochs.baseline_json(blobs), &["text"]);
    let calls: Map<String, Value> = view
        .calls
        .open
        .iter()
        .map(|open| (open.call.to_string(), json!({"seq": open.seq, "tool": open.name})))
        .collect();
    let questions = view.permissions.waiting.iter().map(|(permission, question)| {
        (permission.to_string(), json!({"action": question.action, "resources": question.resources}))
    });
    let requests: Vec<Value> = view
        .requests
        .marks
        .range(requests_from..view.requests.marks.len())
        .map(|mark| {
            json!({"seq": mark.seq, "purpose": mark.purpose, "attempt": mark.attempt, "model": mark.model,
                "digest": mark.digest})
        })
        .collect();
    [
        // Its clock and its end change with every event.
        ("session", without(view.session.to_json(None, blobs), &["updated", "next"])),
        ("pending", view.inbox.to_json(blobs)),
        ("history", view.history.to_json(blobs)),
        ("baseline", baseline),
        ("snapshot", view.epochs.snapshot_json(blobs)),
        ("epochs", view.epochs.marks_json()),
        ("open calls", Value::Object(calls)),
        ("questions", Value::Object(questions.collect())),
        ("requests", Value::Array(requests)),
        ("usage", view.usage.to_json(blobs)),
    ]
}

/// Everything that differs between two views of a session.
pub fn changes(before: &SessionView, after: &SessionView, blobs: &dyn Blobs) -> Vec<Change> {
    let mut found = Vec::new();
    let marks = before.requests.marks.iter().zip(after.requests.marks.iter());
    let same = marks.take_while(|(before, after)| before == after).count();
    for ((view, before), (_, after)) in views(before, same, blobs).into_iter().zip(views(after, same, blobs)) {
        compare(view, "", before, after, &mut found);
    }
    let undone = |view: &SessionView| -> Vec<u64> {
        let items = view.transcript.items.iter().map(|item| item.seq);
        items.filter(|seq| view.transcript.is_reverted(*seq)).map(|seq| seq.0).collect()
    };
    compare("undone", "", json!(undone(before)), json!(undone(after)), &mut found);
    found
}

/// What an item of a list is known by.
fn identity(item: &Value) -> Option<String> {
    let named = |name: &str| {
        item.get(name).map(|value| match value {
            Value::String(text) => format!("{name} {text}"),
            other => format!("{name} {other}"),
        })
    };
    named("call").or_else(|| named("seq")).or_else(|| named("key")).or_else(|| named("id"))
}

fn by_identity(items: &[Value]) -> Option<BTreeMap<(usize, String), &Value>> {
    items.iter().enumerate().map(|(at, item)| Some(((at, identity(item)?), item))).collect()
}

fn compare(view: &'static str, path: &str, before: Value, after: Value, found: &mut Vec<Change>) {
    if before == after {
        return;
    }
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path} {name}") };
    match (before, after) {
        (Value::Object(mut before), Value::Object(after)) => {
            for (name, after) in after {
                match before.remove(&name) {
                    Some(before) => compare(view, &below(&name), before, after, found),
                    None => found.push(Change { view, path: below(&name), before: None, after: Some(after) }),
                }
            }
            for (name, before) in before {
                found.push(Change { view, path: below(&name), before: Some(before), after: None });
            }
        }
        (Value::Array(before), Value::Array(after)) => match (by_identity(&before), by_identity(&after)) {
            (Some(old), Some(new)) => {
                let mut old: BTreeMap<String, &Value> = old.into_iter().map(|((_, name), item)| (name, item)).collect();
                let mut added = Vec::new();
                for ((_, name), item) in new {
                    match old.remove(&name) {
                        Some(former) => compare(view, &below(&name), former.clone(), item.clone(), found),
                        None => added.push((name, item)),
                    }
                }
                let mut gone: Vec<(String, &Value)> = old.into_iter().collect();
                gone.sort_by_key(|(name, _)| before.iter().position(|item| identity(item).as_ref() == Some(name)));
                found.extend(gone.into_iter().map(|(name, item)| Change {
                    view,
                    path: below(&name),
                    before: Some(item.clone()),
                    after: None,
                }));
                found.extend(added.into_iter().map(|(name, item)| Change {
                    view,
                    path: below(&name),
                    before: None,
                    after: Some(item.clone()),
                }));
            }
            _ => found.push(Change {
                view,
                path: path.to_owned(),
                before: Some(Value::Array(before)),
                after: Some(Value::Array(after)),
            }),
        },
        (before, after) => {
            let some = |value: Value| (!value.is_null()).then_some(value);
            found.push(Change { view, path: path.to_owned(), before: some(before), after: some(after) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(before: Value, after: Value) -> Vec<String> {
        let mut found = Vec::new();
        compare("v", "", before, after, &mut found);
        let side = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
        found
            .iter()
            .map(|change| format!("{}: {} -> {}", change.path, side(&change.before), side(&change.after)))
            .collect()
    }

    #[test]
    fn items_are_compared_by_what_they_are_known_by() {
        let before = json!([{"seq": 1, "text": "a"}, {"seq": 2, "text": "b"}]);
        let after = json!([{"seq": 2, "text": "c"}, {"seq": 5, "text": "d"}]);
        assert_eq!(
            changes(before, after),
            [
                r#"seq 2 text: "b" -> "c""#,
                r#"seq 1: {"seq":1,"text":"a"} -> nothing"#,
                r#"seq 5: nothing -> {"seq":5,"text":"d"}"#
            ]
        );
    }

    #[test]
    fn equal_views_differ_in_nothing() {
        assert_eq!(changes(json!({"a": [1, 2]}), json!({"a": [1, 2]})), Vec::<String>::new());
        assert_eq!(changes(json!({"a": null}), json!({"a": 1})), ["a: nothing -> 1"]);
    }
}
