//! The process of a scenario, and how it dies.

use super::action::CrashPoint;
use super::death::Death;
use super::world::World;
use annals_store::{AppendError, Boxed, Committed, Draft, EventLog, LogLayer};
use std::future::pending;
use std::sync::Arc;

/// The log as a process sees it that may die around an append.
pub(super) struct DyingLog {
    inner: Arc<dyn EventLog>,
    world: Arc<World>,
    death: Death,
}

impl DyingLog {
    /// The log `inner`, seen by a process of `world` that dies with `death`.
    pub fn new(inner: Arc<dyn EventLog>, world: Arc<World>, death: Death) -> Self {
        Self { inner, world, death }
    }
}

impl LogLayer for DyingLog {
    fn inner(&self) -> &dyn EventLog {
        &*self.inner
    }

    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async move {
            if self.death.is() {
                return pending().await;
            }
            self.world.crash_at(CrashPoint::BeforeAppend, &self.death).await;
            let committed = self.inner.append(draft).await?;
            self.world.crash_at(CrashPoint::AfterAppend, &self.death).await;
            Ok(committed)
        })
    }
}
