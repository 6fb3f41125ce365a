//! Views at any cut: the nearest saved view, plus the rest (`docs/reference/store.md#saved-views`).
//!
//! Resuming costs what is new since the newest saved view; travelling in time costs the distance to the nearest one.
//! Saved views are a cache: without one, or with a damaged one, the answer is the same and comes later.

mod any;
mod pages;

pub use any::{ResumedView, SavedFold};
pub use pages::{Leaf, Page};

use crate::cache::{FoldVersion, Held, Saved, ViewCache};
use crate::{EventLog, Followed, ReadError, Scope, StoreCursor};
use annals_core::event::CompactionEvent;
use annals_core::{Digest, Event, Record, Seq, SessionId};
use annals_projections::{Catalogue, Projection, SessionView, Spending};
use futures_util::StreamExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::sync::Arc;

/// A view is saved again when this many events came since the one that it was resumed from.
const WORTH_SAVING: u64 = 2_000;

/// In a process that answers many questions, a view is held in memory after this many events on the last stretch of a fold,
const HELD_EVERY: u64 = 512;
/// which is so long.
const HELD_REACH: u64 = 16_384;

/// A view of everything, for writers: ids that are used up included.
const WHOLE: FoldVersion<'static> = FoldVersion { name: "whole", version: SessionView::VERSION };
/// A view for looking: bounded by what is shown ([`SessionView::evict`]).
const BOUNDED: FoldVersion<'static> = FoldVersion { name: "bounded", version: SessionView::VERSION };
/// The catalogue of the store, with the cursor of where it ends; kept under the nil id.
const CATALOGUE: FoldVersion<'static> = FoldVersion { name: "catalogue", version: 9 };
/// What all sessions used, likewise.
const SPENDING: FoldVersion<'static> = FoldVersion { name: "spending", version: 3 };
const NO_SESSION: SessionId = SessionId([0; 16]);

/// How many records a view was made of, in addition to the saved view that it started from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// Where the saved view ended; 0 without one.
    pub from: Seq,
    /// How many records came after it.
    pub records: u64,
}

/// Reads views of a log, helped by saved ones: those of the runtime, or with [`Views::of`] those of any [`Projection`].
pub struct Views<P = SessionView> {
    log: Arc<dyn EventLog>,
    cache: Option<Arc<ViewCache>>,
    projection: PhantomData<fn() -> P>,
}

impl<P> Clone for Views<P> {
    fn clone(&self) -> Self {
        Self { log: self.log.clone(), cache: self.cache.clone(), projection: PhantomData }
    }
}

impl Views {
    /// Views of `log`; without a cache each is folded from scratch.
    pub fn new(log: Arc<dyn EventLog>, cache: Option<Arc<ViewCache>>) -> Self {
        Self { log, cache, projection: PhantomData }
    }

    /// Every view of a session before `until` (`Seq(u64::MAX)`: at its end), complete enough to write from.
    ///
    /// # Errors
    /// When there is no such session or its log cannot be read.
    pub async fn whole(&self, session: SessionId, until: Seq) -> Result<(SessionView, Folded), ReadError> {
        self.view(session, until, WHOLE).await
    }

    /// Every view of a session before `until`, for looking: what is not on a first screen may be evicted.
    ///
    /// # Errors
    /// When there is no such session or its log cannot be read.
    pub async fn bounded(&self, session: SessionId, until: Seq) -> Result<(SessionView, Folded), ReadError> {
        self.view(session, until, BOUNDED).await
    }

    /// The list of all sessions: the saved one and what was appended since, in the order of the store.
    pub async fn catalogue(&self) -> Result<Catalogue, ReadError> {
        self.of_all(CATALOGUE, Catalogue::apply).await
    }

    /// What all sessions used: the saved fold and what was appended since, in the order of the store.
    pub async fn spending(&self) -> Result<Spending, ReadError> {
        self.of_all(SPENDING, Spending::apply).await
    }

    /// A fold over the records of all sessions.
    async fn of_all<V: Default + Serialize + DeserializeOwned>(
        &self,
        fold: FoldVersion<'static>,
        apply: fn(&mut V, &Record<'_>),
    ) -> Result<V, ReadError> {
        let saved: Option<((StoreCursor, V), Saved)> = self.saved(NO_SESSION, fold, Seq(u64::MAX));
        let (mut view, from) = match saved {
            // The digest is that of the last batch taken in: a store that was set back does not hold it there.
            Some(((cursor, view), saved)) if self.holds(&cursor, saved.digest).await => (view, cursor),
            _ => (V::default(), StoreCursor::START),
        };
        let mut following = self.log.follow(Scope::All { from });
        let mut last = None;
        let mut records = 0;
        while let Some(followed) = following.next().await {
            match followed? {
                Followed::Synced => break,
                Followed::Batch { slice, place } => {
                    for record in slice.records() {
                        apply(&mut view, &record);
                        records += 1;
                    }
                    last = place.map(|place| (place.cursor, slice.batch.digest)).or(last);
                }
            }
        }
        if let (Some((cursor, digest)), true) = (last, records >= WORTH_SAVING) {
            let (seq, saved) = (Seq(cursor.count()), (cursor, view));
            self.save(NO_SESSION, fold, seq, digest, &saved);
            return Ok(saved.1);
        }
        Ok(view)
    }

    /// Saves a view that a writer holds, if enough came since `since`. `digest` is that of the batch it ends with.
    /// Gives the Seq up to which views are saved now.
    pub fn keep(&self, view: &SessionView, digest: Digest, since: Seq) -> Seq {
        let (Some(session), next) = (view.session.id, view.cut().next) else { return since };
        if next.0.saturating_sub(since.0) < WORTH_SAVING {
            return since;
        }
        self.save(session, WHOLE, next, digest, view);
        let mut bounded = view.clone();
        bounded.evict();
        self.save(session, BOUNDED, next, digest, &bounded);
        next
    }

    async fn view(
        &self,
        session: SessionId,
        until: Seq,
        fold: FoldVersion<'static>,
    ) -> Result<(SessionView, Folded), ReadError> {
        let head = self.log.head(session).await?.ok_or(ReadError::NoSession(session))?;
        let until = until.min(head.next);
        let bounded = fold.name == BOUNDED.name;
        let (mut at_most, mut evicts, mut takes_held) = (until, bounded, true);
        loop {
            let (view, from, was_held) = self.nearest(session, fold, at_most, takes_held).await;
            let mut view = view;
            let apply = |view: &mut SessionView, record: &Record<'_>| {
                view.apply(record);
                if evicts
                    && matches!(
                        record.event,
                        Event::Compaction(CompactionEvent::Ended(_) | CompactionEvent::Completed(_))
                    )
                {
                    view.evict();
                }
            };
            let (records, end) = self.feed(session, from..until, fold, &mut view, apply).await?;
            if view.is_stale() && (evicts || from > Seq::ZERO) {
                // Something that was evicted is needed again: evict nothing on the way, then start from an earlier saved view.
                (at_most, evicts, takes_held) = match (evicts, was_held) {
                    (true, _) => (at_most, false, takes_held),
                    (false, true) => (at_most, bounded, false),
                    (false, false) => (Seq(from.0.saturating_sub(1)), false, false),
                };
                continue;
            }
            if let (Some(digest), Some(cache)) = (end, &self.cache)
                && records >= WORTH_SAVING
                && cache.keeps()
            {
                let next = view.cut().next;
                if bounded {
                    view.evict();
                }
                self.save(session, fold, next, digest, &view);
            }
            if let (Some(digest), true) = (end, records >= HELD_EVERY / 2) {
                self.hold(session, fold, digest, &view);
            }
            return Ok((view, Folded { from, records }));
        }
    }

    /// The view to begin with, where it ends, and whether it was held in memory.
    async fn nearest(
        &self,
        session: SessionId,
        fold: FoldVersion<'static>,
        at_most: Seq,
        takes_held: bool,
    ) -> (SessionView, Seq, bool) {
        let held = match self.cache.as_ref().filter(|_| takes_held) {
            Some(cache) => cache.held::<SessionView>(session, fold, at_most),
            None => None,
        };
        // A saved view may be nearer, but has to be decoded.
        let is_near = |held: &Held<SessionView>| at_most.0 - held.seq.0 <= WORTH_SAVING;
        let saved = match &held {
            Some(held) if is_near(held) => None,
            _ => self.resumable(session, fold, at_most).await,
        };
        if let Some(held) = held
            && saved.as_ref().is_none_or(|(_, seq)| *seq <= held.seq)
            && self.ends(session, held.seq, held.digest).await
        {
            return ((*held.view).clone(), held.seq, true);
        }
        saved.map_or((SessionView::default(), Seq::ZERO, false), |(view, seq)| (view, seq, false))
    }

    /// Holds a view in memory, where this process answers many questions.
    fn hold(&self, session: SessionId, fold: FoldVersion<'static>, digest: Digest, view: &SessionView) {
        if let Some(cache) = self.cache.as_ref().filter(|cache| cache.holds())
            && !view.is_stale()
        {
            let seq = view.cut().next;
            cache.hold(session, fold, Held { seq, digest, view: Arc::new(view.clone()) });
        }
    }

    /// Feeds the records of a range to a view; gives how many there were, and the digest of the last batch if the range
    /// ends where that batch does. On the last stretch views are held, so that a place a little before is near one.
    async fn feed(
        &self,
        session: SessionId,
        range: std::ops::Range<Seq>,
        fold: FoldVersion<'static>,
        view: &mut SessionView,
        mut apply: impl FnMut(&mut SessionView, &Record<'_>),
    ) -> Result<(u64, Option<Digest>), ReadError> {
        let until = range.end;
        let near = until.0.saturating_sub(HELD_REACH);
        let mut pages = self.log.pages(session, range);
        let (mut records, mut end) = (0, None);
        while let Some(slices) = pages.next_page().await? {
            for slice in &slices {
                let first = records;
                for record in slice.records() {
                    apply(view, &record);
                    records += 1;
                }
                end = (slice.until <= until && slice.until == slice.batch.next()).then_some(slice.batch.digest);
                if let Some(digest) = end
                    && slice.until.0 >= near
                    && first / HELD_EVERY != records / HELD_EVERY
                {
                    self.hold(session, fold, digest, view);
                }
            }
        }
        Ok((records, end))
    }

    /// The nearest saved view whose digest the log still holds.
    async fn resumable(
        &self,
        session: SessionId,
        fold: FoldVersion<'static>,
        at_most: Seq,
    ) -> Option<(SessionView, Seq)> {
        let (view, saved): (SessionView, Saved) = self.saved(session, fold, at_most)?;
        let sound = view.cut().next == saved.seq && self.ends(session, saved.seq, saved.digest).await;
        sound.then_some((view, saved.seq))
    }

    /// Whether a batch of the session ends at a place with this digest.
    async fn ends(&self, session: SessionId, at: Seq, digest: Digest) -> bool {
        let Some(last) = at.0.checked_sub(1) else { return false };
        let found = self.log.batch_at(session, Seq(last)).await;
        matches!(found, Ok(Some(slice)) if slice.batch.next() == at && slice.batch.digest == digest)
    }

    /// Whether the batch before a cursor has this digest.
    async fn holds(&self, cursor: &StoreCursor, digest: Digest) -> bool {
        matches!(self.log.last_before(cursor).await, Ok(Some(slice)) if slice.batch.digest == digest)
    }
}

impl<P> Views<P> {
    fn saved<V: DeserializeOwned>(
        &self,
        session: SessionId,
        fold: FoldVersion<'_>,
        at_most: Seq,
    ) -> Option<(V, Saved)> {
        let saved = self.cache.as_ref()?.nearest(session, fold, at_most)?;
        Some((saved.view()?, saved))
    }

    fn save<V: Serialize>(&self, session: SessionId, fold: FoldVersion<'_>, seq: Seq, digest: Digest, view: &V) {
        let Some(cache) = self.cache.as_ref().filter(|cache| cache.keeps()) else { return };
        let saved = Saved::of(seq, digest, view).and_then(|saved| cache.put(session, fold, &saved));
        if let Err(error) = saved {
            // The next reader folds again: slower, and equally right.
            tracing::warn!(%session, %seq, %error, "a view could not be saved");
        }
    }
}

#[cfg(test)]
mod tests;
