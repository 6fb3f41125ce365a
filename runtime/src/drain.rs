//! A drain: turns until nothing is left to do (`docs/reference/turn.md#runs`).

use crate::coordinator::RunResult;
use crate::outcome::{Outcome, RunError};
use crate::recovery::settle_open;
use crate::session::settle_restore;
use crate::subagents::settle_lost;
use crate::turn::{Promotion, Runner, Stop, title, turn};
use annals_core::event::{CompactionReason, ToolOutcome};
use annals_projections::{Body, Content, Message, SessionView};

/// Promotes what is pending and takes turns until the session is idle; if forced, takes at least one turn.
#[tracing::instrument(level = "debug", skip_all, fields(session = %runner.lane.session(), forced))]
pub(crate) async fn drain(runner: &Runner, forced: bool) -> RunResult {
    run(runner, forced).await.map_or_else(Stop::ended, |()| Ok(Outcome::Idle))
}

/// After a revert removed the running turn: continues with the pending inputs, or ends if there are none.
pub(crate) async fn resume(runner: &Runner) -> RunResult {
    if Promotion::first(&*runner.lane.view().await?).is_none() {
        return Ok(Outcome::Interrupted);
    }
    drain(runner, false).await
}

async fn run(runner: &Runner, forced: bool) -> Result<(), Stop> {
    let view = runner.lane.view().await?;
    let Some(first) = Promotion::first(&view).or(forced.then_some(Promotion::Steers)) else { return Ok(()) };
    // A queued input waits until the session is idle: an activity whose process died is ended first.
    let mut promotion = if unfinished(&view) { Promotion::Steers } else { first };
    settle_open(&runner.shared, &runner.lane).await?;
    settle_lost(&runner.shared, &runner.lane).await?;
    if let Err(refusal) = settle_restore(&runner.shared.editing, &runner.lane).await {
        // The turns do not need it; the next undo finds it still open.
        tracing::warn!(session = %runner.lane.session(), %refusal, "a restore that was cut short was not taken back");
    }
    loop {
        let ended = activity(runner, promotion).await;
        runner.summarise_files().await?;
        ended?;
        if runner.lane.view().await?.inbox.queued().is_none() {
            return Ok(());
        }
        promotion = Promotion::Queued;
    }
}

/// Turns of one activity: as long as the model waits for results, or steers are pending.
async fn activity(runner: &Runner, mut promotion: Promotion) -> Result<(), Stop> {
    let mut step = 1;
    loop {
        let turned = turn(runner, promotion, step).await?;
        let view = runner.lane.view().await?;
        title::begin(runner, &view, turned.step);
        // A Session that moved while the turn ran is another runner's.
        runner.check_location(&view)?;
        if view.inbox.steers().next().is_none() {
            if !turned.continues {
                return Ok(());
            }
            // A prompt that joins begins to count anew.
            if runner.shared.settings.max_steps.is_some_and(|most| turned.step >= most) {
                return Err(Stop::Failed(RunError::StepLimit(turned.step)));
            }
        }
        step = turned.step.saturating_add(1);
        promotion = Promotion::Steers;
    }
}

/// Whether no assistant message follows the newest input that joined, also where a compaction covered it.
fn unanswered(view: &SessionView) -> bool {
    let items = view.transcript.items.iter().rev().filter(|item| !view.transcript.is_removed(item.seq));
    let newest = items.filter_map(|item| view.history.message(item.seq)).find_map(|message| match message.body {
        Body::User { .. } => Some(true),
        Body::Assistant(_) => Some(false),
        _ => None,
    });
    newest.unwrap_or_default()
}

/// The selected message that was made last: a compaction is made after the messages that follow it in the history.
fn newest(view: &SessionView) -> Option<&Message> {
    let history = &view.history;
    let last = [history.kept().next_back(), history.compaction(), history.replayed().next_back()];
    last.into_iter().flatten().max_by_key(|message| message.seq)
}

/// Whether the log ends in the middle of an activity that has no end: what joined was not answered, or the model waits
/// for results. An interruption, a rejection and a failure are ends.
fn unfinished(view: &SessionView) -> bool {
    let awaited = |content: &Content| match content {
        Content::Tool(call) => !matches!(call.outcome, Some(ToolOutcome::Interrupted | ToolOutcome::Exhausted)),
        Content::Text { .. } | Content::Reasoning { .. } => true,
    };
    let called = |content: &Content| matches!(content, Content::Tool(call) if !call.hosted);
    view.session.running
        || match newest(view).map(|message| &message.body) {
            Some(Body::User { .. } | Body::System { .. } | Body::Synthetic { .. }) => true,
            Some(Body::Compaction { reason, .. }) => *reason != CompactionReason::Manual || unanswered(view),
            Some(Body::Assistant(last)) => {
                last.error.is_none() && last.content.iter().any(called) && last.content.iter().all(awaited)
            }
            Some(Body::Shell { .. } | Body::AgentSwitched { .. } | Body::ModelSwitched { .. }) | None => false,
        }
}
