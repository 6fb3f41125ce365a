//! The parts of a history, as [`super::align`] compares them with those of a body.

use super::part::{ConversationPart, PartKind};
use annals_core::{Blobs, Seq};
use annals_projections::{Body, Content, Message, Status, UNKNOWN_PART};

/// A part of a message of the history, and the events that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPart {
    /// What identifies it.
    pub part: ConversationPart,
    /// The event that made the message.
    pub message: Seq,
    /// The event that has the part.
    pub place: Seq,
}

/// The parts of a message as the model is sent it.
pub fn known_parts(message: &Message, blobs: &dyn Blobs) -> Vec<KnownPart> {
    let mut parts = Vec::new();
    let mut push = |place: Seq, part: ConversationPart| parts.push(KnownPart { part, message: message.seq, place });
    let seq = message.seq;
    match &message.body {
        Body::User { text, attachments, shortened, .. } => {
            let text = shortened.as_ref().unwrap_or(text).resolve(blobs);
            if !text.is_empty() {
                push(seq, ConversationPart::of(PartKind::Prompt, &text));
            }
            attachments
                .iter()
                .for_each(|media| push(seq, ConversationPart::of(PartKind::Media, &media.uri.resolve(blobs))));
        }
        Body::System { keys, text } => {
            let is_unknown = keys.iter().any(|key| key.as_str() == UNKNOWN_PART);
            let kind = if is_unknown { PartKind::Unknown } else { PartKind::Context };
            push(seq, ConversationPart::of(kind, &text.resolve(blobs)));
        }
        Body::Synthetic { text } => push(seq, ConversationPart::of(PartKind::Prompt, &text.resolve(blobs))),
        Body::Shell { command, output, .. } => {
            let text = format!("Shell command: {}\n\n{}", command.resolve(blobs), output.resolve(blobs));
            push(seq, ConversationPart::of(PartKind::Prompt, &text));
        }
        Body::Compaction { .. } => {
            let summary = message.summary_as_sent(blobs).unwrap_or_default();
            push(seq, ConversationPart::of(PartKind::Summary, &summary));
        }
        Body::Assistant(assistant) => {
            for content in &assistant.content {
                match content {
                    Content::Text { seq, text, .. } => {
                        push(*seq, ConversationPart::of(PartKind::Text, &text.resolve(blobs)));
                    }
                    Content::Reasoning { seq, text, metadata, .. } => {
                        let metadata = metadata.as_ref().map(|json| json.0.resolve(blobs));
                        push(*seq, ConversationPart::reasoning(&text.resolve(blobs), metadata.as_deref()));
                    }
                    Content::Tool(tool) => {
                        let id = their_id(&tool.call.0);
                        push(tool.seq, ConversationPart::call(id, &tool.name, &tool.input_as_read(blobs)));
                        let Some((settled, _)) = tool.settled else { continue };
                        if let (Some(result), true) = (&tool.hosted_result, tool.hosted) {
                            push(settled, ConversationPart::hosted(id, &result.0.resolve(blobs)));
                            continue;
                        }
                        if tool.hosted {
                            continue;
                        }
                        let error = tool.error.as_ref().filter(|_| tool.status == Status::Error);
                        let text = match error {
                            Some(error) => error.resolve(blobs),
                            None => tool.output_as_read(blobs),
                        };
                        let media: Vec<_> = tool.attachments.iter().map(|media| media.uri.resolve(blobs)).collect();
                        push(settled, ConversationPart::result(id, &text, media.iter().map(AsRef::as_ref)));
                    }
                }
            }
        }
        Body::AgentSwitched { .. } | Body::ModelSwitched { .. } => {}
    }
    parts
}

/// The agent's id of a call: the log numbers one that comes again.
pub fn their_id(ours: &str) -> &str {
    match ours.rsplit_once('~') {
        Some((theirs, number)) if !theirs.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => theirs,
        _ => ours,
    }
}
