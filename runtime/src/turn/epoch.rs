//! Context Epochs at a boundary: begun, kept, told, replaced (`docs/reference/context.md#what-a-boundary-appends`).

use super::{Runner, Selected, Stop};
use crate::lane::Decision;
use crate::outcome::RunError;
use annals_core::context::{Generation, Reconciled, Replaced, Update, initialize, reconcile, replace};
use annals_core::event::{ContextAdmitted, EpochCause, EpochReplacementBlocked, EpochStarted, SnapshotAdvanced};
use annals_core::{Event, Key};
use annals_projections::{Epoch, SessionView};

/// What became of the epoch that stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EpochCheck {
    /// It stands, or a new one does; what is to be told is told.
    Ready,
    /// The agent is not selected any more, or the epoch is gone: the boundary begins anew.
    Overtaken,
}

/// Begins an epoch where none stands. Gives `false` when the boundary must begin anew.
///
/// # Errors
/// When a source is unavailable or wrong; nothing is appended.
pub(super) async fn begin(runner: &Runner, selected: &Selected) -> Result<bool, Stop> {
    let observations = runner.observe(selected).await?;
    runner
        .lane
        .decide(|view| {
            runner.check_location(view)?;
            if selected.is_overtaken(view) || view.epochs.current.is_some() {
                return Ok(Decision::nothing(false));
            }
            let generation = initialize(&observations.sources)?;
            let cause = view.epochs.due().unwrap_or(EpochCause::FirstTurn);
            Ok(Decision::append(vec![started(runner, selected, cause, generation)], true))
        })
        .await
}

/// Tells what changed since the epoch began, or begins a new one where that is due.
///
/// # Errors
/// When a source is wrong, or the baseline of an agent that was switched away from cannot be replaced.
pub(super) async fn check(runner: &Runner, selected: &Selected) -> Result<EpochCheck, Stop> {
    let observations = runner.observe(selected).await?;
    let blobs = runner.lane.blobs();
    let blocked = runner
        .lane
        .decide(|view| {
            runner.check_location(view)?;
            let Some(epoch) = view.epochs.current.as_ref().filter(|_| !selected.is_overtaken(view)) else {
                return Ok::<_, Stop>(Decision::nothing(Err(EpochCheck::Overtaken)));
            };
            let due = view.epochs.due();
            let reconciled = match due {
                Some(_) => match replace(&observations.sources, &epoch.snapshot)? {
                    Replaced::ReplacementReady(generation) => Reconciled::ReplacementReady(generation),
                    Replaced::ReplacementBlocked(keys) => Reconciled::ReplacementBlocked(keys),
                },
                None => reconcile(&observations.sources, &epoch.snapshot, &*blobs)?,
            };
            let cause = due.unwrap_or(EpochCause::Incompatible);
            Ok(match reconciled {
                Reconciled::Unchanged => Decision::nothing(Ok(None)),
                Reconciled::Updated(update) => Decision::append(told(update).into(), Ok(None)),
                Reconciled::ReplacementReady(generation) => {
                    Decision::append(vec![started(runner, selected, cause, generation)], Ok(None))
                }
                Reconciled::ReplacementBlocked(keys) => {
                    let waits = agent_waits(view, epoch, selected, &keys);
                    Decision::append(newly_blocked(epoch, cause, keys), Ok(waits))
                }
            })
        })
        .await?;
    match blocked {
        Err(kept) => Ok(kept),
        Ok(None) => Ok(EpochCheck::Ready),
        Ok(Some(error)) => Err(error.into()),
    }
}

fn started(runner: &Runner, selected: &Selected, cause: EpochCause, generation: Generation) -> Event {
    EpochStarted {
        cause,
        agent: selected.agent.clone(),
        location: runner.location.clone(),
        parts: generation.parts,
        entries: generation.snapshot.0,
        known: true,
    }
    .into()
}

/// The message and the advance of the snapshot: they land together.
fn told(Update { keys, text, set, removed }: Update) -> [Event; 2] {
    [ContextAdmitted { keys, text: text.into() }.into(), SnapshotAdvanced { set, removed }.into()]
}

/// A blocked replacement is a fact once per change of the keys.
fn newly_blocked(epoch: &Epoch, cause: EpochCause, keys: Vec<Key>) -> Vec<Event> {
    if epoch.blocked.as_ref().is_some_and(|blocked| blocked.keys == keys) {
        return Vec::new();
    }
    vec![EpochReplacementBlocked { cause, keys }.into()]
}

/// Under the policy `replace` no turn runs on the baseline of an agent that was switched away from.
fn agent_waits(view: &SessionView, epoch: &Epoch, selected: &Selected, keys: &[Key]) -> Option<RunError> {
    view.epochs.agent_replacement_due().then(|| RunError::AgentReplacementBlocked {
        previous: epoch.agent.clone(),
        current: selected.agent.clone(),
        keys: keys.to_vec(),
    })
}
