//! Restart settlement: what a crash, or a stop in the middle, left open (`docs/reference/turn.md#crash-recovery`).

use crate::lane::{Decision, Lane};
use crate::outcome::{LogError, interrupted};
use crate::state::RuntimeState;
use crate::tools::CallError;
use annals_core::event::{CompactionFailed, Failure, StepFailed, TitleFailed, ToolOutcome, ToolSettled};
use annals_core::{CallId, Event};
use annals_projections::SessionView;

/// Settles open calls, the open step, an open compaction and a lost title request as interrupted, in one batch. Nothing
/// is run again.
pub(crate) async fn settle_open(shared: &RuntimeState, lane: &Lane) -> Result<(), LogError> {
    lane.decide(|view| Ok(Decision::append(settlements(shared, view), ()))).await
}

fn settlements(shared: &RuntimeState, view: &SessionView) -> Vec<Event> {
    let mut events = interrupted_turn(view);
    if let Some(reason) = view.calls.compaction_open {
        let error = Failure { message: "Compaction interrupted".into(), ..interrupted() };
        events.push(CompactionFailed { reason, error, usage: None, cost: 0 }.into());
    }
    events.extend(lost_title(shared, view).map(Event::from));
    events
}

/// What ends the open calls and the open step of a turn as interrupted.
pub(crate) fn interrupted_turn(view: &SessionView) -> Vec<Event> {
    let mut events: Vec<Event> = view.calls.open.iter().map(|open| interrupted_call(&open.call).into()).collect();
    if view.calls.step_open {
        events.push(StepFailed { error: interrupted(), usage: None, cost: 0 }.into());
    }
    events
}

fn interrupted_call(call: &CallId) -> ToolSettled {
    let error = Some(CallError::Interrupted.to_string().into());
    ToolSettled { error, ..ToolSettled::bare(call.clone(), ToolOutcome::Interrupted) }
}

/// The end of a title request that its process did not survive.
fn lost_title(shared: &RuntimeState, view: &SessionView) -> Option<TitleFailed> {
    let open = view.session.titling.open.filter(|_| !view.session.id.is_some_and(|id| shared.titles.asks_for(id)))?;
    let error = Failure { message: "The process ended before the title came".into(), ..interrupted() };
    Some(TitleFailed { request: open, error, usage: None, cost: 0 })
}
