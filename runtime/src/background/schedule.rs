//! When background work starts.

use crate::Boxed;
use annals_core::SessionId;
use std::sync::Arc;

/// Work that no turn waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The request for a session's title.
    Title(SessionId),
    /// A background task of a subagent.
    Task {
        /// The session whose call created the task.
        parent: SessionId,
        /// The session that executes it.
        child: SessionId,
    },
}

/// Decides when background work starts. Hosts start it at once; a replay fixes the moment, because the events of the work
/// interleave with those of the turns.
pub trait Scheduler: Send + Sync {
    /// Called before the turn continues. The work starts when the future resolves, and drops the guard once everything that
    /// it causes by itself is recorded.
    fn schedule(&self, work: Work) -> Boxed<'static, Guard>;
}

/// Held while the work runs; its drop reports the end to the [`Scheduler`].
pub type Guard = Box<dyn Send>;

/// Resolves when `work` may start: at once without a scheduler.
pub(crate) fn scheduled(scheduler: Option<&Arc<dyn Scheduler>>, work: Work) -> Boxed<'static, Guard> {
    match scheduler {
        Some(scheduler) => scheduler.schedule(work),
        None => Box::pin(std::future::ready(Box::new(()) as Guard)),
    }
}
