//! What is said about a fragment that is on its way: one JSON object a line.

use annals_core::{RequestId, SessionId};
use annals_runtime::bus::{Delta, Fragment};
use serde::{Deserialize, Serialize};

/// A fragment of an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LiveFragment {
    /// The session that receives the answer.
    pub session: SessionId,
    /// The request that is answered.
    pub request: RequestId,
    /// The text that it belongs to.
    pub of: LiveContent,
    /// Which one of these.
    pub place: Option<LivePlace>,
}

/// What a fragment is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LiveContent {
    /// Text of an answer.
    Text,
    /// Reasoning.
    Reasoning,
    /// The input of a call.
    ToolInput,
    /// A summary.
    Summary,
}

/// Which text, reasoning or call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LivePlace {
    /// Its place in the content of the answer.
    Index(u32),
    /// The provider's id of the call.
    Call(String),
}

/// What happened to a fragment, in the form of `annals run --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum LiveUpdate {
    /// Text arrived: what follows what was sent before.
    Delta {
        /// The fragment.
        #[serde(flatten)]
        fragment: LiveFragment,
        /// The piece.
        text: String,
    },
    /// It is complete or was given up: the log has what became of it.
    Settled {
        /// The fragment.
        #[serde(flatten)]
        fragment: LiveFragment,
    },
}

impl LiveUpdate {
    /// The fragment.
    pub fn fragment(&self) -> &LiveFragment {
        match self {
            Self::Delta { fragment, .. } | Self::Settled { fragment } => fragment,
        }
    }

    /// `delta` or `settled`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Delta { .. } => "delta",
            Self::Settled { .. } => "settled",
        }
    }
}

impl From<&Delta> for LiveFragment {
    fn from(delta: &Delta) -> Self {
        let (of, place) = match &delta.fragment {
            Fragment::Text(index) => (LiveContent::Text, Some(LivePlace::Index(*index))),
            Fragment::Reasoning(index) => (LiveContent::Reasoning, Some(LivePlace::Index(*index))),
            Fragment::ToolInput(call) => (LiveContent::ToolInput, Some(LivePlace::Call(call.as_str().to_owned()))),
            Fragment::Summary => (LiveContent::Summary, None),
        };
        Self { session: delta.session, request: delta.request, of, place }
    }
}
