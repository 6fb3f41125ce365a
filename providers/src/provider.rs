//! A model provider: one canonical request goes out, a stream of what the answer holds comes back.
//!
//! The body is encoded before the request is announced (`annals_providers::wire`): an adapter sends exactly those bytes. Retries
//! are the turn's task: a provider sends once and reports how it failed.

mod body;

pub use body::RequestBody;

use annals_core::event::{Finish, Usage};
use annals_core::{CallId, RequestId, SessionId};
use annals_projections::Request;
use futures_util::stream::BoxStream;
use std::fmt;
use std::sync::Arc;

/// The answer as it arrives. It ends after [`ProviderEvent::Finished`] or after the first error; one that ends without
/// either broke off ([`ProviderErrorKind::IncompleteStream`]). Dropping it cancels the request.
pub type AnswerStream = BoxStream<'static, Result<ProviderEvent, ProviderError>>;

/// Sends requests to a model.
pub trait Provider: Send + Sync {
    /// Sends one attempt. Errors, also those before the first byte, come through the stream.
    fn send(&self, request: ProviderRequest) -> AnswerStream;
}

/// One attempt of one request.
#[derive(Clone, Debug)]
pub struct ProviderRequest {
    /// For affinity and cache keys; not a part of what the model sees.
    pub session: SessionId,
    /// The session that began this one, if any.
    pub parent: Option<SessionId>,
    /// The same for every attempt.
    pub id: RequestId,
    /// From 1.
    pub attempt: u32,
    /// What the model is to see, whole: what the digest in the log is made over.
    pub request: Arc<Request>,
    /// Exactly the bytes to send, those of the digest `wire` in the log; `None` for a model that nothing is encoded for.
    pub body: Option<Arc<RequestBody>>,
}

/// What arrives. Pieces of one fragment share an `id` that is unique within the answer.
///
/// Native metadata and raw JSON are the received text, letter for letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderEvent {
    /// A piece of text; the first one begins the fragment.
    TextDelta {
        /// Which fragment.
        id: String,
        /// The piece.
        text: String,
    },
    /// A fragment of text is complete.
    TextEnded {
        /// Which fragment.
        id: String,
        /// Native metadata.
        metadata: Option<String>,
    },
    /// A piece of reasoning; the first one begins the fragment. May be empty when only metadata follows.
    ReasoningDelta {
        /// Which fragment.
        id: String,
        /// The piece.
        text: String,
    },
    /// A fragment of reasoning is complete.
    ReasoningEnded {
        /// Which fragment.
        id: String,
        /// Native metadata, such as a signature.
        metadata: Option<String>,
    },
    /// A piece of a call's input, for live observers; the whole call follows.
    ToolInputDelta {
        /// Which call.
        call: CallId,
        /// The tool's name.
        name: String,
        /// The piece.
        text: String,
    },
    /// The model calls a tool.
    ToolCalled {
        /// Unique within the answer.
        call: CallId,
        /// The tool's name.
        name: String,
        /// The input as received: JSON, if the model kept to it.
        input: String,
        /// Whether the provider executes it itself.
        hosted: bool,
        /// Native metadata.
        metadata: Option<String>,
    },
    /// The provider executed a call of its own.
    HostedSettled {
        /// Which call.
        call: CallId,
        /// The exact result, as received JSON; replayed as it is.
        result: String,
        /// Why it failed, if it did.
        error: Option<String>,
        /// Native metadata.
        metadata: Option<String>,
    },
    /// Tokens used so far by this answer; a later one replaces it. May come before an error.
    Usage(Usage),
    /// The answer is complete.
    Finished(Finish),
}

/// How an attempt failed (`docs/reference/turn.md#retries`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProviderErrorKind {
    /// Too many requests.
    RateLimit,
    /// The provider's own fault.
    ProviderInternal,
    /// The connection failed.
    Transport,
    /// The request exceeds the model's context.
    Overflow,
    /// The request is wrong.
    InvalidRequest,
    /// The key is missing or wrong, or does not allow this.
    Authentication,
    /// The account's quota or credit is used up; waiting does not help.
    Quota,
    /// A filter refused the request or the answer.
    ContentFilter,
    /// The answer broke off.
    IncompleteStream,
    /// The answer was not what the protocol allows. Events and scenarios use the word of [`Self::IncompleteStream`] for it.
    /// Once a call was recorded it is not retried: another attempt would invite the same call again.
    Violation,
}

impl ProviderErrorKind {
    /// Every kind that has a word of its own.
    pub const ALL: [Self; 9] = [
        Self::RateLimit,
        Self::ProviderInternal,
        Self::Transport,
        Self::Overflow,
        Self::InvalidRequest,
        Self::Authentication,
        Self::Quota,
        Self::ContentFilter,
        Self::IncompleteStream,
    ];

    /// The word that events and scenarios use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "rate-limit",
            Self::ProviderInternal => "provider-internal",
            Self::Transport => "transport",
            Self::Overflow => "overflow",
            Self::InvalidRequest => "invalid-request",
            Self::Authentication => "authentication",
            Self::Quota => "quota",
            Self::ContentFilter => "content-filter",
            Self::IncompleteStream | Self::Violation => "incomplete-stream",
        }
    }

    /// The kind of a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether another attempt is worth making (`docs/reference/turn.md#retries`): any passing failure before output,
    /// and after output only an answer that broke off. Of [`Self::Violation`] only where no call was recorded.
    pub const fn retried(self, after_output: bool) -> bool {
        match self {
            Self::IncompleteStream | Self::Violation => true,
            Self::RateLimit | Self::ProviderInternal | Self::Transport => !after_output,
            Self::Overflow | Self::InvalidRequest | Self::Authentication | Self::Quota | Self::ContentFilter => false,
        }
    }
}

impl fmt::Display for ProviderErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// An attempt failed. Secrets are already replaced in the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// The kind.
    pub kind: ProviderErrorKind,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// How long the provider asks to wait before the next attempt, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// What happened, in words.
    pub message: String,
}

/// A model with limits in tokens that takes system messages natively and costs nothing.
#[cfg(test)]
pub(crate) fn test_model(
    model: &annals_core::ModelName,
    context: u64,
    output: u64,
) -> annals_core::event::ModelProfile {
    annals_core::event::ModelProfile {
        context,
        output,
        protocol: "scripted".into(),
        encoding: 1,
        ..annals_core::event::ModelProfile::of_name(model.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_output_only_an_answer_that_broke_off_is_tried_again() {
        let tried = |after| ProviderErrorKind::ALL.into_iter().filter(|kind| kind.retried(after)).collect::<Vec<_>>();
        assert_eq!(tried(true), [ProviderErrorKind::IncompleteStream]);
        assert_eq!(tried(false).len(), 4);
        assert!(ProviderErrorKind::ALL.into_iter().all(|kind| ProviderErrorKind::of(kind.as_str()) == Some(kind)));
    }
}
