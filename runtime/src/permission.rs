//! Who answers when a call needs permission (`docs/reference/permissions.md`). Questions and answers are facts; the
//! waiting is not.

use crate::Boxed;
use annals_core::event::{PermissionReplied, Reply, Rule};
use annals_core::{AgentName, CallId, PermissionId, SessionId};
use annals_guard::exact_rules;

/// A permission question as it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionQuestion {
    /// Whose session.
    pub session: SessionId,
    /// The question, as `permission.asked` names it.
    pub permission: PermissionId,
    /// The call that waits.
    pub call: CallId,
    /// The agent of the turn that made the call.
    pub agent: AgentName,
    /// The tool.
    pub tool: String,
    /// Its input, as the log keeps it.
    pub input: String,
    /// What it wants to do.
    pub action: String,
    /// The resources that the action concerns.
    pub resources: Vec<String>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// This time.
    Once,
    /// For the rest of the session.
    Always,
    /// This time, and for the rest of the session what these rules allow ([`annals_guard::Coverage`]).
    AlwaysBy(Vec<Rule>),
    /// No. Without feedback the turn ends; with it the model reads the feedback and continues.
    Reject {
        /// The text that the model reads.
        feedback: Option<String>,
    },
}

/// An answer and who gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The answer.
    pub answer: PermissionAnswer,
    /// `user`, or the name of what answered in the user's place.
    pub by: String,
}

impl Answered {
    /// An answer of the user.
    pub fn by_user(answer: PermissionAnswer) -> Self {
        Self { answer, by: "user".into() }
    }

    /// The fact that it becomes, for a question about an action and resources.
    pub(crate) fn recorded(self, permission: &PermissionId, action: &str, resources: &[String]) -> PermissionReplied {
        let (reply, feedback, rules) = match self.answer {
            PermissionAnswer::Once => (Reply::Once, None, Vec::new()),
            PermissionAnswer::Always => (Reply::Always, None, exact_rules(action, resources)),
            PermissionAnswer::AlwaysBy(rules) => (Reply::Always, None, rules),
            PermissionAnswer::Reject { feedback } => (Reply::Reject, feedback, Vec::new()),
        };
        let feedback = feedback.map(Into::into);
        PermissionReplied { permission: permission.clone(), reply, feedback, by: self.by, rules }
    }
}

/// Answers permission questions. Dropping the future withdraws the question: the turn was interrupted, or a rule that
/// was just given answers it.
pub trait Approver: Send + Sync {
    /// Waits for the answer to one question.
    fn ask(&self, question: PermissionQuestion) -> Boxed<'_, Answered>;
}

/// Answers every question in the same way: for hosts that decide by rules alone.
#[derive(Clone, Debug)]
pub struct FixedApprover(pub Answered);

impl FixedApprover {
    /// Rejects what no rule allows.
    pub fn rejecting(by: impl Into<String>) -> Self {
        Self(Answered { answer: PermissionAnswer::Reject { feedback: None }, by: by.into() })
    }

    /// Allows what no rule denies.
    pub fn allowing(by: impl Into<String>) -> Self {
        Self(Answered { answer: PermissionAnswer::Once, by: by.into() })
    }
}

impl Approver for FixedApprover {
    fn ask(&self, _: PermissionQuestion) -> Boxed<'_, Answered> {
        Box::pin(async { self.0.clone() })
    }
}
