//! Undo: staged, cleared, committed (`docs/reference/revert.md`).

use super::{Extent, MessagePlace, Session};
use crate::lane::Decision;
use crate::outcome::Refusal;
use crate::recovery::interrupted_turn;
use annals_core::event::RevertCommitted;
use annals_core::{Event, Seq};
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
            Self::Seq(seq) => Refusal::NotFound(format!("message at event {seq}")),
        })
    }
}

/// The facts of a revert that is committed: what is open ends as interrupted, be it that a turn runs or that its process died.
pub(super) fn committed(view: &SessionView, first_removed: Seq) -> Vec<Event> {
    let mut events = interrupted_turn(view);
    events.push(RevertCommitted { first_removed }.into());
    events
}

impl Session {
    /// Prepares to undo a message and all that follows it, of the talk alone. History, requests and context stay as they
    /// are; what an earlier stage restored in the files is put back. [`Session::plan_revert`] also undoes files.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when there is no such message; [`Refusal::Busy`] while it runs; [`Refusal::Files`].
    pub async fn stage_revert(&self, message: MessagePlace) -> Result<Seq, Refusal> {
        let plan = self.plan_revert(message, Extent::Talk).await?;
        self.stage(&plan).await?;
        Ok(plan.first_removed)
    }

    /// Carries a staged revert out; gives whether there was one. Admitting a new input does so, too.
    ///
    /// # Errors
    /// [`Refusal::Busy`] while it runs.
    pub async fn commit_revert(&self) -> Result<bool, Refusal> {
        self.refuse_while_running()?;
        self.settle_restore().await?;
        self.lane
            .decide(|view| {
                Ok(match &view.session.revert {
                    Some(revert) => Decision::append(committed(view, revert.first_removed), true),
                    None => Decision::nothing(false),
                })
            })
            .await
    }

    pub(super) fn refuse_while_running(&self) -> Result<(), Refusal> {
        if self.is_running() { Err(Refusal::Busy) } else { Ok(()) }
    }
}
