//! A log that counts what is read of it.

use annals_core::{Seq, SessionId};
use annals_store::{Boxed, EventLog, LogLayer, ReadError, Slice};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A log that counts the records that are read of it.
pub struct CountingLog {
    log: Arc<dyn EventLog>,
    read: AtomicU64,
}

impl CountingLog {
    /// Counts from now on.
    pub fn new(log: Arc<dyn EventLog>) -> Arc<Self> {
        Arc::new(Self { log, read: AtomicU64::new(0) })
    }

    /// How many records were read since this was asked last.
    pub fn taken(&self) -> u64 {
        self.read.swap(0, Ordering::Relaxed)
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

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { Ok(self.count(self.log.read(session, from, limit).await?)) })
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { Ok(self.count(self.log.read_back(session, before, limit).await?)) })
    }
}
