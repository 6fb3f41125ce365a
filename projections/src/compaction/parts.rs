//! What a request consists of, for the error about one that nothing makes small enough.

use super::{Answers, ContextLimits};
use crate::history::History;
use crate::message::{Body, Message};
use crate::request::Request;
use crate::request::{message_chars, system_chars};
use annals_core::Blobs;
use core::fmt;

/// Estimates of the parts of a request, in tokens. The rest of it is the conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestParts {
    /// The whole request.
    pub request: u64,
    /// The most that it may have.
    pub limit: u64,
    /// The agent's own text and the Baseline System Context.
    pub system: u64,
    /// The tools.
    pub tools: u64,
    /// The pinned messages.
    pub pinned: u64,
    /// The inputs that no answer follows.
    pub unanswered: u64,
}

impl RequestParts {
    /// The parts of a request that was built from this history.
    pub fn of(request: &Request, history: &History, limits: &ContextLimits, blobs: &dyn Blobs) -> Self {
        let tokens = |chars: u64| limits.rate.tokens(chars);
        let newest = Answers::of(history, &request.model).newest;
        let unanswered = |message: &Message| {
            matches!(message.body, Body::User { .. }) && newest.is_none_or(|newest| message.seq > newest)
        };
        let limit = limits.request.unwrap_or(u64::MAX);
        let mut parts = Self { request: tokens(request.chars()), limit, ..Self::default() };
        let (system, tools) = system_chars(request);
        (parts.system, parts.tools) = (tokens(system), tokens(tools));
        for message in history.selected() {
            let part = match (history.is_pinned(message.seq), unanswered(message)) {
                (_, true) => &mut parts.unanswered,
                (true, false) => &mut parts.pinned,
                (false, false) => continue,
            };
            *part += tokens(message_chars(message, &request.model, blobs));
        }
        parts
    }
}

/// What is too large, in tokens.
impl fmt::Display for RequestParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, limit, system, tools, pinned, unanswered } = self;
        write!(f, "the request has about {request} tokens, the limit is {limit}, and nothing can make it smaller: ")?;
        write!(f, "system prompt {system}, tools {tools}, pinned messages {pinned}, unanswered input {unanswered}, ")?;
        let other = request.saturating_sub(system + tools + pinned + unanswered);
        write!(f, "other messages {other}")
    }
}
