//! The input of OpenAI Responses: items, one after the other.

use crate::wire::conversation::{
    self, hosted_words, is_settled, joined, results, results_after, unanswered, unwrapped,
};
use crate::wire::media::{MediaLocation, Medium, medium, note};
use crate::wire::names;
use annals_core::event::ModelProfile;
use annals_projections::{Block, INTERRUPTED, Request, RequestMessage, Role, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum InputItem<'a> {
    System {
        role: &'static str,
        content: String,
    },
    User {
        role: &'static str,
        content: Vec<InputPart<'a>>,
    },
    Assistant {
        role: &'static str,
        content: [InputPart<'a>; 1],
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a RawValue>,
    },
    Reasoning {
        r#type: &'static str,
        summary: ReasoningSummary<'a>,
        encrypted_content: Cow<'a, str>,
    },
    Call {
        r#type: &'static str,
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: Cow<'a, str>,
    },
    Output {
        r#type: &'static str,
        call_id: Cow<'a, str>,
        output: CallOutput<'a>,
    },
    /// An item as it came.
    Received(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum InputPart<'a> {
    InputText { text: Cow<'a, str> },
    OutputText { text: Cow<'a, str> },
    SummaryText { text: Cow<'a, str> },
    InputImage { image_url: &'a str },
    InputFile(InputFile<'a>),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum InputFile<'a> {
    Inline { filename: &'a str, file_data: &'a str },
    Address { file_url: &'a str },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ReasoningSummary<'a> {
    Received(&'a RawValue),
    Ours(Vec<InputPart<'a>>),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum CallOutput<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<InputPart<'a>>),
}

/// All items of a request, the system texts first, as one.
pub(super) fn items(request: &Request) -> Vec<InputItem<'_>> {
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        let texts: Vec<&str> = request.system.iter().map(|system| system.text.as_str()).collect();
        out.push(InputItem::System { role: "system", content: texts.join("\n") });
    }
    for (at, message) in request.messages.iter().enumerate() {
        match message.role {
            Role::User => out.push(InputItem::User { role: "user", content: user(message, &request.model) }),
            Role::System => out.push(InputItem::System { role: "developer", content: joined(message) }),
            Role::Assistant => {
                assistant(message, results_after(&request.messages, at), &mut out);
                out.extend(
                    unanswered(&request.messages, at)
                        .into_iter()
                        .map(|id| output(names::call(id.as_str()), CallOutput::Text(INTERRUPTED.into()))),
                );
            }
            Role::Tool => out.extend(
                results(&request.messages, at)
                    .map(|result| output(names::call(result.id.as_str()), call_output(result, &request.model))),
            ),
        }
    }
    out
}

fn output<'a>(call_id: Cow<'a, str>, output: CallOutput<'a>) -> InputItem<'a> {
    InputItem::Output { r#type: "function_call_output", call_id, output }
}

fn user<'a>(message: &'a RequestMessage, model: &ModelProfile) -> Vec<InputPart<'a>> {
    let mut parts = Vec::with_capacity(message.blocks.len());
    for (at, block) in message.blocks.iter().enumerate() {
        match block {
            Block::Text { text, .. } if text.is_empty() && message.blocks.len() > 1 => {}
            Block::Text { text, .. } => parts.push(InputPart::InputText { text: unwrapped(text, at).into() }),
            Block::Media { attachment, .. } => parts.push(part(medium(attachment, model), || note(attachment, None))),
            // A user message holds nothing else.
            Block::Reasoning { .. } | Block::Call { .. } | Block::HostedResult { .. } | Block::Result { .. } => {}
        }
    }
    parts
}

fn part<'a>(medium: Medium<'a>, note: impl FnOnce() -> String) -> InputPart<'a> {
    match medium {
        Medium::Words(text) => InputPart::InputText { text: text.into() },
        Medium::Image(MediaLocation::Inline { uri: image_url, .. } | MediaLocation::Address(image_url)) => {
            InputPart::InputImage { image_url }
        }
        Medium::Document { place: MediaLocation::Inline { uri, .. }, name } => {
            InputPart::InputFile(InputFile::Inline { filename: name, file_data: uri })
        }
        Medium::Document { place: MediaLocation::Address(file_url), .. } => {
            InputPart::InputFile(InputFile::Address { file_url })
        }
        Medium::Audio { .. } => InputPart::InputText { text: note().into() },
    }
}

/// What a call gave: a text, or parts when media came with it.
fn call_output<'a>(result: &'a ToolResult, model: &ModelProfile) -> CallOutput<'a> {
    let text = result.error.as_deref().or(result.output.as_deref()).unwrap_or_default();
    if result.attachments.is_empty() {
        return CallOutput::Text(text.into());
    }
    let mut parts = Vec::with_capacity(result.attachments.len() + 1);
    if !text.is_empty() {
        parts.push(InputPart::InputText { text: text.into() });
    }
    parts.extend(result.attachments.iter().map(|medium_of| part(medium(medium_of, model), || note(medium_of, None))));
    CallOutput::Parts(parts)
}

fn assistant<'a>(message: &'a RequestMessage, results: &[Block], out: &mut Vec<InputItem<'a>>) {
    // Hosted calls of this model go back as they came, with their results.
    let mut native = BTreeSet::new();
    for block in &message.blocks {
        match block {
            Block::Text { text, metadata, .. } => {
                let phase = metadata.as_deref().and_then(|text| serde_json::from_str(text).ok());
                let phase = phase.and_then(|MessagePhase { phase }| phase);
                out.push(InputItem::Assistant { role: "assistant", content: [output_text(text.into())], phase });
            }
            Block::Reasoning { text, metadata, .. } => {
                out.extend(metadata.as_deref().and_then(|metadata| reasoning(text, metadata)));
            }
            Block::Call { id, tool, input, hosted: false, .. } => out.push(InputItem::Call {
                r#type: "function_call",
                call_id: names::call(id.as_str()),
                name: names::tool(tool),
                arguments: conversation::input(input),
            }),
            Block::Call { id, metadata: Some(metadata), hosted: true, .. }
                if is_ours(metadata) && is_settled(message, id) =>
            {
                native.insert(id);
            }
            Block::HostedResult { id, result, .. } if native.contains(id) => {
                out.extend(serde_json::from_str(result).ok().map(InputItem::Received));
            }
            Block::Call { .. } | Block::HostedResult { .. } => {
                out.extend(hosted_words(block, results).map(|words| InputItem::Assistant {
                    role: "assistant",
                    content: [output_text(words)],
                    phase: None,
                }));
            }
            // An assistant message holds nothing else.
            Block::Media { .. } | Block::Result { .. } => {}
        }
    }
}

fn output_text(text: Cow<'_, str>) -> InputPart<'_> {
    InputPart::OutputText { text }
}

/// Whether the native metadata of a hosted call says that it is an item of this protocol.
fn is_ours(metadata: &str) -> bool {
    serde_json::from_str(metadata)
        .is_ok_and(|ItemHeader { kind }: ItemHeader<'_>| kind.is_some_and(|kind| kind.ends_with("_call")))
}

#[derive(Deserialize)]
struct ItemHeader<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<&'a str>,
}

#[derive(Deserialize)]
struct MessagePhase<'a> {
    #[serde(borrow, default)]
    phase: Option<&'a RawValue>,
}

/// Native metadata of reasoning: the item as it came, or as an OpenCode log has it.
#[derive(Deserialize)]
struct ReasoningItemMetadata<'a> {
    #[serde(borrow, default)]
    encrypted_content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    openai: Option<OpenCodeReasoning<'a>>,
}

#[derive(Deserialize)]
struct OpenCodeReasoning<'a> {
    #[serde(rename = "reasoningEncryptedContent", borrow, default)]
    encrypted_content: Option<Cow<'a, str>>,
}

/// Reasoning as an item: only what is encrypted can go back, since nothing is stored at the provider. Without the
/// item's id, which names something stored.
fn reasoning<'a>(text: &'a str, metadata: &'a str) -> Option<InputItem<'a>> {
    let ReasoningItemMetadata { encrypted_content, summary, openai } = serde_json::from_str(metadata).ok()?;
    let encrypted_content = encrypted_content.or_else(|| openai.and_then(|foreign| foreign.encrypted_content))?;
    let ours = || (!text.is_empty()).then(|| InputPart::SummaryText { text: text.into() }).into_iter().collect();
    let summary = summary.map_or_else(|| ReasoningSummary::Ours(ours()), ReasoningSummary::Received);
    Some(InputItem::Reasoning { r#type: "reasoning", summary, encrypted_content })
}
