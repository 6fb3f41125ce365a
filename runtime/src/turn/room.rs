//! Making room: what happens when a request is too large, before it is sent or because the provider refused it
//! (`docs/reference/compaction.md#when`).

use super::compaction::{Compacted, summarise};
use super::exchange::{self, Refused};
use super::{Runner, Selected, Shape, Stop};
use crate::lane::Decision;
use crate::outcome::RunError;
use annals_core::event::{CompactionReason, ToolOutputsPruned};

/// What a turn has tried already.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    /// Old tool outputs were looked through.
    pruned: bool,
    /// Nothing is left to compact: the request goes out as it is.
    exhausted: bool,
    /// A refusal was recovered from; there is no second time.
    recovered: bool,
}

impl Room {
    /// Whether a request of so many tokens is due for compaction before it is sent.
    pub(super) fn exceeds(self, runner: &Runner, shape: &Shape, tokens: u64) -> bool {
        let settings = &runner.shared.settings.compaction;
        let model = &shape.model;
        let limit = model.context.saturating_sub(model.output.max(settings.buffer));
        settings.auto && !self.exhausted && model.context > 0 && tokens > limit
    }
}

/// A request is too large: prunes old tool outputs; if that was done before, or wins nothing, makes a summary.
///
/// # Errors
/// [`RunError::CompactionFailed`]: the oversized request is not sent.
pub(super) async fn before_sending(runner: &Runner, shape: &Shape, room: &mut Room, estimate: u64) -> Result<(), Stop> {
    if prune(runner, room).await? {
        return Ok(());
    }
    let selected = Selected { agent: shape.agent.agent.clone(), model: shape.model.model.clone() };
    match summarise(runner, &selected, CompactionReason::Auto, estimate).await? {
        Compacted::Done => Ok(()),
        Compacted::Nothing => {
            room.exhausted = true;
            Ok(())
        }
        Compacted::Failed(why) => Err(RunError::CompactionFailed(why).into()),
    }
}

/// The provider refused a request as too large: makes a summary, once per turn, after which the turn goes on. Otherwise
/// the refusal is the turn's error.
///
/// # Errors
/// The refusal, also when the summary fails.
pub(super) async fn after_refusal(
    runner: &Runner,
    shape: &Shape,
    room: &mut Room,
    refused: Refused,
) -> Result<(), Stop> {
    if !runner.shared.settings.compaction.auto || room.recovered {
        return Err(exchange::give_up(runner, shape, refused).await?);
    }
    room.recovered = true;
    let selected = Selected { agent: shape.agent.agent.clone(), model: shape.model.model.clone() };
    match summarise(runner, &selected, CompactionReason::Overflow, 0).await? {
        Compacted::Done => Ok(()),
        Compacted::Nothing | Compacted::Failed(_) => Err(exchange::give_up(runner, shape, refused).await?),
    }
}

/// Prunes old tool outputs, once per turn; gives whether any were.
async fn prune(runner: &Runner, room: &mut Room) -> Result<bool, Stop> {
    if room.pruned || !runner.shared.settings.compaction.prune {
        return Ok(false);
    }
    room.pruned = true;
    runner
        .lane
        .decide(|view| {
            Ok(match annals_projections::prune(&view.history) {
                Some(plan) => {
                    tracing::debug!(calls = plan.calls.len(), tokens = plan.tokens, "old tool outputs are pruned");
                    Decision::append(vec![ToolOutputsPruned { calls: plan.calls }.into()], true)
                }
                None => Decision::nothing(false),
            })
        })
        .await
}
