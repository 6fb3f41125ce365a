//! A log whose process can crash around an append.

use super::action::CrashPoint;
use super::crash::CrashSwitch;
use super::world::ScriptedWorld;
use annals_store::{AppendError, Boxed, Committed, Draft, EventLog, LogLayer};
use std::future::pending;
use std::sync::Arc;

/// A log layer that crashes its process before or after an append.
pub(super) struct CrashingLog {
    inner: Arc<dyn EventLog>,
    world: Arc<ScriptedWorld>,
    crash: CrashSwitch,
}

impl CrashingLog {
    /// Wraps `inner` for a process of `world` that `crash` ends.
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
