//! What identifies the parts of a conversation, in a body and in what is known of it.

use super::conversation::{Speaker, Unit, WireItem};
use annals_core::{Digest, canonical};
use serde_json::Value;

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

/// The parts of messages, each with its message and the items that it is made of.
pub fn parts(units: &[Unit]) -> Vec<(ConversationPart, usize, Vec<usize>)> {
    let mut all = Vec::new();
    for (number, unit) in units.iter().enumerate() {
        let mut prompt: Option<(String, Vec<usize>, usize)> = None;
        for (at, item) in unit.items.iter().enumerate() {
            let part = match item {
                // Texts of one message of the user are one prompt.
                WireItem::Text(text) if unit.speaker == Speaker::User => {
                    match &mut prompt {
                        Some((whole, items, _)) => {
                            whole.push_str("\n\n");
                            whole.push_str(text);
                            items.push(at);
                        }
                        None => {
                            prompt = Some((text.clone(), vec![at], all.len()));
                            // Kept in its place.
                            all.push((ConversationPart::of(PartKind::Prompt, ""), number, Vec::new()));
                        }
                    }
                    continue;
                }
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
        if let Some((text, items, at)) = prompt
            && let Some(place) = all.get_mut(at)
        {
            *place = (ConversationPart::of(PartKind::Prompt, &text), number, items);
        }
    }
    all
}
