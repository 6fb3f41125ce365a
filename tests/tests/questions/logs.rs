//! Logs that stand before another one: to count what is read of it, or to lose its blobs.
#![allow(dead_code, reason = "each story file uses its part")]

use annals_core::{BlobHash, Blobs, NoBlobs, Seq, SessionId};
use annals_store::{
    AppendError, Boxed, Committed, Draft, EventLog, Following, Head, ReadError, Scope, SessionHead, Slice,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A log that counts the records that are read of it.
pub struct Counting {
    log: Arc<dyn EventLog>,
    read: AtomicU64,
}

impl Counting {
    pub fn new(log: Arc<dyn EventLog>) -> Arc<Self> {
        Arc::new(Self { log, read: AtomicU64::new(0) })
    }

    /// How many records were read since the last time that this was asked.
    pub fn taken(&self) -> u64 {
        self.read.swap(0, Ordering::Relaxed)
    }

    fn count(&self, slices: Vec<Slice>) -> Vec<Slice> {
        let records: usize = slices.iter().map(|slice| slice.records().count()).sum();
        self.read.fetch_add(records as u64, Ordering::Relaxed);
        slices
    }
}

impl EventLog for Counting {
    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        self.log.append(draft)
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        self.log.head(session)
    }

    fn sessions(&self) -> Boxed<'_, Result<Vec<SessionHead>, ReadError>> {
        self.log.sessions()
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { Ok(self.count(self.log.read(session, from, limit).await?)) })
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move { Ok(self.count(self.log.read_back(session, before, limit).await?)) })
    }

    fn follow(&self, scope: Scope) -> Following {
        self.log.follow(scope)
    }

    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        self.log.put_blob(text)
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        self.log.blobs()
    }
}

/// A log whose blobs are not there.
pub struct WithoutBlobs(pub Arc<dyn EventLog>);

impl EventLog for WithoutBlobs {
    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        self.0.append(draft)
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        self.0.head(session)
    }

    fn sessions(&self) -> Boxed<'_, Result<Vec<SessionHead>, ReadError>> {
        self.0.sessions()
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        self.0.read(session, from, limit)
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        self.0.read_back(session, before, limit)
    }

    fn follow(&self, scope: Scope) -> Following {
        self.0.follow(scope)
    }

    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        self.0.put_blob(text)
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        Arc::new(NoBlobs)
    }
}
