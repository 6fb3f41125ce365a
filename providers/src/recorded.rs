//! Bodies of requests that any agent sent, read: what each says, in the order of its messages, with the place of each part.
//!
//! The inverse of [`crate::wire`]. Nothing that a body says is left out: what no reader knows is a part of its own
//! ([`WireItem::Unknown`]), with its JSON Pointer. [`align`] compares what a body says with what is known of its conversation.

mod align;
mod anthropic;
mod chat;
mod compaction;
mod conversation;
mod gemini;
mod known;
mod part;
mod protocol;
mod responses;
mod rest;
mod said;
#[cfg(test)]
mod tests;

pub use align::{Alignment, Pairing, align, is_ordered};
pub use compaction::compaction_reason;
pub use conversation::{DecodedAnswer, Speaker, SystemInstruction, Unit, WireConversation, WireItem};
pub use gemini::answer as gemini_answer;
pub use known::{KnownPart, known_parts, their_id};
pub use part::{ConversationPart, PartKind, parts};
pub use protocol::{RecordedProtocol, compacts};
pub use responses::{is_reference, local_call};

use crate::wire::Protocol;
use serde_json::Value;

/// Reads a body; `target` is its path, which names the model where the body does not. `None` for other requests.
pub fn conversation(protocol: RecordedProtocol, target: &str, body: &Value) -> Option<WireConversation> {
    let read = match protocol {
        RecordedProtocol::Spoken(Protocol::AnthropicMessages) => anthropic::conversation(body),
        RecordedProtocol::Spoken(Protocol::OpenAiResponses) => responses::conversation(body),
        RecordedProtocol::Spoken(Protocol::OpenAiChat) => chat::conversation(body),
        RecordedProtocol::Gemini => gemini::conversation(target.split('?').next().unwrap_or_default(), body),
    };
    read.map(compaction::with_question)
}

/// A text member of an object.
fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// The elements of a list; an empty list for other values.
fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
