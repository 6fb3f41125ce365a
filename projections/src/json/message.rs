//! Messages in their public form: items of the views `history` and `transcript`.

use super::{AttachmentJson, FailureJson};
use crate::message::{Assistant, Body, Content, Message, Status, ToolCall};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use annals_core::event::{CompactionReason, Finish, Usage};
use annals_core::{AgentName, Blobs, CallId, InputId, Key, ModelName, Seq, Text, Time};
use serde::Serialize;
use serde_json::Value;

/// What every message has.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageHead {
    /// The event that made the message.
    pub seq: Seq,
    /// The time of that event.
    pub at: Time,
    /// Whether every compaction keeps the message. Only in a history, and only when true.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub pinned: bool,
    /// Whether a committed revert removed the message. Only in a transcript, and only when true.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub reverted: bool,
}

/// A message with every text whole.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "type")]
pub enum MessageJson<'a> {
    /// What the user wrote.
    User {
        /// Its event and its marks.
        #[serde(flatten)]
        place: MessageHead,
        /// The input that it was.
        id: &'a InputId,
        /// What the user wrote, or what is sent in its place.
        text: Cow<'a, str>,
        /// Whether `text` lacks the middle of what the user wrote. Only in a history, and only when true.
        #[serde(skip_serializing_if = "core::ops::Not::not")]
        truncated: bool,
        /// Files and images that came with it.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<AttachmentJson<'a>>,
    },
    /// An answer.
    Assistant {
        /// Its event and its marks.
        #[serde(flatten)]
        place: MessageHead,
        /// The agent that answers.
        agent: &'a AgentName,
        /// The model.
        model: &'a ModelName,
        /// Texts, reasoning and calls, in order.
        content: Vec<ContentJson<'a>>,
        /// How it ended; `null` while it is open.
        finish: Option<Finish>,
        /// What the provider reported.
        usage: Option<Usage>,
        /// In nano-dollars.
        cost: u64,
        /// Why it failed.
        error: Option<FailureJson<'a>>,
    },
    /// A context message.
    System {
        /// Its event and its marks.
        #[serde(flatten)]
        place: MessageHead,
        /// The exact text.
        text: Cow<'a, str>,
        /// The sources that changed.
        keys: &'a [Key],
    },
    /// A message of the runtime in the user's place.
    Synthetic {
        /// Its event and its marks.
        #[serde(flatten)]
        place: MessageHead,
        /// The exact text.
        text: Cow<'a, str>,
    },
    /// A shell command of the user.
    Shell {
        /// Its event and its marks.
        #[serde(flatten)]
        place: MessageHead,
        /// The command line.
        command: Cow<'a, str>,
        /// What it printed.
        output: Cow<'a, str>,
        /// Its exit status, if it ended by itself.
        exit: Option<i32>,
    },
    /// A completed compaction.
    Compaction {
        /// Its event and its marks.
        #[serde(flatten)]
        place: MessageHead,
        /// Who asked for it.
        reason: CompactionReason,
        /// The summary as it is sent.
        summary: Cow<'a, str>,
        /// Whether `summary` lacks the middle of what was answered. Only when true.
        #[serde(skip_serializing_if = "core::ops::Not::not")]
        truncated: bool,
        /// The event from which on messages stay.
        first_kept: Seq,
        /// The kept tail as text. Only in what imports record.
        #[serde(skip_serializing_if = "Option::is_none")]
        recent: Option<Cow<'a, str>>,
    },
    /// Another agent was selected.
    AgentSwitched {
        /// Its event and its marks.
        #[serde(flatten)]
        place: MessageHead,
        /// The agent from here on.
        agent: &'a AgentName,
    },
    /// Another model was selected.
    ModelSwitched {
        /// Its event and its marks.
        #[serde(flatten)]
        place: MessageHead,
        /// The model from here on.
        model: &'a ModelName,
    },
}

/// A piece of an answer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "type")]
pub enum ContentJson<'a> {
    /// Text.
    Text {
        /// All of it.
        text: Cow<'a, str>,
    },
    /// Reasoning, as far as the provider shows it.
    Reasoning {
        /// All of it.
        text: Cow<'a, str>,
    },
    /// A tool call and its result.
    Tool {
        /// Its id.
        call: &'a CallId,
        /// The name of the tool.
        name: &'a str,
        /// The arguments; a text where they are not JSON.
        input: Value,
        /// How far it is.
        status: Status,
        /// The Model Tool Output.
        output: Cow<'a, str>,
        /// The structured value.
        structured: Option<Value>,
        /// Files that contain the whole output.
        paths: &'a [alloc::string::String],
        /// Whether the output was shortened.
        truncated: bool,
        /// What the model reads of a failure.
        error: Option<Cow<'a, str>>,
        /// Whether the full output could not be kept. Only when true.
        #[serde(skip_serializing_if = "core::ops::Not::not")]
        lossy: bool,
        /// Whether the provider ran it. Only when true.
        #[serde(skip_serializing_if = "core::ops::Not::not")]
        hosted: bool,
        /// What the provider gave for a call that it ran. Only where there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        hosted_result: Option<Value>,
        /// Whether its output left the model's view. Only when true.
        #[serde(skip_serializing_if = "core::ops::Not::not")]
        pruned: bool,
        /// Whether the model reads only the two ends of its output, of long texts in its input, or of the provider's result.
        /// Only when true.
        #[serde(skip_serializing_if = "core::ops::Not::not")]
        shortened: bool,
        /// Files and images that came with the result.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<AttachmentJson<'a>>,
    },
}

impl<'a> MessageJson<'a> {
    /// A message, marked as pinned or reverted.
    pub fn of(message: &'a Message, pinned: bool, reverted: bool, blobs: &dyn Blobs) -> Self {
        let place = MessageHead { seq: message.seq, at: message.at, pinned, reverted };
        match &message.body {
            Body::User { id, text, attachments, shortened } => {
                let attachments = AttachmentJson::all(attachments, blobs);
                let truncated = shortened.is_some();
                let text = shortened.as_ref().unwrap_or(text).resolve(blobs);
                Self::User { place, id, text, truncated, attachments }
            }
            Body::Assistant(assistant) => Self::assistant(place, assistant, blobs),
            Body::System { keys, text } => Self::System { place, text: text.resolve(blobs), keys },
            Body::Synthetic { text } => Self::Synthetic { place, text: text.resolve(blobs) },
            Body::Shell { command, output, exit } => {
                Self::Shell { place, command: command.resolve(blobs), output: output.resolve(blobs), exit: *exit }
            }
            Body::Compaction { reason, ends, recent, first_kept, .. } => Self::Compaction {
                place,
                reason: *reason,
                summary: message.summary_as_sent(blobs).unwrap_or_default(),
                truncated: ends.is_some(),
                first_kept: *first_kept,
                recent: recent.as_ref().map(|recent| recent.resolve(blobs)),
            },
            Body::AgentSwitched { agent } => Self::AgentSwitched { place, agent },
            Body::ModelSwitched { model } => Self::ModelSwitched { place, model },
        }
    }

    fn assistant(place: MessageHead, assistant: &'a Assistant, blobs: &dyn Blobs) -> Self {
        Self::Assistant {
            place,
            agent: &assistant.agent,
            model: &assistant.model,
            content: assistant.content.iter().map(|content| ContentJson::of(content, blobs)).collect(),
            finish: assistant.finish,
            usage: assistant.usage,
            cost: assistant.cost,
            error: assistant.error.as_ref().map(|error| FailureJson::of(error, blobs)),
        }
    }
}

impl<'a> ContentJson<'a> {
    /// A piece of an answer.
    pub fn of(content: &'a Content, blobs: &dyn Blobs) -> Self {
        let whole = |text: &'a Text| text.resolve(blobs);
        match content {
            Content::Text { text, .. } => Self::Text { text: whole(text) },
            Content::Reasoning { text, .. } => Self::Reasoning { text: whole(text) },
            Content::Tool(call) => Self::tool(call, blobs),
        }
    }

    fn tool(call: &'a ToolCall, blobs: &dyn Blobs) -> Self {
        Self::Tool {
            call: &call.call,
            name: &call.name,
            input: call.input.value(blobs),
            status: call.status,
            output: call.output.resolve(blobs),
            structured: call.structured.as_ref().map(|structured| structured.value(blobs)),
            paths: &call.paths,
            truncated: call.truncated,
            error: call.error.as_ref().map(|error| error.resolve(blobs)),
            lossy: call.lossy,
            hosted: call.hosted,
            hosted_result: call.hosted_result.as_ref().map(|result| result.value(blobs)),
            pruned: call.pruned.is_some(),
            shortened: call.is_shortened(),
            attachments: AttachmentJson::all(&call.attachments, blobs),
        }
    }
}
