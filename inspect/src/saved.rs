//! Folds that questions ask for, saved with a store: an answer costs what is new since.
//!
//! A cache, as all saved views: commands that only read save nothing, an import saves all of them at its end.

use crate::report::TurnIndex;
use crate::{AskError, SessionAt, diff, when};
use annals_core::{Digest, Record, Seq};
use annals_projections::{Projection, Requests, Statistics, UsageByModel};
use annals_store::cache::{FoldVersion, Saved};
use annals_store::{ReadError, Slice};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A fold is saved again when this many events came since.
const WORTH_SAVING: u64 = 2_000;
/// At how many places of a session views are saved, its end included.
const PLACES: u64 = 32;

impl SessionAt {
    /// The view of any projection up to the cut, resumed from a saved one where the store keeps views. Saved views are found by
    /// [`Projection::NAME`] and [`Projection::VERSION`]: raise the version when the shape of the view changes.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn saved<P>(&self) -> Result<Arc<P>, ReadError>
    where
        P: Projection + Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        Ok(self.views_of::<P>().shared_at(self.session, self.until).await?.0)
    }

    /// A fold that needs more than records, resumed from a saved one. It is not held in memory.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(crate) async fn saved_fold<V: Serialize + DeserializeOwned + Default>(
        &self,
        fold: FoldVersion<'static>,
        apply: impl Fn(&mut V, &Record<'_>),
    ) -> Result<V, ReadError> {
        let (mut view, from): (V, Seq) = self.nearest(fold).await.unwrap_or_default();
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
            && let Ok(bytes) = serde_json::to_vec(&view)
        {
            // Without it the next reader folds again: slower, and equally right.
            drop(cache.put(self.session, fold, &Saved { seq, digest, bytes }));
        }
        Ok(view)
    }

    /// The batch that ends at a place, by its digest.
    async fn end_of_batch(&self, at: Seq) -> Option<(Seq, Digest)> {
        let batch = self.log().batch_at(self.session, Seq(at.0.checked_sub(1)?)).await.ok()??.batch;
        (batch.next() == at).then_some((at, batch.digest))
    }

    async fn nearest<P: DeserializeOwned>(&self, fold: FoldVersion<'static>) -> Option<(P, Seq)> {
        let saved = self.view_cache()?.nearest(self.session, fold, self.until)?;
        let sound = self.end_of_batch(saved.seq).await? == (saved.seq, saved.digest);
        Some((serde_json::from_slice(&saved.bytes).ok().filter(|_| sound)?, saved.seq))
    }

    /// Saves all that questions about this session begin from, so that the first answer costs as little as the second.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn save_views(&self) -> Result<(), AskError> {
        let steps = self.steps().await?;
        let distance = (self.until.0 / PLACES).max(WORTH_SAVING);
        let mut last = Seq::ZERO;
        // The rest is long enough for the end to be saved, too.
        while last.0 + 2 * distance <= self.until.0 {
            // Right after a compaction a view is small.
            let reach = Seq(last.0 + distance)..Seq((last.0 + 2 * distance).min(self.until.0 - distance));
            let from = steps.returns.partition_point(|seq| *seq < reach.start);
            let small = steps.returns.get(from).filter(|seq| **seq < reach.end);
            last = self.cut_after(small.copied().unwrap_or(reach.start)).await?;
            self.seen(last).await?;
        }
        self.seen(self.until).await?;
        self.saved::<UsageByModel>().await?;
        self.saved::<Requests>().await?;
        self.saved::<Statistics>().await?;
        self.saved::<TurnIndex>().await?;
        self.compaction_fold().await?;
        when::index(self).await?;
        diff::index(self).await?;
        Ok(())
    }
}
