//! Blocks of Anthropic Messages.

use super::cache::CacheControl;
use crate::wire::media::{MediaLocation, Medium, medium, note};
use annals_core::event::{Attachment, ModelProfile};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentBlock<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: MediaSource<'a>,
    },
    Document {
        source: MediaSource<'a>,
        title: &'a str,
    },
    Thinking {
        thinking: &'a str,
        signature: Cow<'a, str>,
    },
    RedactedThinking {
        data: Cow<'a, str>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Box<RawValue>,
    },
    ServerToolUse {
        id: &'a str,
        name: &'a str,
        input: Box<RawValue>,
    },
    McpToolUse {
        id: &'a str,
        name: &'a str,
        server_name: Cow<'a, str>,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<ContentBlock<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// A block as it came.
    #[serde(untagged)]
    Received(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum MediaSource<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
}

impl<'a> MediaSource<'a> {
    fn of(place: MediaLocation<'a>) -> Self {
        match place {
            MediaLocation::Inline { mime, data, .. } => Self::Base64 { media_type: mime, data },
            MediaLocation::Address(url) => Self::Url { url },
        }
    }
}

impl<'a> ContentBlock<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into(), citations: None, cache_control: None }
    }

    /// What a model is sent of an attachment.
    pub(super) fn media(attachment: &'a Attachment, model: &ModelProfile) -> Self {
        match medium(attachment, model) {
            Medium::Words(words) => Self::text(words),
            Medium::Image(place) => Self::Image { source: MediaSource::of(place) },
            Medium::Document { place, name } => Self::Document { source: MediaSource::of(place), title: name },
            Medium::Audio { .. } => Self::text(note(attachment, None)),
        }
    }

    /// Reasoning as it goes back to the model that made it: only with its signature, or encrypted. Anything else the
    /// provider refuses.
    pub(super) fn thinking(text: &'a str, metadata: &'a str) -> Option<Self> {
        let ReasoningMetadata { signature, data, anthropic } = serde_json::from_str(metadata).ok()?;
        let foreign = anthropic.unwrap_or_default();
        if let Some(data) = data.or(foreign.redacted) {
            return Some(Self::RedactedThinking { data });
        }
        signature.or(foreign.signature).map(|signature| Self::Thinking { thinking: text, signature })
    }
}

/// Native metadata of reasoning: the signature or the block as it came, or as an OpenCode log has it.
#[derive(Deserialize)]
struct ReasoningMetadata<'a> {
    #[serde(borrow, default)]
    signature: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    anthropic: Option<OpenCodeMetadata<'a>>,
}

#[derive(Deserialize, Default)]
struct OpenCodeMetadata<'a> {
    #[serde(borrow, default)]
    signature: Option<Cow<'a, str>>,
    #[serde(rename = "redactedData", borrow, default)]
    redacted: Option<Cow<'a, str>>,
}
