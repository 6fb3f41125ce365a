//! Compaction: a summary replaces older history (`docs/reference/compaction.md`).

mod summary;

use super::{RequestProfile, Runner, Selected, Stop};
use crate::coordinator::RunResult;
use crate::lane::Decision;
use crate::outcome::interrupted;
use crate::outcome::{CompactionError, Outcome, RunError};
use crate::recovery::settle_open;
use annals_core::event::{
    CompactionEnded, CompactionFailed, CompactionReason, CompactionStarted, Failure, ModelProfile,
};
use annals_core::{Event, Seq};
use annals_projections::NothingToCompact;
use annals_projections::{CompactionPlan, estimate, plan};
use summary::{SummaryAnswer, SummaryEnd, SummaryFailure};

/// The outcome of a compaction.
#[derive(Debug)]
pub(crate) enum CompactionAttempt {
    /// A summary was recorded.
    Done,
    /// There is nothing to summarise: everything fits the kept tail.
    Nothing,
    /// No summary was made.
    Failed(CompactionError),
}

/// Runs the compaction that the user asked for.
#[tracing::instrument(level = "debug", skip_all, fields(session = %runner.lane.session()))]
pub(crate) async fn compact(runner: &Runner) -> RunResult {
    asked_for(runner).await.map_or_else(Stop::ended, |()| Ok(Outcome::Idle))
}

async fn asked_for(runner: &Runner) -> Result<(), Stop> {
    settle_open(&runner.shared, &runner.lane).await?;
    let selected = Selected::of(&*runner.lane.view().await?);
    match summarise(runner, &selected, CompactionReason::Manual, 0).await? {
        CompactionAttempt::Done => Ok(()),
        CompactionAttempt::Nothing => Err(RunError::from(NothingToCompact).into()),
        CompactionAttempt::Failed(why) => Err(RunError::CompactionFailed(why).into()),
    }
}

/// Summarises what does not fit the kept tail. `due` is the estimate of the request that needs it in tokens, 0 when
/// unknown.
///
/// # Errors
/// When the run is interrupted, or the log refuses.
#[tracing::instrument(level = "debug", skip_all, fields(session = %runner.lane.session(), %reason))]
pub(crate) async fn summarise(
    runner: &Runner,
    selected: &Selected,
    reason: CompactionReason,
    due: u64,
) -> Result<CompactionAttempt, Stop> {
    let settings = &runner.shared.settings.compaction;
    let view = runner.lane.view().await?;
    let Ok(planned) = plan(&view.history, settings.keep_tokens, &*runner.lane.blobs()) else {
        return Ok(CompactionAttempt::Nothing);
    };
    let selected = Selected {
        agent: settings.agent.clone().unwrap_or_else(|| selected.agent.clone()),
        model: settings.model.clone().unwrap_or_else(|| selected.model.clone()),
    };
    let profile = RequestProfile::of_summary(runner, &selected)?;
    let prompt = prompt(runner, &planned).await?;
    if !fits(&profile.model, &prompt) {
        return Ok(CompactionAttempt::Failed(CompactionError::TooLarge));
    }
    profile.record(&runner.lane).await?;
    let started = CompactionStarted { reason, model: Some(selected.model.clone()), estimate: due };
    let began = runner.lane.decide(|view| begin(view.cut().next, &started)).await?;
    let summary = match summary::ask(runner, &profile, prompt).await? {
        SummaryEnd::Written(summary) => summary,
        SummaryEnd::Failed(SummaryFailure { error, usage, cost, stop }) => {
            let why = CompactionError::Summary(error.message.inline().unwrap_or_default().to_string());
            let failed = CompactionFailed { reason, error, usage, cost };
            runner.lane.record(&[failed.into()]).await?;
            return stop.map_or(Ok(CompactionAttempt::Failed(why)), Err);
        }
    };
    finish(runner, began, reason, planned, summary).await
}

fn begin(at: Seq, started: &CompactionStarted) -> Result<Decision<Seq>, Stop> {
    Ok(Decision::append(vec![started.clone().into()], at))
}

async fn prompt(runner: &Runner, planned: &CompactionPlan) -> Result<String, Stop> {
    let Some(hook) = &runner.shared.settings.summary else { return Ok(planned.prompt(None, None)) };
    let session = runner.lane.session();
    let (added, instructions) =
        runner.unless_interrupted(async { (hook.context(session).await, hook.instructions(session).await) }).await?;
    Ok(planned.prompt(added.as_deref(), instructions.as_deref()))
}

/// Whether the context of the model can hold the prompt and its summary.
fn fits(model: &ModelProfile, prompt: &str) -> bool {
    let answer = if model.output == 0 { SUMMARY_OUTPUT } else { model.output.min(SUMMARY_OUTPUT) };
    model.context == 0 || estimate(prompt.chars().count() as u64) <= model.context.saturating_sub(answer)
}

/// The largest summary, in tokens.
const SUMMARY_OUTPUT: u64 = 4_096;

/// Records a summary, or its failure if a revert removed what it summarises.
async fn finish(
    runner: &Runner,
    began: Seq,
    reason: CompactionReason,
    planned: CompactionPlan,
    SummaryAnswer { text, usage, cost }: SummaryAnswer,
) -> Result<CompactionAttempt, Stop> {
    let estimate = estimate(text.chars().count() as u64) + estimate(planned.recent.chars().count() as u64);
    let ended = CompactionEnded { reason, summary: text.into(), recent: planned.recent.into(), estimate, usage, cost };
    let overtaken = Failure { message: "what was summarised was reverted".into(), ..interrupted() };
    let undone = CompactionFailed { reason, error: overtaken, usage, cost };
    runner
        .lane
        .decide(|view| {
            let removed = view.transcript.is_removed(began);
            let event: Event = if removed { undone.clone().into() } else { ended.clone().into() };
            Ok(Decision::append(vec![event], removed))
        })
        .await
        .and_then(|removed| if removed { Err(Stop::Interrupted) } else { Ok(CompactionAttempt::Done) })
}
