//! A recorded request as its body has it: every part in its place, each with the event that explains it.
//!
//! The view is read from the body, so that nothing can be in one and not in the other; the events of the log say where each part
//! came from. A part that no event explains is shown as that, with its JSON Pointer.

use crate::format::counted;
use annals_core::event::{Purpose, RequestSent};
use annals_core::{Blobs, CallId, Json, Seq};
use annals_projections::{
    Block, Request, RequestMessage, RequestMessages, Role, SessionView, Span, SystemText, ToolResult,
};
use annals_providers::recorded::{
    Alignment, ConversationPart, KnownPart, RecordedProtocol, Speaker, Unit, WireConversation, WireItem, align,
    conversation, known_parts, parts,
};
use serde_json::Value;
use std::collections::BTreeSet;

/// A request read from its body.
#[derive(Clone, Debug)]
pub(crate) struct BodyView {
    /// All of it.
    pub request: Request,
    /// The JSON Pointer of each system text.
    pub system: Vec<String>,
    /// The system texts that are about the agent's build and change with each request.
    pub volatile: BTreeSet<usize>,
    /// The JSON Pointer of each block of each message.
    pub messages: Vec<Vec<String>>,
    /// The answer before, where the provider has the conversation up to that.
    pub previous: Option<String>,
    /// How much the events of the log say otherwise.
    pub difference: ViewDifference,
}

/// What differs between the body of a request and what the events of the log say of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewDifference {
    /// Parts of the body that no event explains.
    pub unexplained: u64,
    /// Parts that the events have in the model's view, and the body does not.
    pub not_sent: u64,
}

impl ViewDifference {
    /// Whether both say the same.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// In words.
    pub fn words(self) -> String {
        let parts =
            [(self.unexplained, "of the body from no known event"), (self.not_sent, "of the events not in the body")];
        let present = parts.into_iter().filter(|(count, _)| *count > 0);
        present.map(|(count, what)| format!("{} {what}", counted(count, "part"))).collect::<Vec<_>>().join(", ")
    }
}

/// Reads the body of a request to `target` (method and path). `folded` is the request as the events have it, `view` what they say
/// before it. `None` for a body that is of no protocol.
pub(crate) fn read(
    body: &str,
    target: &str,
    folded: &Request,
    sent: &RequestSent,
    view: &SessionView,
    blobs: &dyn Blobs,
) -> Option<BodyView> {
    let (_, path) = target.split_once(' ')?;
    let (protocol, _) = RecordedProtocol::of(path)?;
    let conversation = conversation(protocol, path, &json(body)?)?;
    let known: Vec<KnownPart> = view.history.selected().flat_map(|message| known_parts(message, blobs)).collect();
    let old: Vec<ConversationPart> = known.iter().map(|known| known.part.clone()).collect();
    let new = parts(&conversation.units, || old.clone());
    let names: Vec<ConversationPart> = new.iter().map(|(part, ..)| part.clone()).collect();
    let alignment = align(&old, &names);
    let explained = Explained::of(&conversation.units, &new, &known, &alignment);
    let is_turn = sent.purpose == Purpose::Turn;
    let (unexplained, not_sent) = if is_turn { alignment.differences(&old, &names) } else { (0, 0) };
    // Of a conversation that the provider has, the body only has what is new.
    let not_sent = if conversation.previous.is_some() { 0 } else { not_sent };
    let difference = ViewDifference { unexplained, not_sent };
    let mut messages: Vec<RequestMessage> = Vec::new();
    let mut pointers: Vec<Vec<String>> = Vec::new();
    for (number, unit) in conversation.units.iter().enumerate() {
        let mut last: Option<Role> = None;
        for (at, item) in unit.items.iter().enumerate() {
            let role = role(unit.speaker, item);
            if last != Some(role) {
                messages.push(RequestMessage { role, blocks: Vec::new() });
                pointers.push(Vec::new());
                last = Some(role);
            }
            let seq = explained.of_item(number, at);
            let pointer = unit.pointers.get(at).cloned().unwrap_or_default();
            if let (Some(message), Some(places)) = (messages.last_mut(), pointers.last_mut()) {
                message.blocks.push(block(item, seq));
                places.push(pointer);
            }
        }
    }
    let (system, places) = system(&conversation, folded, view, blobs);
    let mut options = conversation.options.clone();
    options.body.extend(conversation.exchange.clone());
    let request = Request {
        system,
        messages: RequestMessages::from_iter(messages),
        tools: conversation.tools.clone(),
        options,
        ..folded.clone()
    };
    let volatile = conversation.instructions.iter().enumerate().filter(|(_, text)| text.is_volatile).map(|(at, _)| at);
    let volatile = volatile.collect();
    Some(BodyView {
        request,
        system: places,
        volatile,
        messages: pointers,
        previous: conversation.previous,
        difference,
    })
}

fn json(body: &str) -> Option<Value> {
    serde_json::from_str(body.strip_prefix('\u{feff}').unwrap_or(body)).ok()
}

/// The event of each item of each message.
struct Explained(Vec<Vec<Option<Seq>>>);

impl Explained {
    fn of(
        units: &[Unit],
        new: &[(ConversationPart, usize, Vec<usize>)],
        known: &[KnownPart],
        alignment: &Alignment,
    ) -> Self {
        let mut events: Vec<Vec<Option<Seq>>> = units.iter().map(|unit| vec![None; unit.items.len()]).collect();
        for ((_, number, items), pairing) in new.iter().zip(&alignment.of_new) {
            let same = pairing.filter(|pairing| pairing.is_same).and_then(|pairing| known.get(pairing.at));
            for item in items {
                if let Some(event) = events.get_mut(*number).and_then(|unit| unit.get_mut(*item)) {
                    *event = same.map(|known| known.place);
                }
            }
        }
        Self(events)
    }

    fn of_item(&self, unit: usize, item: usize) -> Option<Seq> {
        self.0.get(unit)?.get(item).copied().flatten()
    }
}

fn role(speaker: Speaker, item: &WireItem) -> Role {
    match (speaker, item) {
        (Speaker::Assistant, _) => Role::Assistant,
        (_, WireItem::Result { .. }) => Role::Tool,
        (_, WireItem::Context { key: "agent/system" | "agent/developer", .. }) => Role::System,
        _ => Role::User,
    }
}

fn block(item: &WireItem, seq: Option<Seq>) -> Block {
    let (metadata, call) = (None, |id: &str| CallId(id.to_owned()));
    match item {
        WireItem::Text(text) | WireItem::Context { text, .. } | WireItem::Unknown { text } => {
            Block::Text { text: text.clone(), metadata, seq }
        }
        WireItem::Media(attachment) => Block::Media { attachment: attachment.clone(), seq },
        WireItem::Reasoning { text, metadata } => {
            Block::Reasoning { text: text.clone(), metadata: metadata.clone(), seq }
        }
        WireItem::Call { id, name, input, hosted, metadata } => Block::Call {
            id: call(id),
            tool: name.clone(),
            input: input.clone(),
            hosted: *hosted,
            metadata: metadata.clone(),
            seq,
        },
        WireItem::HostedResult { id, result, .. } => Block::HostedResult { id: call(id), result: result.clone(), seq },
        WireItem::Result { id, text, failed, attachments } => {
            let (output, error) = if *failed { (None, Some(text.clone())) } else { (Some(text.clone()), None) };
            Block::Result { result: ToolResult { id: call(id), output, error, attachments: attachments.clone() }, seq }
        }
    }
}

/// The system texts, each with the piece of the baseline that it is, and its place.
fn system(
    conversation: &WireConversation,
    folded: &Request,
    view: &SessionView,
    blobs: &dyn Blobs,
) -> (Vec<SystemText>, Vec<String>) {
    let epoch = view.epochs.current.as_ref().filter(|_| folded.purpose == Purpose::Turn);
    let mut parts: Vec<_> = epoch.iter().flat_map(|epoch| &epoch.parts).collect();
    let texts = conversation.instructions.iter().map(|instruction| {
        let text = instruction.text.clone();
        let part = parts.iter().position(|part| part.text.resolve(blobs) == text.as_str()).map(|at| parts.remove(at));
        let source = part.map(|part| part.key.clone());
        let seq = epoch.filter(|_| source.is_some()).map(|epoch| epoch.mark.seq);
        let spans = vec![Span { bytes: text.len(), seq, source }];
        (SystemText { text, spans }, instruction.pointer.clone())
    });
    texts.unzip()
}

/// Where a text is first in a body: its JSON Pointer. Texts that are JSON are read, too.
pub(crate) fn pointer_of(body: &Value, text: &str) -> Option<String> {
    fn within(value: &Value, text: &str, pointer: &str) -> Option<String> {
        match value {
            Value::String(own) => holds(own, text).then(|| pointer.to_owned()),
            Value::Array(values) => {
                values.iter().enumerate().find_map(|(at, value)| within(value, text, &format!("{pointer}/{at}")))
            }
            Value::Object(members) => members.iter().find_map(|(name, value)| {
                within(value, text, &format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")))
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }
    within(body, text, "")
}

/// Whether a text has another one: as it is, or in the texts of its JSON.
pub(crate) fn holds(own: &str, text: &str) -> bool {
    own.contains(text)
        || (own.starts_with(['{', '[']) && own.contains('\\'))
            && serde_json::from_str::<Value>(own).is_ok_and(|value| pointer_of(&value, text).is_some())
}

/// A JSON text of a body, or part of one.
pub(crate) fn piece_holds(piece: &str, text: &str) -> bool {
    if piece.contains(text) {
        return true;
    }
    if !piece.contains('\\') {
        return false;
    }
    match serde_json::from_str::<Value>(piece) {
        Ok(value) => pointer_of(&value, text).is_some(),
        Err(_) => {
            let escaped = Json::canonical(&Value::from(text));
            let escaped = escaped.0.inline().unwrap_or_default();
            escaped.get(1..escaped.len().saturating_sub(1)).is_some_and(|escaped| piece.contains(escaped))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_found_wherever_it_is_in_a_body() {
        let body = json!({"messages": [{"content": "one"}, {"calls": [{"arguments": "{\"a\":\"two\\nlines\"}"}]}]});
        assert_eq!(pointer_of(&body, "one").as_deref(), Some("/messages/0/content"));
        assert_eq!(pointer_of(&body, "two\nlines").as_deref(), Some("/messages/1/calls/0/arguments"));
        assert_eq!(pointer_of(&body, "three"), None);
        assert!(piece_holds(r#"{"text":"caf\u00e9 \"now\""}"#, "café \"now\""));
        assert!(piece_holds(r#"{"model":"m","system":"a \"b\"","#, "a \"b\""));
        assert!(!piece_holds(r#"{"text":"a"}"#, "b"));
    }
}
