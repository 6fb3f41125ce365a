//! The context budget: makes a request smaller that is too large, round by round, before it is sent or after the provider
//! refused it (`docs/reference/compaction.md#rounds`).

use super::compaction::{CompactionAttempt, CompactionRequest, summarise};
use super::exchange::{self, RefusedRequest};
use super::{RequestProfile, Runner, Stop};
use crate::lane::Decision;
use crate::outcome::{CompactionError, RunError};
use annals_core::Event;
use annals_core::event::{CallsReduced, CompactionReason, Failure, StepFailed, StepStarted};
use annals_projections::{
    ContextLimits, OutputPlan, Request, RequestParts, SessionView, conversation_size, cut, prune, shorten_unread,
};

/// How often the rounds of a turn may leave the conversation as large as it was, which only another writer's events can
/// cause.
const STALLED: u32 = 3;

/// What a turn has done to make its request smaller.
#[derive(Default)]
pub(super) struct ContextBudget {
    /// The refusal that the turn recovers from; there is no second time.
    recovery: Option<RefusalRecovery>,
    /// Whether an answer began after a recovery, so that the refusal counts no more.
    recovered: bool,
    stalled: u32,
}

/// A turn is taken once more after a refusal.
struct RefusalRecovery {
    refused: RefusedRequest,
    /// What the request is measured by.
    limits: ContextLimits,
    /// Whether nothing more can be made smaller: the request is sent unless it exceeds the limit of the model.
    exhausted: bool,
}

/// What follows a request that is too large.
pub(super) enum NextStep {
    /// Something is smaller now: the boundary starts over.
    StartOver,
    /// Nothing can be made smaller after a refusal: it is sent unless it exceeds the limit of the model.
    SendAnyway,
}

/// How a round ended.
enum RoundEnd {
    /// Something is smaller now.
    Smaller,
    /// There is nothing that could be made smaller.
    Nothing,
    /// The summary failed.
    Failed(CompactionError),
}

impl ContextBudget {
    /// Whether a request of so many characters must be made smaller before it is sent.
    pub(super) fn exceeds(&self, runner: &Runner, profile: &RequestProfile, chars: u64) -> bool {
        let limits = self.limits(runner, profile);
        runner.shared.settings.compaction.auto && limits.exceeded_by(chars)
    }

    /// The same by the limits of the model alone: for a request that continues an answer, so that the provider took its size.
    pub(super) fn exceeds_model(runner: &Runner, profile: &RequestProfile, chars: u64) -> bool {
        runner.shared.settings.compaction.auto && limits(runner, profile).exceeded_by(chars)
    }

    /// An answer began: the earlier refusal no longer is the error of the turn. There is still no second recovery.
    pub(super) fn answered(&mut self) {
        self.recovered |= self.recovery.take().is_some();
    }

    fn limits(&self, runner: &Runner, profile: &RequestProfile) -> ContextLimits {
        match &self.recovery {
            Some(recovery) if !recovery.exhausted => recovery.limits,
            _ => limits(runner, profile),
        }
    }
}

/// The limits of the model of a turn.
fn limits(runner: &Runner, profile: &RequestProfile) -> ContextLimits {
    runner.shared.settings.compaction.limits(&profile.model).at_rate(profile.rate)
}

/// Makes a request smaller that is too large, by one round.
///
/// # Errors
/// [`RunError::CompactionFailed`] when a summary fails, [`RunError::TooLarge`] when nothing can be made smaller: the request
/// is not sent. After a refusal that refusal instead.
pub(super) async fn before_sending(
    runner: &Runner,
    profile: &RequestProfile,
    budget: &mut ContextBudget,
    request: &Request,
) -> Result<NextStep, Stop> {
    let limits = budget.limits(runner, profile);
    let reason = if budget.recovery.is_some() { CompactionReason::Overflow } else { CompactionReason::Auto };
    let exhausted = budget.recovery.as_ref().is_some_and(|recovery| recovery.exhausted);
    let ended =
        if exhausted { RoundEnd::Nothing } else { round(runner, profile, budget, request, limits, reason).await? };
    match (ended, budget.recovery.take()) {
        (RoundEnd::Smaller, recovery) => {
            budget.recovery = recovery;
            Ok(NextStep::StartOver)
        }
        (RoundEnd::Failed(_), Some(RefusalRecovery { refused, .. })) => {
            Err(exchange::give_up(runner, profile, refused).await?)
        }
        (RoundEnd::Failed(why), None) => Err(RunError::CompactionFailed(why).into()),
        (RoundEnd::Nothing, Some(recovery)) if !exhausted => {
            budget.recovery = Some(RefusalRecovery { exhausted: true, ..recovery });
            Ok(NextStep::SendAnyway)
        }
        (RoundEnd::Nothing, _) => Err(too_large(runner, profile, request, limits).await?),
    }
}

/// The provider refused a request as too large: makes it smaller, once per turn, after which the turn continues. Otherwise
/// the refusal is the turn's error.
///
/// # Errors
/// Always the provider's refusal, even if the summary failed as well.
pub(super) async fn after_refusal(
    runner: &Runner,
    profile: &RequestProfile,
    budget: &mut ContextBudget,
    refused: RefusedRequest,
) -> Result<(), Stop> {
    let settings = &runner.shared.settings.compaction;
    if !settings.auto || budget.recovery.is_some() || budget.recovered {
        return Err(exchange::give_up(runner, profile, refused).await?);
    }
    let request = refused.request.request.clone();
    let limits = limits(runner, profile).after_refusal(request.chars(), settings.keep_tokens);
    match round(runner, profile, budget, &request, limits, CompactionReason::Overflow).await? {
        RoundEnd::Smaller => {
            budget.recovery = Some(RefusalRecovery { refused, limits, exhausted: false });
            Ok(())
        }
        RoundEnd::Nothing | RoundEnd::Failed(_) => Err(exchange::give_up(runner, profile, refused).await?),
    }
}

/// Does the first of these that can be done: prunes old tool outputs, shortens unread ones, summarises, cuts outputs of any
/// age.
#[tracing::instrument(level = "debug", skip_all, fields(session = %runner.lane.session(), %reason))]
async fn round(
    runner: &Runner,
    profile: &RequestProfile,
    budget: &mut ContextBudget,
    request: &Request,
    limits: ContextLimits,
    reason: CompactionReason,
) -> Result<RoundEnd, Stop> {
    if limits.request.is_none() {
        return Ok(RoundEnd::Nothing);
    }
    let (blobs, model, chars) = (runner.lane.blobs(), &profile.model, request.chars());
    let before = conversation_size(&runner.lane.view().await?.history, model, &*blobs);
    let pruning = runner.shared.settings.compaction.prune;
    let reduced = reduce(runner, |view: &SessionView| {
        let pruned = pruning.then(|| prune(&view.history, model, &limits)).flatten();
        pruned.or_else(|| shorten_unread(&view.history, model, chars, &limits, &*blobs))
    });
    let ended = if reduced.await? {
        RoundEnd::Smaller
    } else {
        let due = CompactionRequest {
            selected: profile.selected(),
            model,
            limits,
            reason,
            due: Some(limits.rate.tokens(chars)),
        };
        match summarise(runner, due).await? {
            CompactionAttempt::Done => RoundEnd::Smaller,
            CompactionAttempt::Failed(why) => RoundEnd::Failed(why),
            CompactionAttempt::Nothing => {
                let cut = reduce(runner, |view: &SessionView| cut(&view.history, model, chars, &limits, &*blobs));
                if cut.await? { RoundEnd::Smaller } else { RoundEnd::Nothing }
            }
        }
    };
    // Every round makes the conversation smaller, so rounds end. Only what another writer appends can hide that.
    let after = conversation_size(&runner.lane.view().await?.history, model, &*blobs);
    if matches!(ended, RoundEnd::Smaller) && after >= before {
        budget.stalled += 1;
        tracing::warn!(before, after, "a round did not make the conversation smaller");
        if budget.stalled >= STALLED {
            return Ok(RoundEnd::Nothing);
        }
    }
    Ok(ended)
}

/// Records what is made smaller, if the plan has anything; returns whether it has.
async fn reduce(runner: &Runner, mut plan: impl FnMut(&SessionView) -> Option<OutputPlan>) -> Result<bool, Stop> {
    runner
        .lane
        .decide(|view| {
            let plan = plan(view).filter(|plan| !plan.is_empty());
            Ok(match plan {
                Some(plan) => {
                    tracing::debug!(?plan, "calls are made smaller");
                    Decision::append(vec![CallsReduced::from(plan).into()], true)
                }
                None => Decision::nothing(false),
            })
        })
        .await
}

/// Ends a turn whose request cannot be made small enough.
async fn too_large(
    runner: &Runner,
    profile: &RequestProfile,
    request: &Request,
    limits: ContextLimits,
) -> Result<Stop, Stop> {
    let view = runner.lane.view().await?;
    let error = RunError::TooLarge(RequestParts::of(request, &view.history, &limits, &*runner.lane.blobs()));
    let (agent, model) = (profile.agent.agent.clone(), profile.model.model.clone());
    let failure = Failure { kind: error.kind().into(), message: error.to_string().into(), status: None };
    let events: [Event; 2] = [
        StepStarted { agent, model, files: None, answer: None }.into(),
        StepFailed { error: failure, usage: None, cost: 0 }.into(),
    ];
    runner
        .lane
        .decide(|view| {
            runner.check_location(view)?;
            Ok::<_, Stop>(Decision::append(events.to_vec(), ()))
        })
        .await?;
    Ok(error.into())
}
