//! Runs a Session here, or waits while another process does.

use super::empty_answer::EmptyAnswer;
use super::run_loop::{RunEnd, RunGoal};
use super::{Host, HostError, Lease};
use crate::error::CliError;
use annals_runtime::{Outcome, RunError, Session};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// How often it is looked whether another process still runs the Session.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Whether another process runs the Session.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    runs: AtomicBool,
    /// Another process was found to run it.
    pub(super) found: Notify,
    /// The turn is over, and tasks in the background are waited for.
    pub(super) waits: Notify,
}

impl Elsewhere {
    pub(super) fn is_so(&self) -> bool {
        self.runs.load(Ordering::Acquire)
    }

    fn set(&self, runs: bool) {
        if self.runs.swap(runs, Ordering::AcqRel) != runs && runs {
            self.found.notify_one();
        }
    }
}

/// Runs the Session once it is this process's to run; gives the right to it while tasks run on in the background. With
/// `waits` the run lasts until they have ended.
pub(super) async fn run(
    host: &Host,
    session: &Session,
    goal: RunGoal,
    waits: bool,
    elsewhere: &Elsewhere,
) -> Result<(RunEnd, Option<Arc<Lease>>), CliError> {
    loop {
        if let Some(lease) = host.lease(session.id())? {
            if elsewhere.is_so() && goal == RunGoal::Answer {
                elsewhere.set(false);
                let view = session.view().await.map_err(HostError::from)?;
                if view.inbox.pending.is_empty() && !view.session.running {
                    return Ok((answered(session, RunEnd::Elsewhere).await?, None));
                }
            }
            let mut done = match goal {
                RunGoal::Answer => session.run().await,
                RunGoal::Compaction => session.compact().await,
            };
            if waits {
                done = with_background(session, done, elsewhere).await;
            }
            let lease = Some(lease).filter(|_| !session.background().is_empty());
            let ended = match done {
                Ok(Outcome::Idle) if goal == RunGoal::Answer => answered(session, RunEnd::Idle).await?,
                Ok(Outcome::Idle) => RunEnd::Idle,
                Ok(Outcome::Interrupted) => RunEnd::Stopped,
                Err(error) => RunEnd::Failed(error),
            };
            return Ok((ended, lease));
        }
        elsewhere.set(true);
        // Catching up tells this process's listeners what the other one recorded.
        session.view().await.map_err(HostError::from)?;
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Waits for tasks in the background and the turns that they lead to. A turn that failed or was stopped cancels those that
/// are left: nobody would be there for their results.
async fn with_background(
    session: &Session,
    done: Result<Outcome, RunError>,
    elsewhere: &Elsewhere,
) -> Result<Outcome, RunError> {
    let mut done = done;
    if matches!(done, Ok(Outcome::Idle)) && !session.background().is_empty() {
        elsewhere.waits.notify_one();
    }
    loop {
        if !matches!(done, Ok(Outcome::Idle)) {
            session.cancel_background();
        }
        let Some(ended) = session.background_ended().await else { return done };
        if let (Ok(Outcome::Idle), Some(turns)) = (&done, ended.turns) {
            done = turns;
        }
    }
}

/// An idle Session whose last answer holds no text has not answered.
async fn answered(session: &Session, ended: RunEnd) -> Result<RunEnd, CliError> {
    let view = session.view().await.map_err(HostError::from)?;
    Ok(match EmptyAnswer::of(&view, &*session.blobs()) {
        Some(silence) => RunEnd::Empty(silence),
        None => ended,
    })
}
