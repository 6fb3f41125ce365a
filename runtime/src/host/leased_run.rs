//! Runs a session in this process, or waits while another process runs it.

use super::{EmptyAnswer, Lease, LeaseError, Leases};
use crate::outcome::{LogError, Outcome, RunError};
use crate::session::Session;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// How often it is checked whether another process still runs the session.
const CHECK_AGAIN: Duration = Duration::from_millis(200);

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunGoal {
    /// An answer to what waits.
    Answer,
    /// A summary in the place of the history.
    Compaction,
}

/// How a run ended.
#[derive(Debug)]
pub enum RunEnd {
    /// With an answer.
    Idle,
    /// Another process ran the session, and what was asked for here with it.
    Elsewhere,
    /// With an answer that contains no text.
    Empty(EmptyAnswer),
    /// The user interrupted it. Set by the caller: [`run_leased`] returns [`RunEnd::Stopped`].
    Interrupted,
    /// A permission was declined, or the session moved.
    Stopped,
    /// It failed.
    Failed(RunError),
    /// The user left before its end. Set by the caller.
    Left,
}

impl RunEnd {
    /// The name that programs read.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Elsewhere => "elsewhere",
            Self::Empty(_) => "empty",
            Self::Interrupted => "interrupted",
            Self::Stopped => "stopped",
            Self::Failed(_) => "failed",
            Self::Left => "left",
        }
    }

    /// The kind of error that programs read; `None` for an end without an error.
    pub fn error_kind(&self) -> Option<&'static str> {
        match self {
            Self::Failed(error) => Some(error.kind()),
            Self::Empty(empty) => Some(empty.kind()),
            Self::Idle | Self::Elsewhere | Self::Interrupted | Self::Stopped | Self::Left => None,
        }
    }
}

/// A run could not begin, or its session could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LeasedRunError {
    /// The right to run the session cannot be taken.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Whether another process runs the session, for the caller of a run.
#[derive(Debug, Default)]
pub struct Elsewhere {
    runs: AtomicBool,
    found: Notify,
    waits: Notify,
}

impl Elsewhere {
    /// Whether another process runs the session now.
    pub fn is_so(&self) -> bool {
        self.runs.load(Ordering::Acquire)
    }

    /// Waits until another process is found to run the session.
    pub async fn found(&self) {
        self.found.notified().await;
    }

    /// Waits until the turn is over and tasks in the background are waited for.
    pub async fn waits_for_background(&self) {
        self.waits.notified().await;
    }

    fn set(&self, runs: bool) {
        if self.runs.swap(runs, Ordering::AcqRel) != runs && runs {
            self.found.notify_one();
        }
    }
}

/// Runs the session once this process has the right to; returns the lease while tasks run in the background. With
/// `waits` the run lasts until they have ended.
///
/// # Errors
/// When the lease cannot be taken or the log cannot be read. A run that fails is an answer: [`RunEnd::Failed`].
pub async fn run_leased(
    leases: &Leases,
    session: &Session,
    goal: RunGoal,
    waits: bool,
    elsewhere: &Elsewhere,
) -> Result<(RunEnd, Option<Arc<Lease>>), LeasedRunError> {
    loop {
        if let Some(lease) = leases.take(session.id()).await? {
            if elsewhere.is_so() && goal == RunGoal::Answer {
                elsewhere.set(false);
                let view = session.view().await?;
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
        // Reading the view publishes to this process's observers what the other one recorded.
        session.view().await?;
        tokio::time::sleep(CHECK_AGAIN).await;
    }
}

/// Waits for tasks in the background and the turns that they lead to. A turn that failed or was stopped cancels the
/// remaining ones: their results would not be read.
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

/// An idle session whose last answer contains no text has not answered.
async fn answered(session: &Session, ended: RunEnd) -> Result<RunEnd, LogError> {
    let view = session.view().await?;
    Ok(match EmptyAnswer::of(&view, &*session.blobs()) {
        Some(empty) => RunEnd::Empty(empty),
        None => ended,
    })
}
