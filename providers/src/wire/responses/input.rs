//! The input of OpenAI Responses: items, one after the other.

use crate::wire::media::{Medium, Place, medium, note};
use crate::wire::names;
use crate::wire::talk::{self, hosted_words, is_settled, joined, results, results_after, unanswered, unwrapped};
use annals_core::event::ModelProfile;
use annals_projections::{Block, INTERRUPTED, Request, RequestMessage, Role, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    Told {
        role: &'static str,
        content: String,
    },
    User {
        role: &'static str,
        content: Vec<Part<'a>>,
    },
    Assistant {
        role: &'static str,
        content: [Part<'a>; 1],
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a RawValue>,
    },
    Reasoning {
        r#type: &'static str,
        summary: Summary<'a>,
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
        output: Output<'a>,
    },
    /// An item as it came.
    Received(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    InputText { text: Cow<'a, str> },
    OutputText { text: Cow<'a, str> },
    SummaryText { text: Cow<'a, str> },
    InputImage { image_url: &'a str },
    InputFile(File<'a>),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum File<'a> {
    Inline { filename: &'a str, file_data: &'a str },
    Address { file_url: &'a str },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Summary<'a> {
    Received(&'a RawValue),
    Ours(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

/// All items of a request, the system texts first, as one.
pub(super) fn items(request: &Request) -> Vec<Item<'_>> {
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        let texts: Vec<&str> = request.system.iter().map(|system| system.text.as_str()).collect();
        out.push(Item::Told { role: "system", content: texts.join("\n") });
    }
    for (at, message) in request.messages.iter().enumerate() {
        match message.role {
            Role::User => out.push(Item::User { role: "user", content: user(message, &request.model) }),
            Role::System => out.push(Item::Told { role: "developer", content: joined(message) }),
            Role::Assistant => {
                assistant(message, results_after(&request.messages, at), &mut out);
                out.extend(
                    unanswered(&request.messages, at)
                        .into_iter()
                        .map(|id| output(names::call(id.as_str()), Output::Text(INTERRUPTED.into()))),
                );
            }
            Role::Tool => out.extend(
                results(&request.messages, at)
                    .map(|result| output(names::call(result.id.as_str()), told(result, &request.model))),
            ),
        }
    }
    out
}

fn output<'a>(call_id: Cow<'a, str>, output: Output<'a>) -> Item<'a> {
    Item::Output { r#type: "function_call_output", call_id, output }
}

fn user<'a>(message: &'a RequestMessage, model: &ModelProfile) -> Vec<Part<'a>> {
    let mut parts = Vec::with_capacity(message.blocks.len());
    for (at, block) in message.blocks.iter().enumerate() {
        match block {
            Block::Text { text, .. } if text.is_empty() && message.blocks.len() > 1 => {}
            Block::Text { text, .. } => parts.push(Part::InputText { text: unwrapped(text, at).into() }),
            Block::Media { attachment, .. } => parts.push(part(medium(attachment, model), || note(attachment, None))),
            // A user message holds nothing else.
            Block::Reasoning { .. } | Block::Call { .. } | Block::HostedResult { .. } | Block::Result { .. } => {}
        }
    }
    parts
}

fn part<'a>(medium: Medium<'a>, note: impl FnOnce() -> String) -> Part<'a> {
    match medium {
        Medium::Words(text) => Part::InputText { text: text.into() },
        Medium::Image(Place::Inline { uri: image_url, .. } | Place::Address(image_url)) => {
            Part::InputImage { image_url }
        }
        Medium::Document { place: Place::Inline { uri, .. }, name } => {
            Part::InputFile(File::Inline { filename: name, file_data: uri })
        }
        Medium::Document { place: Place::Address(file_url), .. } => Part::InputFile(File::Address { file_url }),
        Medium::Audio { .. } => Part::InputText { text: note().into() },
    }
}

/// What a call gave: a text, or parts when media came with it.
fn told<'a>(result: &'a ToolResult, model: &ModelProfile) -> Output<'a> {
    let text = result.error.as_deref().or(result.output.as_deref()).unwrap_or_default();
    if result.attachments.is_empty() {
        return Output::Text(text.into());
    }
    let mut parts = Vec::with_capacity(result.attachments.len() + 1);
    if !text.is_empty() {
        parts.push(Part::InputText { text: text.into() });
    }
    parts.extend(result.attachments.iter().map(|medium_of| part(medium(medium_of, model), || note(medium_of, None))));
    Output::Parts(parts)
}

fn assistant<'a>(message: &'a RequestMessage, results: &[Block], out: &mut Vec<Item<'a>>) {
    // Hosted calls of this model go back as they came, with their results.
    let mut native = BTreeSet::new();
    for block in &message.blocks {
        match block {
            Block::Text { text, metadata, .. } => {
                let phase = metadata.as_deref().and_then(|text| serde_json::from_str(text).ok());
                let phase = phase.and_then(|Said { phase }| phase);
                out.push(Item::Assistant { role: "assistant", content: [said(text.into())], phase });
            }
            Block::Reasoning { text, metadata, .. } => {
                out.extend(metadata.as_deref().and_then(|metadata| reasoning(text, metadata)));
            }
            Block::Call { id, tool, input, hosted: false, .. } => out.push(Item::Call {
                r#type: "function_call",
                call_id: names::call(id.as_str()),
                name: names::tool(tool),
                arguments: talk::input(input),
            }),
            Block::Call { id, metadata: Some(metadata), hosted: true, .. }
                if is_ours(metadata) && is_settled(message, id) =>
            {
                native.insert(id);
            }
            Block::HostedResult { id, result, .. } if native.contains(id) => {
                out.extend(serde_json::from_str(result).ok().map(Item::Received));
            }
            Block::Call { .. } | Block::HostedResult { .. } => {
                out.extend(hosted_words(block, results).map(|words| Item::Assistant {
                    role: "assistant",
                    content: [said(words)],
                    phase: None,
                }));
            }
            // An assistant message holds nothing else.
            Block::Media { .. } | Block::Result { .. } => {}
        }
    }
}

fn said(text: Cow<'_, str>) -> Part<'_> {
    Part::OutputText { text }
}

/// Whether the native metadata of a hosted call says that it is an item of this protocol.
fn is_ours(metadata: &str) -> bool {
    serde_json::from_str(metadata)
        .is_ok_and(|Marked { kind }: Marked<'_>| kind.is_some_and(|kind| kind.ends_with("_call")))
}

#[derive(Deserialize)]
struct Marked<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<&'a str>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    phase: Option<&'a RawValue>,
}

/// Native metadata of reasoning: the item as it came, or as an OpenCode log has it.
#[derive(Deserialize)]
struct Reasoned<'a> {
    #[serde(borrow, default)]
    encrypted_content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    openai: Option<Foreign<'a>>,
}

#[derive(Deserialize)]
struct Foreign<'a> {
    #[serde(rename = "reasoningEncryptedContent", borrow, default)]
    encrypted_content: Option<Cow<'a, str>>,
}

/// Reasoning as an item: only what is encrypted can go back, since nothing is stored at the provider. Without the
/// item's id, which names something stored.
fn reasoning<'a>(text: &'a str, metadata: &'a str) -> Option<Item<'a>> {
    let Reasoned { encrypted_content, summary, openai } = serde_json::from_str(metadata).ok()?;
    let encrypted_content = encrypted_content.or_else(|| openai.and_then(|foreign| foreign.encrypted_content))?;
    let ours = || (!text.is_empty()).then(|| Part::SummaryText { text: text.into() }).into_iter().collect();
    let summary = summary.map_or_else(|| Summary::Ours(ours()), Summary::Received);
    Some(Item::Reasoning { r#type: "reasoning", summary, encrypted_content })
}
