//! What identifies the parts of a conversation, in a body and in what is known of it.

use super::conversation::{Speaker, Unit, WireItem};
use annals_core::{Digest, canonical};
use serde_json::Value;
use std::cell::LazyCell;
use std::collections::{BTreeMap, HashSet};

/// What kind of thing a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PartKind {
    /// What the user wrote in one message.
    Prompt,
    /// The summary of a compaction: agents send it as a prompt, or as an answer.
    Summary,
    /// A file or image of the user.
    Media,
    /// What the agent adds for the model.
    Context,
    /// What no reader knows.
    Unknown,
    /// Text of the model.
    Text,
    /// Reasoning of the model.
    Reasoning,
    /// A call.
    Call,
    /// The result of a call that the provider executed.
    Hosted,
    /// The result of a call.
    Result,
}

/// A part of a conversation, as far as it identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationPart {
    /// Its kind.
    pub kind: PartKind,
    /// The id of its call, or the name of its tool where there is none.
    pub id: Option<String>,
    /// Its text, without blank space around it; of a call, its tool and its input as canonical JSON.
    pub text: Digest,
    /// The same of its text alone, as a part that no reader knows has it.
    plain: Digest,
}

impl ConversationPart {
    /// A part with a text.
    pub fn of(kind: PartKind, text: &str) -> Self {
        let text = Digest::of(text.trim().as_bytes());
        Self { kind, id: None, text, plain: text }
    }

    /// A call.
    pub fn call(id: &str, tool: &str, input: &str) -> Self {
        let json = serde_json::from_str::<Value>(input).ok();
        let input = json.map_or_else(|| input.trim().to_owned(), |json| canonical::value(&json));
        Self { id: Some(id.to_owned()), ..Self::of(PartKind::Call, &format!("{tool}\n{input}")) }
    }

    /// The result of a call, with the media that came with it.
    pub fn result<'m>(id: &str, text: &'m str, media: impl Iterator<Item = &'m str>) -> Self {
        let texts = [text.trim()].into_iter().chain(media).map(|text| Digest::of(text.as_bytes()));
        let digests: Vec<Digest> = texts.collect();
        let whole = Digest::of_all(&digests);
        Self { id: Some(id.to_owned()), text: whole, ..Self::of(PartKind::Result, text) }
    }

    /// Reasoning; where only the provider can read it, it is known by what that gave.
    pub fn reasoning(text: &str, metadata: Option<&str>) -> Self {
        const SEALED: [&str; 4] = ["encrypted_content", "signature", "data", "thoughtSignature"];
        let Some(metadata) = metadata.filter(|_| text.trim().is_empty()) else {
            return Self::of(PartKind::Reasoning, text);
        };
        let json = serde_json::from_str::<Value>(metadata).ok();
        let sealed = json.as_ref().and_then(|json| SEALED.iter().find_map(|name| json.get(*name)?.as_str()));
        Self::of(PartKind::Reasoning, sealed.unwrap_or(metadata))
    }

    /// The result of a call that the provider executed.
    pub fn hosted(id: &str, json: &str) -> Self {
        let value = serde_json::from_str::<Value>(json).ok();
        let text = value.map_or_else(|| json.to_owned(), |value| canonical::value(&value));
        let plain = Digest::of(json.trim().as_bytes());
        Self { id: Some(id.to_owned()), plain, ..Self::of(PartKind::Hosted, &text) }
    }

    /// Whether it has no text.
    pub(super) fn is_empty(&self) -> bool {
        self.text == Digest::of(b"")
    }

    /// Whether it is what is known as a part that no reader knows.
    pub(super) fn is_unknown(&self, known: &Self) -> bool {
        known.kind == PartKind::Unknown && known.text == self.plain
    }

    /// Whether it is of an answer.
    pub fn is_answer(&self) -> bool {
        matches!(self.kind, PartKind::Text | PartKind::Reasoning | PartKind::Call | PartKind::Hosted)
    }

    /// Whether two are the same part with the same text. Media of results are part of them.
    pub fn is(&self, other: &Self) -> bool {
        let is_sent_as = |known: PartKind, sent: PartKind| {
            known == PartKind::Summary && matches!(sent, PartKind::Prompt | PartKind::Text)
        };
        let (one, two) = (self.kind, other.kind);
        let is_alike = one == two || is_sent_as(one, two) || is_sent_as(two, one);
        is_alike && self.text == other.text && (one != PartKind::Result || self.id == other.id)
    }
}

/// The parts of messages, each with its message and the items that it is made of. Texts of one message of the user are one prompt, but for
/// those that are prompts of their own among the parts that are `known`: agents join messages that follow each other.
pub fn parts(
    units: &[Unit],
    known: impl FnOnce() -> Vec<ConversationPart>,
) -> Vec<(ConversationPart, usize, Vec<usize>)> {
    let mut all = Vec::new();
    let prompts: LazyCell<HashSet<Digest>, _> = LazyCell::new(|| {
        let prompts = known().into_iter().filter(|part| part.kind == PartKind::Prompt);
        prompts.map(|part| part.text).collect()
    });
    for (number, unit) in units.iter().enumerate() {
        let mut prompts = prompts_of(unit, |part| prompts.contains(&part.text));
        for (at, item) in unit.items.iter().enumerate() {
            let part = match item {
                WireItem::Text(_) if unit.speaker == Speaker::User => {
                    // A prompt is in the place of its first text.
                    if let Some((part, items)) = prompts.remove(&at) {
                        all.push((part, number, items));
                    }
                    continue;
                }
                // What it names is with the provider.
                WireItem::Reference { .. } => continue,
                WireItem::Text(text) => ConversationPart::of(PartKind::Text, text),
                WireItem::Media(media) => ConversationPart::of(PartKind::Media, media.uri.inline().unwrap_or_default()),
                WireItem::Context { text, .. } => ConversationPart::of(PartKind::Context, text),
                WireItem::Unknown { text } => ConversationPart::of(PartKind::Unknown, text),
                WireItem::Reasoning { text, metadata } => ConversationPart::reasoning(text, metadata.as_deref()),
                WireItem::Call { id, name, input, .. } => ConversationPart::call(id, name, input),
                WireItem::HostedResult { id, result, .. } => ConversationPart::hosted(id, result),
                WireItem::Result { id, text, attachments, .. } => {
                    ConversationPart::result(id, text, attachments.iter().filter_map(|media| media.uri.inline()))
                }
            };
            all.push((part, number, vec![at]));
        }
    }
    all
}

/// The prompts of a message of the user, by the place of their first text.
fn prompts_of(
    unit: &Unit,
    is_known: impl Fn(&ConversationPart) -> bool,
) -> BTreeMap<usize, (ConversationPart, Vec<usize>)> {
    let texts = unit.items.iter().enumerate().filter_map(|(at, item)| match item {
        WireItem::Text(text) if unit.speaker == Speaker::User => Some((at, text.as_str())),
        _ => None,
    });
    let texts: Vec<(usize, &str)> = texts.collect();
    let prompt = |texts: &[(usize, &str)]| {
        let whole = texts.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n\n");
        (ConversationPart::of(PartKind::Prompt, &whole), texts.iter().map(|(at, _)| *at).collect::<Vec<usize>>())
    };
    let is_own = |text: &(usize, &str)| is_known(&ConversationPart::of(PartKind::Prompt, text.1));
    let groups: Vec<&[(usize, &str)]> = match texts.as_slice() {
        [] => Vec::new(),
        all @ [_] => vec![all],
        all if is_known(&prompt(all).0) => vec![all],
        all => all.chunk_by(|one, next| !is_own(one) && !is_own(next)).collect(),
    };
    groups.into_iter().filter_map(|group| Some((group.first()?.0, prompt(group)))).collect()
}
