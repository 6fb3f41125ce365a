//! The protocols that are recorded, known by the path of a request.

use crate::wire::Protocol;

/// How the path ends of a request that asks the provider to compact a conversation.
const COMPACTS: &str = "/responses/compact";

/// Whether a request asks the provider to compact a conversation, by its path.
pub fn compacts(target: &str) -> bool {
    target.split('?').next().unwrap_or_default().ends_with(COMPACTS)
}

/// The protocol of a recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedProtocol {
    /// One that Annals speaks itself.
    Spoken(Protocol),
    /// The Gemini API.
    Gemini,
}

impl RecordedProtocol {
    /// The protocol of a path, and whether the request only counts tokens. `None` for other requests.
    pub fn of(target: &str) -> Option<(Self, bool)> {
        let path = target.split('?').next().unwrap_or_default();
        let endings = [
            ("/messages", Self::Spoken(Protocol::AnthropicMessages), false),
            ("/messages/count_tokens", Self::Spoken(Protocol::AnthropicMessages), true),
            ("/responses", Self::Spoken(Protocol::OpenAiResponses), false),
            (COMPACTS, Self::Spoken(Protocol::OpenAiResponses), false),
            ("/chat/completions", Self::Spoken(Protocol::OpenAiChat), false),
            (":generateContent", Self::Gemini, false),
            (":streamGenerateContent", Self::Gemini, false),
            (":countTokens", Self::Gemini, true),
        ];
        endings.into_iter().find(|(ending, ..)| path.ends_with(ending)).map(|(_, protocol, counts)| (protocol, counts))
    }

    /// The word for it in profiles of models.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spoken(protocol) => protocol.as_str(),
            Self::Gemini => "google-gemini",
        }
    }

    /// The first part of the names of its models, where the address of the provider says nothing else.
    pub const fn provider(self) -> &'static str {
        match self {
            Self::Spoken(Protocol::AnthropicMessages) => "anthropic",
            Self::Spoken(Protocol::OpenAiChat | Protocol::OpenAiResponses) => "openai",
            Self::Gemini => "google",
        }
    }
}
