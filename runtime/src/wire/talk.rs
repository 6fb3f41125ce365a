//! What the protocols have in common about messages.

use annals_core::CallId;
use annals_projections::{Block, RequestMessage, Role};
use std::borrow::Cow;

/// How much of a hosted result another provider's model is told, in characters: as much as a summary holds (TEXTS).
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
pub(super) fn unanswered(messages: &[RequestMessage], at: usize) -> Vec<&CallId> {
    let results = messages.get(at + 1).filter(|next| next.role == Role::Tool);
    let is_answered = |call: &CallId| {
        let blocks = results.map_or(&[][..], |results| &results.blocks);
        blocks.iter().any(|block| matches!(block, Block::Result { result, .. } if result.id == *call))
    };
    let calls = messages.get(at).map_or(&[][..], |message| &message.blocks).iter().filter_map(|block| match block {
        Block::Call { id, hosted: false, .. } => Some(id),
        _ => None,
    });
    calls.filter(|call| !is_answered(call)).collect()
}

/// A hosted call or its result in words, for a protocol or model that it is not native to.
pub(super) fn hosted_words(block: &Block) -> Option<Cow<'_, str>> {
    match block {
        Block::Call { tool, input, hosted: true, .. } => Some(format!("[Assistant tool call]: {tool}({input})").into()),
        Block::HostedResult { result, .. } => {
            let cut = result.char_indices().nth(HOSTED_CHARS).map(|(at, _)| at);
            let shown = cut.and_then(|at| result.get(..at)).map(|head| format!("{head}\n[truncated]"));
            Some(format!("[Tool result]: {}", shown.as_deref().unwrap_or(result)).into())
        }
        _ => None,
    }
}
