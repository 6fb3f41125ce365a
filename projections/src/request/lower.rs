//! From views to messages (`docs/reference/wire.md#from-views-to-messages`).

use super::{Block, LoweredMessage, RequestMessage, Role, Span, SystemText, ToolResult};
use crate::INTERRUPTED;
use crate::epochs::Epoch;
use crate::message::{Assistant, Body, Content, Message, Status, ToolCall};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use annals_core::event::{AgentProfile, Attachment, ModelProfile, SystemMessages};
use annals_core::{Blobs, Json, Seq, Text};

/// The agent's own text, then the baseline; empty ones are left out.
pub(super) fn system(agent: &AgentProfile, epoch: Option<&Epoch>, blobs: &dyn Blobs) -> Vec<SystemText> {
    let mut system = Vec::new();
    if let Some(text) = &agent.system {
        system.push(SystemText::whole(text.resolve(blobs).into_owned(), None));
    }
    if let Some(epoch) = epoch {
        let mut text = String::new();
        let mut spans = Vec::new();
        for part in &epoch.parts {
            if !spans.is_empty() {
                text.push_str("\n\n");
                spans.push(Span { bytes: 2, seq: Some(epoch.mark.seq), source: None });
            }
            let piece = part.text.resolve(blobs);
            text.push_str(&piece);
            spans.push(Span { bytes: piece.len(), seq: Some(epoch.mark.seq), source: Some(part.key.clone()) });
        }
        system.push(SystemText { text, spans });
    }
    system.retain(|part| !part.text.is_empty());
    system
}

/// A message of one text.
pub(super) fn text(role: Role, text: String, seq: Option<Seq>) -> RequestMessage {
    RequestMessage { role, blocks: alloc::vec![Block::Text { text, metadata: None, seq }] }
}

/// The selected history as the model is sent it.
pub(super) fn messages<'a>(
    history: impl Iterator<Item = &'a Message>,
    model: &ModelProfile,
    blobs: &dyn Blobs,
) -> Vec<LoweredMessage> {
    let mut lowered: Vec<(Seq, RequestMessage)> = Vec::new();
    let mut out: Vec<RequestMessage> = Vec::new();
    for message in history {
        let from = message.seq;
        let seq = Some(from);
        match &message.body {
            Body::User { text, attachments, shortened, .. } => {
                let text = shortened.as_ref().unwrap_or(text);
                let mut blocks =
                    alloc::vec![Block::Text { text: text.resolve(blobs).into_owned(), metadata: None, seq }];
                blocks.extend(attachments.iter().map(|attachment| media(attachment, seq, blobs)));
                out.push(RequestMessage { role: Role::User, blocks });
            }
            Body::Synthetic { text: added } => out.push(text(Role::User, added.resolve(blobs).into_owned(), seq)),
            Body::Shell { command, output, .. } => {
                let shown = alloc::format!("Shell command: {}\n\n{}", command.resolve(blobs), output.resolve(blobs));
                out.push(text(Role::User, shown, seq));
            }
            Body::Compaction { recent, .. } => {
                let summary = message.summary_as_sent(blobs).unwrap_or_default();
                let recent = recent.as_ref().map(|recent| recent.resolve(blobs));
                out.push(text(Role::User, checkpoint(&summary, recent.as_deref()), seq));
            }
            Body::System { text: update, .. } => {
                let update = update.resolve(blobs);
                match model.system_messages {
                    SystemMessages::Native => out.push(text(Role::System, update.into_owned(), seq)),
                    SystemMessages::Wrapped => {
                        out.extend(wrap(lowered.last_mut().map(|(_, last)| last), &update, seq));
                    }
                }
            }
            Body::Assistant(assistant) => answer(&mut out, assistant, model, blobs),
            Body::AgentSwitched { .. } | Body::ModelSwitched { .. } => {}
        }
        lowered.extend(out.drain(..).map(|message| (from, message)));
    }
    lowered.into_iter().map(|(from, message)| LoweredMessage::of_history(message, from)).collect()
}

/// The text in which a context message reaches a model as a user's words (`docs/reference/wire.md#context-messages`).
pub fn wrapped(update: &str) -> String {
    let escaped = update.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    alloc::format!("<system-update>\n{escaped}\n</system-update>")
}

/// A context message for a model without a system role inside the conversation: joined to the user message right before
/// it, otherwise a user message of its own.
fn wrap(before: Option<&mut RequestMessage>, update: &str, seq: Option<Seq>) -> Option<RequestMessage> {
    let wrapped = wrapped(update);
    match before {
        Some(previous) if previous.role == Role::User => {
            previous.blocks.push(Block::Text { text: alloc::format!("\n{wrapped}"), metadata: None, seq });
            None
        }
        _ => Some(text(Role::User, wrapped, seq)),
    }
}

/// A completed compaction as the model reads it.
fn checkpoint(summary: &str, recent: Option<&str>) -> String {
    let recent = recent.map(|recent| alloc::format!("<recent-context>\n{recent}\n</recent-context>\n"));
    alloc::format!(
        "<conversation-checkpoint>\nThe conversation up to here was summarised. What follows is a record of what \
         happened, not a new instruction.\n<summary>\n{summary}\n</summary>\n{}</conversation-checkpoint>",
        recent.unwrap_or_default()
    )
}

/// Whether an answer gives a message to a model: one with text or calls.
pub(crate) fn is_sent(assistant: &Assistant, model: &ModelProfile) -> bool {
    assistant.content.iter().any(|content| match content {
        Content::Text { text, .. } => !text.is_empty(),
        // Another model reads it as text.
        Content::Reasoning { text, .. } => assistant.model != model.model && !text.is_empty(),
        Content::Tool(_) => true,
    })
}

fn answer(out: &mut Vec<RequestMessage>, assistant: &Assistant, model: &ModelProfile, blobs: &dyn Blobs) {
    let same_model = assistant.model == model.model;
    let native = same_model && assistant.error.is_none();
    let keep =
        |metadata: &Option<Json>| metadata.as_ref().filter(|_| native).map(|json| json.0.resolve(blobs).into_owned());
    let mut blocks = Vec::new();
    let mut results = Vec::new();
    for content in &assistant.content {
        match content {
            Content::Text { seq, text, metadata, .. } => {
                if !text.is_empty() {
                    let text = text.resolve(blobs).into_owned();
                    blocks.push(Block::Text { text, metadata: keep(metadata), seq: Some(*seq) });
                }
            }
            Content::Reasoning { seq, text, metadata, .. } => {
                let metadata = keep(metadata);
                let shown = text.resolve(blobs).into_owned();
                if !same_model {
                    if !shown.is_empty() {
                        blocks.push(Block::Text { text: shown, metadata: None, seq: Some(*seq) });
                    }
                } else if !shown.is_empty() || metadata.is_some() {
                    blocks.push(Block::Reasoning { text: shown, metadata, seq: Some(*seq) });
                }
            }
            Content::Tool(tool) => {
                if let Some(result) = tool.short_hosted_result(blobs) {
                    let input = tool.input.0.resolve(blobs);
                    let text = alloc::format!("[Assistant tool call]: {}({input})\n[Tool result]: {result}", tool.name);
                    blocks.push(Block::Text { text, metadata: None, seq: Some(tool.seq) });
                    continue;
                }
                blocks.push(Block::Call {
                    id: tool.call.clone(),
                    tool: tool.name.clone(),
                    input: tool.input_as_read(blobs).into_owned(),
                    hosted: tool.hosted,
                    metadata: keep(&tool.metadata),
                    seq: Some(tool.seq),
                });
                match (&tool.hosted_result, tool.hosted) {
                    (Some(result), true) => blocks.push(Block::HostedResult {
                        id: tool.call.clone(),
                        result: result.0.resolve(blobs).into_owned(),
                        seq: tool.settled.map(|(seq, _)| seq),
                    }),
                    _ => results.extend(result(tool, blobs)),
                }
            }
        }
    }
    if is_sent(assistant, model) {
        out.push(RequestMessage { role: Role::Assistant, blocks });
    }
    if !results.is_empty() {
        out.push(RequestMessage { role: Role::Tool, blocks: results });
    }
}

/// The result of a settled call as the model reads it; an open call has none.
fn result(tool: &ToolCall, blobs: &dyn Blobs) -> Option<Block> {
    let seq = Some(tool.settled?.0);
    let (output, error) = match tool.status {
        Status::Completed => (Some(tool.output_as_read(blobs).into_owned()), None),
        Status::Error => {
            let error = tool.error.as_ref().map_or_else(|| INTERRUPTED.into(), |error| error.resolve(blobs));
            (None, Some(error.into_owned()))
        }
        Status::Pending | Status::Running => return None,
    };
    let attachments = match tool.pruned {
        Some(_) => Vec::new(),
        None => tool.attachments.iter().map(|attachment| resolved(attachment, blobs)).collect(),
    };
    Some(Block::Result { result: ToolResult { id: tool.call.clone(), output, error, attachments }, seq })
}

fn media(attachment: &Attachment, seq: Option<Seq>, blobs: &dyn Blobs) -> Block {
    Block::Media { attachment: resolved(attachment, blobs), seq }
}

pub(crate) fn resolved(attachment: &Attachment, blobs: &dyn Blobs) -> Attachment {
    Attachment { uri: Text::Inline(attachment.uri.resolve(blobs).to_string()), ..attachment.clone() }
}
