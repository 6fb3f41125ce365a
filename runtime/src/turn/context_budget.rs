//! Making room: what happens when a request is too large, before it is sent or because the provider refused it
//! (`docs/reference/compaction.md#when`).

use super::compaction::{CompactionOutcome, summarise};
use super::exchange::{self, RefusedRequest};
use super::{RequestProfile, Runner, Selected, Stop};
use crate::lane::Decision;
use crate::outcome::RunError;
use annals_core::event::{CompactionReason, ToolOutputsPruned};

/// What a turn has tried already.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ContextBudget {
    /// Old tool outputs were looked through.
    pruned: bool,
    /// Nothing is left to compact: the request goes out as it is.
    exhausted: bool,
    /// A refusal was recovered from; there is no second time.
    recovered: bool,
}

impl ContextBudget {
    /// Whether a request of so many tokens is due for compaction before it is sent.
    pub(super) fn exceeds(self, runner: &Runner, profile: &RequestProfile, tokens: u64) -> bool {
        let settings = &runner.shared.settings.compaction;
        let model = &profile.model;
        let limit = model.context.saturating_sub(model.output.max(settings.buffer));
        settings.auto && !self.exhausted && model.context > 0 && tokens > limit
    }
}

/// A request is too large: prunes old tool outputs; if that was done before, or wins nothing, makes a summary.
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
    let selected = Selected { agent: profile.agent.agent.clone(), model: profile.model.model.clone() };
    match summarise(runner, &selected, CompactionReason::Auto, estimate).await? {
        CompactionOutcome::Done => Ok(()),
        CompactionOutcome::Nothing => {
            budget.exhausted = true;
            Ok(())
        }
        CompactionOutcome::Failed(why) => Err(RunError::CompactionFailed(why).into()),
    }
}

/// The provider refused a request as too large: makes a summary, once per turn, after which the turn goes on. Otherwise
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
    let selected = Selected { agent: profile.agent.agent.clone(), model: profile.model.model.clone() };
    match summarise(runner, &selected, CompactionReason::Overflow, 0).await? {
        CompactionOutcome::Done => Ok(()),
        CompactionOutcome::Nothing | CompactionOutcome::Failed(_) => {
            Err(exchange::give_up(runner, profile, refused).await?)
        }
    }
}

/// Prunes old tool outputs, once per turn; gives whether any were.
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
