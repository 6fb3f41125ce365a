//! Answers without text.

use annals_core::Blobs;
use annals_core::event::Finish;
use annals_projections::{Body, Content, SessionView};

/// Why the last answer holds no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyAnswer {
    /// The model ended its answer without any.
    Empty,
    /// The model, or a filter of the provider, refused.
    Refused,
    /// The output limit was reached before any text.
    Limit,
}

impl EmptyAnswer {
    /// Of a session that is idle; `None` when its last answer holds text, or there is no answer at all.
    pub fn of(view: &SessionView, blobs: &dyn Blobs) -> Option<Self> {
        let answers = view.history.selected().filter_map(|message| match &message.body {
            Body::Assistant(answer) => Some(answer),
            _ => None,
        });
        let last = answers.last()?;
        let has_text = |content: &Content| match content {
            Content::Text { text, .. } => !text.resolve(blobs).trim().is_empty(),
            Content::Reasoning { .. } | Content::Tool(_) => false,
        };
        if last.error.is_some() || last.content.iter().any(has_text) {
            return None;
        }
        Some(match last.finish {
            Some(Finish::ContentFilter) => Self::Refused,
            Some(Finish::Length) => Self::Limit,
            _ => Self::Empty,
        })
    }

    /// The name that programs read.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Empty => "empty-answer",
            Self::Refused => "refused",
            Self::Limit => "output-limit",
        }
    }
}

/// Whether the last turn of a session has ended and no input waits: another run would ask for an answer to an answer.
pub fn is_answered(view: &SessionView) -> bool {
    let answered = view.history.selected().last().is_some_and(|message| match &message.body {
        Body::Assistant(answer) => answer.finish == Some(Finish::Stop),
        Body::User { .. }
        | Body::System { .. }
        | Body::Synthetic { .. }
        | Body::Shell { .. }
        | Body::Compaction { .. }
        | Body::AgentSwitched { .. }
        | Body::ModelSwitched { .. } => false,
    });
    answered && view.inbox.pending.is_empty() && !view.session.running
}
