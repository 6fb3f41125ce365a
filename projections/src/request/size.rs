//! Sizes of requests and of their parts in characters of JSON (`docs/reference/compaction.md`).

use super::{Request, SystemText, lower};
use crate::message::Message;
use crate::size::{chars, text_chars};
use alloc::vec::Vec;
use annals_core::Blobs;
use annals_core::event::{Attachment, ModelProfile, ToolDefinition};
use serde_json::json;

/// The size of a request of a number of messages: the sum of their sizes, and the sizes of the system texts and tools. It is
/// that of `{"messages":[...],"system":[...],"tools":[...]}`.
pub(crate) fn request_chars(messages: usize, chars: u64, (system, tools): (u64, u64)) -> u64 {
    let frame = r#"{"messages":[],"system":,"tools":}"#.len() as u64;
    frame + (messages as u64).saturating_sub(1) + chars + system + tools
}

/// The size of a message of the history in characters: that of the JSON of the messages of a request that it alone gives;
/// 0 of one that is not sent.
pub(crate) fn message_chars(message: &Message, model: &ModelProfile, blobs: &dyn Blobs) -> u64 {
    super::alone(message, model, blobs).iter().map(|message| message.chars).sum()
}

/// The sizes of the system texts and of the tools of a request in characters of JSON.
pub(crate) fn system_chars(request: &Request) -> (u64, u64) {
    head_chars(&request.system, &request.tools, &request.model)
}

/// The same of the parts of a request.
pub(crate) fn head_chars(system: &[SystemText], tools: &[ToolDefinition], model: &ModelProfile) -> (u64, u64) {
    let texts = system.iter().map(|system| 2 + text_chars(&system.text)).sum::<u64>();
    let system = 2 + texts + (system.len() as u64).saturating_sub(1);
    let tools = if model.protocol == crate::SCRIPTED_PROTOCOL {
        chars(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>())
    } else {
        chars(tools)
    };
    (system, tools)
}

/// The size of the attachments of a tool result in characters of JSON; 0 without any.
pub(crate) fn attachments_chars(attachments: &[Attachment], blobs: &dyn Blobs) -> u64 {
    if attachments.is_empty() {
        return 0;
    }
    let attachments: Vec<Attachment> =
        attachments.iter().map(|attachment| lower::resolved(attachment, blobs)).collect();
    chars(json!({ "attachments": attachments })) - 1
}

impl Request {
    /// The size of this request in characters of its JSON (Unicode scalar values); a token is four. Of tools what is sent
    /// counts: their names with a scripted protocol, their whole definitions with any other.
    pub fn chars(&self) -> u64 {
        let messages = self.messages.iter().map(|message| message.chars).sum();
        request_chars(self.messages.len(), messages, system_chars(self))
    }
}
