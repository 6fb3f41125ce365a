//! The conversation so far, for an editor that loads a session.

use super::content;
use super::updates::{self, ANSWER, PROMPT, THOUGHT, chunk};
use annals_core::event::{Event, MessageEvent, ToolCalled, ToolOutcome, ToolSettled};
use annals_core::{Blobs, Record, Seq, SessionId};
use annals_inspect::reader::{FindError, Reader};
use annals_projections::{Body, Content, Message, Status, ToolCall, Transcript};
use serde_json::Value;
use std::path::Path;

/// The result of a call that had none when its process ended.
const UNFINISHED: &str = "This call had not ended when its process was killed. What it did is not known.";

/// Sends what was said and done, without what was undone.
pub(super) async fn send(
    reader: &Reader,
    session: SessionId,
    directory: &Path,
    blobs: &(dyn Blobs + Send + Sync),
    mut send: impl FnMut(&Value) + Send,
) -> Result<(), FindError> {
    let until = reader.until(session, None).await?;
    let index: Transcript = reader.fold(session, until).await?;
    let each = |message: &Message| {
        if !index.is_reverted(message.seq) {
            about(message, directory, blobs).iter().for_each(&mut send);
        }
        Ok::<(), FindError>(())
    };
    reader.each_message(session, until, each).await?;
    let mut plan = None;
    let newest = |record: &Record<'_>| {
        if let Event::Message(MessageEvent::TodoUpdated(todo)) = record.event {
            plan = Some(updates::plan(&todo.items));
        }
    };
    reader.each(session, Seq::ZERO, until, newest).await?;
    plan.iter().for_each(send);
    Ok(())
}

fn about(message: &Message, directory: &Path, blobs: &dyn Blobs) -> Vec<Value> {
    match &message.body {
        Body::User { text, attachments, .. } => {
            let text = text.resolve(blobs);
            let prompt = (!text.is_empty()).then(|| chunk(PROMPT, &text));
            let media = attachments.iter().filter_map(|one| content::media(one, blobs));
            let media = media.map(|block| serde_json::json!({"sessionUpdate": PROMPT, "content": block}));
            prompt.into_iter().chain(media).collect()
        }
        Body::Assistant(answer) => answer.content.iter().flat_map(|one| part(one, directory, blobs)).collect(),
        Body::Shell { command, output, .. } => {
            vec![chunk(PROMPT, &format!("!{}\n\n{}", command.resolve(blobs), output.resolve(blobs)))]
        }
        Body::System { .. }
        | Body::Synthetic { .. }
        | Body::Compaction { .. }
        | Body::AgentSwitched { .. }
        | Body::ModelSwitched { .. } => Vec::new(),
    }
}

fn part(part: &Content, directory: &Path, blobs: &dyn Blobs) -> Vec<Value> {
    match part {
        Content::Text { text, .. } => text_of(ANSWER, &text.resolve(blobs)),
        Content::Reasoning { text, .. } => text_of(THOUGHT, &text.resolve(blobs)),
        Content::Tool(call) if call.hosted => Vec::new(),
        Content::Tool(call) => {
            vec![content::called(&called(call), directory, blobs), content::settled(&settled(call), directory, blobs)]
        }
    }
}

fn text_of(kind: &str, text: &str) -> Vec<Value> {
    if text.is_empty() { Vec::new() } else { vec![chunk(kind, text)] }
}

fn called(call: &ToolCall) -> ToolCalled {
    ToolCalled {
        index: call.index,
        call: call.call.clone(),
        name: call.name.clone(),
        input: call.input.clone(),
        hosted: call.hosted,
        metadata: None,
    }
}

/// How a call ended. One that is still open belongs to a process that was killed: no result of it will come.
fn settled(call: &ToolCall) -> ToolSettled {
    let outcome = call.outcome.unwrap_or(match call.status {
        Status::Completed => ToolOutcome::Completed,
        Status::Pending | Status::Running | Status::Error => ToolOutcome::Failed,
    });
    ToolSettled {
        output: call.output.clone(),
        error: if call.is_open() { Some(UNFINISHED.into()) } else { call.error.clone() },
        structured: call.structured.clone(),
        attachments: call.attachments.clone(),
        ..ToolSettled::bare(call.call.clone(), outcome)
    }
}
