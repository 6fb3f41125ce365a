//! Undo: staged, cleared, committed (`docs/reference/revert.md`).

use super::{MessagePlace, SessionEditor};
use crate::lane::Decision;
use crate::outcome::{MissingItem, Refusal};
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
        found.ok_or(Refusal::NotFound(match self {
            Self::User(n) => MissingItem::UserMessage(n),
            Self::Seq(seq) => MissingItem::Message(seq),
        }))
    }
}

/// The facts of a revert that is committed: what is open ends as interrupted, be it that a turn runs or that its process died.
pub(super) fn committed(view: &SessionView, first_removed: Seq) -> Vec<Event> {
    let mut events = interrupted_turn(view);
    events.push(RevertCommitted { first_removed }.into());
    events
}

impl SessionEditor {
    /// Carries a staged revert out; gives the number of `revert.committed`, or `None` without one. Admitting a new input does so,
    /// too.
    ///
    /// # Errors
    /// [`Refusal::Busy`] while it runs.
    pub async fn commit_revert(&self) -> Result<Option<Seq>, Refusal> {
        self.refuse_while_running()?;
        self.settle_restore().await?;
        self.lane
            .decide(|view| {
                Ok(match &view.session.revert {
                    Some(revert) => {
                        let events = committed(view, revert.first_removed);
                        let last = view.cut().next.plus(events.len().saturating_sub(1) as u64);
                        Decision::append(events, Some(last))
                    }
                    None => Decision::nothing(None),
                })
            })
            .await
    }
}
