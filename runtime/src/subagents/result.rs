//! How the end of a child is recorded in its parent.

use crate::outcome::{Outcome, RunError};
use crate::tools::ToolError;
use annals_core::event::{ChildOutcome, ChildSettled};
use annals_core::{Blobs, SessionId};
use annals_projections::{Assistant, Body, Content, SessionView};

/// How a child ended: as its parent records and reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChildEnd {
    pub(super) outcome: ChildOutcome,
    /// Its last text, or what went wrong.
    pub(super) text: String,
}

impl ChildEnd {
    /// The result, from the outcome of the child's run and the end of its history.
    pub(super) fn of(ended: Result<Outcome, RunError>, view: &SessionView, blobs: &dyn Blobs) -> Self {
        match ended {
            Ok(Outcome::Idle) => Self::answered(view, blobs),
            Ok(Outcome::Interrupted) => {
                Self { outcome: ChildOutcome::Cancelled, text: "The subagent was interrupted".into() }
            }
            Err(error) => Self { outcome: ChildOutcome::Failed, text: error.to_string() },
        }
    }

    /// The last text of the last answer; without one, the error that it ended with.
    fn answered(view: &SessionView, blobs: &dyn Blobs) -> Self {
        let last = view.history.selected().filter_map(|message| match &message.body {
            Body::Assistant(answer) => Some(answer),
            _ => None,
        });
        let Some(answer) = last.last() else {
            return Self { outcome: ChildOutcome::Failed, text: "The subagent gave no answer".into() };
        };
        let text = answer.content.iter().rev().find_map(|content| match content {
            Content::Text { text, .. } => Some(text.resolve(blobs).into_owned()),
            Content::Reasoning { .. } | Content::Tool(_) => None,
        });
        match (text, failure(answer, blobs)) {
            (Some(text), _) => Self { outcome: ChildOutcome::Completed, text },
            (None, Some(error)) => Self { outcome: ChildOutcome::Failed, text: error },
            (None, None) => Self { outcome: ChildOutcome::Completed, text: String::new() },
        }
    }

    /// What the model reads.
    pub(super) fn output(self, child: SessionId) -> Result<String, ToolError> {
        match self.outcome {
            ChildOutcome::Completed => Ok(format!(
                "<task id=\"{child}\" state=\"completed\">\n<task_result>\n{}\n</task_result>\n</task>",
                self.text
            )),
            ChildOutcome::Failed | ChildOutcome::Cancelled => {
                Err(ToolError(format!("Subagent failed (task_id: {child}): {}", self.text)))
            }
        }
    }

    /// The same as an input of its own.
    pub(super) fn text(self, child: SessionId) -> String {
        self.output(child).unwrap_or_else(|error| error.to_string())
    }

    /// The fact in the parent.
    pub(super) fn settled(&self, child: SessionId) -> ChildSettled {
        ChildSettled { child, outcome: self.outcome, result: self.text.clone().into() }
    }
}

/// The answer's own error, or that of its last failed call.
fn failure(answer: &Assistant, blobs: &dyn Blobs) -> Option<String> {
    let called = answer.content.iter().rev().find_map(|content| match content {
        Content::Tool(call) => call.error.as_ref(),
        Content::Text { .. } | Content::Reasoning { .. } => None,
    });
    let error = answer.error.as_ref().map(|error| &error.message).or(called)?;
    Some(error.resolve(blobs).into_owned())
}

/// What the model reads while a task runs in the background.
pub(super) fn running(child: SessionId) -> String {
    format!("<task id=\"{child}\" state=\"running\">\nThe result comes as a message of its own.\n</task>")
}
