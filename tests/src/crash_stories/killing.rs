//! A log that kills its own process, with SIGKILL, before or after a chosen append.

use annals_store::{AppendError, Boxed, Committed, Draft, EventLog, LogLayer};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// When the process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    /// Never.
    Never,
    /// Before the append of this number, from 1.
    Before(u64),
    /// After it was acknowledged.
    After(u64),
}

/// Kills its own process at a chosen append.
pub struct KillingLog {
    inner: Arc<dyn EventLog>,
    kill: Kill,
    appends: AtomicU64,
}

impl KillingLog {
    /// Wraps a log.
    pub fn new(inner: Arc<dyn EventLog>, kill: Kill) -> Self {
        Self { inner, kill, appends: AtomicU64::new(0) }
    }

    /// The number of appends so far.
    pub fn appends(&self) -> u64 {
        self.appends.load(Ordering::SeqCst)
    }
}

/// Kills this process with SIGKILL: no destructor runs, nothing is flushed.
async fn die() {
    let killed = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
    killed.expect("`kill` is part of every system that these tests run on");
    std::future::pending::<()>().await;
}

impl LogLayer for KillingLog {
    fn inner(&self) -> &dyn EventLog {
        &*self.inner
    }

    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async move {
            let number = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
            if self.kill == Kill::Before(number) {
                die().await;
            }
            let committed = self.inner.append(draft).await;
            if self.kill == Kill::After(number) {
                die().await;
            }
            committed
        })
    }
}
