//! The calls of an answer, put together from pieces as servers of all kinds send them.

use crate::provider::{ProviderError, ProviderEvent};
use crate::wire::decode::{read, violation};
use annals_core::CallId;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// What a delta brings of a call.
#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(borrow, default)]
    function: Option<FunctionDelta<'a>>,
    /// What the provider wants back with the call: Google's signature of the thought before it.
    #[serde(borrow, default)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// The calls so far.
#[derive(Default)]
pub(super) struct PartialCalls {
    all: Vec<PartialCall>,
    /// The position of the newest call of an index, and that of an id.
    by_index: BTreeMap<u64, usize>,
    by_id: BTreeMap<String, usize>,
    /// Bytes of names, ids and what goes back with calls.
    held: usize,
}

struct PartialCall {
    index: Option<u64>,
    id: String,
    /// Whether the server gave the id.
    named: bool,
    name: String,
    input: PartialInput,
    extra: Option<String>,
}

/// The text of an input, and whether it is a whole JSON value by now.
#[derive(Default)]
struct PartialInput {
    text: String,
    /// The brackets that close what is open, the innermost last.
    open: Vec<u8>,
    /// The text cannot be completed to a JSON value.
    broken: bool,
    quoted: bool,
    escaped: bool,
    whole: bool,
}

impl PartialInput {
    fn push(&mut self, piece: &str) {
        let before = self.text.len();
        self.text.push_str(piece);
        for (at, byte) in piece.bytes().enumerate() {
            match byte {
                _ if self.broken => return,
                b' ' | b'\t' | b'\n' | b'\r' if self.whole => {}
                _ if self.whole => (self.broken, self.whole) = (true, false),
                _ if self.escaped => self.escaped = false,
                b'\\' if self.quoted => self.escaped = true,
                b'"' => self.quoted = !self.quoted,
                _ if self.quoted => {}
                b'{' => self.open.push(b'}'),
                b'[' => self.open.push(b']'),
                b'}' | b']' if self.open.pop() != Some(byte) => self.broken = true,
                b'}' | b']' if self.open.is_empty() => {
                    let value = self.text.get(..=before + at).unwrap_or_default();
                    self.whole = serde_json::from_str::<IgnoredAny>(value).is_ok();
                    self.broken = !self.whole;
                }
                _ => {}
            }
        }
    }
}

impl PartialCalls {
    /// Whether there are no calls.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Bytes of what the calls so far are called, and of what goes back with them.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Takes in a piece.
    ///
    /// # Errors
    /// When it is of another tool than the call that it belongs to.
    pub(super) fn take(&mut self, piece: CallDelta<'_>, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        let CallDelta { index, id, function, extra_content } = piece;
        let FunctionDelta { name, arguments } = function.unwrap_or(FunctionDelta { name: None, arguments: None });
        let (id, name) = (id.filter(|id| !id.is_empty()), name.filter(|name| !name.is_empty()));
        let text = match arguments.map(RawValue::get) {
            None | Some("null") => String::new(),
            // Some servers write the input as JSON and not as its text.
            Some(raw) if raw.starts_with('"') => read(raw)?,
            Some(raw) => raw.to_owned(),
        };
        let at = self.place(index, id, name.as_deref(), text.trim_start().starts_with('{'));
        let Some(call) = self.all.get_mut(at) else { return Ok(()) };
        if let Some(name) = name {
            if call.name.is_empty() {
                self.held += name.len();
                call.name = name;
            } else if call.name != name {
                return Err(violation(format!("call {} was of {} and then of {name}", call.id, call.name)));
            }
        }
        if let Some(raw) = extra_content {
            let former = call.extra.replace(raw.get().to_owned());
            self.held = self.held.saturating_sub(former.map_or(0, |former| former.len())) + raw.get().len();
        }
        call.input.push(&text);
        if !text.is_empty() {
            let (call, name) = (CallId(call.id.clone()), call.name.clone());
            out.push(ProviderEvent::ToolInputDelta { call, name, text });
        }
        Ok(())
    }

    /// Which call a piece belongs to. Servers leave out the index or give every call the same one, leave out the id or
    /// give every piece another: a call begins with the name of its tool, and ends with its input.
    fn place(&mut self, index: Option<u64>, id: Option<String>, name: Option<&str>, begins: bool) -> usize {
        let known = id.as_ref().and_then(|id| self.by_id.get(id)).copied();
        let fits = |at: &usize| index.is_none() || self.all.get(*at).is_some_and(|call| call.index == index);
        // A further call may repeat an id: it begins with a name once the call so far is whole.
        let is_whole = |call: &PartialCall| call.input.whole && call.input.text.trim_start().starts_with('{');
        let further = |at: &usize| name.is_some() && begins && self.all.get(*at).is_some_and(is_whole);
        if let Some(at) = known.filter(fits).filter(|at| !further(at)) {
            return at;
        }
        let newest = match index {
            Some(index) => self.by_index.get(&index).copied(),
            None => self.all.len().checked_sub(1),
        };
        if let Some(at) = newest
            && let Some(call) = self.all.get_mut(at)
        {
            let begun = !call.name.is_empty() || !call.input.text.is_empty();
            let another = match (&id, name) {
                (_, None) => false,
                (Some(_), Some(_)) => begun,
                (None, Some(name)) if call.name == name => call.input.whole && begins,
                (None, Some(_)) => begun && (call.input.whole || call.input.text.is_empty()) && !call.named,
            };
            if !another {
                if let Some(id) = id.filter(|_| !begun && !call.named) {
                    self.held += id.len();
                    self.by_id.insert(id.clone(), at);
                    (call.id, call.named) = (id, true);
                }
                return at;
            }
        }
        let at = self.all.len();
        let named = id.is_some();
        let id = id.unwrap_or_else(|| self.unused());
        self.held += id.len();
        self.by_id.insert(id.clone(), at);
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        self.all.push(PartialCall {
            index,
            id,
            named,
            name: String::new(),
            input: PartialInput::default(),
            extra: None,
        });
        at
    }

    /// An id for a call that the server gives none.
    fn unused(&self) -> String {
        let mut numbered = (self.all.len()..).map(|n| format!("call_{n}"));
        numbered.find(|id| !self.by_id.contains_key(id)).unwrap_or_default()
    }

    /// The answer ended: the calls as they are now. A call that was cut off before its name is left out.
    ///
    /// # Errors
    /// When one has no name.
    pub(super) fn end(&mut self, cut: bool, out: &mut Vec<ProviderEvent>) -> Result<(), ProviderError> {
        for PartialCall { id, name, input, extra, .. } in std::mem::take(self).all {
            if name.is_empty() && !cut {
                return Err(violation(format!("call {id} has no name")));
            }
            if name.is_empty() {
                continue;
            }
            let metadata = extra.map(|extra| format!(r#"{{"extra_content":{extra}}}"#));
            out.push(ProviderEvent::ToolCalled { call: CallId(id), name, input: input.text, hosted: false, metadata });
        }
        Ok(())
    }
}
