//! Folds that questions ask for, saved with a store: an answer costs what is new since.
//!
//! A cache, as all saved views: commands that only read save nothing, an import saves all of them at its end.

use crate::{AskError, SessionAt, diff, when};
use annals_core::{Digest, Seq};
use annals_projections::{Projection, Requests, Statistics, UsageByModel};
use annals_store::cache::{FoldVersion, Saved};
use annals_store::{ReadError, Slice};
use serde::Serialize;
use serde::de::DeserializeOwned;

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
    pub async fn saved<P: Projection + Serialize + DeserializeOwned>(&self) -> Result<P, ReadError> {
        let fold = FoldVersion { name: P::NAME, version: P::VERSION };
        let (mut view, from): (P, Seq) = self.nearest(fold).await.unwrap_or_default();
        let mut end: Option<(Seq, Digest)> = None;
        let mut pages = self.log().pages(self.session, from..self.until);
        while let Some(slices) = pages.next_page().await? {
            slices.iter().flat_map(Slice::records).for_each(|record| view.apply(&record));
            // Only a whole batch has a digest to find it by.
            end = slices
                .last()
                .map(|slice| (slice.until, slice))
                .and_then(|(until, slice)| (slice.batch.next() == until).then_some((until, slice.batch.digest)));
        }
        if let (Some(cache), Some((seq, digest))) = (self.view_cache().filter(|cache| cache.keeps()), end)
            && seq.0.saturating_sub(from.0) >= WORTH_SAVING
            && let Ok(bytes) = serde_json::to_vec(&view)
        {
            // Without it the next reader folds again: slower, and equally right.
            drop(cache.put(self.session, fold, &Saved { seq, digest, bytes }));
        }
        Ok(view)
    }

    async fn nearest<P: DeserializeOwned>(&self, fold: FoldVersion<'static>) -> Option<(P, Seq)> {
        let saved = self.view_cache()?.nearest(self.session, fold, self.until)?;
        let batch = self.log().batch_at(self.session, Seq(saved.seq.0.checked_sub(1)?)).await.ok()??.batch;
        let sound = batch.next() == saved.seq && batch.digest == saved.digest;
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
        when::index(self).await?;
        diff::index(self).await?;
        Ok(())
    }
}
