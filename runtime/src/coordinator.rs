//! One coordinator for all sessions of a process: at most one busy period per session
//! (`docs/reference/inbox.md#waking-and-running`).
//!
//! An idle session costs no task and no memory here. Different sessions run in parallel.

use crate::Boxed;
use crate::bus::{Bus, Notice};
use crate::context::panic_message;
use crate::outcome::{Outcome, RunError};
use crate::tools::Cancel;
use annals_core::SessionId;
use futures_util::FutureExt;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};

/// How a busy period ended.
pub(crate) type RunResult = Result<Outcome, RunError>;

/// The result of a busy period: `None` until it has ended.
pub(crate) type PendingRun = watch::Receiver<Option<RunResult>>;

/// What a busy period is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunJob {
    /// Promote what is pending and take turns until idle; if forced, take at least one turn.
    Drain {
        /// Whether to take a turn even if nothing is pending.
        forced: bool,
    },
    /// Promote what is pending and take turns until idle, after a revert removed the turn that ran; interrupted if nothing is
    /// pending.
    Resume,
    /// Compact the history at the user's request.
    Compact,
}

/// Does what a busy period is for, until it is done or cancelled.
pub(crate) trait JobRunner: Send + Sync {
    /// One job of one session. After a cancellation it settles what is open and ends.
    fn work(self: Arc<Self>, session: SessionId, job: RunJob, cancel: Arc<Cancel>) -> Boxed<'static, RunResult>;
}

/// The busy periods of a process. Clones share them.
#[derive(Clone)]
pub(crate) struct Coordinator {
    active: Arc<Mutex<Active>>,
    bus: Bus,
}

#[derive(Default)]
struct Active {
    busy: BTreeMap<SessionId, Busy>,
    periods: u64,
}

struct Busy {
    /// Distinguishes this period from its successor.
    period: u64,
    job: RunJob,
    /// Something arrived: one more drain follows.
    woken: bool,
    stopping: bool,
    cancel: Arc<Cancel>,
    ended: PendingRun,
    task: JoinHandle<()>,
}

impl Coordinator {
    /// No session is busy.
    pub(crate) fn new(bus: Bus) -> Self {
        Self { active: Arc::default(), bus }
    }

    /// Something arrived: drains an idle session, and lets a busy one drain once more. Any number of wakes before that
    /// count as one. Gives the busy period that this is part of.
    pub(crate) fn wake(&self, work: &Arc<dyn JobRunner>, session: SessionId) -> PendingRun {
        let mut active = self.active();
        match active.busy.get_mut(&session) {
            Some(busy) => {
                busy.woken = true;
                busy.ended.clone()
            }
            None => self.start(&mut active, work, session, RunJob::Drain { forced: false }),
        }
    }

    /// Runs a job and waits for the end of its busy period. A drain joins one that runs; any other job that runs or is
    /// stopping, is waited for first. Dropping the future cancels nothing.
    pub(crate) async fn run(&self, work: &Arc<dyn JobRunner>, session: SessionId, job: RunJob) -> RunResult {
        loop {
            let (ended, ours) = {
                let mut active = self.active();
                match active.busy.get(&session) {
                    Some(busy) => (busy.ended.clone(), !busy.stopping && busy.job.is_drain() && job.is_drain()),
                    None => (self.start(&mut active, work, session, job), true),
                }
            };
            let ended = end_of(ended).await;
            if ours {
                return ended;
            }
        }
    }

    /// Interrupts a busy session and discards the wakes so far. Acknowledged at once; an idle session is left alone.
    pub(crate) fn interrupt(&self, session: SessionId) {
        if let Some(busy) = self.active().busy.get_mut(&session).filter(|busy| !busy.stopping) {
            busy.stopping = true;
            busy.woken = false;
            busy.cancel.cancel();
        }
    }

    /// A committed revert removed what a busy session works on: its turn ends, and the busy period continues with what is
    /// pending. A compaction finds out by itself.
    pub(crate) fn overtake(&self, session: SessionId) {
        if let Some(busy) = self.active().busy.get(&session).filter(|busy| !busy.stopping && busy.job.is_drain()) {
            busy.cancel.overtake();
        }
    }

    /// Whether a session is busy.
    pub(crate) fn is_busy(&self, session: SessionId) -> bool {
        self.active().busy.contains_key(&session)
    }

    /// Every busy session.
    pub(crate) fn busy(&self) -> Vec<SessionId> {
        self.active().busy.keys().copied().collect()
    }

    /// Waits until a session is not busy.
    pub(crate) async fn idle(&self, session: SessionId) {
        loop {
            let Some(ended) = self.active().busy.get(&session).map(|busy| busy.ended.clone()) else { return };
            // How it ended is for those who asked for it.
            let _: RunResult = end_of(ended).await;
        }
    }

    /// Aborts every busy period: nothing more is written.
    pub(crate) async fn halt(&self) {
        for task in self.abort() {
            // Aborting is what was asked for; a panic of the task was reported already.
            let _: Result<(), JoinError> = task.await;
        }
    }

    /// Aborts every busy period; gives the tasks, which end at their next await.
    pub(crate) fn abort(&self) -> Vec<JoinHandle<()>> {
        let busy = std::mem::take(&mut self.active().busy);
        busy.into_values().map(|busy| busy.task).inspect(JoinHandle::abort).collect()
    }

    fn start(&self, active: &mut Active, work: &Arc<dyn JobRunner>, session: SessionId, job: RunJob) -> PendingRun {
        active.periods += 1;
        let period = active.periods;
        let (sender, ended) = watch::channel(None);
        let cancel = Arc::new(Cancel::default());
        let (this, worker, stop) = (self.clone(), work.clone(), cancel.clone());
        // The task waits for the lock that the caller holds until the period is in the map.
        let task = tokio::spawn(async move { this.period(worker, session, period, job, stop, sender).await });
        let busy = Busy { period, job, woken: false, stopping: false, cancel, ended: ended.clone(), task };
        active.busy.insert(session, busy);
        ended
    }

    /// One busy period: a job, and one drain more for as long as it is woken and all is well, or a revert overtook it.
    async fn period(
        self,
        work: Arc<dyn JobRunner>,
        session: SessionId,
        period: u64,
        mut job: RunJob,
        mut cancel: Arc<Cancel>,
        sender: watch::Sender<Option<RunResult>>,
    ) {
        self.bus.publish(&Notice::Busy(session));
        let ended = loop {
            let done = AssertUnwindSafe(work.clone().work(session, job, cancel.clone())).catch_unwind().await;
            let ended = done.unwrap_or_else(|panic| Err(RunError::Defect(panic_message(panic.as_ref()))));
            let mut active = self.active();
            let Some(busy) = active.busy.get_mut(&session).filter(|busy| busy.period == period) else { return };
            let continues = job.is_drain() && !busy.stopping;
            let again = continues && matches!(ended, Ok(Outcome::Idle)) && std::mem::take(&mut busy.woken);
            let overtaken = continues && matches!(ended, Ok(Outcome::Interrupted)) && cancel.is_overtaken();
            if overtaken {
                cancel = Arc::new(Cancel::default());
                busy.cancel = cancel.clone();
            } else if !again {
                let woken = busy.woken;
                active.busy.remove(&session);
                if woken {
                    // What arrived while this period stopped or failed gets a period of its own.
                    drop(self.start(&mut active, &work, session, RunJob::Drain { forced: false }));
                }
                break ended;
            }
            job = if overtaken { RunJob::Resume } else { RunJob::Drain { forced: false } };
        };
        if let Err(error) = &ended {
            tracing::warn!(%session, %error, "a run failed");
        }
        self.bus.publish(&Notice::Idle { session, outcome: ended.as_ref().ok().copied() });
        sender.send_replace(Some(ended));
    }

    fn active(&self) -> MutexGuard<'_, Active> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunJob {
    fn is_drain(self) -> bool {
        matches!(self, Self::Drain { .. } | Self::Resume)
    }
}

/// Waits for the end of a busy period.
pub(crate) async fn end_of(mut ended: PendingRun) -> RunResult {
    let ended = ended.wait_for(Option::is_some).await.map(|ended| ended.clone());
    // Without a sender the period was halted, as when the process dies.
    ended.ok().flatten().unwrap_or(Err(RunError::Halted))
}

#[cfg(test)]
mod tests;
