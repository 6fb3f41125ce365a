//! Who answers permission questions.

use annals_runtime::permission::{Answered, PermissionAnswer};

/// Who answers permission questions that no rule answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalMode {
    /// A person who is asked.
    Person,
    /// `--yes`: each is allowed.
    Yes,
    /// `--deny`: each is rejected.
    Deny,
    /// Without a user: each is rejected, with a message on how to allow it.
    Nobody,
    /// Recorded results are given: nothing is done that needs to be allowed.
    Recorded,
}

/// What the model reads for a call that was rejected without a question.
const NOBODY: &str = "Not permitted: there is no one to ask. Continue without it, and report what was left undone.";

impl ApprovalMode {
    /// Who answers where nothing runs.
    pub const RECORDED: &str = "rerun";

    /// The answer without a question; `None` when the user is asked.
    pub fn answer(self) -> Option<Answered> {
        let rejected = || PermissionAnswer::Reject { feedback: Some(NOBODY.into()) };
        let (answer, by) = match self {
            Self::Person => return None,
            Self::Yes => (PermissionAnswer::Once, "--yes"),
            Self::Deny => (rejected(), "--deny"),
            Self::Nobody => (rejected(), "no terminal"),
            Self::Recorded => (PermissionAnswer::Once, Self::RECORDED),
        };
        Some(Answered { answer, by: by.into() })
    }
}
