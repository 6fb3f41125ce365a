//! Work beside the turns, and when it begins.

use crate::Boxed;
use annals_core::SessionId;
use std::sync::Arc;

/// Work that no turn waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// The request for a Session's title.
    Title(SessionId),
    /// A task in the background.
    Task {
        /// Whose call began it.
        parent: SessionId,
        /// The Session that does it.
        child: SessionId,
    },
}

/// Says when work beside the turns begins. A host wants it at once; who has to play a run again to the byte, as scenarios
/// do, decides it, since its facts stand among those of the turns.
pub trait Pace: Send + Sync {
    /// Told of the work before the turn goes on. The work begins when this resolves, and drops the pass when all that it
    /// leads to by itself is recorded.
    fn begins(&self, work: Beside) -> Boxed<'static, Pass>;
}

/// Held by work that goes on.
pub type Pass = Box<dyn Send>;

/// When some work begins: at once without a pace.
pub(crate) fn begins(pace: Option<&Arc<dyn Pace>>, work: Beside) -> Boxed<'static, Pass> {
    match pace {
        Some(pace) => pace.begins(work),
        None => Box::pin(std::future::ready(Box::new(()) as Pass)),
    }
}
