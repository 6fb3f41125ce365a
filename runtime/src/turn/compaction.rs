//! Compaction: a summary replaces older history (`docs/reference/compaction.md`).

mod summary;

use super::{RequestProfile, Runner, Selected, Stop};
use crate::coordinator::RunResult;
use crate::lane::Decision;
use crate::outcome::interrupted;
use crate::outcome::{CompactionError, Outcome, RunError};
use crate::recovery::settle_open;
use annals_core::event::{
    CompactionCompleted, CompactionFailed, CompactionReason, CompactionStarted, Failure, ModelProfile,
};
use annals_core::{Event, Record, Seq, Text};
use annals_projections::{
    CompactionPlan, ContextLimits, NothingToCompact, Projection, SessionView, SummaryRequest, estimate, history_tokens,
    plan, without_middle_chars,
};
use summary::{SummaryAnswer, SummaryEnd, SummaryFailure};

/// The outcome of a compaction.
#[derive(Debug)]
pub(crate) enum CompactionAttempt {
    /// A summary was recorded.
    Done,
    /// There is nothing to summarise before the kept tail.
    Nothing,
    /// No summary was made.
    Failed(CompactionError),
}

/// A compaction that is asked for.
pub(crate) struct CompactionRequest<'a> {
    /// Agent and model of the turn, which summarise unless the settings name others.
    pub(crate) selected: Selected,
    /// The model whose requests become smaller.
    pub(crate) model: &'a ModelProfile,
    pub(crate) limits: ContextLimits,
    pub(crate) reason: CompactionReason,
    /// The estimate of the request that needs it in tokens; `None` where the user asked.
    pub(crate) due: Option<u64>,
}

/// Runs the compaction that the user asked for.
#[tracing::instrument(level = "debug", skip_all, fields(session = %runner.lane.session()))]
pub(crate) async fn compact(runner: &Runner) -> RunResult {
    asked_for(runner).await.map_or_else(Stop::ended, |()| Ok(Outcome::Idle))
}

async fn asked_for(runner: &Runner) -> Result<(), Stop> {
    settle_open(&runner.shared, &runner.lane).await?;
    let selected = Selected::of(&*runner.lane.view().await?);
    let model = runner.shared.ports.definitions.model(&selected.model);
    let model = model.ok_or_else(|| RunError::UnknownModel(selected.model.clone()))?;
    let rate = runner.lane.token_rate(&selected.model).await?;
    let limits = runner.shared.settings.compaction.limits(&model).at_rate(rate);
    let due = CompactionRequest { selected, model: &model, limits, reason: CompactionReason::Manual, due: None };
    match summarise(runner, due).await? {
        CompactionAttempt::Done => Ok(()),
        CompactionAttempt::Nothing => Err(RunError::from(NothingToCompact).into()),
        CompactionAttempt::Failed(why) => Err(RunError::CompactionFailed(why).into()),
    }
}

/// Summarises what is older than the kept tail.
///
/// # Errors
/// When the run is interrupted, or the log refuses.
#[tracing::instrument(level = "debug", skip_all, fields(session = %runner.lane.session(), reason = %request.reason))]
pub(crate) async fn summarise(runner: &Runner, request: CompactionRequest<'_>) -> Result<CompactionAttempt, Stop> {
    let settings = &runner.shared.settings.compaction;
    let blobs = runner.lane.blobs();
    let planned = |view: &SessionView| plan(&view.history, request.model, &request.limits, request.reason, &*blobs);
    if planned(&*runner.lane.view().await?).is_err() {
        return Ok(CompactionAttempt::Nothing);
    }
    let summariser = Selected {
        agent: settings.agent.clone().unwrap_or_else(|| request.selected.agent.clone()),
        model: settings.model.clone().unwrap_or_else(|| request.selected.model.clone()),
    };
    let mut profile = RequestProfile::of_summary(runner, &summariser)?;
    // The text of the agent that works in the session is not about summaries.
    profile.with_system = settings.agent.is_some();
    profile.rate = runner.lane.token_rate(&summariser.model).await?;
    let (added, instructions) = asked_by_hook(runner).await?;
    profile.record(&runner.lane).await?;
    let size = |view: &SessionView| history_tokens(&view.history, request.model, request.limits.rate, &*blobs);
    let started = |view: &SessionView| CompactionStarted {
        reason: request.reason,
        model: Some(summariser.model.clone()),
        estimate: request.due.unwrap_or_else(|| size(view)),
    };
    // Planned from the view that the start is recorded against: what comes after it is newer than everything covered.
    let begun = runner.lane.decide(|view| {
        Ok::<_, Stop>(match planned(view) {
            Ok(plan) => Decision::append(vec![started(view).into()], Some((view.cut().next, plan))),
            Err(NothingToCompact) => Decision::nothing(None),
        })
    });
    let Some((began, plan)) = begun.await? else { return Ok(CompactionAttempt::Nothing) };
    let prompt = SummaryRequest {
        rate: profile.rate,
        system: profile.agent.system.as_ref().and_then(Text::inline).filter(|_| profile.with_system),
        added: added.as_deref(),
        instructions: instructions.as_deref().or(settings.instructions.as_deref()),
        ..SummaryRequest::to(&profile.model, request.limits.summary)
    }
    .prompt(&plan);
    let summary = match summary::ask(runner, &profile, prompt).await? {
        SummaryEnd::Written(summary) => summary,
        SummaryEnd::Failed(SummaryFailure { error, usage, cost, stop }) => {
            let why = CompactionError(error.message.inline().unwrap_or_default().to_string());
            let failed = CompactionFailed { reason: request.reason, error, usage, cost };
            runner.lane.record(&[failed.into()]).await?;
            return stop.map_or(Ok(CompactionAttempt::Failed(why)), Err);
        }
    };
    finish(runner, began, &request, plan, summary).await
}

/// What the hook adds to the conversation, and what it replaces the instructions by.
async fn asked_by_hook(runner: &Runner) -> Result<(Option<String>, Option<String>), Stop> {
    let Some(hook) = &runner.shared.settings.summary else { return Ok((None, None)) };
    let session = runner.lane.session();
    runner.unless_interrupted(async { (hook.context(session).await, hook.instructions(session).await) }).await
}

/// Records a summary, or its failure if a revert removed what it summarises.
async fn finish(
    runner: &Runner,
    began: Seq,
    request: &CompactionRequest<'_>,
    plan: CompactionPlan,
    SummaryAnswer { text, usage, cost }: SummaryAnswer,
) -> Result<CompactionAttempt, Stop> {
    let reason = request.reason;
    let ends = ends_sent(&text, request.limits.summary);
    let ended = CompactionCompleted {
        reason,
        summary: text.into(),
        truncated: ends.is_some(),
        ends: ends.unwrap_or(0),
        first_kept: plan.first_kept.unwrap_or(began),
        replayed: plan.replayed,
        estimate: 0,
        usage,
        cost,
    };
    let overtaken = Failure { message: "what was summarised was reverted".into(), ..interrupted() };
    let undone = CompactionFailed { reason, error: overtaken, usage, cost };
    let blobs = runner.lane.blobs();
    runner
        .lane
        .decide(|view| {
            if view.transcript.is_removed(began) {
                return Ok(Decision::append(vec![undone.clone().into()], true));
            }
            let after = history_after(view, ended.clone().into());
            let estimate = history_tokens(&after, request.model, request.limits.rate, &*blobs);
            Ok(Decision::append(vec![CompactionCompleted { estimate, ..ended.clone() }.into()], false))
        })
        .await
        .and_then(|removed| if removed { Err(Stop::Interrupted) } else { Ok(CompactionAttempt::Done) })
}

/// How many characters of each end of a summary are sent, if it has more than `tokens`.
fn ends_sent(summary: &str, tokens: u64) -> Option<u64> {
    /// Half of the characters of the line between the ends, at most.
    const LINE: u64 = 25;
    let chars = summary.chars().count() as u64;
    let ends = tokens.saturating_mul(2).saturating_sub(LINE);
    (estimate(chars) > tokens).then_some(ends).filter(|ends| without_middle_chars(chars, *ends).is_some())
}

/// The history with one more event.
fn history_after(view: &SessionView, event: Event) -> annals_projections::History {
    let (mut history, seq) = (view.history.clone(), view.cut().next);
    if let Some(session) = view.session.id {
        history.apply(&Record { session, seq, at: annals_core::Time(0), event: &event });
    }
    history
}
