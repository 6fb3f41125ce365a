//! The lines of a recording: a head, one line for each thing that arrived, an end.

use super::CassetteKey;
use crate::provider::{ProviderError, ProviderErrorKind, ProviderEvent, ProviderRequest};
use annals_core::event::{Finish, Purpose, Usage};
use annals_core::{AgentName, CallId, Digest, ModelName};
use serde::{Deserialize, Serialize};

/// The number of the format.
pub(super) const FORMAT: u32 = 1;

/// The word for [`ProviderErrorKind::Violation`], which has none of its own elsewhere: played again, it is not retried either.
const VIOLATION: &str = "protocol-violation";

/// The first line: which request was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CassetteHead {
    pub(super) cassette: u32,
    pub(super) request: Digest,
    pub(super) attempt: u32,
    /// Which answer to the same request and attempt this is, from 1.
    pub(super) take: u32,
    pub(super) purpose: Purpose,
    pub(super) agent: AgentName,
    pub(super) model: ModelName,
    pub(super) parts: Vec<RequestPart>,
}

/// A part of the request; its text is in the folder `parts` under its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RequestPart {
    pub(super) part: String,
    pub(super) digest: Digest,
}

/// A part with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartText {
    pub(super) part: RequestPart,
    pub(super) text: String,
}

/// What was asked for, part by part.
pub(super) fn parts(request: &ProviderRequest) -> (CassetteKey, Vec<PartText>) {
    let mut parts = Vec::new();
    request.request.each_part(|name, text| {
        let digest = Digest::of(text.as_bytes());
        parts.push(PartText { part: RequestPart { part: name, digest }, text: text.to_owned() });
    });
    // As `Request::digest`, without writing the parts a second time.
    let digest = Digest::of_all(parts.iter().map(|text| &text.part.digest));
    (CassetteKey { request: digest, attempt: request.attempt }, parts)
}

/// A line after the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum CassetteLine {
    TextDelta {
        id: String,
        text: String,
    },
    TextEnded {
        id: String,
        metadata: Option<String>,
    },
    ReasoningDelta {
        id: String,
        text: String,
    },
    ReasoningEnded {
        id: String,
        metadata: Option<String>,
    },
    ToolInputDelta {
        call: CallId,
        name: String,
        text: String,
    },
    ToolCalled {
        call: CallId,
        name: String,
        input: String,
        hosted: bool,
        metadata: Option<String>,
    },
    HostedSettled {
        call: CallId,
        result: String,
        error: Option<String>,
        metadata: Option<String>,
    },
    Usage(Usage),
    Finished {
        finish: Finish,
    },
    Failed {
        kind: String,
        status: Option<u16>,
        retry_after_ms: Option<u64>,
        message: String,
    },
    /// The last line: the number of lines between the head and this one.
    End {
        lines: usize,
    },
}

/// What a provider's stream gives.
pub(super) type Arrived = Result<ProviderEvent, ProviderError>;

impl From<&Arrived> for CassetteLine {
    fn from(arrived: &Arrived) -> Self {
        match arrived.clone() {
            Ok(ProviderEvent::TextDelta { id, text }) => Self::TextDelta { id, text },
            Ok(ProviderEvent::TextEnded { id, metadata }) => Self::TextEnded { id, metadata },
            Ok(ProviderEvent::ReasoningDelta { id, text }) => Self::ReasoningDelta { id, text },
            Ok(ProviderEvent::ReasoningEnded { id, metadata }) => Self::ReasoningEnded { id, metadata },
            Ok(ProviderEvent::ToolInputDelta { call, name, text }) => Self::ToolInputDelta { call, name, text },
            Ok(ProviderEvent::ToolCalled { call, name, input, hosted, metadata }) => {
                Self::ToolCalled { call, name, input, hosted, metadata }
            }
            Ok(ProviderEvent::HostedSettled { call, result, error, metadata }) => {
                Self::HostedSettled { call, result, error, metadata }
            }
            Ok(ProviderEvent::Usage(usage)) => Self::Usage(usage),
            Ok(ProviderEvent::Finished(finish)) => Self::Finished { finish },
            Err(ProviderError { kind, status, retry_after_ms, message }) => {
                let kind = if kind == ProviderErrorKind::Violation { VIOLATION } else { kind.as_str() };
                Self::Failed { kind: kind.into(), status, retry_after_ms, message }
            }
        }
    }
}

/// What a line says arrived; `None` for the end.
///
/// # Errors
/// Names the word that this build does not know.
pub(super) fn arrived(line: CassetteLine) -> Result<Option<Arrived>, String> {
    Ok(Some(Ok(match line {
        CassetteLine::TextDelta { id, text } => ProviderEvent::TextDelta { id, text },
        CassetteLine::TextEnded { id, metadata } => ProviderEvent::TextEnded { id, metadata },
        CassetteLine::ReasoningDelta { id, text } => ProviderEvent::ReasoningDelta { id, text },
        CassetteLine::ReasoningEnded { id, metadata } => ProviderEvent::ReasoningEnded { id, metadata },
        CassetteLine::ToolInputDelta { call, name, text } => ProviderEvent::ToolInputDelta { call, name, text },
        CassetteLine::ToolCalled { call, name, input, hosted, metadata } => {
            ProviderEvent::ToolCalled { call, name, input, hosted, metadata }
        }
        CassetteLine::HostedSettled { call, result, error, metadata } => {
            ProviderEvent::HostedSettled { call, result, error, metadata }
        }
        CassetteLine::Usage(usage) => ProviderEvent::Usage(usage),
        CassetteLine::Finished { finish } => ProviderEvent::Finished(finish),
        CassetteLine::Failed { kind, status, retry_after_ms, message } => {
            let known =
                if kind == VIOLATION { Some(ProviderErrorKind::Violation) } else { ProviderErrorKind::of(&kind) };
            let kind = known.ok_or_else(|| format!("{kind:?} is not a kind of failure"))?;
            return Ok(Some(Err(ProviderError { kind, status, retry_after_ms, message })));
        }
        CassetteLine::End { .. } => return Ok(None),
    })))
}
