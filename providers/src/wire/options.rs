//! Generation Controls, Model Request Options and what is laid over the body: three things, kept apart
//! (`docs/wire.md#options`).

use super::body::{BodyFields, received};
use super::{BodyError, Protocol};
use annals_core::{Json, NoBlobs};
use annals_projections::Request;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A Generation Control and how a protocol says it.
pub(super) struct Control {
    /// Its neutral name.
    pub(super) name: &'static str,
    /// The protocol's field.
    pub(super) field: &'static str,
    /// What it may be.
    pub(super) kind: ControlKind,
}

/// What a Generation Control may be.
#[derive(Clone, Copy)]
pub(super) enum ControlKind {
    /// A whole number above 0.
    Count,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// A text or a list of texts; written as a list.
    Texts,
}

impl ControlKind {
    const fn expected(self) -> &'static str {
        match self {
            Self::Count => "a whole number above 0",
            Self::Whole => "a whole number",
            Self::Number => "a number",
            Self::Texts => "a text or a list of texts",
        }
    }

    fn allows(self, value: &Value) -> bool {
        match self {
            Self::Count => value.as_u64().is_some_and(|count| count > 0),
            Self::Whole => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Texts => value.is_string() || value.as_array().is_some_and(|list| list.iter().all(Value::is_string)),
        }
    }
}

/// Writes the Generation Controls by a protocol's table of them.
///
/// # Errors
/// When the table lacks a control, or its value is not allowed.
pub(super) fn controls(
    fields: &mut BodyFields,
    request: &Request,
    protocol: Protocol,
    table: &[Control],
) -> Result<(), BodyError> {
    for (name, json) in &request.options.controls {
        let Some(control) = table.iter().find(|control| control.name == name) else {
            let known = table.iter().map(|control| control.name).collect();
            return Err(BodyError::UnknownControl { control: name.clone(), protocol, known });
        };
        let text = text_of(json);
        let raw = received(|| format!("the control {name}"), &text)?;
        let value: Value = parsed(name, raw)?;
        if !control.kind.allows(&value) {
            return Err(wrong(name, control.kind.expected(), raw));
        }
        match (control.kind, value) {
            (ControlKind::Texts, Value::String(text)) => fields.put(control.field, &[text])?,
            _ => fields.put(control.field, raw)?,
        }
    }
    Ok(())
}

/// Lays the request's own fields over the body.
pub(super) fn overlay(fields: &mut BodyFields, request: &Request, owned: &[&str]) -> Result<(), BodyError> {
    let body = &request.options.body;
    let refused: Vec<String> = body.keys().filter(|name| owned.contains(&name.as_str())).cloned().collect();
    if !refused.is_empty() {
        return Err(BodyError::OwnedFields(refused));
    }
    for (name, json) in body {
        // A key is the connection's business and never a part of what is sent.
        if name != "apiKey" {
            fields.put(name, received(|| format!("the body field {name}"), &text_of(json))?)?;
        }
    }
    Ok(())
}

/// The Model Request Options of one namespace. Those of others are for other providers and say nothing here.
pub(super) struct ProtocolOptions<'a> {
    namespace: &'static str,
    values: BTreeMap<&'a str, Box<RawValue>>,
}

impl<'a> ProtocolOptions<'a> {
    /// Reads them.
    ///
    /// # Errors
    /// When one of them is unknown, or no JSON.
    pub(super) fn of(
        request: &'a Request,
        protocol: Protocol,
        namespace: &'static str,
        known: &[&'static str],
    ) -> Result<Self, BodyError> {
        let mut values = BTreeMap::new();
        for (option, json) in &request.options.options {
            let Some(name) = option.strip_prefix(namespace).and_then(|rest| rest.strip_prefix('.')) else { continue };
            if !known.contains(&name) {
                let known = known.to_vec();
                return Err(BodyError::UnknownOption { option: option.clone(), protocol, known });
            }
            let raw = received(|| format!("the option {option}"), &text_of(json))?.to_owned();
            values.insert(name, raw);
        }
        Ok(Self { namespace, values })
    }

    /// An option, unparsed.
    pub(super) fn raw(&self, name: &str) -> Option<&RawValue> {
        self.values.get(name).map(|raw| &**raw)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<String>, BodyError> {
        self.read(name, "a text", |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        })
    }

    /// One of some words.
    pub(super) fn word(
        &self,
        name: &str,
        expected: &'static str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, BodyError> {
        self.read(name, expected, |value| words.iter().copied().find(|word| value.as_str() == Some(word)))
    }

    /// Yes or no.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, BodyError> {
        self.read(name, "true or false", |value| value.as_bool())
    }

    /// A text, or whether it is requested at all: `true` means `usual`.
    pub(super) fn text_or(&self, name: &str, usual: &str) -> Result<Option<Option<String>>, BodyError> {
        self.read(name, "a text, true or false", |value| match value {
            Value::String(text) => Some(Some(text)),
            Value::Bool(wanted) => Some(wanted.then(|| usual.to_owned())),
            _ => None,
        })
    }

    /// A list with unparsed elements.
    pub(super) fn list(&self, name: &str) -> Result<Vec<&RawValue>, BodyError> {
        let Some(raw) = self.raw(name) else { return Ok(Vec::new()) };
        serde_json::from_str(raw.get()).map_err(|_| wrong(&self.named(name), "a list", raw))
    }

    /// An option as a value.
    pub(super) fn read<T>(
        &self,
        name: &str,
        expected: &'static str,
        take: impl FnOnce(Value) -> Option<T>,
    ) -> Result<Option<T>, BodyError> {
        let Some(raw) = self.raw(name) else { return Ok(None) };
        let value = parsed(&self.named(name), raw)?;
        take(value).map(Some).ok_or_else(|| wrong(&self.named(name), expected, raw))
    }

    fn named(&self, name: &str) -> String {
        format!("{}.{name}", self.namespace)
    }
}

fn text_of(json: &Json) -> Cow<'_, str> {
    // What a request holds is resolved; a missing blob reads as a note, which is not JSON.
    json.0.resolve(&NoBlobs)
}

fn parsed(name: &str, raw: &RawValue) -> Result<Value, BodyError> {
    serde_json::from_str(raw.get()).map_err(|error| BodyError::NotJson { what: name.into(), why: error.to_string() })
}

fn wrong(name: &str, expected: &'static str, raw: &RawValue) -> BodyError {
    let found = raw.get().chars().take(60).collect();
    BodyError::Value { name: name.into(), expected, found }
}
