//! What goes over the wire: the body of a request as a pure function of what the log holds, and what an answer's events
//! say (`docs/reference/wire.md`). No network here: who sends the bytes sends exactly these.
//!
//! A body is a function of the [`Request`] that the log returns and of the session's id, which serves as a cache key
//! and is not part of what the model reads. `request.sent` records its digest; `annals verify --requests --wire` builds it
//! again. So a released encoding never changes: a change is a new encoding with a new number.

mod anthropic;
mod body;
mod chat;
mod conversation;
mod decode;
mod halves;
mod media;
mod names;
mod options;
mod refusal;
mod responses;

pub use crate::provider::RequestBody;
pub use decode::{Decoder, decoder};
pub use media::is_sent;
pub use refusal::{RetryAdvice, refusal};

use annals_core::SessionId;
use annals_projections::Request;

/// The word of a model profile for which nothing is encoded: its provider takes requests as they are.
pub const SCRIPTED: &str = annals_projections::SCRIPTED_PROTOCOL;

/// A protocol of a model's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// OpenAI Chat Completions, and what is compatible with it: Ollama, llama.cpp, vLLM, OpenRouter.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    AnthropicMessages,
}

impl Protocol {
    /// Every protocol.
    pub const ALL: [Self; 3] = [Self::OpenAiChat, Self::OpenAiResponses, Self::AnthropicMessages];

    /// The word that model profiles use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
        }
    }

    /// The protocol of a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.as_str() == word)
    }

    /// The number of the encoding that new model profiles name.
    pub const fn encoding(self) -> u32 {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::AnthropicMessages => 1,
        }
    }
}

impl std::fmt::Display for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A request has no body: nothing was sent, and nothing was recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The model's profile names a protocol of another build: use that build, or give the model a protocol of this one.
    #[error("this build does not speak the protocol {0}")]
    UnknownProtocol(String),
    /// The model's profile names an encoding of another build: use that build, or record the model's profile anew.
    #[error("this build does not know encoding {encoding} of {protocol}")]
    UnknownEncoding {
        /// Its protocol.
        protocol: Protocol,
        /// Its number.
        encoding: u32,
    },
    /// The profile does not say what the provider calls the model: add it to the definition.
    #[error("the definition of the model does not say what its provider calls it")]
    NoModelId,
    /// The protocol has no field for this Generation Control: leave it out, or lay the provider's own field over the body.
    #[error("{protocol} has no generation control {control}; it has {}", known.join(", "))]
    UnknownControl {
        /// The control.
        control: String,
        /// The protocol.
        protocol: Protocol,
        /// What it has.
        known: Vec<&'static str>,
    },
    /// The protocol has no such Model Request Option: correct its name, or lay the field over the body.
    #[error("{protocol} has no option {option}; it has {}", known.join(", "))]
    UnknownOption {
        /// The option.
        option: String,
        /// The protocol.
        protocol: Protocol,
        /// What it has.
        known: Vec<&'static str>,
    },
    /// A control or option has a value that it cannot have: correct it.
    #[error("{name} must be {expected}, not {found}")]
    Value {
        /// The control or option.
        name: String,
        /// What it may be.
        expected: &'static str,
        /// The encoding that was found.
        found: String,
    },
    /// Fields that say what the protocol itself says: they cannot be laid over the body.
    #[error("http.body cannot overlay protocol-owned field(s): {}", .0.join(", "))]
    OwnedFields(Vec<String>),
    /// Two tools whose names differ in what providers do not take: rename one of them.
    #[error("the tools {first} and {second} would both be called {name}: rename one of them")]
    SameName {
        /// One tool.
        first: String,
        /// Another.
        second: String,
        /// What both would be called.
        name: String,
    },
    /// Something that must be JSON is not, or its blob is missing: correct the definition, or restore the blob.
    #[error("{what} is not JSON: {why}")]
    NotJson {
        /// Which part of the request.
        what: String,
        /// What the parser says.
        why: String,
    },
}

impl BodyError {
    /// Whether another build may know what this one does not.
    pub const fn is_of_another_build(&self) -> bool {
        matches!(self, Self::UnknownProtocol(_) | Self::UnknownEncoding { .. })
    }
}

/// The body of a request in the protocol and encoding of its model; `None` for a model that nothing is encoded for
/// ([`SCRIPTED`]).
///
/// The same request of the same session gives the same bytes, on any machine, next year.
///
/// # Errors
/// When the request asks for what the protocol cannot say, or this build does not know the encoding.
pub fn encode(request: &Request, session: SessionId) -> Result<Option<RequestBody>, BodyError> {
    let model = &request.model;
    if model.protocol == SCRIPTED {
        return Ok(None);
    }
    let protocol = Protocol::of(&model.protocol).ok_or_else(|| BodyError::UnknownProtocol(model.protocol.clone()))?;
    if model.id.is_empty() {
        return Err(BodyError::NoModelId);
    }
    match (protocol, model.encoding) {
        (Protocol::OpenAiChat, 1) => chat::encode(request, session).map(Some),
        (Protocol::OpenAiResponses, 1) => responses::encode(request, session).map(Some),
        (Protocol::AnthropicMessages, 1) => anthropic::encode(request).map(Some),
        (protocol, encoding) => Err(BodyError::UnknownEncoding { protocol, encoding }),
    }
}

#[cfg(test)]
mod tests;
