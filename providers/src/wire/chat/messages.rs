//! Messages of OpenAI Chat Completions.

use super::reasoning_fragment::returned;
use super::{Dialect, ReasoningField};
use crate::wire::conversation::{
    self, hosted_words, is_last_word, joined, results, results_after, unanswered, unwrapped,
};
use crate::wire::media::{MediaLocation, Medium, medium, note};
use crate::wire::names;
use annals_core::event::ModelProfile;
use annals_projections::{Block, INTERRUPTED, Request, RequestMessage, Role, ToolResult, wrapped};
use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum ChatMessage<'a> {
    System {
        content: String,
    },
    User {
        content: ChatContent<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ChatCall<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_details: Option<Vec<ReturnedDetail<'a>>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ChatContent<'a> {
    Text(String),
    Parts(Vec<ChatPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ChatPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ChatImage<'a> },
    File { file: ChatFile<'a> },
    InputAudio { input_audio: ChatAudio<'a> },
}

#[derive(Serialize)]
pub(super) struct ChatImage<'a> {
    url: &'a str,
}

#[derive(Serialize)]
pub(super) struct ChatFile<'a> {
    filename: &'a str,
    file_data: &'a str,
}

#[derive(Serialize)]
pub(super) struct ChatAudio<'a> {
    data: &'a str,
    format: &'static str,
}

#[derive(Serialize)]
pub(super) struct ChatCall<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: ChatFunctionCall<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
}

/// What a router needs back together with reasoning.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ReturnedDetail<'a> {
    Received(&'a RawValue),
    Filled(Box<RawValue>),
}

#[derive(Serialize)]
pub(super) struct ChatFunctionCall<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

/// All messages of a request, the system texts first, as one.
pub(super) fn messages(request: &Request, dialect: Dialect) -> Vec<ChatMessage<'_>> {
    let mut out = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        let texts: Vec<&str> = request.system.iter().map(|system| system.text.as_str()).collect();
        out.push(ChatMessage::System { content: texts.join("\n") });
    }
    // A tool message takes text only: media of results wait for the user message that follows them.
    let mut waiting: Vec<ChatPart<'_>> = Vec::new();
    for (at, message) in request.messages.iter().enumerate() {
        match message.role {
            Role::User => {
                let before = std::mem::take(&mut waiting);
                push(&mut out, ChatMessage::User { content: user(message, before, &request.model) }, dialect);
            }
            Role::System | Role::Assistant => {
                flush(&mut out, &mut waiting, dialect);
                if message.role == Role::System {
                    push(&mut out, ChatMessage::System { content: joined(message) }, dialect);
                } else if dialect.mistral && is_last_word(&request.messages, at) {
                    push(
                        &mut out,
                        ChatMessage::User { content: ChatContent::Text(wrapped(&joined(message))) },
                        dialect,
                    );
                } else {
                    let results = results_after(&request.messages, at);
                    out.push(assistant(message, results, dialect));
                }
                for id in unanswered(&request.messages, at) {
                    out.push(ChatMessage::Tool { tool_call_id: names::call(id.as_str()), content: INTERRUPTED.into() });
                }
            }
            Role::Tool => {
                for result in results(&request.messages, at) {
                    out.push(tool(result, &mut waiting, &request.model));
                }
            }
        }
    }
    flush(&mut out, &mut waiting, dialect);
    out
}

fn flush<'a>(out: &mut Vec<ChatMessage<'a>>, waiting: &mut Vec<ChatPart<'a>>, dialect: Dialect) {
    if !waiting.is_empty() {
        push(out, ChatMessage::User { content: ChatContent::Parts(std::mem::take(waiting)) }, dialect);
    }
}

/// Adds a message for the model; where only an answer may follow results, an answer is added before it.
fn push<'a>(out: &mut Vec<ChatMessage<'a>>, message: ChatMessage<'a>, dialect: Dialect) {
    if dialect.mistral && matches!(out.last(), Some(ChatMessage::Tool { .. })) {
        out.push(ChatMessage::Assistant {
            content: Some(EMPTY.into()),
            tool_calls: Vec::new(),
            reasoning_content: None,
            reasoning: None,
            reasoning_details: None,
        });
    }
    out.push(message);
}

fn user<'a>(message: &'a RequestMessage, before: Vec<ChatPart<'a>>, model: &ModelProfile) -> ChatContent<'a> {
    let plain = message.blocks.iter().all(|block| matches!(block, Block::Text { .. }));
    if plain && before.is_empty() {
        return ChatContent::Text(joined(message));
    }
    let mut parts = before;
    for (at, block) in message.blocks.iter().enumerate() {
        match block {
            Block::Text { text, .. } if text.is_empty() => {}
            Block::Text { text, .. } => parts.push(ChatPart::Text { text: unwrapped(text, at).into() }),
            Block::Media { attachment, .. } => parts.push(part(medium(attachment, model), || note(attachment, None))),
            // A user message holds nothing else.
            Block::Reasoning { .. } | Block::Call { .. } | Block::HostedResult { .. } | Block::Result { .. } => {}
        }
    }
    ChatContent::Parts(parts)
}

fn part<'a>(medium: Medium<'a>, note: impl FnOnce() -> String) -> ChatPart<'a> {
    match medium {
        Medium::Words(text) => ChatPart::Text { text: text.into() },
        Medium::Image(MediaLocation::Inline { uri: url, .. } | MediaLocation::Address(url)) => {
            ChatPart::ImageUrl { image_url: ChatImage { url } }
        }
        Medium::Document { place: MediaLocation::Inline { uri, .. }, name } => {
            ChatPart::File { file: ChatFile { filename: name, file_data: uri } }
        }
        Medium::Document { place: MediaLocation::Address(_), .. } => ChatPart::Text { text: note().into() },
        Medium::Audio { format, data } => ChatPart::InputAudio { input_audio: ChatAudio { data, format } },
    }
}

fn tool<'a>(result: &'a ToolResult, waiting: &mut Vec<ChatPart<'a>>, model: &ModelProfile) -> ChatMessage<'a> {
    let mut content = Cow::Borrowed(result.error.as_deref().or(result.output.as_deref()).unwrap_or_default());
    for attachment in &result.attachments {
        match medium(attachment, model) {
            Medium::Words(text) => {
                let content = content.to_mut();
                if !content.is_empty() {
                    content.push_str("\n\n");
                }
                content.push_str(&text);
            }
            medium => waiting.push(part(medium, || note(attachment, None))),
        }
    }
    ChatMessage::Tool { tool_call_id: names::call(result.id.as_str()), content }
}

fn assistant<'a>(message: &'a RequestMessage, results: &[Block], dialect: Dialect) -> ChatMessage<'a> {
    let field = dialect.reasoning;
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    let mut thoughts: Vec<&str> = Vec::new();
    let mut tool_calls = Vec::new();
    let (mut short, mut details) = (field == ReasoningField::Short, Vec::new());
    for block in &message.blocks {
        match block {
            Block::Text { text, .. } => texts.push(text.into()),
            Block::Reasoning { text, metadata, .. } => {
                thoughts.extend((!text.is_empty()).then_some(text.as_str()));
                let native: NativeReasoning<'_> =
                    metadata.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
                short = short || native.field == Some("reasoning");
                details.extend(native.reasoning_details.into_iter().map(|raw| match returned(raw, text) {
                    Some(filled) => ReturnedDetail::Filled(filled),
                    None => ReturnedDetail::Received(raw),
                }));
            }
            Block::Call { hosted: true, .. } | Block::HostedResult { .. } => texts.extend(hosted_words(block, results)),
            Block::Call { id, tool, input, metadata, .. } => tool_calls.push(ChatCall {
                id: names::call(id.as_str()),
                r#type: "function",
                function: ChatFunctionCall { name: names::tool(tool), arguments: conversation::input(input) },
                extra_content: metadata.as_deref().and_then(extra),
            }),
            // An assistant message holds nothing else.
            Block::Media { .. } | Block::Result { .. } => {}
        }
    }
    let thought = (!thoughts.is_empty() && field != ReasoningField::Nowhere).then(|| thoughts.join("\n\n"));
    let (reasoning_content, reasoning) = if short { (None, thought) } else { (thought, None) };
    let details = (!details.is_empty() && field != ReasoningField::Nowhere).then_some(details);
    // Without calls OpenAI and Ollama want a text, be it empty: an answer may hold nothing but reasoning.
    let mut content = (!texts.is_empty() || tool_calls.is_empty() || dialect.empty_text).then(|| texts.join("\n\n"));
    if tool_calls.is_empty() && content.as_deref() == Some("") && dialect.mistral {
        content = Some(EMPTY.into());
    }
    ChatMessage::Assistant { content, tool_calls, reasoning_content, reasoning, reasoning_details: details }
}

/// Replaces a text where an empty one is refused.
const EMPTY: &str = "(empty)";

/// Whether a model is from Mistral, whose templates and API refuse what others accept, on every provider: an answer that has
/// neither a text nor a call, a message of the user right after results, an answer at the end.
///
/// No form of an empty answer suits all: OpenAI and Ollama refuse `null`, Mistral refuses the empty text, and without the
/// message two messages of the user would be adjacent, which other templates refuse.
pub(super) fn is_mistral(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    ["mistral", "ministral", "magistral", "mixtral", "codestral", "devstral", "pixtral", "voxtral"]
        .iter()
        .any(|family| name.contains(family))
}

/// What the decoder records with reasoning: the field that it came in, and what a router adds.
#[derive(serde::Deserialize, Default)]
struct NativeReasoning<'a> {
    #[serde(borrow, default)]
    field: Option<&'a str>,
    #[serde(borrow, default)]
    reasoning_details: Vec<&'a RawValue>,
}

/// What the provider wants back with a call.
fn extra(metadata: &str) -> Option<&RawValue> {
    #[derive(serde::Deserialize)]
    struct NativeCall<'a> {
        #[serde(borrow, default)]
        extra_content: Option<&'a RawValue>,
    }
    serde_json::from_str(metadata).ok().and_then(|NativeCall { extra_content }: NativeCall<'_>| extra_content)
}
