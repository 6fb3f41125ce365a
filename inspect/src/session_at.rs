//! The past of one session up to a cut: its log, its views, its facts.

use super::{AskError, RequestIndex};
use annals_core::{Blobs, Record, Seq, SessionId, Time};
use annals_projections::{Body, Message, Projection, SessionView};
use annals_store::cache::ViewCache;
use annals_store::exchange::VerifyReport;
use annals_store::views::{Leaf, Page, Views};
use annals_store::{EventLog, ReadError, Slice};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Wanted records that are read at a time at most.
const PAGE: usize = 256;
/// How many records fill a page of an index.
const LEAF: u64 = 512;

/// The past of one session up to a cut.
#[derive(Clone)]
pub struct SessionAt {
    log: Arc<dyn EventLog>,
    blobs: Arc<dyn Blobs + Send + Sync>,
    views: Views,
    cache: Option<Arc<ViewCache>>,
    leaf: u64,
    /// What verifying the file found that the log was read from, if it is damaged.
    pub(crate) file: Option<Arc<VerifyReport>>,
    /// Which session.
    pub session: SessionId,
    /// The first Seq that is not in view.
    pub until: Seq,
}

/// The place and time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// Its place.
    pub seq: Seq,
    /// The time.
    pub at: Time,
    /// The kind of the event.
    pub kind: &'static str,
    /// The ancestor that recorded it, if it is inherited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherited: Option<SessionId>,
}

impl Fact {
    /// The fact in a record, as `session` sees it.
    pub fn of(record: &Record<'_>, session: SessionId) -> Self {
        let inherited = (record.session != session).then_some(record.session);
        Self { seq: record.seq, at: record.at, kind: record.event.kind().name(), inherited }
    }
}

impl SessionAt {
    /// The past of `session` before `until`, helped by saved views if there are any.
    pub fn new(log: Arc<dyn EventLog>, cache: Option<Arc<ViewCache>>, session: SessionId, until: Seq) -> Self {
        let (blobs, views) = (log.blobs(), Views::new(Arc::clone(&log), cache.clone()));
        Self { log, blobs, views, cache, leaf: LEAF, file: None, session, until }
    }

    /// The same, read from a file of which verifying found this damage.
    pub(crate) fn in_file(self, file: Option<Arc<VerifyReport>>) -> Self {
        Self { file, ..self }
    }

    /// The same, with indexes of `records` records per page. Answers do not depend on it, only their cost.
    pub fn in_pages_of(self, records: u64) -> Self {
        Self { leaf: records.max(1), ..self }
    }

    /// The past of another session of the same log.
    pub fn of_session(&self, session: SessionId, until: Seq) -> Self {
        Self { session, until, ..self.clone() }
    }

    /// Visits the pages of an index, in order.
    pub async fn pages<P: Page>(&self, visit: impl FnMut(Leaf<P>)) -> Result<(), ReadError> {
        self.views.pages(self.session, self.until, self.leaf, visit).await
    }

    /// Where blobs are read.
    pub fn blobs(&self) -> &dyn Blobs {
        &*self.blobs
    }

    /// The log.
    pub fn log(&self) -> &dyn EventLog {
        &*self.log
    }

    /// All views at the cut before `until`: the nearest saved view and the rest.
    pub async fn view(&self, until: Seq) -> Result<SessionView, ReadError> {
        Ok(self.views.whole(self.session, until.min(self.until)).await?.0)
    }

    /// All views at the cut before `until` as far as the model sees them: what is selected of the history, epochs, profiles, and
    /// what is in the transcript of that. Older items of lists that grow with the log may be evicted.
    pub async fn seen(&self, until: Seq) -> Result<SessionView, ReadError> {
        let until = until.min(self.until);
        let view = self.views.bounded(self.session, until).await?.0;
        let oldest = view.transcript.items.first().filter(|_| view.transcript.dropped > 0).map(|item| item.seq);
        // Context messages are not in the transcript.
        let shown = |message: &&Message| !matches!(message.body, Body::System { .. });
        let cut_off = |oldest| view.history.selected().filter(shown).any(|message| message.seq < oldest);
        // A pinned message may be older than every item that was kept.
        if oldest.is_some_and(cut_off) { self.view(until).await } else { Ok(view) }
    }

    /// The index of the requests, resumed from a saved one.
    pub async fn steps(&self) -> Result<Arc<RequestIndex>, ReadError> {
        let head = self.log.head(self.session).await?.map_or(self.until, |head| head.next);
        let holds = self.cache.as_ref().is_some_and(|cache| cache.holds());
        if !holds || self.until >= head || self.is_inherited().await? {
            return self.saved().await;
        }
        // Where many questions are answered, the index of the whole session has all of them.
        let whole = Self { until: head, ..self.clone() }.saved::<RequestIndex>().await?;
        Ok(Arc::new(whole.before(self.until)))
    }

    /// Whether the last event is that of an ancestor.
    async fn is_inherited(&self) -> Result<bool, ReadError> {
        let Some(last) = self.until.0.checked_sub(1) else { return Ok(false) };
        let slice = self.log.batch_at(self.session, Seq(last)).await?;
        Ok(slice.is_some_and(|slice| slice.batch.session != self.session))
    }

    /// Views of a projection, helped by the same saved ones.
    pub(crate) fn views_of<P>(&self) -> Views<P>
    where
        P: Projection + Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        Views::of(self.log.clone(), self.cache.clone())
    }

    pub(crate) fn view_cache(&self) -> Option<&ViewCache> {
        self.cache.as_deref()
    }

    /// Visits the records in `[from, until)`.
    pub async fn each(&self, from: Seq, until: Seq, mut visit: impl FnMut(&Record<'_>)) -> Result<(), ReadError> {
        let mut pages = self.log.pages(self.session, from..until.min(self.until));
        while let Some(slices) = pages.next_page().await? {
            slices.iter().flat_map(Slice::records).for_each(|record| visit(&record));
        }
        Ok(())
    }

    /// Visits the records at these places, in order. What lies between them is not read.
    pub async fn at(&self, wanted: &BTreeSet<Seq>, mut visit: impl FnMut(&Record<'_>)) -> Result<(), ReadError> {
        let mut next = Seq::ZERO;
        while let Some(seq) = wanted.range(next..self.until).next().copied() {
            // Where wanted records are adjacent, several batches at a time.
            let near = wanted.range(seq..).zip(seq.0..).take(PAGE).take_while(|(wanted, at)| wanted.0 == *at).count();
            let slices = self.log.read(self.session, seq, near.div_ceil(4)).await?;
            let end = slices.last().map_or(seq, |slice| slice.until);
            for slice in &slices {
                let within = |record: &Record<'_>| record.seq >= next && record.seq < self.until;
                slice.records().filter(|it| within(it) && wanted.contains(&it.seq)).for_each(|it| visit(&it));
            }
            next = end.max(seq.plus(1));
        }
        Ok(())
    }

    /// The facts at these places, each read once.
    pub async fn facts(&self, wanted: &BTreeSet<Seq>) -> Result<BTreeMap<Seq, Fact>, ReadError> {
        let mut facts = BTreeMap::new();
        self.at(wanted, |record| {
            facts.insert(record.seq, Fact::of(record, self.session));
        })
        .await?;
        Ok(facts)
    }

    /// The cut after the batch that holds `at`.
    ///
    /// # Errors
    /// When the log cannot be read or ends before.
    pub async fn cut_after(&self, at: Seq) -> Result<Seq, AskError> {
        let slice = self.log.batch_at(self.session, at).await?;
        Ok(slice.ok_or(AskError::NoEvent { session: self.session, seq: at })?.until)
    }
}
