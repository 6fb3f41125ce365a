//! Saved views of any fold.

use super::{Folded, Views, WORTH_SAVING};
use crate::cache::{FoldVersion, Held, Saved, ViewCache};
use crate::{EventLog, ReadError, Slice};
use annals_core::{Digest, Record, Seq, SessionId};
use annals_projections::Projection;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::sync::Arc;

/// How far before the place that was asked for views are held in memory as well, in a process that answers many questions.
const HELD_BEFORE: [u64; 3] = [1_024, 16_384, 131_072];

/// A fold whose view is saved. A [`Projection`] is one; others need more than records, or begin with something.
pub struct SavedFold<V, A> {
    /// The name and version that saved views are found by.
    pub fold: FoldVersion<'static>,
    /// The view before the first event.
    pub start: V,
    /// Whether a saved view may be continued: it may depend on something that is not in the log.
    pub is_current: fn(start: &V, saved: &V) -> bool,
    /// Applies a record.
    pub apply: A,
    /// A view is saved again when this many events came since.
    pub worth_saving: u64,
}

/// A view, and how it was made.
#[derive(Clone, Debug)]
pub struct ResumedView<V> {
    /// The view.
    pub view: Arc<V>,
    /// How many records it was made of, in addition to a saved one.
    pub folded: Folded,
    /// Where reading stopped at damage: the view is that of everything before.
    pub damage: Option<ReadError>,
}

impl<P: Projection> SavedFold<P, fn(&mut P, &Record<'_>)> {
    /// The fold of a projection.
    pub fn of_projection() -> Self {
        Self {
            fold: FoldVersion { name: P::NAME, version: P::VERSION },
            start: P::default(),
            is_current: |_, _| true,
            apply: P::apply,
            worth_saving: WORTH_SAVING,
        }
    }
}

impl<P: Projection + Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Views<P> {
    /// The view of a session before `until` (`Seq(u64::MAX)`: at its end), resumed from the nearest saved one. It is saved again when
    /// enough is new.
    ///
    /// # Errors
    /// When there is no such session or its log cannot be read.
    pub async fn at(&self, session: SessionId, until: Seq) -> Result<(P, Folded), ReadError> {
        let (view, folded) = self.shared_at(session, until).await?;
        Ok((Arc::unwrap_or_clone(view), folded))
    }

    /// The same, not copied where it is held in memory.
    ///
    /// # Errors
    /// When there is no such session or its log cannot be read.
    pub async fn shared_at(&self, session: SessionId, until: Seq) -> Result<(Arc<P>, Folded), ReadError> {
        let found = self.resumed(session, until, SavedFold::of_projection()).await?;
        found.damage.map_or(Ok((found.view, found.folded)), Err)
    }
}

impl<V: Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Views<V> {
    /// Views of a projection, or of another fold. Saved ones are found by [`Projection::NAME`] and [`Projection::VERSION`]: raise the
    /// version when the shape of the view changes.
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

    /// The view of a fold before `until`, resumed from the nearest one that was saved or is held in memory; saved and held again where it
    /// is worth it. Damage ends it, and is in the answer.
    ///
    /// # Errors
    /// When there is no such session or its log cannot be read for another reason.
    pub async fn resumed<A: FnMut(&mut V, &Record<'_>)>(
        &self,
        session: SessionId,
        until: Seq,
        mut saved: SavedFold<V, A>,
    ) -> Result<ResumedView<V>, ReadError> {
        let head = self.log.head(session).await?.ok_or(ReadError::NoSession(session))?;
        let (fold, until) = (saved.fold, until.min(head.next));
        let (view, from, decoded) = self.beginning(session, until, &saved).await;
        if from == until && !decoded {
            return Ok(ResumedView { view, folded: Folded { from, records: 0 }, damage: None });
        }
        let mut view = Arc::unwrap_or_clone(view);
        let holds = self.cache.as_ref().is_some_and(|cache| cache.holds());
        let (mut end, mut before, mut records) = (None, from, 0);
        let mut pages = self.log.pages(session, from..until);
        let damage = loop {
            let slices = match pages.next_page().await {
                Ok(Some(slices)) => slices,
                Ok(None) => break None,
                Err(error @ ReadError::Damaged { .. }) => break Some(error),
                Err(error) => return Err(error),
            };
            for record in slices.iter().flat_map(Slice::records) {
                (saved.apply)(&mut view, &record);
                records += 1;
            }
            // Only a whole batch has a digest to find it by.
            let whole = slices.last().filter(|slice| slice.batch.next() == slice.until);
            end = whole.map(|slice| (slice.until, slice.batch.digest));
            if let (true, Some((seq, digest))) = (holds, end) {
                let passed = |distance: &u64| before.0 + distance < until.0 && until.0 <= seq.0 + distance;
                if HELD_BEFORE.iter().any(passed) {
                    self.hold_any(session, fold, seq, digest, Arc::new(view.clone()));
                }
                before = seq;
            }
        };
        if let Some((seq, digest)) = end.filter(|(seq, _)| seq.0.saturating_sub(from.0) >= saved.worth_saving) {
            self.save(session, fold, seq, digest, &view);
        }
        let view = Arc::new(view);
        // What was decoded, or folded for long, is held as it is.
        if let (true, None, Some(digest)) = (holds, &damage, self.digest_before(session, until).await) {
            self.hold_any(session, fold, until, digest, view.clone());
        }
        Ok(ResumedView { view, folded: Folded { from, records }, damage })
    }

    /// The view to begin with, where it ends, and whether it was decoded.
    async fn beginning<A>(&self, session: SessionId, until: Seq, saved: &SavedFold<V, A>) -> (Arc<V>, Seq, bool) {
        let is_current = |view: &V| (saved.is_current)(&saved.start, view);
        let held = self.cache.as_ref().and_then(|cache| cache.held::<V>(session, saved.fold, until));
        let held = match held.filter(|held| is_current(&held.view)) {
            Some(held) if self.digest_before(session, held.seq).await == Some(held.digest) => Some(held),
            _ => None,
        };
        // A saved view may be nearer than one that is held, but has to be decoded.
        let after = held.as_ref().map(|held| held.seq);
        if after != Some(until)
            && let Some((view, seq)) = self.nearest_saved(session, saved.fold, until, after).await
            && is_current(&view)
        {
            return (Arc::new(view), seq, true);
        }
        held.map_or_else(|| (Arc::new(saved.start.clone()), Seq::ZERO, false), |held| (held.view, held.seq, false))
    }

    /// The nearest saved view that is later than `after` and whose digest the log still holds.
    async fn nearest_saved(
        &self,
        session: SessionId,
        fold: FoldVersion<'static>,
        until: Seq,
        after: Option<Seq>,
    ) -> Option<(V, Seq)> {
        let saved = self.cache.as_ref()?.nearest(session, fold, until)?;
        let Saved { seq, digest, .. } = saved;
        if after.is_some_and(|after| seq <= after) || self.digest_before(session, seq).await != Some(digest) {
            return None;
        }
        Some((saved.view()?, seq))
    }

    /// The digest of the batch that ends at a place.
    async fn digest_before(&self, session: SessionId, at: Seq) -> Option<Digest> {
        let batch = self.log.batch_at(session, Seq(at.0.checked_sub(1)?)).await.ok()??.batch;
        (batch.next() == at).then_some(batch.digest)
    }

    fn hold_any(&self, session: SessionId, fold: FoldVersion<'static>, seq: Seq, digest: Digest, view: Arc<V>) {
        if let Some(cache) = &self.cache {
            cache.hold(session, fold, Held { seq, digest, view });
        }
    }
}
