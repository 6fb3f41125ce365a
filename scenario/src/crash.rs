//! Whether the process of a scenario died.

use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch;

/// Whether this process died. Nothing that belongs to it goes on afterwards.
#[derive(Clone, Debug)]
pub(crate) struct CrashSwitch {
    died: Arc<watch::Sender<bool>>,
}

impl CrashSwitch {
    /// A process that lives.
    pub fn new() -> Self {
        Self { died: Arc::new(watch::Sender::new(false)) }
    }

    /// The process dies here: this never returns.
    pub async fn trigger<T>(&self) -> T {
        self.died.send_replace(true);
        pending().await
    }

    /// Whether it died.
    pub fn has_happened(&self) -> bool {
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
}
