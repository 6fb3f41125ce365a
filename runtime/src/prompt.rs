//! Questions of a model to the user (`docs/tools.md`).

use crate::Boxed;
use annals_core::{CallId, SessionId};
use serde::{Deserialize, Serialize};

/// A question of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserQuestion {
    /// The session; a child's question names the child.
    pub session: SessionId,
    /// The call that asks.
    pub call: CallId,
    /// The question.
    pub question: String,
    /// Answers to choose from; another one may be given.
    pub options: Vec<String>,
    /// Whether several options may be chosen.
    pub multiple: bool,
}

/// Asks the user on behalf of a model.
pub trait UserPrompt: Send + Sync {
    /// Waits for the answer; `None` when there is no user to ask.
    fn ask(&self, question: UserQuestion) -> Boxed<'_, Option<String>>;
}
