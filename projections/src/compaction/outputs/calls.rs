//! What is left of a cut where all outputs are not enough: inputs of settled calls, and results of the provider's own tools.

use crate::compaction::ContextLimits;
use crate::history::History;
use crate::message::{Body, Content, Message, ToolCall};
use crate::request::message_chars;
use crate::shorten::{SHORTENED_ENDS, values_without_middle, without_middle};
use alloc::vec::Vec;
use annals_core::event::ModelProfile;
use annals_core::{Blobs, CallId, Seq};

/// Calls of which inputs and hosted results are shortened, oldest first.
pub(super) struct ShortCalls {
    pub(super) inputs: Vec<CallId>,
    pub(super) hosted: Vec<CallId>,
}

/// A call that may be made smaller.
struct ShortableCall {
    /// The message that holds it.
    message: Seq,
    /// The event of the call.
    seq: Seq,
    hosted: bool,
    /// Characters of what is shortened.
    chars: u64,
}

impl ShortCalls {
    /// Shortens inputs, then hosted results, the largest first, until a request of `chars` characters fits. `None` where all
    /// of them are not enough.
    pub(super) fn fitting(
        history: &History,
        model: &ModelProfile,
        mut chars: u64,
        limits: &ContextLimits,
        blobs: &dyn Blobs,
    ) -> Option<Self> {
        let mut messages: Vec<Message> =
            history.selected().filter(|message| !history.is_pinned(message.seq)).cloned().collect();
        let mut calls: Vec<ShortableCall> = messages.iter().flat_map(|message| shortable(message, blobs)).collect();
        calls.sort_by_key(|call| (call.hosted, core::cmp::Reverse(call.chars)));
        for call in &calls {
            if !limits.exceeded_by(chars) {
                break;
            }
            let Some(message) = messages.iter_mut().find(|message| message.seq == call.message) else { continue };
            let before = message_chars(message, model, blobs);
            for tool in tools(&mut message.body).filter(|tool| tool.seq == call.seq) {
                let mark = if call.hosted { &mut tool.short_hosted_result } else { &mut tool.short_input };
                *mark = Some(call.seq);
            }
            chars = (chars + message_chars(message, model, blobs)).saturating_sub(before);
        }
        if limits.exceeded_by(chars) {
            return None;
        }
        let mut short = Self { inputs: Vec::new(), hosted: Vec::new() };
        for (tool, before) in messages.iter_mut().flat_map(|message| {
            let known = history.message(message.seq).map(calls_of).unwrap_or_default();
            tools(&mut message.body).zip(known)
        }) {
            if tool.short_input != before.short_input {
                short.inputs.push(tool.call.clone());
            }
            if tool.short_hosted_result != before.short_hosted_result {
                short.hosted.push(tool.call.clone());
            }
        }
        Some(short)
    }
}

/// The calls of a message whose inputs or hosted results can be shortened.
fn shortable(message: &Message, blobs: &dyn Blobs) -> Vec<ShortableCall> {
    let of = |tool: &ToolCall| {
        let chars = match (tool.hosted, &tool.hosted_result) {
            (false, _) if !tool.is_open() && tool.short_input.is_none() => {
                let input = tool.input.0.resolve(blobs);
                values_without_middle(&input, SHORTENED_ENDS).map(|_| tool.input.0.chars())
            }
            (true, Some(result)) if tool.short_hosted_result.is_none() => {
                without_middle(&result.0.resolve(blobs), SHORTENED_ENDS).map(|_| result.0.chars())
            }
            _ => None,
        };
        Some(ShortableCall { message: message.seq, seq: tool.seq, hosted: tool.hosted, chars: chars? })
    };
    calls_of(message).into_iter().filter_map(of).collect()
}

fn calls_of(message: &Message) -> Vec<&ToolCall> {
    let Body::Assistant(assistant) = &message.body else { return Vec::new() };
    let calls = assistant.content.iter().filter_map(|content| match content {
        Content::Tool(tool) => Some(&**tool),
        Content::Text { .. } | Content::Reasoning { .. } => None,
    });
    calls.collect()
}

fn tools(body: &mut Body) -> impl Iterator<Item = &mut ToolCall> {
    let content = match body {
        Body::Assistant(assistant) => assistant.content.as_mut_slice(),
        _ => &mut [],
    };
    content.iter_mut().filter_map(|content| match content {
        Content::Tool(tool) => Some(&mut **tool),
        Content::Text { .. } | Content::Reasoning { .. } => None,
    })
}
