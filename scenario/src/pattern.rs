//! Patterns: what an `expect` requires of a view, and where a view differs.

mod judge;
mod same;
#[cfg(test)]
mod tests;

use super::Invalid;
use super::reader::{JsonAt, unknown};
use annals_core::canonical;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub use judge::{judge, value_judge};
pub use same::SameAs;

/// The captured views, by label.
pub type CapturedViews = BTreeMap<String, Value>;

/// A pattern as `fixtures/scenarios/FORMAT.md` defines it: a partial object, a list item by item, a value, or one of
/// the special objects.
#[derive(Clone, Debug, PartialEq)]
pub enum ViewPattern {
    /// `{"$any": true}`: any value.
    Any,
    /// `{"$contains": p}`: a text that contains the text `p`, or a list with an item that matches `p`.
    Contains(Box<ViewPattern>),
    /// `{"$length": n}`: `n` items, fields or characters.
    Length(u64),
    /// `{"$absent": true}`: the field must not exist.
    Absent,
    /// `{"$not": p}`: does not match `p`, or does not exist.
    Not(Box<ViewPattern>),
    /// `{"$same": "label.path"}`: equal to the captured value.
    Same(SameAs),
    /// `{"$only": [p, ...]}`: of a list, the items with the `type` of one of these patterns are exactly these, in order.
    Only(Vec<ViewPattern>),
    /// An object with at least these fields.
    Fields(BTreeMap<String, ViewPattern>),
    /// A list of exactly these items.
    Items(Vec<ViewPattern>),
    /// Exactly this text, number, boolean or `null`; numbers by value.
    Value(Value),
}

/// A place where a view does not match a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Fields and indices from the view to the deepest difference, joined by dots.
    pub path: String,
    /// The pattern at this place.
    pub expected: Value,
    /// The value at this place; `{"$absent": true}` if there is no value.
    pub found: Value,
}

const OPERATORS: &[&str] = &["$any", "$contains", "$length", "$absent", "$not", "$same", "$only"];

impl ViewPattern {
    /// Reads a pattern outside of a scenario file, by the same rules.
    ///
    /// # Errors
    /// The first error in it, with its path.
    pub fn parse(value: &Value) -> Result<Self, Invalid> {
        Self::read(&JsonAt::root(value))
    }

    /// Reads a pattern. Unknown operators, and operators with further fields, are errors.
    pub(super) fn read(at: &JsonAt<'_>) -> Result<Self, Invalid> {
        match at.value {
            Value::Array(_) => at.items()?.iter().map(Self::read).collect::<Result<_, _>>().map(Self::Items),
            Value::Object(fields) => match fields.keys().find(|name| name.starts_with('$')) {
                Some(operator) => Self::operator(at, operator, fields),
                None => {
                    let fields = at.entries()?.into_iter();
                    let read = |(name, at): (&str, JsonAt<'_>)| Ok((name.to_owned(), Self::read(&at)?));
                    fields.map(read).collect::<Result<_, _>>().map(Self::Fields)
                }
            },
            plain => Ok(Self::Value(plain.clone())),
        }
    }

    fn operator(at: &JsonAt<'_>, name: &str, fields: &Map<String, Value>) -> Result<Self, Invalid> {
        if !OPERATORS.contains(&name) {
            return Err(at.invalid(unknown("pattern", name, OPERATORS)));
        }
        if fields.len() != 1 {
            let others: Vec<&str> = fields.keys().map(String::as_str).filter(|other| *other != name).collect();
            return Err(at.invalid(format!(
                "`{name}` must be the only field of its object, but found also `{}`",
                others.join("`, `")
            )));
        }
        let argument = at.fields(&[name])?.need(name)?;
        let only_true = |pattern: Self| match argument.boolean()? {
            true => Ok(pattern),
            false => Err(argument.invalid(format!("`{name}` takes only `true`"))),
        };
        match name {
            "$any" => only_true(Self::Any),
            "$absent" => only_true(Self::Absent),
            "$contains" => Ok(Self::Contains(Box::new(Self::read(&argument)?))),
            "$not" => Ok(Self::Not(Box::new(Self::read(&argument)?))),
            "$only" => Self::only(&argument),
            "$length" => argument.whole().map(Self::Length),
            _ => argument.name("what `$same` names").map(|path| Self::Same(SameAs::new(path))),
        }
    }

    fn only(at: &JsonAt<'_>) -> Result<Self, Invalid> {
        let items: Vec<Self> = at.items()?.iter().map(Self::read).collect::<Result<_, _>>()?;
        match items.iter().all(|item| item.type_of().is_some()) && !items.is_empty() {
            true => Ok(Self::Only(items)),
            false => Err(at.invalid("`$only` takes a list of patterns, each with a `type`")),
        }
    }

    /// The `type` that an object must have to match.
    fn type_of(&self) -> Option<&Value> {
        match self {
            Self::Fields(fields) => match fields.get("type") {
                Some(Self::Value(kind)) => Some(kind),
                _ => None,
            },
            _ => None,
        }
    }

    /// The pattern as it is written.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Any => json!({ "$any": true }),
            Self::Contains(pattern) => json!({ "$contains": pattern.to_json() }),
            Self::Length(length) => json!({ "$length": length }),
            Self::Absent => absent(),
            Self::Not(pattern) => json!({ "$not": pattern.to_json() }),
            Self::Same(same) => json!({ "$same": same.to_string() }),
            Self::Only(items) => json!({ "$only": items.iter().map(Self::to_json).collect::<Vec<_>>() }),
            Self::Fields(fields) => fields.iter().map(|(name, pattern)| (name.clone(), pattern.to_json())).collect(),
            Self::Items(items) => items.iter().map(Self::to_json).collect(),
            Self::Value(value) => value.clone(),
        }
    }

    /// Every place where `found` does not match; empty if it matches. `path` is the path of `found`.
    pub fn check(&self, path: &str, found: Option<&Value>, captures: &CapturedViews) -> Vec<Mismatch> {
        let mut mismatches = Vec::new();
        // A `$same` without a captured value would make a `$not` around it true: it always fails.
        self.unresolved(path, captures, &mut mismatches);
        if mismatches.is_empty() {
            self.compare(path, found, captures, &mut mismatches);
        }
        mismatches
    }

    fn compare(&self, path: &str, found: Option<&Value>, captures: &CapturedViews, out: &mut Vec<Mismatch>) {
        let mismatch = || Mismatch {
            path: path.to_owned(),
            expected: self.to_json(),
            found: found.cloned().unwrap_or_else(absent),
        };
        let Some(value) = found else {
            match self {
                Self::Absent | Self::Not(_) => {}
                _ => out.push(mismatch()),
            }
            return;
        };
        match (self, value) {
            (Self::Fields(fields), Value::Object(object)) => {
                for (name, pattern) in fields {
                    pattern.compare(&join(path, name), object.get(name), captures, out);
                }
            }
            (Self::Items(items), Value::Array(list)) if items.len() == list.len() => {
                for (at, (pattern, item)) in items.iter().zip(list).enumerate() {
                    pattern.compare(&join(path, &at.to_string()), Some(item), captures, out);
                }
            }
            (Self::Same(same), _) => {
                if let Some(captured) = same.resolve(captures) {
                    same::differences(path, captured, value, out);
                }
            }
            _ if self.holds(value, captures) => {}
            _ => out.push(mismatch()),
        }
    }

    fn matches(&self, found: Option<&Value>, captures: &CapturedViews) -> bool {
        let mut mismatches = Vec::new();
        self.compare("", found, captures, &mut mismatches);
        mismatches.is_empty()
    }

    /// Whether a pattern matches that has no nested fields or items.
    fn holds(&self, value: &Value, captures: &CapturedViews) -> bool {
        match self {
            Self::Any => true,
            Self::Contains(pattern) => match (value, &**pattern) {
                (Value::String(text), Self::Value(Value::String(part))) => text.contains(part.as_str()),
                (Value::Array(items), _) => items.iter().any(|item| pattern.matches(Some(item), captures)),
                _ => false,
            },
            Self::Length(length) => {
                let found = match value {
                    Value::Array(items) => items.len(),
                    Value::Object(fields) => fields.len(),
                    Value::String(text) => text.chars().count(),
                    _ => return false,
                };
                u64::try_from(found).is_ok_and(|found| found == *length)
            }
            Self::Not(pattern) => !pattern.matches(Some(value), captures),
            Self::Only(items) => value.as_array().is_some_and(|list| {
                let types: Vec<_> = items.iter().filter_map(Self::type_of).collect();
                let found: Vec<_> =
                    list.iter().filter(|item| item.get("type").is_some_and(|kind| types.contains(&kind))).collect();
                found.len() == items.len() && items.iter().zip(found).all(|(p, item)| p.matches(Some(item), captures))
            }),
            Self::Value(expected) => canonical::equal(expected, value),
            Self::Absent | Self::Same(_) | Self::Fields(_) | Self::Items(_) => false,
        }
    }

    fn unresolved(&self, path: &str, captures: &CapturedViews, out: &mut Vec<Mismatch>) {
        match self {
            Self::Same(same) if same.resolve(captures).is_none() => {
                out.push(Mismatch { path: path.to_owned(), expected: self.to_json(), found: same.missing(captures) });
            }
            Self::Contains(pattern) | Self::Not(pattern) => pattern.unresolved(path, captures, out),
            Self::Fields(fields) => {
                fields.iter().for_each(|(name, pattern)| pattern.unresolved(&join(path, name), captures, out));
            }
            Self::Items(items) | Self::Only(items) => {
                let places = items.iter().enumerate();
                places.for_each(|(at, pattern)| pattern.unresolved(&join(path, &at.to_string()), captures, out));
            }
            Self::Any | Self::Length(_) | Self::Absent | Self::Same(_) | Self::Value(_) => {}
        }
    }
}

fn absent() -> Value {
    json!({ "$absent": true })
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
