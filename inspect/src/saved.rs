//! Folds that questions ask for, saved with a store: an answer costs what is new since.
//!
//! A cache, as all saved views: commands that only read save nothing, an import saves all of them at its end.

use crate::report::TurnIndex;
use crate::{AskError, SessionAt, diff, when};
use annals_core::{Digest, Record, Seq};
use annals_projections::{Projection, Requests, Statistics, UsageByModel};
use annals_store::cache::{FoldVersion, Held, Saved, ViewCache};
use annals_store::{ReadError, Slice};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A fold is saved again when this many events came since.
const WORTH_SAVING: u64 = 2_000;
/// How far before the place that was asked for views are held in memory as well, in a process that answers many questions.
const HELD_BEFORE: [u64; 3] = [1_024, 16_384, 131_072];
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
        let fold = FoldVersion { name: P::NAME, version: P::VERSION };
        let held = self.held::<P>(fold).await;
        if let Some((view, _)) = held.as_ref().filter(|(_, seq)| *seq == self.until) {
            return Ok(view.clone());
        }
        // A saved view may be nearer than one that is held, but has to be decoded.
        let held_at = held.as_ref().map(|(_, seq)| *seq);
        let (mut view, from): (P, Seq) = match (&held, self.nearest(fold, held_at).await) {
            (_, Some(saved)) => saved,
            (Some((view, seq)), None) => ((**view).clone(), *seq),
            (None, None) => (P::default(), Seq::ZERO),
        };
        let holds = self.view_cache().is_some_and(ViewCache::holds);
        let mut end: Option<(Seq, Digest)> = None;
        let mut before = from;
        let mut pages = self.log().pages(self.session, from..self.until);
        while let Some(slices) = pages.next_page().await? {
            slices.iter().flat_map(Slice::records).for_each(|record| view.apply(&record));
            // Only a whole batch has a digest to find it by.
            end = slices
                .last()
                .map(|slice| (slice.until, slice))
                .and_then(|(until, slice)| (slice.batch.next() == until).then_some((until, slice.batch.digest)));
            if let (true, Some((seq, digest))) = (holds, end) {
                let passed = |distance: &u64| before.0 + distance < self.until.0 && self.until.0 <= seq.0 + distance;
                if HELD_BEFORE.iter().any(passed) {
                    self.hold(fold, seq, digest, Arc::new(view.clone()));
                }
                before = seq;
            }
        }
        if let (Some(cache), Some((seq, digest))) = (self.view_cache().filter(|cache| cache.keeps()), end)
            && seq.0.saturating_sub(from.0) >= WORTH_SAVING
            && let Ok(bytes) = serde_json::to_vec(&view)
        {
            // Without it the next reader folds again: slower, and equally right.
            drop(cache.put(self.session, fold, &Saved { seq, digest, bytes }));
        }
        let view = Arc::new(view);
        // What was decoded, or folded for long, is held as it is.
        if holds && let Some((seq, digest)) = self.end_of_batch(self.until).await {
            self.hold(fold, seq, digest, view.clone());
        }
        Ok(view)
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
        let (mut view, from): (V, Seq) = self.nearest(fold, None).await.unwrap_or_default();
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

    async fn held<P: Send + Sync + 'static>(&self, fold: FoldVersion<'static>) -> Option<(Arc<P>, Seq)> {
        let Held { seq, digest, view } = self.view_cache()?.held::<P>(self.session, fold, self.until)?;
        (self.end_of_batch(seq).await? == (seq, digest)).then_some((view, seq))
    }

    fn hold<P: Send + Sync + 'static>(&self, fold: FoldVersion<'static>, seq: Seq, digest: Digest, view: Arc<P>) {
        if let Some(cache) = self.view_cache() {
            cache.hold(self.session, fold, Held { seq, digest, view });
        }
    }

    /// The batch that ends at a place, by its digest.
    async fn end_of_batch(&self, at: Seq) -> Option<(Seq, Digest)> {
        let batch = self.log().batch_at(self.session, Seq(at.0.checked_sub(1)?)).await.ok()??.batch;
        (batch.next() == at).then_some((at, batch.digest))
    }

    async fn nearest<P: DeserializeOwned>(&self, fold: FoldVersion<'static>, after: Option<Seq>) -> Option<(P, Seq)> {
        let saved = self.view_cache()?.nearest(self.session, fold, self.until)?;
        if after.is_some_and(|after| saved.seq <= after) {
            return None;
        }
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
