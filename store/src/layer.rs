//! A log in front of another one that changes some of the calls: guards, redaction, deaths, counts.

use crate::log::{
    AppendError, Appended, Boxed, Committed, Draft, EventLog, Following, Head, PageToken, Promises, ReadError, Scope,
    SessionLeases, SessionListPage, Slice, StoreCursor, Stray, append_each,
};
use annals_core::{BlobHash, Blobs, Seq, SessionId};
use std::sync::Arc;

/// A log before another one: an [`EventLog`] that says only where it differs.
///
/// Everything passes unchanged to [`LogLayer::inner`] unless the layer says otherwise.
///
/// **Invariant**: no batch is appended other than by [`LogLayer::append`]: what is appended together is appended through it, one
/// batch after another. A layer whose appends are cheap to take together overrides [`LogLayer::append_all`] as well.
///
/// ```
/// # use annals_store::{Boxed, EventLog, LogLayer, MemoryLog, PageToken, ReadError, SessionListPage};
/// /// A log that keeps to itself which Sessions it has.
/// struct Unlisted(MemoryLog);
///
/// impl LogLayer for Unlisted {
///     fn inner(&self) -> &dyn EventLog {
///         &self.0
///     }
///
///     fn sessions_page(&self, _: Option<PageToken>, _: usize) -> Boxed<'_, Result<SessionListPage, ReadError>> {
///         Box::pin(async { Ok(SessionListPage::default()) })
///     }
/// }
///
/// let log: Box<dyn EventLog> = Box::new(Unlisted(MemoryLog::new()));
/// ```
pub trait LogLayer: Send + Sync {
    /// The log behind this one.
    fn inner(&self) -> &dyn EventLog;

    /// See [`EventLog::append`].
    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        self.inner().append(draft)
    }

    /// See [`EventLog::append_all`].
    fn append_all(&self, drafts: Vec<Draft>) -> Boxed<'_, Appended> {
        Box::pin(append_each(drafts, |draft| LogLayer::append(self, draft)))
    }

    /// See [`EventLog::head`].
    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        self.inner().head(session)
    }

    /// See [`EventLog::promises`].
    fn promises(&self) -> Promises {
        self.inner().promises()
    }

    /// See [`EventLog::sessions_page`].
    fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Boxed<'_, Result<SessionListPage, ReadError>> {
        self.inner().sessions_page(from, limit)
    }

    /// See [`EventLog::read`].
    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        self.inner().read(session, from, limit)
    }

    /// See [`EventLog::read_back`].
    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        self.inner().read_back(session, before, limit)
    }

    /// See [`EventLog::follow`].
    fn follow(&self, scope: Scope) -> Following {
        self.inner().follow(scope)
    }

    /// See [`EventLog::last_before`].
    fn last_before(&self, cursor: &StoreCursor) -> Boxed<'_, Result<Option<Slice>, ReadError>> {
        self.inner().last_before(cursor)
    }

    /// See [`EventLog::put_blob`].
    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        self.inner().put_blob(text)
    }

    /// See [`EventLog::blobs`].
    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        self.inner().blobs()
    }

    /// See [`EventLog::strays`].
    fn strays(&self, session: Option<SessionId>) -> Boxed<'_, Result<Vec<Stray>, ReadError>> {
        self.inner().strays(session)
    }

    /// See [`EventLog::leases`].
    fn leases(&self) -> Option<Arc<dyn SessionLeases>> {
        self.inner().leases()
    }
}

impl<Layer: LogLayer> EventLog for Layer {
    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        LogLayer::append(self, draft)
    }

    fn append_all(&self, drafts: Vec<Draft>) -> Boxed<'_, Appended> {
        LogLayer::append_all(self, drafts)
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        LogLayer::head(self, session)
    }

    fn promises(&self) -> Promises {
        LogLayer::promises(self)
    }

    fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Boxed<'_, Result<SessionListPage, ReadError>> {
        LogLayer::sessions_page(self, from, limit)
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        LogLayer::read(self, session, from, limit)
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        LogLayer::read_back(self, session, before, limit)
    }

    fn follow(&self, scope: Scope) -> Following {
        LogLayer::follow(self, scope)
    }

    fn last_before(&self, cursor: &StoreCursor) -> Boxed<'_, Result<Option<Slice>, ReadError>> {
        LogLayer::last_before(self, cursor)
    }

    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        LogLayer::put_blob(self, text)
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        LogLayer::blobs(self)
    }

    fn strays(&self, session: Option<SessionId>) -> Boxed<'_, Result<Vec<Stray>, ReadError>> {
        LogLayer::strays(self, session)
    }

    fn leases(&self) -> Option<Arc<dyn SessionLeases>> {
        LogLayer::leases(self)
    }
}

#[cfg(test)]
mod tests {
    use super::LogLayer;
    use crate::conformance::{self, material};
    use crate::{AppendError, Boxed, Committed, Draft, EventLog, MemoryLog};
    use annals_core::Seq;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Same(MemoryLog);

    impl LogLayer for Same {
        fn inner(&self) -> &dyn EventLog {
            &self.0
        }
    }

    struct Counting {
        log: MemoryLog,
        appends: AtomicUsize,
    }

    impl LogLayer for Counting {
        fn inner(&self) -> &dyn EventLog {
            &self.log
        }

        fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
            self.appends.fetch_add(1, Ordering::Relaxed);
            self.log.append(draft)
        }
    }

    #[tokio::test]
    async fn a_layer_that_changes_nothing_is_the_log_behind_it() {
        let fresh = async || Ok(Arc::new(Same(MemoryLog::new())) as Arc<dyn EventLog>);
        conformance::run_all(fresh).await.unwrap();
    }

    #[tokio::test]
    async fn no_batch_passes_beside_the_append_of_a_layer() {
        let layer = Counting { log: MemoryLog::new(), appends: AtomicUsize::new(0) };
        let (log, session): (&dyn EventLog, _) = (&layer, material::session(1));
        let first = material::draft(session, Seq::ZERO, vec![material::created()]);
        let second = material::draft(session, Seq(1), vec![material::synthetic("second")]);
        let appended = log.append_all(vec![first, second]).await;
        assert_eq!((appended.committed.len(), appended.refused.is_none()), (2, true));
        assert_eq!(layer.appends.load(Ordering::Relaxed), 2);
    }
}
