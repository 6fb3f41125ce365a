//! Strict reading of JSON values; errors name the path of the value.

use super::Invalid;
use serde_json::{Map, Value};
use std::str::FromStr;

/// A value and its JSON path, such as `$.script[3].prompt.text`.
#[derive(Clone, Debug)]
pub(super) struct JsonAt<'a> {
    pub value: &'a Value,
    pub path: String,
}

/// An object whose fields are all known.
pub(super) struct KnownFields<'a> {
    at: JsonAt<'a>,
    map: &'a Map<String, Value>,
}

impl<'a> JsonAt<'a> {
    pub fn root(value: &'a Value) -> Self {
        Self { value, path: "$".to_owned() }
    }

    pub fn invalid(&self, reason: impl Into<String>) -> Invalid {
        Invalid { path: self.path.clone(), reason: reason.into() }
    }

    fn expected(&self, what: &str) -> Invalid {
        self.invalid(format!("expected {what}, found {}", kind(self.value)))
    }

    pub fn child(&self, name: &str, value: &'a Value) -> JsonAt<'a> {
        let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$');
        let path = if plain { format!("{}.{name}", self.path) } else { format!("{}[{name:?}]", self.path) };
        JsonAt { value, path }
    }

    /// The fields of an object, every one of them among `known`.
    pub fn fields(&self, known: &[&str]) -> Result<KnownFields<'a>, Invalid> {
        let map = self.object()?;
        for (name, value) in map {
            if !known.contains(&name.as_str()) {
                return Err(self.child(name, value).invalid(unknown("field", name, known)));
            }
        }
        Ok(KnownFields { at: self.clone(), map })
    }

    pub fn object(&self) -> Result<&'a Map<String, Value>, Invalid> {
        self.value.as_object().ok_or_else(|| self.expected("an object"))
    }

    /// The fields of an object with any names.
    pub fn entries(&self) -> Result<Vec<(&'a str, JsonAt<'a>)>, Invalid> {
        Ok(self.object()?.iter().map(|(name, value)| (name.as_str(), self.child(name, value))).collect())
    }

    pub fn items(&self) -> Result<Vec<JsonAt<'a>>, Invalid> {
        let items = self.value.as_array().ok_or_else(|| self.expected("a list"))?;
        Ok(items.iter().enumerate().map(|(n, value)| JsonAt { value, path: format!("{}[{n}]", self.path) }).collect())
    }

    pub fn text(&self) -> Result<&'a str, Invalid> {
        self.value.as_str().ok_or_else(|| self.expected("text"))
    }

    /// A text of at least one character; `what` describes it in the error.
    pub fn name(&self, what: &str) -> Result<&'a str, Invalid> {
        match self.text()? {
            "" => Err(self.invalid(format!("{what} must not be empty"))),
            text => Ok(text),
        }
    }

    pub fn boolean(&self) -> Result<bool, Invalid> {
        self.value.as_bool().ok_or_else(|| self.expected("true or false"))
    }

    /// A whole number from 0 in the range of `T`. `2.0` is one.
    pub fn whole<T: TryFrom<u64>>(&self) -> Result<T, Invalid> {
        let number = self.value.as_u64().or_else(|| {
            let float = self.value.as_f64()?;
            // Below 2^53 every whole float is exact.
            (float >= 0.0 && float.fract() == 0.0 && float < 9_007_199_254_740_992.0).then_some(float as u64)
        });
        let number = number.ok_or_else(|| self.expected("a whole number from 0"))?;
        T::try_from(number).map_err(|_| self.invalid(format!("{number} is too large")))
    }

    /// One of a few words.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, Invalid> {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let text = self.value.as_str().ok_or_else(|| self.expected(&format!("one of {}", names.join(", "))))?;
        words
            .iter()
            .find_map(|(name, word)| (*name == text).then_some(*word))
            .ok_or_else(|| self.invalid(unknown("word", text, &names)))
    }

    /// A text that `FromStr` parses, such as a key.
    pub fn parsed<T: FromStr<Err: std::fmt::Display>>(&self) -> Result<T, Invalid> {
        self.text()?.parse().map_err(|error| self.invalid(format!("{error}")))
    }

    /// An absolute path without `.` and `..`; a slash at the end is dropped.
    pub fn absolute(&self) -> Result<String, Invalid> {
        let text = self.text()?;
        if !text.starts_with('/') {
            return Err(self.invalid(format!("{text:?} is not an absolute path: start it with `/`")));
        }
        if text.split('/').any(|part| part == "." || part == "..") {
            return Err(self.invalid(format!("{text:?}: write the path without `.` and `..`")));
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        Ok(format!("/{}", parts.join("/")))
    }

    /// `{}`: an action without argument.
    pub fn nothing(&self) -> Result<(), Invalid> {
        self.fields(&[]).map(drop)
    }
}

impl<'a> KnownFields<'a> {
    pub fn get(&self, name: &str) -> Option<JsonAt<'a>> {
        self.map.get(name).map(|value| self.at.child(name, value))
    }

    pub fn need(&self, name: &str) -> Result<JsonAt<'a>, Invalid> {
        self.get(name).ok_or_else(|| self.at.invalid(format!("the field `{name}` is missing")))
    }

    /// Reads a field if it is there.
    pub fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(JsonAt<'a>) -> Result<T, Invalid>,
    ) -> Result<Option<T>, Invalid> {
        self.get(name).map(read).transpose()
    }

    pub fn at(&self) -> &JsonAt<'a> {
        &self.at
    }
}

/// The kind of a value, for error messages.
fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.chars().count() <= 40 => format!("the text {text:?}"),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Says that a name is not known, and which one may have been meant.
pub(super) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|candidate| (distance(name, candidate), *candidate)).min();
    let hint = match nearest {
        Some((distance, candidate)) if distance <= 2.max(name.len() / 3) => format!("; did you mean `{candidate}`?"),
        _ if known.is_empty() => "; none is allowed here".to_owned(),
        _ => format!("; known here: {}", known.join(", ")),
    };
    format!("unknown {what} `{name}`{hint}")
}

/// Levenshtein distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let change = row[j] + usize::from(x != *y);
            next.push(change.min(row[j + 1] + 1).min(next[j] + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}
