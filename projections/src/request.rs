//! The request: what a model is sent, built from views alone (`docs/reference/turn.md#request`).
//!
//! Every text in it carries the Seq that put it there. Wire encoding belongs to the protocol adapters.

mod builder;
mod head;
mod json;
mod lower;
mod lowered;
mod size;

pub use builder::{BuiltRequest, RequestBuilder};
pub use head::RequestHead;
pub use json::{
    RequestAttachmentJson, RequestCallJson, RequestJson, RequestMessageJson, RequestResultJson, RequestShape,
};
pub(crate) use lower::is_sent;
pub use lower::wrapped;
pub use lowered::{LoweredMessage, RequestMessages};
pub(crate) use size::{attachments_chars, message_chars, system_chars};

use crate::SessionView;
use crate::message::Message;
use crate::shared::SharedVec;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use annals_core::event::{Attachment, ModelProfile, Purpose, RequestOptions, RequestSent, ToolDefinition};
use annals_core::{AgentName, Blobs, CallId, Digest, Key, Seq};
use head::{model_json, own, value};
use serde::Serialize;

/// How the message begins and what it says that an agent's last allowed step adds.
pub const LAST_STEP: &str = "CRITICAL - MAXIMUM STEPS REACHED\n\nThe step allowance of this activity ends with this answer. \
Tools are disabled. Answer with text only: say what was done, what remains, and what should happen next.";

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user, or the runtime in the user's place.
    User,
    /// The model.
    Assistant,
    /// A Mid-Conversation System Message, for models that take one natively.
    System,
    /// The results of one assistant message.
    Tool,
}

/// Whether the model may call tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ToolChoice {
    /// It decides.
    Auto,
    /// It may not.
    None,
}

/// A stretch of system text and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Length in bytes.
    pub bytes: usize,
    /// The event that put it there.
    pub seq: Option<Seq>,
    /// The Context Source that it renders; `None` for an agent's own text and for the blank lines between pieces.
    pub source: Option<Key>,
}

/// One system text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemText {
    /// All of it.
    pub text: String,
    /// Where it came from, stretch by stretch, without a gap.
    pub spans: Vec<Span>,
}

/// The result of a call as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// The call.
    pub id: CallId,
    /// The Model Tool Output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Media that came with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

/// One piece of a message, and the event that put it there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "block")]
pub enum Block {
    /// Text.
    Text {
        /// All of it.
        text: String,
        /// Native metadata, as received.
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<String>,
        /// Where it came from.
        #[serde(skip)]
        seq: Option<Seq>,
    },
    /// Reasoning, replayed only to the model that made it.
    Reasoning {
        /// All of it.
        text: String,
        /// Native metadata, as received.
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<String>,
        /// Where it came from.
        #[serde(skip)]
        seq: Option<Seq>,
    },
    /// A file or image.
    Media {
        /// What and where.
        attachment: Attachment,
        /// Where it came from.
        #[serde(skip)]
        seq: Option<Seq>,
    },
    /// A tool call.
    Call {
        /// Its id.
        id: CallId,
        /// The tool.
        tool: String,
        /// The input as received, as JSON text.
        input: String,
        /// Whether the provider executed it.
        hosted: bool,
        /// Native metadata, as received.
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<String>,
        /// Where it came from.
        #[serde(skip)]
        seq: Option<Seq>,
    },
    /// The exact result of a hosted call, inline in the answer.
    HostedResult {
        /// The call.
        id: CallId,
        /// The result as received, as JSON text.
        result: String,
        /// Where it came from.
        #[serde(skip)]
        seq: Option<Seq>,
    },
    /// The result of a call.
    Result {
        /// The content as the model reads it.
        #[serde(flatten)]
        result: ToolResult,
        /// Where it came from.
        #[serde(skip)]
        seq: Option<Seq>,
    },
}

impl Block {
    /// The event that put it there; `None` for what the runtime itself adds.
    pub fn seq(&self) -> Option<Seq> {
        match self {
            Self::Text { seq, .. }
            | Self::Reasoning { seq, .. }
            | Self::Media { seq, .. }
            | Self::Call { seq, .. }
            | Self::HostedResult { seq, .. }
            | Self::Result { seq, .. } => *seq,
        }
    }
}

/// One message of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestMessage {
    /// Who speaks.
    pub role: Role,
    /// What, piece by piece.
    pub blocks: Vec<Block>,
}

/// A provider request before its wire encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its purpose.
    pub purpose: Purpose,
    /// The agent of the turn.
    pub agent: AgentName,
    /// What the model is.
    pub model: ModelProfile,
    /// The agent's own text, then the Baseline System Context; empty ones are left out.
    pub system: Vec<SystemText>,
    /// Oldest first. Requests of one session share them.
    pub messages: RequestMessages,
    /// What is offered, in order.
    pub tools: Vec<ToolDefinition>,
    /// Whether calls are allowed.
    pub tool_choice: ToolChoice,
    /// Model Request Options and Generation Controls.
    pub options: RequestOptions,
}

/// A request cannot be rebuilt: the log does not hold what shaped it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The log is damaged, or was imported from an agent that does not keep it.
    #[error("the log does not contain the {what} {digest} of the request")]
    NotRecorded {
        /// What is missing.
        what: &'static str,
        /// Its name.
        digest: Digest,
    },
    /// The log withholds it.
    #[error("the {0} of the request is withheld")]
    Withheld(&'static str),
    /// A summary or title request was recorded without its message.
    #[error("the log does not contain the message of this {0} request")]
    NoPrompt(Purpose),
}

impl Request {
    /// Names of the offered tools.
    pub fn tool_names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    /// The digests of its parts in order, each with a name for people: `system 0`, `message 3`, `tools`, ...
    pub fn parts(&self) -> Vec<(String, Digest)> {
        let mut parts = Vec::with_capacity(self.system.len() + self.messages.len() + 4);
        let hashed = |name, text: &str| (name, Digest::of(text.as_bytes()));
        self.system_parts(&mut |name, text| parts.push(hashed(name, text)));
        parts.extend(self.messages.iter().enumerate().map(|(at, message)| (message_name(at), message.digest)));
        self.other_parts(&mut |name, text| parts.push(hashed(name, text)));
        parts
    }

    /// Gives its parts in order, each with its name and the canonical text that its digest is made over.
    pub fn each_part(&self, mut part: impl FnMut(String, &str)) {
        self.system_parts(&mut part);
        for (at, message) in self.messages.iter().enumerate() {
            part(message_name(at), &message.json());
        }
        self.other_parts(&mut part);
    }

    fn system_parts(&self, part: &mut impl FnMut(String, &str)) {
        for (at, system) in self.system.iter().enumerate() {
            part(alloc::format!("system {at}"), &own(system.text.as_str()));
        }
    }

    fn other_parts(&self, part: &mut impl FnMut(String, &str)) {
        part("tools".to_owned(), &value(&self.tools));
        part("tool choice".to_owned(), &own(&self.tool_choice));
        part("options".to_owned(), &value(&self.options));
        part("model".to_owned(), &model_json(&self.model));
    }

    /// The same without system texts: what a summary request is where no agent is configured for it. Its digest decides which of
    /// both was sent. `None` where only one is possible.
    pub fn without_system(&self) -> Option<Self> {
        let both = self.purpose == Purpose::Summary && !self.system.is_empty();
        both.then(|| Self { system: Vec::new(), ..self.clone() })
    }

    /// The request digest: the hash over the digests of its parts, without attempt, time and ids.
    pub fn digest(&self) -> Digest {
        let parts = self.parts();
        Digest::of_all(parts.iter().map(|(_, digest)| digest))
    }
}

/// Rebuilds the request that `sent` announces from the view at the cut before it. The runtime builds requests by the
/// same function, so the request in the log is the one that was sent.
///
/// # Errors
/// When the log does not contain a profile, tool set or options that the request refers to.
///
/// ```
/// use annals_core::event::StepEvent;
/// use annals_core::{Batch, Event, NoBlobs};
/// use annals_projections::{BuildError, Projection, SessionView, rebuild};
///
/// /// Verifies every request of a session against its recorded digest.
/// fn verify(batches: &[Batch]) -> Result<(), BuildError> {
///     let mut view = SessionView::default();
///     for record in batches.iter().flat_map(Batch::records) {
///         if let Event::Step(StepEvent::RequestSent(sent)) = record.event {
///             let request = rebuild(&view, sent, &NoBlobs)?;
///             assert_eq!(request.digest(), sent.digest);
///         }
///         view.apply(&record);
///     }
///     Ok(())
/// }
/// # verify(&[]).unwrap();
/// ```
pub fn rebuild(view: &SessionView, sent: &RequestSent, blobs: &dyn Blobs) -> Result<Request, BuildError> {
    let head = RequestHead::of(view, sent, blobs)?;
    let messages = match (sent.purpose, &sent.prompt) {
        (Purpose::Turn, _) => {
            let lowered = lower::messages(view.history.selected(), &head.model, blobs);
            let added = sent.last_step.then(|| lower::text(Role::Assistant, LAST_STEP.to_owned(), None).into());
            lowered.into_iter().chain(added).map(Arc::new).collect()
        }
        (Purpose::Summary | Purpose::Title | Purpose::Other, Some(prompt)) => {
            SharedVec::from_iter([lower::text(Role::User, prompt.resolve(blobs).into_owned(), None)])
        }
        (purpose, None) => return Err(BuildError::NoPrompt(purpose)),
    };
    let tool_choice = head.tool_choice(sent);
    let RequestHead { model, system, tools, options, .. } = head;
    let (purpose, agent) = (sent.purpose, sent.agent.clone());
    let request = Request { purpose, agent, model, system, messages, tools, tool_choice, options };
    Ok(match request.without_system().filter(|bare| bare.digest() == sent.digest) {
        Some(bare) => bare,
        None => request,
    })
}

fn message_name(at: usize) -> String {
    alloc::format!("message {at}")
}

/// A message as a part of the digest: its canonical JSON.
fn message_json(message: &RequestMessage) -> String {
    value(message)
}

/// The messages that one message of the history alone gives.
pub(crate) fn alone(message: &Message, model: &ModelProfile, blobs: &dyn Blobs) -> Vec<LoweredMessage> {
    lower::messages(core::iter::once(message), model, blobs)
}

impl SystemText {
    /// A text that one event put there.
    pub(crate) fn whole(text: String, seq: Option<Seq>) -> Self {
        let spans = alloc::vec![Span { bytes: text.len(), seq, source: None }];
        Self { text, spans }
    }
}
