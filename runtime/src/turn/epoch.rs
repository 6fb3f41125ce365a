//! Context Epochs at a boundary: started, updated, replaced (`docs/reference/context.md#what-a-boundary-appends`).

use super::{Runner, Selected, Stop};
use crate::lane::Decision;
use crate::outcome::RunError;
use annals_core::context::{Generation, Reconciled, Replaced, Update, initialize, reconcile, replace};
use annals_core::event::{ContextAdmitted, EpochCause, EpochReplacementBlocked, EpochStarted, SnapshotAdvanced};
use annals_core::{Event, Key};
use annals_projections::{Epoch, SessionView};

/// The state of the Context Epoch after a boundary checked it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EpochCheck {
    /// An epoch is current and every due context message has been appended.
    Ready,
    /// Another agent was selected, or the epoch ended: the boundary starts over.
    Overtaken,
}

/// Starts an epoch where none is current. Returns `false` when the boundary must start over.
///
/// # Errors
/// When a source is unavailable or wrong; nothing is appended.
pub(super) async fn begin(runner: &Runner, selected: &Selected, view: &SessionView) -> Result<bool, Stop> {
    // Observed before `decide`, which holds the lane: a slow source must not keep inputs from being admitted. If the epoch
    // or the selection changed meanwhile, the observation is of the wrong agent and is dropped; the boundary observes again.
    let observations = runner.observe(selected, view).await?;
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

/// Appends what changed since the epoch started as a context message, or starts a new epoch where one is due.
///
/// # Errors
/// When a source is wrong, or the baseline of an agent that was switched away from cannot be replaced.
pub(super) async fn check(runner: &Runner, selected: &Selected, view: &SessionView) -> Result<EpochCheck, Stop> {
    // Before `decide`, and dropped if the boundary starts over: see `begin`.
    let observations = runner.observe(selected, view).await?;
    let blobs = runner.lane.blobs();
    let decided = runner
        .lane
        .stage(|view| {
            runner.check_location(view)?;
            let Some(epoch) = view.epochs.current.as_ref().filter(|_| !selected.is_overtaken(view)) else {
                return Ok::<_, Stop>(Decision::nothing((EpochCheck::Overtaken, None)));
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
                Reconciled::Unchanged => Decision::nothing((EpochCheck::Ready, None)),
                Reconciled::Updated(update) => {
                    Decision::append(update_events(update).into(), (EpochCheck::Ready, None))
                }
                Reconciled::ReplacementReady(generation) => {
                    Decision::append(vec![started(runner, selected, cause, generation)], (EpochCheck::Ready, None))
                }
                Reconciled::ReplacementBlocked(keys) => {
                    let waits = agent_waits(view, epoch, selected, &keys);
                    Decision::append(newly_blocked(epoch, cause, keys), (EpochCheck::Ready, waits))
                }
            })
        })
        .await?;
    let Some((checked, blocked)) = decided else { return Ok(EpochCheck::Overtaken) };
    match blocked {
        None => Ok(checked),
        Some(error) => Err(error.into()),
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

/// The context message and the advance of the snapshot, which are appended together.
fn update_events(Update { keys, text, set, removed }: Update) -> [Event; 2] {
    [ContextAdmitted { keys, text: text.into() }.into(), SnapshotAdvanced { set, removed }.into()]
}

/// A blocked replacement is recorded once per change of the blocking keys.
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
