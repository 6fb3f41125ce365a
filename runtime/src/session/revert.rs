//! Undo: staged, cleared, committed (spec 11 with its ruling).

use super::{MessagePlace, Session};
use crate::lane::Decision;
use crate::outcome::Refusal;
use annals_core::Seq;
use annals_core::event::{RevertCleared, RevertCommitted, RevertStaged};
use annals_projections::SessionView;

impl MessagePlace {
    /// The Seq of the event that made the message.
    ///
    /// # Errors
    /// [`Refusal::NotFound`].
    pub(super) fn find(self, view: &SessionView) -> Result<Seq, Refusal> {
        let found = match self {
            Self::User(n) => view.transcript.user_message(n),
            Self::Seq(seq) => {
                let transcript = &view.transcript;
                transcript.items.iter().map(|item| item.seq).find(|at| *at == seq && !transcript.is_removed(*at))
            }
        };
        found.ok_or_else(|| match self {
            Self::User(n) => Refusal::NotFound(format!("user message {n}")),
            Self::Seq(seq) => Refusal::NotFound(format!("message at seq {seq}")),
        })
    }
}

impl Session {
    /// Prepares to undo a message and all that follows it. History, requests and context stay as they are.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when there is no such message; [`Refusal::Busy`] while it runs.
    pub async fn stage_revert(&self, message: MessagePlace) -> Result<Seq, Refusal> {
        self.refuse_while_running()?;
        self.lane
            .decide(|view| {
                let first_removed = message.find(view)?;
                let staged = RevertStaged { first_removed, original: None, diff: None, files: Vec::new() };
                Ok(Decision::append(vec![staged.into()], first_removed))
            })
            .await
    }

    /// Drops a staged revert; gives whether there was one.
    ///
    /// # Errors
    /// When the log refuses.
    pub async fn clear_revert(&self) -> Result<bool, Refusal> {
        self.lane
            .decide(|view| {
                Ok(match view.session.revert {
                    Some(_) => Decision::append(vec![RevertCleared {}.into()], true),
                    None => Decision::nothing(false),
                })
            })
            .await
    }

    /// Carries a staged revert out; gives whether there was one. Admitting a new input does so, too.
    ///
    /// # Errors
    /// [`Refusal::Busy`] while it runs.
    pub async fn commit_revert(&self) -> Result<bool, Refusal> {
        self.refuse_while_running()?;
        self.lane
            .decide(|view| {
                Ok(match &view.session.revert {
                    Some(revert) => {
                        let committed = RevertCommitted { first_removed: revert.first_removed };
                        Decision::append(vec![committed.into()], true)
                    }
                    None => Decision::nothing(false),
                })
            })
            .await
    }

    fn refuse_while_running(&self) -> Result<(), Refusal> {
        if self.is_running() { Err(Refusal::Busy) } else { Ok(()) }
    }
}
