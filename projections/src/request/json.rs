//! Requests in their public form: items of the view `requests`.

use super::{Block, Request, RequestMessage, Role, ToolChoice, ToolResult};
use crate::size::{chars, text_chars};
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::Attachment;
use annals_core::{AgentName, CallId, Digest, ModelName, Text};
use serde::Serialize;
use serde_json::Value;

/// A request before its wire encoding.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestJson<'a> {
    /// The agent that asks.
    pub agent: &'a AgentName,
    /// The model that is asked.
    pub model: &'a ModelName,
    /// What estimates are made of.
    #[serde(flatten)]
    pub shape: RequestShape<'a>,
    /// Whether the model may call tools.
    pub tool_choice: ToolChoice,
    /// The digest of the request.
    pub digest: Digest,
}

/// What the model reads of a request.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestShape<'a> {
    /// System texts, in order.
    pub system: Vec<&'a str>,
    /// Messages, in order.
    pub messages: Vec<RequestMessageJson<'a>>,
    /// Names of the offered tools.
    pub tools: Vec<&'a str>,
}

/// A message of a request.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestMessageJson<'a> {
    /// The role that it is sent in.
    pub role: Role,
    /// Its texts, joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<RequestCallJson<'a>>,
    /// Results of calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<RequestResultJson<'a>>,
    /// Files and images.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<RequestAttachmentJson<'a>>,
}

/// A call in a request.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestCallJson<'a> {
    /// Its id.
    pub id: &'a CallId,
    /// The name of the tool.
    pub tool: &'a str,
    /// The arguments; a text where they are not JSON.
    pub input: Value,
}

/// A result in a request.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum RequestResultJson<'a> {
    /// A result of a tool that the runtime ran.
    Given(&'a ToolResult),
    /// A result of a tool that the provider ran.
    Hosted {
        /// The call.
        id: &'a CallId,
        /// The result as the provider sent it.
        hosted: Value,
    },
}

/// A file or image in a request.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestAttachmentJson<'a> {
    /// Its media type.
    pub mime: &'a str,
    /// Its name.
    pub name: Option<&'a str>,
}

impl Request {
    /// One item of the view `requests`.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(RequestJson::of(self)).unwrap_or_default()
    }

    /// `{system, messages, tools}` as the view `requests` shows them: what estimates are made of.
    pub fn shape_json(&self) -> Value {
        serde_json::to_value(RequestShape::of(self)).unwrap_or_default()
    }
}

impl<'a> RequestJson<'a> {
    /// A request.
    pub fn of(request: &'a Request) -> Self {
        Self {
            agent: &request.agent,
            model: &request.model.model,
            shape: RequestShape::of(request),
            tool_choice: request.tool_choice,
            digest: request.digest(),
        }
    }
}

impl<'a> RequestShape<'a> {
    fn of(request: &'a Request) -> Self {
        Self {
            system: request.system.iter().map(|system| system.text.as_str()).collect(),
            messages: request.messages.iter().map(|message| RequestMessageJson::of(message)).collect(),
            tools: request.tool_names(),
        }
    }
}

impl<'a> RequestMessageJson<'a> {
    /// A message.
    pub fn of(message: &'a RequestMessage) -> Self {
        let (text, calls, results, attachments) = (None, Vec::new(), Vec::new(), Vec::new());
        let mut json = Self { role: message.role, text, calls, results, attachments };
        for block in &message.blocks {
            match block {
                Block::Text { text: piece, .. } => match &mut json.text {
                    // A wrapped context message has its own newline; other pieces are paragraphs.
                    Some(text) if piece.starts_with('\n') => text.push_str(piece),
                    Some(text) => {
                        text.push_str("\n\n");
                        text.push_str(piece);
                    }
                    None => json.text = Some(piece.clone()),
                },
                Block::Call { id, tool, input, .. } => {
                    json.calls.push(RequestCallJson { id, tool, input: parsed(input) });
                }
                Block::Result { result, .. } => json.results.push(RequestResultJson::Given(result)),
                Block::HostedResult { id, result, .. } => {
                    json.results.push(RequestResultJson::Hosted { id, hosted: parsed(result) });
                }
                Block::Media { attachment, .. } => json
                    .attachments
                    .push(RequestAttachmentJson { mime: &attachment.mime, name: attachment.name.as_deref() }),
                Block::Reasoning { .. } => {}
            }
        }
        json
    }
}

/// The size of the canonical JSON of a [`RequestMessageJson`] in characters, without writing it: texts are most of a message.
pub(crate) fn request_message_chars(message: &RequestMessage) -> u64 {
    let mut texts: u64 = 0;
    let mut rest = RequestMessage { role: message.role, blocks: Vec::new() };
    // What is written of a text besides what is between its quotes is counted with an empty one in its place.
    for block in &message.blocks {
        let block = match block {
            Block::Text { text, metadata: _, seq } => {
                let starts = text.starts_with('\n');
                let kept = if starts { 1 } else { 0 };
                texts += text_chars(text.get(kept..).unwrap_or_default());
                let text = text.get(..kept).unwrap_or_default().into();
                Block::Text { text, metadata: None, seq: *seq }
            }
            Block::Result { result, seq } => {
                let emptied = |text: &Option<String>| text.as_ref().map(|_| String::new());
                texts +=
                    [&result.output, &result.error].into_iter().flatten().map(|text| text_chars(text)).sum::<u64>();
                let result = ToolResult {
                    id: result.id.clone(),
                    output: emptied(&result.output),
                    error: emptied(&result.error),
                    attachments: result.attachments.clone(),
                };
                Block::Result { result, seq: *seq }
            }
            Block::Media { attachment, seq } => {
                let Attachment { mime, name, .. } = attachment;
                let attachment = Attachment { mime: mime.clone(), name: name.clone(), uri: Text::default() };
                Block::Media { attachment, seq: *seq }
            }
            Block::Reasoning { .. } => continue,
            Block::Call { .. } | Block::HostedResult { .. } => block.clone(),
        };
        rest.blocks.push(block);
    }
    texts + chars(RequestMessageJson::of(&rest))
}

/// JSON as received, or a string when the text is not JSON.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.into()))
}

#[cfg(test)]
mod tests;
