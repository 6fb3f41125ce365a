//! What the protocols have in common about messages.

use crate::CallInput;
use annals_core::CallId;
use annals_projections::{Block, RequestMessage, RequestMessages, Role, ToolResult};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// How much of a hosted result is shown to another provider's model, in characters: as much as in a summary
/// (`docs/reference/wire.md#common-to-all-protocols`).
const HOSTED_CHARS: usize = 2_000;

/// The text blocks of a message as one text: a wrapped context message brings its own newline, others are paragraphs.
pub(super) fn joined(message: &RequestMessage) -> String {
    let mut whole = String::new();
    for block in &message.blocks {
        if let Block::Text { text, .. } = block {
            if !whole.is_empty() && !text.starts_with('\n') {
                whole.push_str("\n\n");
            }
            whole.push_str(text);
        }
    }
    whole
}

/// A text block of a user message as a part of its own, where the newline before a wrapped context message is needless.
pub(super) fn unwrapped(text: &str, at: usize) -> &str {
    if at > 0 { text.strip_prefix('\n').unwrap_or(text) } else { text }
}

/// The calls of an assistant message that no result follows, such as those that ran where a fork was cut: providers
/// refuse a conversation with one.
pub(super) fn unanswered(messages: &RequestMessages, at: usize) -> Vec<&CallId> {
    let results = results_after(messages, at);
    let is_answered =
        |call: &CallId| results.iter().any(|block| matches!(block, Block::Result { result, .. } if result.id == *call));
    let calls = messages.get(at).map_or(&[][..], |message| &message.blocks).iter().filter_map(|block| match block {
        Block::Call { id, hosted: false, .. } => Some(id),
        _ => None,
    });
    calls.filter(|call| !is_answered(call)).collect()
}

/// A hosted call or its result in words, for a protocol or model that it is not native to. A call that has no result of
/// the provider's brings ours, from the tool message that follows.
pub(super) fn hosted_words<'a>(block: &'a Block, results: &[Block]) -> Option<Cow<'a, str>> {
    match block {
        Block::Call { id, tool, input, hosted: true, .. } => {
            let ours = results.iter().find_map(|block| match block {
                Block::Result { result, .. } if result.id == *id => result.error.as_deref(),
                _ => None,
            });
            let ours = ours.map(|error| format!("\n[Tool error]: {error}")).unwrap_or_default();
            Some(format!("[Assistant tool call]: {tool}({input}){ours}").into())
        }
        Block::HostedResult { result, .. } => {
            let cut = result.char_indices().nth(HOSTED_CHARS).map(|(at, _)| at);
            let shown = cut.and_then(|at| result.get(..at)).map(|head| format!("{head}\n[truncated]"));
            Some(format!("[Tool result]: {}", shown.as_deref().unwrap_or(result)).into())
        }
        _ => None,
    }
}

/// The blocks of the tool message that follows a message; none if another follows.
pub(super) fn results_after(messages: &RequestMessages, at: usize) -> &[Block] {
    messages.get(at + 1).filter(|next| next.role == Role::Tool).map_or(&[], |next| &next.blocks)
}

/// The results of a tool message that answer calls of the runtime. Those of hosted calls are in the assistant message.
pub(super) fn results(messages: &RequestMessages, at: usize) -> impl Iterator<Item = &ToolResult> {
    let calls = at.checked_sub(1).and_then(|before| messages.get(before)).map_or(&[][..], |before| &before.blocks);
    let is_hosted =
        |call: &CallId| calls.iter().any(|block| matches!(block, Block::Call { id, hosted: true, .. } if id == call));
    let blocks = messages.get(at).map_or(&[][..], |message| &message.blocks);
    blocks.iter().filter_map(move |block| match block {
        Block::Result { result, .. } if !is_hosted(&result.id) => Some(result),
        // A tool message holds nothing else.
        _ => None,
    })
}

/// Whether a message is the runtime's own last word, such as that the steps are used up.
pub(super) fn is_last_word(messages: &RequestMessages, at: usize) -> bool {
    let text = |message: &RequestMessage| message.blocks.iter().all(|block| matches!(block, Block::Text { .. }));
    at + 1 == messages.len() && messages.get(at).is_some_and(|message| message.role == Role::Assistant && text(message))
}

/// Whether an assistant message holds the provider's own result of a hosted call, as JSON.
pub(super) fn is_settled(message: &RequestMessage, call: &CallId) -> bool {
    message.blocks.iter().any(|block| match block {
        Block::HostedResult { id, result, .. } => id == call && serde_json::from_str::<&RawValue>(result).is_ok(),
        _ => false,
    })
}

/// The input of a call as providers accept it: a JSON object. Any other value (from an imported log)
/// is sent as `{"value": INPUT}`, as in a recorded call.
pub(super) fn input(text: &str) -> Cow<'_, str> {
    let object = serde_json::from_str::<&RawValue>(text).is_ok_and(|raw| raw.get().starts_with('{'));
    if object { Cow::Borrowed(text) } else { Cow::Owned(CallInput::received(text).text().to_owned()) }
}

/// Whether there is something to see: some providers refuse a text that is blank.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
