//! Folds that questions ask for, saved with a store: an answer costs what is new since.
//!
//! A cache, as all saved views: commands that only read save nothing, an import saves all of them at its end.

use crate::SessionAt;
use annals_core::{Digest, Record, Seq};
use annals_projections::Projection;
use annals_store::cache::{FoldVersion, Saved};
use annals_store::{ReadError, Slice};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A fold is saved again when this many events came since.
pub(crate) const WORTH_SAVING: u64 = 2_000;

impl SessionAt {
    /// The view of any projection up to the cut, resumed from a saved one where the store keeps views. Saved views are found by
    /// [`Projection::NAME`] and [`Projection::VERSION`]: raise the version when the shape of the view changes.
    pub async fn saved<P>(&self) -> Result<Arc<P>, ReadError>
    where
        P: Projection + Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        Ok(self.views_of::<P>().shared_at(self.session, self.until).await?.0)
    }

    /// A fold that needs more than records, resumed from a saved one. It is not held in memory.
    pub(crate) async fn saved_fold<V: Serialize + DeserializeOwned + Default>(
        &self,
        fold: FoldVersion<'static>,
        apply: impl Fn(&mut V, &Record<'_>),
    ) -> Result<V, ReadError> {
        self.saved_fold_if(fold, |_| true, apply).await
    }

    /// The same for a fold that also depends on something that is not in the log: a saved one that is not current is not resumed.
    pub(crate) async fn saved_fold_if<V: Serialize + DeserializeOwned + Default>(
        &self,
        fold: FoldVersion<'static>,
        is_current: impl Fn(&V) -> bool,
        apply: impl Fn(&mut V, &Record<'_>),
    ) -> Result<V, ReadError> {
        let saved = self.nearest(fold).await.filter(|(view, _)| is_current(view));
        let (mut view, from): (V, Seq) = saved.unwrap_or_default();
        let mut pages = self.log().pages(self.session, from..self.until);
        let mut records = 0;
        while let Some(slices) = pages.next_page().await? {
            for record in slices.iter().flat_map(Slice::records) {
                apply(&mut view, &record);
                records += 1;
            }
        }
        if let Some(cache) = self.view_cache().filter(|cache| cache.keeps())
            && records >= WORTH_SAVING
            && let Some((seq, digest)) = self.end_of_batch(self.until).await
            && let Ok(saved) = Saved::of(seq, digest, &view)
        {
            // Without it the next reader folds again: slower, and equally right.
            drop(cache.put(self.session, fold, &saved));
        }
        Ok(view)
    }

    /// The batch that ends at a place, by its digest.
    pub(crate) async fn end_of_batch(&self, at: Seq) -> Option<(Seq, Digest)> {
        let batch = self.log().batch_at(self.session, Seq(at.0.checked_sub(1)?)).await.ok()??.batch;
        (batch.next() == at).then_some((at, batch.digest))
    }

    pub(crate) async fn nearest<P: DeserializeOwned>(&self, fold: FoldVersion<'static>) -> Option<(P, Seq)> {
        let saved = self.view_cache()?.nearest(self.session, fold, self.until)?;
        let sound = self.end_of_batch(saved.seq).await? == (saved.seq, saved.digest);
        Some((saved.view().filter(|_| sound)?, saved.seq))
    }
}
