//! A Context Source that writes down every call of a renderer.

extern crate std;

use crate::context::{Codec, Observation, Observed, Rendering, Undecodable};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde_json::Value;
use std::sync::Mutex;

/// The calls of all renderers so far, such as `update a/b`.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<Vec<String>>>);

impl Calls {
    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    fn note(&self, kind: &str, key: &str) {
        self.0.lock().unwrap().push(format!("{kind} {key}"));
    }
}

/// Its value is `{"v": TEXT}`; anything else does not decode.
pub(super) struct Source {
    key: &'static str,
    removal: bool,
    empty: Option<&'static str>,
    calls: Calls,
}

impl Source {
    fn text(&self, kind: &str, text: String) -> String {
        self.calls.note(kind, self.key);
        if self.empty == Some(kind) { String::new() } else { text }
    }
}

fn read(value: &Value) -> Result<&str, Undecodable> {
    value["v"].as_str().ok_or(Undecodable)
}

impl Codec for Source {
    fn same(&self, stored: &Value, current: &Value) -> Result<bool, Undecodable> {
        Ok(read(stored)? == read(current)?)
    }
}

impl Rendering for Source {
    fn baseline(&self, current: &Value) -> String {
        self.text("baseline", format!("{} is {}", self.key, read(current).unwrap()))
    }

    fn update(&self, previous: &Value, current: &Value) -> String {
        let (previous, current) = (read(previous).unwrap(), read(current).unwrap());
        self.text("update", format!("{} was {previous}, is {current}", self.key))
    }

    fn removed(&self, current: &Value) -> Option<String> {
        let text = format!("{} was {} last", self.key, read(current).unwrap());
        self.removal.then(|| self.text("removal", text))
    }
}

/// One reading of a source at `key`: its value, or `None` when it is unavailable.
pub(super) fn observed(key: &'static str, value: Option<Value>, removal: bool, calls: &Calls) -> Observation {
    observed_with(key, value, Source { key, removal, empty: None, calls: calls.clone() })
}

/// The same of a source whose renderer of the given kind gives no text.
pub(super) fn rendering_empty(key: &'static str, value: Value, empty: &'static str) -> Observation {
    let source = Source { key, removal: true, empty: Some(empty), calls: Calls::default() };
    observed_with(key, Some(value), source)
}

fn observed_with(key: &str, value: Option<Value>, source: Source) -> Observation {
    let observed = value.map_or(Observed::Unavailable, Observed::Available);
    Observation { key: key.parse().unwrap(), observed, render: Box::new(source) }
}
