//! The context budget: prunes or compacts when a request is too large, before it is sent or after the provider refused it
//! (`docs/reference/compaction.md#when`).

use super::compaction::{CompactionAttempt, summarise};
use super::exchange::{self, RefusedRequest};
use super::{RequestProfile, Runner, Stop};
use crate::lane::Decision;
use crate::outcome::RunError;
use annals_core::event::{CompactionReason, ToolOutputsPruned};

/// What a turn has already tried to make its request smaller.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ContextBudget {
    /// Old tool outputs were pruned, if there were any.
    pruned: bool,
    /// Nothing is left to compact: the request is sent as it is.
    exhausted: bool,
    /// A refusal was recovered from; there is no second time.
    recovered: bool,
}

impl ContextBudget {
    /// Whether a request of `tokens` must be made smaller before it is sent.
    pub(super) fn exceeds(self, runner: &Runner, profile: &RequestProfile, tokens: u64) -> bool {
        let settings = &runner.shared.settings.compaction;
        let model = &profile.model;
        let limit = model.context.saturating_sub(model.output.max(settings.buffer));
        settings.auto && !self.exhausted && model.context > 0 && tokens > limit
    }
}

/// Makes a request smaller that is too large: prunes old tool outputs; if that was tried, or frees nothing, summarises.
///
/// # Errors
/// [`RunError::CompactionFailed`]: the oversized request is not sent.
pub(super) async fn before_sending(
    runner: &Runner,
    profile: &RequestProfile,
    budget: &mut ContextBudget,
    estimate: u64,
) -> Result<(), Stop> {
    if prune(runner, budget).await? {
        return Ok(());
    }
    match summarise(runner, &profile.selected(), CompactionReason::Auto, estimate).await? {
        CompactionAttempt::Done => Ok(()),
        CompactionAttempt::Nothing => {
            budget.exhausted = true;
            Ok(())
        }
        CompactionAttempt::Failed(why) => Err(RunError::CompactionFailed(why).into()),
    }
}

/// The provider refused a request as too large: makes a summary, once per turn, after which the turn continues. Otherwise
/// the refusal is the turn's error.
///
/// # Errors
/// The refusal, also when the summary fails.
pub(super) async fn after_refusal(
    runner: &Runner,
    profile: &RequestProfile,
    budget: &mut ContextBudget,
    refused: RefusedRequest,
) -> Result<(), Stop> {
    if !runner.shared.settings.compaction.auto || budget.recovered {
        return Err(exchange::give_up(runner, profile, refused).await?);
    }
    budget.recovered = true;
    match summarise(runner, &profile.selected(), CompactionReason::Overflow, 0).await? {
        CompactionAttempt::Done => Ok(()),
        CompactionAttempt::Nothing | CompactionAttempt::Failed(_) => {
            Err(exchange::give_up(runner, profile, refused).await?)
        }
    }
}

/// Prunes old tool outputs, once per turn; returns whether any were pruned.
async fn prune(runner: &Runner, budget: &mut ContextBudget) -> Result<bool, Stop> {
    if budget.pruned || !runner.shared.settings.compaction.prune {
        return Ok(false);
    }
    budget.pruned = true;
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
