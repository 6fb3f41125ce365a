//! The canonical JSON of requests one after another: messages that did not change are not written again.

use super::failed;
use crate::joined::JoinedItems;
use crate::{Built, IndexedRequest, Lack};
use annals_core::canonical;
use annals_core::event::Purpose;
use annals_projections::json::RequestMessageJson;
use annals_projections::{BuiltRequest, LoweredMessage};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Writes the requests of [`crate::each_request`] in order.
#[derive(Debug, Default)]
pub(crate) struct RequestTexts {
    /// The messages of the newest turn request as they are sent.
    sent: JoinedItems,
    /// The same as the view `requests` shows them.
    shown: JoinedItems,
    /// The message of a request with a prompt of its own.
    alone: JoinedItems,
    text: String,
}

impl RequestTexts {
    /// All that is sent, before its wire encoding; or why that is not known.
    pub(crate) fn body(&mut self, step: &IndexedRequest, built: &Built<'_>) -> &str {
        self.text.clear();
        match built {
            Ok((request, lacks)) => {
                let messages = update(&mut self.sent, &mut self.alone, request, LoweredMessage::json);
                body(&mut self.text, step, request, lacks, messages);
            }
            Err(error) => {
                let error = json!({ "seq": step.seq, "purpose": step.purpose, "error": error.to_string() });
                self.text.push_str(&canonical::value(&error));
            }
        }
        &self.text
    }

    /// An item of the view `requests`.
    pub(crate) fn item(&mut self, step: &IndexedRequest, built: &Built<'_>) -> &str {
        self.text.clear();
        match built {
            Ok((request, lacks)) => {
                let shown = |value: &RequestMessageJson<'_>| canonical::value(&json!(value));
                let write = |lowered: &LoweredMessage| shown(&RequestMessageJson::of(&lowered.message));
                let messages = update(&mut self.shown, &mut self.alone, request, write);
                item(&mut self.text, step, request, lacks, messages);
            }
            Err(error) => self.text.push_str(&canonical::value(&failed(step, error))),
        }
        &self.text
    }
}

/// Writes the messages that the turn request before did not have; gives all of them.
fn update<'a>(
    turns: &'a mut JoinedItems,
    alone: &'a mut JoinedItems,
    request: &BuiltRequest<'_>,
    write: impl Fn(&LoweredMessage) -> String,
) -> &'a JoinedItems {
    let items = if request.purpose == Purpose::Turn { turns } else { alone };
    items.truncate(request.same);
    let same = items.len();
    request.messages().skip(same).for_each(|message| items.push(&write(message)));
    items
}

/// Writes members of an object in canonical order.
struct Members<'a>(&'a mut String);

impl Members<'_> {
    fn name(&mut self, name: &str) {
        self.0.push_str(if self.0.is_empty() { "{\"" } else { ",\"" });
        self.0.push_str(name);
        self.0.push_str("\":");
    }

    fn add(&mut self, name: &str, value: &Value) {
        self.name(name);
        self.0.push_str(&canonical::value(value));
    }

    fn list(&mut self, name: &str, items: &JoinedItems) {
        self.name(name);
        self.0.push('[');
        self.0.push_str(items.text());
        self.0.push(']');
    }
}

fn system(request: &BuiltRequest<'_>) -> Value {
    request.head.system.iter().map(|system| system.text.as_str()).collect()
}

fn body(
    text: &mut String,
    step: &IndexedRequest,
    request: &BuiltRequest<'_>,
    lacks: &BTreeSet<Lack>,
    messages: &JoinedItems,
) {
    let (head, mut members) = (&*request.head, Members(text));
    let model = &head.model;
    members.add("agent", &json!(request.agent));
    members.add("digest", &json!(request.digest()));
    members.add("lacks", &json!(lacks));
    members.list("messages", messages);
    members.add("model", &json!({"model": model.model, "protocol": model.protocol, "encoding": model.encoding}));
    members.add("options", &json!(head.options));
    members.add("purpose", &json!(step.purpose));
    members.add("seq", &json!(step.seq));
    members.add("system", &system(request));
    members.add("tool_choice", &json!(request.tool_choice));
    members.add("tools", &json!(head.tools));
    text.push('}');
}

fn item(
    text: &mut String,
    step: &IndexedRequest,
    request: &BuiltRequest<'_>,
    lacks: &BTreeSet<Lack>,
    messages: &JoinedItems,
) {
    let (head, mut members) = (&*request.head, Members(text));
    members.add("agent", &json!(request.agent));
    members.add("digest", &json!(request.digest()));
    if !lacks.is_empty() {
        members.add("lacks", &json!(lacks));
    }
    members.list("messages", messages);
    members.add("model", &json!(head.model.model));
    members.add("purpose", &json!(step.purpose));
    members.add("seq", &json!(step.seq));
    members.add("system", &system(request));
    members.add("tool_choice", &json!(request.tool_choice));
    members.add("tools", &head.tools.iter().map(|tool| tool.name.as_str()).collect());
    text.push('}');
}
