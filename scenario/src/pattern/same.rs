//! `$same`: a captured value, and the differences of another one.

use super::{CapturedViews, Mismatch, absent, join};
use annals_core::canonical;
use serde_json::{Value, json};
use std::fmt;

/// The name of a captured value: a label, then fields and indices, joined by dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameAs {
    path: String,
}

impl SameAs {
    /// A name, which is resolved when it is used.
    pub fn new(path: &str) -> Self {
        Self { path: path.to_owned() }
    }

    fn label(&self) -> (&str, &str) {
        self.path.split_once('.').unwrap_or((&self.path, ""))
    }

    /// The captured value, if there is one.
    pub fn resolve<'a>(&self, captures: &'a CapturedViews) -> Option<&'a Value> {
        let (label, rest) = self.label();
        descend(captures.get(label)?, rest)
    }

    /// What to report when the value does not exist.
    pub(super) fn missing(&self, captures: &CapturedViews) -> Value {
        let (label, _) = self.label();
        if captures.contains_key(label) {
            json!({ "captured": label, "at this path": absent() })
        } else {
            json!({ "captured so far": captures.keys().collect::<Vec<_>>() })
        }
    }
}

impl fmt::Display for SameAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.path)
    }
}

/// Follows a path. A field may contain dots (keys of sources do), so every way to split the path is tried,
/// shortest field first.
fn descend<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return Some(value);
    }
    let cuts = path.match_indices('.').map(|(at, _)| at).chain(std::iter::once(path.len()));
    cuts.into_iter().find_map(|cut| {
        let (name, rest) = (path.get(..cut)?, path.get(cut + 1..).unwrap_or_default());
        let inner = match value {
            Value::Object(fields) => fields.get(name)?,
            Value::Array(items) => items.get(name.parse::<usize>().ok()?)?,
            _ => return None,
        };
        descend(inner, rest)
    })
}

/// The deepest places where two values differ; numbers by value.
pub(super) fn differences(path: &str, expected: &Value, found: &Value, out: &mut Vec<Mismatch>) {
    match (expected, found) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&join(path, &at.to_string()), a, b, out);
            }
        }
        (Value::Object(a), Value::Object(b)) => {
            for (name, a) in a {
                match b.get(name) {
                    Some(b) => differences(&join(path, name), a, b, out),
                    None => out.push(Mismatch { path: join(path, name), expected: a.clone(), found: absent() }),
                }
            }
            for (name, b) in b.iter().filter(|(name, _)| !a.contains_key(*name)) {
                out.push(Mismatch { path: join(path, name), expected: absent(), found: b.clone() });
            }
        }
        _ if canonical::equal(expected, found) => {}
        _ => out.push(Mismatch { path: path.to_owned(), expected: expected.clone(), found: found.clone() }),
    }
}
