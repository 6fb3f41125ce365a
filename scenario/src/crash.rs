//! Simulated crashes of the process of a scenario.

use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch;

/// Ends a process. Nothing that belongs to it continues afterwards.
#[derive(Clone, Debug)]
pub(crate) struct CrashSwitch {
    crashed: Arc<watch::Sender<bool>>,
}

impl CrashSwitch {
    /// The switch of a new process.
    pub fn new() -> Self {
        Self { crashed: Arc::new(watch::Sender::new(false)) }
    }

    /// Crashes the process; never returns.
    pub async fn trigger<T>(&self) -> T {
        self.crashed.send_replace(true);
        pending().await
    }

    /// Whether the process crashed.
    pub fn has_happened(&self) -> bool {
        *self.crashed.borrow()
    }

    /// Waits until the process crashes.
    pub async fn wait(&self) {
        let mut crashed = self.crashed.subscribe();
        // The sender is as old as `self`, so the wait only ends when the process crashes.
        if crashed.wait_for(|crashed| *crashed).await.is_err() {
            pending::<()>().await;
        }
    }
}
