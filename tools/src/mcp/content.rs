//! The result of a call as an output.

use super::message::{EmbeddedResource, FilledPrompt, McpContent, McpResult, ResourceContents};
use crate::image;
use annals_core::Json;
use annals_core::event::Attachment;
use annals_runtime::tools::{ToolError, ToolOutput};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// What the model reads of a result, and what readers of the log get. Media that models take are attached; others are named.
///
/// # Errors
/// The text of a result that the server marked as an error.
pub(super) fn output(result: McpResult) -> Result<ToolOutput, ToolError> {
    let (texts, attachments) = parts(result.content);
    let text = texts.join("\n");
    if result.is_error {
        let message = if text.is_empty() { "The tool failed without a message.".into() } else { text };
        return Err(ToolError(message));
    }
    let structured = result.structured_content.map(|value| Json::received(value.get()));
    // Without a text, the model reads the structured value.
    let text = (!text.is_empty() || structured.is_none()).then_some(text);
    Ok(ToolOutput { text, structured, attachments, ..ToolOutput::default() })
}

/// What the model reads of a resource.
pub(super) fn resource(contents: ResourceContents) -> Result<ToolOutput, ToolError> {
    let blocks = contents.contents.into_iter().map(|resource| McpContent::Resource { resource });
    let (texts, attachments) = parts(blocks.collect());
    if texts.is_empty() && attachments.is_empty() {
        return Err(ToolError("The resource is empty.".into()));
    }
    Ok(ToolOutput { text: Some(texts.join("\n")), attachments, ..ToolOutput::default() })
}

/// A prompt of a server as the text of an input, and what comes with it.
pub(super) fn prompt(filled: FilledPrompt) -> (String, Vec<Attachment>) {
    let (mut text, mut attachments) = (Vec::new(), Vec::new());
    for message in filled.messages {
        let (texts, media) = parts(vec![message.content]);
        let content = texts.join("\n");
        text.push(if message.role == "assistant" { format!("(You said before: {content})") } else { content });
        attachments.extend(media);
    }
    (text.join("\n\n"), attachments)
}

fn parts(blocks: Vec<McpContent>) -> (Vec<String>, Vec<Attachment>) {
    let (mut texts, mut attachments) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            McpContent::Text { text } => texts.push(text),
            McpContent::Image { data } => medium(&data, "an image", None, &mut texts, &mut attachments),
            McpContent::Audio {} => texts.push("[audio that is not shown]".into()),
            McpContent::ResourceLink { uri, name } => texts.push(match name {
                Some(name) => format!("{name}: {uri}"),
                None => uri,
            }),
            McpContent::Resource { resource: EmbeddedResource { uri, text, blob } } => match (text, blob) {
                (Some(text), _) => texts.push(format!("{uri}:\n{text}")),
                (None, Some(blob)) => medium(&blob, "a file", Some(uri), &mut texts, &mut attachments),
                (None, None) => texts.push(uri),
            },
            McpContent::Other => texts.push("[content of a kind that is not known]".into()),
        }
    }
    (texts, attachments)
}

/// Attaches a medium, or says why it is not: its type is what its first bytes say.
fn medium(data: &str, what: &str, name: Option<String>, texts: &mut Vec<String>, attachments: &mut Vec<Attachment>) {
    let named = name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    match STANDARD.decode(data) {
        Ok(bytes) if bytes.len() > image::LONGEST => {
            texts.push(format!("[{what}{named} of {} bytes: too large to be shown]", bytes.len()));
        }
        Ok(bytes) => match image::mime(&bytes) {
            Some(mime) => attachments.push(Attachment {
                mime: mime.into(),
                name,
                uri: format!("data:{mime};base64,{}", STANDARD.encode(&bytes)).into(),
            }),
            None => texts.push(format!("[{what}{named} of {} bytes, of a type that is not shown]", bytes.len())),
        },
        Err(error) => texts.push(format!("[{what}{named} that is not valid base64: {error}]")),
    }
}
