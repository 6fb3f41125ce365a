//! Where an event puts a text in the model's view, or why the model does not see it.

use crate::Fact;
use annals_core::event::RequestSent;
use annals_core::{CallId, Digest, Seq};
use annals_projections::{Body, Content, Epochs, History};
use serde::Serialize;

/// What a text came through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "through")]
pub enum Through {
    /// A user message.
    User,
    /// A Mid-Conversation System Message.
    System {
        /// The Context Sources that it speaks of.
        sources: Vec<String>,
    },
    /// A piece of a Baseline System Context.
    Baseline {
        /// The Context Source.
        source: String,
    },
    /// The runtime's words in the user's place.
    Synthetic,
    /// A shell command of the user, or what it printed.
    Shell,
    /// The summary of a compaction.
    Summary,
    /// The tail that a compaction kept.
    Recent,
    /// A model's text.
    Text,
    /// A model's reasoning.
    Reasoning,
    /// The input of a tool call.
    Call {
        /// The tool.
        tool: String,
    },
    /// The Model Tool Output, or the error, of a call.
    Result {
        /// The tool.
        tool: String,
    },
    /// What the agent sends in the place of something else.
    Edit,
    /// A part of a recorded request that no reader knows.
    Unknown,
    /// The body of a recorded request, where no event has it.
    Body {
        /// Where it is there first, as a JSON Pointer.
        pointer: String,
    },
    /// An agent's own system text.
    AgentText {
        /// The agent.
        agent: String,
    },
    /// A tool definition.
    Tool {
        /// The tool.
        tool: String,
    },
}

/// An event that holds the text and never showed it to the model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Missed {
    /// The event.
    #[serde(flatten)]
    pub fact: Fact,
    /// Why the model did not see it.
    pub reason: Reason,
}

/// Why the model did not see a text that the log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// An input that waits.
    Waits,
    /// An input that was withdrawn.
    Withdrawn,
    /// An input that waited when the session was forked.
    NotInherited,
    /// A tool's output was bounded, and what is left does not hold it.
    Truncated,
    /// It is in a structured value only; the Model Tool Output does not contain it.
    Structured,
    /// A tool showed it while it ran and gave something else in the end.
    Replaced,
    /// No request was given it, or it was out of view before one could be.
    NotSent,
}

impl Reason {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Waits => "the input is still waiting",
            Self::Withdrawn => "the input was withdrawn before it was sent",
            Self::NotInherited => "the input was waiting when the session was forked; a fork does not inherit it",
            Self::Truncated => "cut by truncation: the shortened output that the model reads does not contain it",
            Self::Structured => "it is in the structured value only, which the model does not read",
            Self::Replaced => "the tool showed it while it ran; its result does not contain it",
            Self::NotSent => "no request contained it",
        }
    }
}

/// Where the model would read it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Holder {
    /// A whole message.
    Message(Seq),
    /// A fragment or a call of an answer.
    Fragment { message: Seq, place: Seq },
    /// What the agent sends in the place of a part since an event.
    Edit { message: Seq, place: Seq, edit: Seq },
    /// The result of a call in a message.
    Result {
        message: Seq,
        place: Seq,
        call: CallId,
        /// Whether it is there where the output is shortened to its two ends.
        in_ends: bool,
    },
    /// A piece of the baseline that an event opened.
    Baseline(Seq),
    /// An agent profile, by hash.
    Agent(Digest),
    /// A tool set, by hash.
    Tools(Digest),
}

impl Holder {
    pub(super) fn is_named_by(&self, sent: &RequestSent) -> bool {
        match self {
            Self::Agent(digest) => sent.agent_profile == *digest,
            Self::Tools(digest) => sent.tools == Some(*digest),
            Self::Message(_) | Self::Fragment { .. } | Self::Edit { .. } | Self::Result { .. } | Self::Baseline(_) => {
                false
            }
        }
    }

    /// What has to be in view for it to be: a message, or the event that opened a baseline; `None` where requests name it, so that
    /// they alone say whether it is in view.
    pub(super) fn place(&self) -> Option<Seq> {
        match self {
            Self::Message(seq)
            | Self::Fragment { message: seq, .. }
            | Self::Edit { message: seq, .. }
            | Self::Result { message: seq, .. }
            | Self::Baseline(seq) => Some(*seq),
            Self::Agent(_) | Self::Tools(_) => None,
        }
    }

    pub(super) fn is_in_view(&self, history: &History, epochs: &Epochs) -> bool {
        match self {
            Self::Message(message) => history.selects(*message) && history.edited(*message).is_none(),
            Self::Fragment { message, place } => history.selects(*message) && history.edited(*place).is_none(),
            Self::Edit { message, place, edit } => history.selects(*message) && history.edited(*place) == Some(*edit),
            Self::Result { message, place, call, in_ends } => {
                history.selects(*message)
                    && history.edited(*place).is_none()
                    && is_read(history, *message, call, *in_ends)
            }
            Self::Baseline(seq) => epochs.current.as_ref().is_some_and(|epoch| epoch.mark.seq == *seq),
            Self::Agent(_) | Self::Tools(_) => false,
        }
    }
}

/// Whether the model reads it in an output, which may have been cleared or shortened.
fn is_read(history: &History, message: Seq, call: &CallId, in_ends: bool) -> bool {
    let Some(Body::Assistant(assistant)) = history.message(message).map(|message| &message.body) else { return true };
    let gone = |content: &Content| match content {
        Content::Tool(it) => it.call == *call && (it.pruned.is_some() || it.shortened.is_some() && !in_ends),
        Content::Text { .. } | Content::Reasoning { .. } => false,
    };
    !assistant.content.iter().any(gone)
}

/// An event that holds the text where the model reads it.
pub(super) struct Occurrence {
    pub holder: Holder,
    pub fact: Fact,
    pub through: Through,
}
