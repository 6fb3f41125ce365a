//! Saved views of any projection.

use super::{Folded, Views, WORTH_SAVING};
use crate::cache::{FoldVersion, Saved, ViewCache};
use crate::{EventLog, ReadError, Slice};
use annals_core::{Digest, Seq, SessionId};
use annals_projections::Projection;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::sync::Arc;

impl<P: Projection + Serialize + DeserializeOwned> Views<P> {
    /// Views of a projection. Saved ones are found by [`Projection::NAME`] and [`Projection::VERSION`]: raise the version when the
    /// shape of the view changes.
    ///
    /// ```
    /// use annals_projections::Statistics;
    /// use annals_store::{MemoryLog, views::Views};
    /// use std::sync::Arc;
    /// let views: Views<Statistics> = Views::of(Arc::new(MemoryLog::new()), None);
    /// // views.at(session, Seq(u64::MAX)).await
    /// ```
    pub fn of(log: Arc<dyn EventLog>, cache: Option<Arc<ViewCache>>) -> Self {
        Self { log, cache, projection: PhantomData }
    }

    /// The view of a session before `until` (`Seq(u64::MAX)`: at its end), resumed from the nearest saved one. It is saved again when
    /// enough is new.
    ///
    /// # Errors
    /// When there is no such session or its log cannot be read.
    pub async fn at(&self, session: SessionId, until: Seq) -> Result<(P, Folded), ReadError> {
        let head = self.log.head(session).await?.ok_or(ReadError::NoSession(session))?;
        let (fold, until) = (FoldVersion { name: P::NAME, version: P::VERSION }, until.min(head.next));
        let (mut view, from) = self.saved_before(session, fold, until).await.unwrap_or_default();
        let (mut end, mut records): (Option<(Seq, Digest)>, u64) = (None, 0);
        let mut pages = self.log.pages(session, from..until);
        while let Some(slices) = pages.next_page().await? {
            for record in slices.iter().flat_map(Slice::records) {
                view.apply(&record);
                records += 1;
            }
            // Only a whole batch has a digest to find it by.
            end = slices
                .last()
                .and_then(|slice| (slice.batch.next() == slice.until).then_some((slice.until, slice.batch.digest)));
        }
        if let Some((seq, digest)) = end.filter(|(seq, _)| seq.0.saturating_sub(from.0) >= WORTH_SAVING) {
            self.save(session, fold, seq, digest, &view);
        }
        Ok((view, Folded { from, records }))
    }

    /// The nearest saved view whose digest the log still holds.
    async fn saved_before(&self, session: SessionId, fold: FoldVersion<'static>, until: Seq) -> Option<(P, Seq)> {
        let (view, saved): (P, Saved) = self.saved(session, fold, until)?;
        let batch = self.log.batch_at(session, Seq(saved.seq.0.checked_sub(1)?)).await.ok()??.batch;
        (batch.next() == saved.seq && batch.digest == saved.digest).then_some((view, saved.seq))
    }
}
