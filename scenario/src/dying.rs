//! The process of a scenario, and how it dies.

use super::action::CrashPoint;
use super::world::World;
use annals_store::{AppendError, Boxed, Committed, Draft, EventLog, LogLayer};
use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch;

/// Whether this process died. Nothing that belongs to it goes on afterwards.
#[derive(Clone, Debug)]
pub(super) struct Death {
    died: Arc<watch::Sender<bool>>,
}

impl Death {
    /// A process that lives.
    pub fn new() -> Self {
        Self { died: Arc::new(watch::Sender::new(false)) }
    }

    /// The process dies here: this never returns.
    pub async fn die<T>(&self) -> T {
        self.died.send_replace(true);
        pending().await
    }

    /// Whether it died.
    pub fn is(&self) -> bool {
        *self.died.borrow()
    }

    /// Waits until it dies.
    pub async fn wait(&self) {
        let mut died = self.died.subscribe();
        // The sender lives as long as `self`, so the wait ends only by a death.
        if died.wait_for(|died| *died).await.is_err() {
            pending::<()>().await;
        }
    }

    /// Dies if the world has a crash armed for this point.
    pub async fn at(&self, point: CrashPoint, world: &World) {
        if world.take_crash(point) {
            self.die::<()>().await;
        }
    }
}

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
            self.death.at(CrashPoint::BeforeAppend, &self.world).await;
            let committed = self.inner.append(draft).await?;
            self.death.at(CrashPoint::AfterAppend, &self.world).await;
            Ok(committed)
        })
    }
}
