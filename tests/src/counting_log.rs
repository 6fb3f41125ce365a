//! A log that counts what is read of it and appended to it.

use annals_core::{Seq, SessionId};
use annals_store::{
    AppendError, Boxed, Committed, Draft, EventLog, Followed, Following, LogLayer, ReadError, Scope, Slice,
};
use futures_util::StreamExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A log that counts the records that are read of it, and appends: each waits for the device once, unless writers share a flush.
pub struct CountingLog {
    log: Arc<dyn EventLog>,
    read: Arc<AtomicU64>,
    appends: AtomicU64,
}

impl CountingLog {
    /// Counts from now on.
    pub fn new(log: Arc<dyn EventLog>) -> Arc<Self> {
        Arc::new(Self { log, read: Arc::new(AtomicU64::new(0)), appends: AtomicU64::new(0) })
    }

    /// How many records were read since this was asked last.
    pub fn taken(&self) -> u64 {
        self.read.swap(0, Ordering::Relaxed)
    }

    /// How many batches were appended since this was asked last.
    pub fn appended(&self) -> u64 {
        self.appends.swap(0, Ordering::Relaxed)
    }

    fn count(&self, slices: Vec<Slice>) -> Vec<Slice> {
        let records: usize = slices.iter().map(|slice| slice.records().count()).sum();
        self.read.fetch_add(records as u64, Ordering::Relaxed);
        slices
    }
}

impl LogLayer for CountingLog {
    fn inner(&self) -> &dyn EventLog {
        &*self.log
    }

    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        self.appends.fetch_add(1, Ordering::Relaxed);
        self.log.append(draft)
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { Ok(self.count(self.log.read(session, from, limit).await?)) })
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { Ok(self.count(self.log.read_back(session, before, limit).await?)) })
    }

    fn follow(&self, scope: Scope) -> Following {
        let read = self.read.clone();
        let count = move |followed: &Result<Followed, ReadError>| {
            if let Ok(Followed::Batch { slice, .. }) = followed {
                read.fetch_add(slice.records().count() as u64, Ordering::Relaxed);
            }
        };
        Box::pin(self.log.follow(scope).inspect(count))
    }
}
