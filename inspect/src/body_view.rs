//! A recorded request as its body has it: every part in its place, each with the event that explains it.
//!
//! The view is read from the body, so that nothing can be in one and not in the other; the events of the log say where each part
//! came from. A part that no event explains is shown as that, with its JSON Pointer.

use crate::format::counted;
use annals_core::event::{Purpose, RequestSent};
use annals_core::{Blobs, CallId, Seq};
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
    /// Whether the provider has a part of the conversation, which the body names.
    pub is_with_provider: bool,
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
    let mut alignment = align(&old, &names);
    let is_with_provider = conversation.is_with_provider();
    if is_with_provider {
        alignment.keep_answers(&old);
    }
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
    Some(BodyView { request, system: places, volatile, messages: pointers, is_with_provider, difference })
}

/// The same of a body that may not be JSON, or not a request of its protocol: then it is one text.
pub(crate) fn read_or_raw(
    body: &str,
    target: &str,
    folded: &Request,
    sent: &RequestSent,
    view: &SessionView,
    blobs: &dyn Blobs,
) -> Option<BodyView> {
    let (_, path) = target.split_once(' ')?;
    RecordedProtocol::of(path)?;
    let raw = || {
        let why = sent.prompt.as_ref().map(|prompt| prompt.resolve(blobs).into_owned());
        let texts: Vec<String> = why.into_iter().chain([body.to_owned()]).collect();
        let messages = vec![vec![String::new(); texts.len()]];
        let blocks = texts.into_iter().map(|text| Block::Text { text, metadata: None, seq: None }).collect();
        let message = RequestMessage { role: Role::User, blocks };
        let request = Request { system: Vec::new(), messages: RequestMessages::from_iter([message]), ..folded.clone() };
        let (system, volatile, is_with_provider) = (Vec::new(), BTreeSet::new(), false);
        BodyView { request, system, volatile, messages, is_with_provider, difference: ViewDifference::default() }
    };
    Some(read(body, target, folded, sent, view, blobs).unwrap_or_else(raw))
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
        WireItem::Text(text)
        | WireItem::Context { text, .. }
        | WireItem::Reference { text }
        | WireItem::Unknown { text } => Block::Text { text: text.clone(), metadata, seq },
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
