//! The process of a scenario, and how it dies.

use super::action::CrashPoint;
use super::crash::CrashSwitch;
use super::world::ScriptedWorld;
use annals_store::{AppendError, Boxed, Committed, Draft, EventLog, LogLayer};
use std::future::pending;
use std::sync::Arc;

/// The log as a process sees it that may die around an append.
pub(super) struct CrashingLog {
    inner: Arc<dyn EventLog>,
    world: Arc<ScriptedWorld>,
    crash: CrashSwitch,
}

impl CrashingLog {
    /// The log `inner`, seen by a process of `world` that dies with `crash`.
    pub fn new(inner: Arc<dyn EventLog>, world: Arc<ScriptedWorld>, crash: CrashSwitch) -> Self {
        Self { inner, world, crash }
    }
}

impl LogLayer for CrashingLog {
    fn inner(&self) -> &dyn EventLog {
        &*self.inner
    }

    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async move {
            if self.crash.has_happened() {
                return pending().await;
            }
            self.world.crash_at(CrashPoint::BeforeAppend, &self.crash).await;
            let committed = self.inner.append(draft).await?;
            self.world.crash_at(CrashPoint::AfterAppend, &self.crash).await;
            Ok(committed)
        })
    }
}
