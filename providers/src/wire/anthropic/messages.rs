//! Messages of Anthropic Messages: user and assistant in turns, a system role where the model takes one.

use super::cache::Hints;
use super::content::ContentBlock;
use crate::wire::BodyError;
use crate::wire::conversation::{
    self, hosted_words, is_blank, is_last_word, is_settled, joined, results, results_after, unanswered, unwrapped,
};
use crate::wire::names;
use annals_core::event::ModelProfile;
use annals_projections::{Block, INTERRUPTED, Request, RequestMessage, RequestMessages, Role, ToolResult, wrapped};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;

#[derive(Serialize)]
pub(super) struct AnthropicMessage<'a> {
    role: &'static str,
    content: Vec<ContentBlock<'a>>,
}

/// The messages so far, and where the latest user message has its last text.
#[derive(Default)]
struct MessageList<'a> {
    all: Vec<AnthropicMessage<'a>>,
    prompt: Option<(usize, usize)>,
}

/// All messages of a request.
pub(super) fn messages<'a>(request: &'a Request, hints: &mut Hints) -> Result<Vec<AnthropicMessage<'a>>, BodyError> {
    let mut out = MessageList::default();
    for (at, message) in request.messages.iter().enumerate() {
        match message.role {
            Role::User => out.user(message, &request.model),
            Role::System if is_blank(&joined(message)) => {}
            Role::System if is_native(&request.messages, at) => {
                out.push("system", [ContentBlock::text(joined(message))]);
            }
            Role::System => out.push("user", [ContentBlock::text(wrapped(&joined(message)))]),
            // The beginning of an answer cannot be prescribed: the last message is sent as the user's.
            Role::Assistant if is_last_word(&request.messages, at) => {
                out.push("user", [ContentBlock::text(wrapped(&joined(message)))]);
            }
            Role::Assistant => {
                out.push("assistant", assistant(message, results_after(&request.messages, at))?);
                let unanswered = unanswered(&request.messages, at).into_iter();
                out.push(
                    "user",
                    unanswered.map(|id| result(names::call(id.as_str()), vec![ContentBlock::text(INTERRUPTED)], true)),
                );
            }
            Role::Tool => {
                out.push("user", results(&request.messages, at).map(|result| tool_result(result, &request.model)));
            }
        }
    }
    out.mark(hints);
    Ok(out.all)
}

/// Whether a context message may be sent natively: after the user, results, or an assistant message that ends in a
/// hosted call; before an answer, or last; and not adjacent to another one
/// (`docs/reference/wire.md#anthropic-messages-encoding-1`).
fn is_native(messages: &RequestMessages, at: usize) -> bool {
    let after = match at.checked_sub(1).and_then(|before| messages.get(before)) {
        None => false,
        Some(before) => match before.role {
            Role::User | Role::Tool => true,
            Role::Assistant => {
                matches!(before.blocks.last(), Some(Block::HostedResult { .. } | Block::Call { hosted: true, .. }))
            }
            Role::System => false,
        },
    };
    let before = match messages.get(at + 1) {
        None => true,
        Some(next) => {
            let is_thought = next.blocks.iter().all(|block| matches!(block, Block::Reasoning { .. }));
            next.role == Role::Assistant && !is_thought && !is_last_word(messages, at + 1)
        }
    };
    after && before
}

impl<'a> MessageList<'a> {
    /// Adds blocks to the message that is being written, if it has the same role.
    fn push(&mut self, role: &'static str, blocks: impl IntoIterator<Item = ContentBlock<'a>>) {
        let mut blocks = blocks.into_iter().peekable();
        if blocks.peek().is_none() {
            return;
        }
        match self.all.last_mut() {
            Some(last) if last.role == role && role != "system" => last.content.extend(blocks),
            _ => self.all.push(AnthropicMessage { role, content: blocks.collect() }),
        }
    }

    fn user(&mut self, message: &'a RequestMessage, model: &ModelProfile) {
        let mut blocks = Vec::with_capacity(message.blocks.len());
        let mut last_text = None;
        for (at, block) in message.blocks.iter().enumerate() {
            match block {
                Block::Text { text, .. } if is_blank(text) => {}
                Block::Text { text, .. } => {
                    last_text = Some(blocks.len());
                    blocks.push(ContentBlock::text(unwrapped(text, at)));
                }
                Block::Media { attachment, .. } => blocks.push(ContentBlock::media(attachment, model)),
                // A user message holds nothing else.
                Block::Reasoning { .. } | Block::Call { .. } | Block::HostedResult { .. } | Block::Result { .. } => {}
            }
        }
        if blocks.is_empty() {
            // The provider refuses a message that says nothing.
            blocks.push(ContentBlock::text("(empty)"));
        }
        let from_end = last_text.map(|at| blocks.len() - at);
        self.push("user", blocks);
        let place = self.all.len().checked_sub(1).zip(self.all.last().map(|last| last.content.len()));
        self.prompt = place.zip(from_end).map(|((message, len), from_end)| (message, len - from_end)).or(self.prompt);
    }

    /// Marks the last text of the latest user message and the newest result after it for the cache.
    fn mark(&mut self, hints: &mut Hints) {
        if let Some((message, block)) = self.prompt {
            let block = self.all.get_mut(message).and_then(|message| message.content.get_mut(block));
            if let Some(ContentBlock::Text { cache_control, .. }) = block {
                *cache_control = hints.take();
            }
        }
        let after = self.prompt.map_or(0, |(message, _)| message + 1);
        let last = self.all.iter_mut().skip(after).rev().find(|message| message.role == "user");
        let newest = last.and_then(|message| {
            message.content.iter_mut().rev().find_map(|block| match block {
                ContentBlock::ToolResult { cache_control, .. } => Some(cache_control),
                _ => None,
            })
        });
        if let Some(cache_control) = newest {
            *cache_control = hints.take();
        }
    }
}

fn result<'a>(tool_use_id: Cow<'a, str>, content: Vec<ContentBlock<'a>>, is_error: bool) -> ContentBlock<'a> {
    ContentBlock::ToolResult { tool_use_id, content, is_error, cache_control: None }
}

fn tool_result<'a>(given: &'a ToolResult, model: &ModelProfile) -> ContentBlock<'a> {
    let text = given.error.as_deref().or(given.output.as_deref()).unwrap_or_default();
    let mut content = Vec::with_capacity(given.attachments.len() + 1);
    if !is_blank(text) {
        content.push(ContentBlock::text(text));
    }
    content.extend(given.attachments.iter().map(|attachment| ContentBlock::media(attachment, model)));
    result(names::call(given.id.as_str()), content, given.error.is_some())
}

fn assistant<'a>(message: &'a RequestMessage, results: &[Block]) -> Result<Vec<ContentBlock<'a>>, BodyError> {
    let mut blocks = Vec::with_capacity(message.blocks.len());
    // Hosted calls of this model go back as they came, with their results.
    let mut native = BTreeSet::new();
    for block in &message.blocks {
        match block {
            Block::Text { text, .. } if is_blank(text) => {}
            Block::Text { text, metadata, .. } => {
                let cited = metadata.as_deref().and_then(|text| serde_json::from_str(text).ok());
                let citations = cited.and_then(|Cited { citations }| citations);
                blocks.push(ContentBlock::Text { text: text.into(), citations, cache_control: None });
            }
            Block::Reasoning { text, metadata, .. } => {
                blocks.extend(metadata.as_deref().and_then(|metadata| ContentBlock::thinking(text, metadata)));
            }
            Block::Call { id, tool, input, hosted: false, .. } => blocks.push(ContentBlock::ToolUse {
                id: names::call(id.as_str()),
                name: names::tool(tool),
                input: object(id.as_str(), input)?,
            }),
            Block::Call { id, tool, input, metadata: Some(metadata), hosted: true, .. } if is_settled(message, id) => {
                match hosted(id.as_str(), tool, input, metadata)? {
                    Some(call) => {
                        native.insert(id);
                        blocks.push(call);
                    }
                    None => blocks.extend(hosted_words(block, results).map(ContentBlock::text)),
                }
            }
            Block::HostedResult { id, result, .. } if native.contains(id) => {
                let what = || format!("the result of call {id}");
                blocks.push(ContentBlock::Received(crate::wire::body::received(what, result)?));
            }
            Block::Call { .. } | Block::HostedResult { .. } => {
                blocks.extend(hosted_words(block, results).map(ContentBlock::text));
            }
            // An assistant message holds nothing else.
            Block::Media { .. } | Block::Result { .. } => {}
        }
    }
    // The provider refuses a message that ends in thinking, such as one whose answer was cut at its length.
    while matches!(blocks.last(), Some(ContentBlock::Thinking { .. } | ContentBlock::RedactedThinking { .. })) {
        blocks.pop();
    }
    Ok(blocks)
}

#[derive(Deserialize)]
struct Cited<'a> {
    #[serde(borrow, default)]
    citations: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct HostedHeader<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    server_name: Option<Cow<'a, str>>,
}

/// A call that this provider executed, by its native metadata; `None` for another provider's.
fn hosted<'a>(
    id: &'a str,
    name: &'a str,
    input: &str,
    metadata: &'a str,
) -> Result<Option<ContentBlock<'a>>, BodyError> {
    let Ok(HostedHeader { kind, server_name }) = serde_json::from_str(metadata) else { return Ok(None) };
    Ok(match (kind.as_deref(), server_name) {
        (Some("server_tool_use"), _) => Some(ContentBlock::ServerToolUse { id, name, input: object(id, input)? }),
        (Some("mcp_tool_use"), Some(server_name)) => {
            Some(ContentBlock::McpToolUse { id, name, server_name, input: object(id, input)? })
        }
        _ => None,
    })
}

/// The input of a call as a JSON object, letter for letter.
fn object(id: &str, input: &str) -> Result<Box<RawValue>, BodyError> {
    RawValue::from_string(conversation::input(input).into_owned())
        .map_err(|error| BodyError::NotJson { what: format!("the input of call {id}"), why: error.to_string() })
}
