//! What the agent changed of the conversation that it sends (`docs/recording.md#what-a-body-says-and-what-the-events-say`).

use crate::message::{Assistant, Body, Content, Message, Status, ToolCall};
use annals_core::Json;
use annals_core::event::PartEdit;

/// Changes a message as it is sent from here on; returns whether anything of it is left.
pub(crate) fn edit(message: &mut Message, edit: &PartEdit) -> bool {
    let keeps_text = edit.text.is_none() && edit.without_media;
    match &mut message.body {
        Body::User { text, attachments, shortened, .. } => {
            if edit.without_media {
                attachments.clear();
            }
            if let Some(sent) = &edit.text {
                (*text, *shortened) = (sent.clone(), None);
            }
            keeps_text || edit.text.is_some()
        }
        Body::System { text, .. } | Body::Synthetic { text } | Body::Shell { output: text, .. } => {
            if let Some(sent) = &edit.text {
                text.clone_from(sent);
            }
            edit.text.is_some()
        }
        Body::Compaction { summary, ends, .. } => {
            if let Some(sent) = &edit.text {
                (*summary, *ends) = (sent.clone(), None);
            }
            edit.text.is_some()
        }
        Body::Assistant(_) if edit.place == message.seq => edit.text.is_some(),
        Body::Assistant(assistant) => in_answer(assistant, edit, keeps_text),
        Body::AgentSwitched { .. } | Body::ModelSwitched { .. } => true,
    }
}

fn in_answer(assistant: &mut Assistant, edit: &PartEdit, keeps_text: bool) -> bool {
    assistant.content.retain_mut(|content| match content {
        Content::Text { seq, text, metadata, .. } | Content::Reasoning { seq, text, metadata, .. } => {
            if *seq != edit.place {
                return true;
            }
            if let Some(sent) = &edit.text {
                (*text, *metadata) = (sent.clone(), None);
            }
            edit.text.is_some()
        }
        Content::Tool(call) if call.seq == edit.place => {
            if let Some(sent) = &edit.text {
                (call.input, call.short_input) = (Json(sent.clone()), None);
            }
            edit.text.is_some()
        }
        Content::Tool(call) => {
            if call.settled.is_some_and(|(seq, _)| seq == edit.place) {
                result(call, edit, keeps_text);
            }
            true
        }
    });
    !assistant.content.is_empty()
}

/// Changes what is sent as the result of a call.
fn result(call: &mut ToolCall, edit: &PartEdit, keeps_text: bool) {
    if edit.without_media {
        call.attachments.clear();
    }
    match &edit.text {
        Some(sent) if call.hosted => call.hosted_result = Some(Json(sent.clone())),
        Some(sent) => {
            (call.pruned, call.shortened) = (None, None);
            match call.status {
                Status::Error => call.error = Some(sent.clone()),
                Status::Completed | Status::Pending | Status::Running => call.output = sent.clone(),
            }
        }
        None if keeps_text => {}
        None => (call.status, call.settled, call.hosted_result) = (Status::Running, None, None),
    }
}
