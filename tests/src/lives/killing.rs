//! A log that kills its own process, with SIGKILL, before or after a chosen append.

use annals_core::{BlobHash, Blobs, Seq, SessionId};
use annals_store::{
    AppendError, Boxed, Committed, Draft, EventLog, Following, Head, ReadError, Scope, SessionHead, Slice,
};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kill {
    /// Never.
    Never,
    /// Before the append of this number, from 1.
    Before(u64),
    /// After it was acknowledged.
    After(u64),
}

/// See the module.
pub struct KillingLog {
    inner: Arc<dyn EventLog>,
    kill: Kill,
    appends: AtomicU64,
}

impl KillingLog {
    /// A log that dies at `kill`.
    pub fn new(inner: Arc<dyn EventLog>, kill: Kill) -> Self {
        Self { inner, kill, appends: AtomicU64::new(0) }
    }

    /// How many appends were asked for.
    pub fn appends(&self) -> u64 {
        self.appends.load(Ordering::SeqCst)
    }
}

/// Dies like a process that the system kills: no destructor runs, nothing is flushed.
async fn die() {
    let killed = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
    killed.expect("`kill` is part of every system that these tests run on");
    std::future::pending::<()>().await;
}

impl EventLog for KillingLog {
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

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        self.inner.head(session)
    }

    fn sessions(&self) -> Boxed<'_, Result<Vec<SessionHead>, ReadError>> {
        self.inner.sessions()
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        self.inner.read(session, from, limit)
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        self.inner.read_back(session, before, limit)
    }

    fn follow(&self, scope: Scope) -> Following {
        self.inner.follow(scope)
    }

    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        self.inner.put_blob(text)
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        self.inner.blobs()
    }
}
