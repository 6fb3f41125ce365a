//! Promotion: pending inputs join at a Safe Provider-Turn Boundary (`docs/reference/inbox.md`).

use super::{Runner, Stop, TurnState};
use crate::lane::Decision;
use annals_core::Event;
use annals_core::event::InputPromoted;
use annals_projections::SessionView;

/// What a turn promotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promotion {
    /// Nothing: its inputs joined already.
    Nothing,
    /// Every pending steer.
    Steers,
    /// The oldest queued input, then every pending steer.
    Queued,
}

impl Promotion {
    /// What comes first for an idle session; `None` when nothing is pending.
    pub(crate) fn first(view: &SessionView) -> Option<Self> {
        if view.inbox.steers().next().is_some() {
            Some(Self::Steers)
        } else {
            view.inbox.queued().map(|_| Self::Queued)
        }
    }

    /// The inputs that join, in order. An input admitted after the view was taken waits for the next boundary.
    fn joining(self, view: &SessionView) -> Vec<Event> {
        let queued = view.inbox.queued().filter(|_| self == Self::Queued);
        let steers = view.inbox.steers().filter(|_| self != Self::Nothing);
        queued.into_iter().chain(steers).map(|pending| InputPromoted { input: pending.input.clone() }.into()).collect()
    }
}

/// Promotes the due inputs, once; any promotion resets the step count to 1. They are appended with the request, or before
/// anything else. Returns `false` when the Context Epoch that promotion must follow is gone.
pub(super) async fn promote(runner: &Runner, state: &mut TurnState) -> Result<bool, Stop> {
    let promotion = state.promotion;
    let promoted = runner
        .lane
        .stage(|view| {
            runner.check_location(view)?;
            if view.epochs.current.is_none() {
                return Ok::<_, Stop>(Decision::nothing(None));
            }
            let joining = promotion.joining(view);
            let count = joining.len();
            Ok(Decision::append(joining, Some(count)))
        })
        .await?;
    let Some(count) = promoted.flatten() else { return Ok(false) };
    state.promotion = Promotion::Nothing;
    if count > 0 {
        state.step = 1;
    }
    Ok(true)
}
