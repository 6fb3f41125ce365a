//! A drain: turns until nothing is left to do (spec 7.1).

mod recovery;

use crate::coordinator::Ended;
use crate::outcome::Outcome;
use crate::turn::{Promotion, Runner, Stop, turn};
pub(crate) use recovery::settle_open;

/// Promotes what is pending and takes turns until the Session is idle; if forced, takes at least one turn.
#[tracing::instrument(level = "debug", skip_all, fields(session = %runner.lane.session(), forced))]
pub(crate) async fn drain(runner: &Runner, forced: bool) -> Ended {
    run(runner, forced).await.map_or_else(Stop::ended, |()| Ok(Outcome::Idle))
}

async fn run(runner: &Runner, forced: bool) -> Result<(), Stop> {
    let first = Promotion::first(&*runner.lane.view().await?);
    let Some(mut promotion) = first.or(forced.then_some(Promotion::Steers)) else { return Ok(()) };
    settle_open(&runner.lane).await?;
    loop {
        activity(runner, promotion).await?;
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
        // A Session that moved while the turn ran is another runner's.
        runner.stays(&view)?;
        if !turned.continues && view.inbox.steers().next().is_none() {
            return Ok(());
        }
        step = turned.step.saturating_add(1);
        promotion = Promotion::Steers;
    }
}
