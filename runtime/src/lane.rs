//! The writer lane of one session: read what is there, decide, append, fold what was committed
//! (`docs/reference/turn.md#appending`).
//!
//! Every write to a session in this process goes through its lane, one at a time. Another process may still append first;
//! then its events are folded and the decision is made again.

mod staged;
mod token_rate;

use crate::bus::{Bus, Notice};
use crate::outcome::LogError;
use crate::ports::Clock;
use crate::process::ProcessRecorder;
use annals_core::event::{PermissionEvent, PermissionReplied};
use annals_core::{Blobs, Event, PermissionId, Seq, SessionId};
use annals_projections::{RequestBuilder, SessionView};
use annals_store::cache::ViewCache;
use annals_store::views::Views;
use annals_store::{AppendError, Draft, EventLog, Followed, Head, Scope, Slice};
use futures_util::StreamExt;
use staged::Staged;
use std::sync::Arc;
use token_rate::MeasuredRequests;
use tokio::sync::Mutex;

/// How often a batch is appended again when the log does not know whether it was written.
const ASKED_AGAIN: usize = 3;

/// A decision from a view: events to append, if any, and the value to return once they are durable.
#[derive(Debug)]
pub(crate) struct Decision<T> {
    events: Vec<Event>,
    value: T,
}

impl<T> Decision<T> {
    /// Events that are appended together.
    pub(crate) fn append(events: Vec<Event>, value: T) -> Self {
        Self { events, value }
    }

    /// Nothing to record.
    pub(crate) fn nothing(value: T) -> Self {
        Self { events: Vec::new(), value }
    }
}

/// The lane of one session.
pub(crate) struct Lane {
    session: SessionId,
    log: Arc<dyn EventLog>,
    clock: Arc<dyn Clock>,
    bus: Bus,
    views: Views,
    process: Option<Arc<ProcessRecorder>>,
    loaded: Mutex<FoldedView>,
    measured: Mutex<MeasuredRequests>,
    #[cfg(debug_assertions)]
    legality: Mutex<annals_core::Legality>,
}

/// The view that a lane has folded.
#[derive(Default)]
struct FoldedView {
    view: Arc<SessionView>,
    /// The newest request of a turn, which the next one shares its messages with.
    requests: RequestBuilder,
    /// What a boundary decided and appends with its request.
    staged: Staged,
    /// The Seq up to which views are saved.
    saved: Seq,
}

impl Lane {
    /// A lane that has read nothing yet.
    pub(crate) fn new(
        session: SessionId,
        log: Arc<dyn EventLog>,
        clock: Arc<dyn Clock>,
        cache: Option<Arc<ViewCache>>,
        bus: Bus,
        process: Option<Arc<ProcessRecorder>>,
    ) -> Self {
        Self {
            session,
            views: Views::new(log.clone(), cache),
            log,
            clock,
            bus,
            process,
            loaded: Mutex::default(),
            measured: Mutex::default(),
            #[cfg(debug_assertions)]
            legality: Mutex::default(),
        }
    }

    /// The session of this lane.
    pub(crate) fn session(&self) -> SessionId {
        self.session
    }

    /// Resolves blobs.
    pub(crate) fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        self.log.blobs()
    }

    /// The view of everything up to now.
    ///
    /// # Errors
    /// When there is no such session, or the log cannot be read.
    pub(crate) async fn view(&self) -> Result<Arc<SessionView>, LogError> {
        let mut loaded = self.loaded.lock().await;
        self.append_all_staged(&mut loaded).await?;
        self.catch_up(&mut loaded).await?;
        Ok(loaded.view.clone())
    }

    /// The same with what is staged.
    pub(crate) async fn staged_view(&self) -> Result<Arc<SessionView>, LogError> {
        let mut loaded = self.loaded.lock().await;
        self.staged_is_current(&mut loaded).await?;
        Ok(loaded.staged.view().unwrap_or(&loaded.view).clone())
    }

    /// Decides from the present view and appends the decision; when another writer was faster, decides again.
    ///
    /// # Errors
    /// The errors of `decide`, and every error of the log except a conflict.
    pub(crate) async fn decide<T, E: From<LogError>>(
        &self,
        mut decide: impl FnMut(&SessionView) -> Result<Decision<T>, E>,
    ) -> Result<T, E> {
        self.decide_request(|view, _| decide(view)).await
    }

    /// Decides about the request of a turn: builds it from the present view by the builder, which lowers what is new since the
    /// last one. Otherwise as [`Lane::decide`].
    pub(crate) async fn decide_request<T, E: From<LogError>>(
        &self,
        mut decide: impl FnMut(&SessionView, &mut RequestBuilder) -> Result<Decision<T>, E>,
    ) -> Result<T, E> {
        let mut loaded = self.loaded.lock().await;
        self.append_all_staged(&mut loaded).await?;
        loop {
            self.catch_up(&mut loaded).await?;
            let FoldedView { view, requests, .. } = &mut *loaded;
            let Decision { events, value } = decide(view, requests)?;
            if events.is_empty() || self.append(&mut loaded, events).await? {
                return Ok(value);
            }
        }
    }

    /// Decides like [`Lane::decide`], but the events wait: [`Lane::decide_staged`] appends them with its own, so that a boundary and
    /// the request after it wait for the device once. Anything else that this process asks of the lane before that appends them first. `None` when another process was faster: then promotions
    /// alone are appended, and the boundary starts over.
    pub(crate) async fn stage<T, E: From<LogError>>(
        &self,
        decide: impl FnOnce(&SessionView) -> Result<Decision<T>, E>,
    ) -> Result<Option<T>, E> {
        let mut loaded = self.loaded.lock().await;
        if !self.staged_is_current(&mut loaded).await? {
            return Ok(None);
        }
        let FoldedView { view, requests, staged, .. } = &mut *loaded;
        let Decision { events, value } = decide(staged.view().unwrap_or(view))?;
        staged.add(view, requests, (self.session, self.clock.now()), events);
        Ok(Some(value))
    }

    /// Decides about the request of a turn like [`Lane::decide_request`], and appends it after what is staged, in one batch. `None`
    /// as for [`Lane::stage`]. If nothing is decided, what is staged still waits.
    pub(crate) async fn decide_staged<T, E: From<LogError>>(
        &self,
        mut decide: impl FnMut(&SessionView, &mut RequestBuilder) -> Result<Decision<T>, E>,
    ) -> Result<Option<T>, E> {
        let mut loaded = self.loaded.lock().await;
        loop {
            if !self.staged_is_current(&mut loaded).await? {
                return Ok(None);
            }
            let FoldedView { view, requests, staged, .. } = &mut *loaded;
            let Decision { events, value } = decide(staged.view().unwrap_or(view), requests)?;
            let all = staged.events().iter().cloned().chain(events).collect::<Vec<_>>();
            if all.len() == staged.events().len() {
                return Ok(Some(value));
            }
            if self.append(&mut loaded, all).await? {
                loaded.staged = Staged::default();
                return Ok(Some(value));
            }
        }
    }

    /// Appends what is staged, without what it waits for.
    pub(crate) async fn append_staged(&self) -> Result<(), LogError> {
        self.append_all_staged(&mut *self.loaded.lock().await).await
    }

    async fn append_all_staged(&self, loaded: &mut FoldedView) -> Result<(), LogError> {
        if loaded.staged.is_empty() || !self.staged_is_current(loaded).await? {
            return Ok(());
        }
        let events = loaded.staged.events().to_vec();
        if self.append(loaded, events).await? {
            loaded.staged = Staged::default();
            return Ok(());
        }
        self.append_promotions(loaded).await
    }

    /// Catches up; whether what is staged still follows what was appended. Otherwise only its promotions are left.
    async fn staged_is_current(&self, loaded: &mut FoldedView) -> Result<bool, LogError> {
        self.catch_up(loaded).await?;
        if loaded.staged.is_empty() || loaded.staged.follows(&loaded.view) {
            return Ok(true);
        }
        self.append_promotions(loaded).await?;
        Ok(false)
    }

    /// Another process was faster, so that what is staged was decided from an outdated view. A promotion is right in any order and
    /// its input was shown as joined, so promotions are appended; context, epoch and request are decided again by the next boundary.
    async fn append_promotions(&self, loaded: &mut FoldedView) -> Result<(), LogError> {
        loop {
            self.catch_up(loaded).await?;
            let promotions = loaded.staged.promotions(&loaded.view);
            if promotions.is_empty() || self.append(loaded, promotions).await? {
                loaded.staged = Staged::default();
                // It was built from what was staged.
                loaded.requests.reset();
                return Ok(());
            }
        }
    }

    /// Appends events that are valid in every state of the session.
    pub(crate) async fn record(&self, events: &[Event]) -> Result<(), LogError> {
        self.decide(|_| Ok(Decision::append(events.to_vec(), ()))).await
    }

    /// Whether the batch was written; `false` when another writer was faster. An imported session takes none: it contains
    /// what its source contains.
    #[tracing::instrument(level = "debug", skip_all, fields(session = %self.session, seq = %loaded.view.cut().next))]
    async fn append(&self, loaded: &mut FoldedView, mut events: Vec<Event>) -> Result<bool, LogError> {
        let view = &loaded.view;
        if view.session.origin.is_some() {
            return Err(LogError::Imported(self.session));
        }
        // At the end: events of the decision may name each other by their place in the batch.
        let (recorder, location) = (self.process.as_deref(), view.session.location.as_ref());
        events.extend(ProcessRecorder::attaching(recorder, self.session, location).await);
        let draft = Draft {
            session: self.session,
            expected: view.cut().next,
            at: self.clock.now(),
            events,
            digest: None,
            states: Vec::new(),
        };
        #[cfg(debug_assertions)]
        self.assert_legal(&draft).await?;
        let mut unknown = 0;
        let committed = loop {
            match self.log.append(draft.clone()).await {
                Ok(committed) => break committed,
                Err(AppendError::Conflict { .. }) => return Ok(false),
                // Whether the other one lands shows when what was missed is folded.
                Err(AppendError::Contended { .. }) => return Ok(false),
                Err(AppendError::Unknown) if unknown < ASKED_AGAIN => unknown += 1,
                Err(error) => return Err(error.into()),
            }
        };
        ProcessRecorder::recorded(recorder, self.session);
        // The committed batch is folded, not the draft: its large texts are blobs by now.
        loaded.fold(committed.batch.records());
        self.bus.publish(&Notice::Committed(committed.batch));
        Ok(true)
    }

    /// Debug builds check that nothing is appended that breaks a rule of [`annals_core::legal`].
    #[cfg(debug_assertions)]
    async fn assert_legal(&self, draft: &Draft) -> Result<(), LogError> {
        let mut legality = self.legality.lock().await;
        let mut pages = self.log.pages(self.session, legality.next()..draft.expected);
        while let Some(slices) = pages.next_page().await? {
            slices.iter().flat_map(Slice::records).for_each(|record| legality.apply(record.event));
        }
        if legality.next() < draft.expected {
            // The log ends before the decision: the append finds out.
            return Ok(());
        }
        let mut next = legality.clone();
        for event in &draft.events {
            let judged = next.may_follow(event);
            assert_eq!(judged, Ok(()), "session {}, event {}: {event:?}", self.session, next.next());
            next.apply(event);
        }
        Ok(())
    }

    async fn catch_up(&self, loaded: &mut FoldedView) -> Result<(), LogError> {
        if loaded.view.session.id.is_none() {
            let (view, folded) = self.views.whole(self.session, Seq(u64::MAX)).await?;
            *loaded = FoldedView { view: Arc::new(view), saved: folded.from, ..FoldedView::default() };
            return Ok(());
        }
        let ends = |head: Head| head.next == loaded.view.cut().next;
        if self.log.head(self.session).await?.is_some_and(ends) {
            return Ok(());
        }
        let mut pages = self.log.pages(self.session, loaded.view.cut().next..Seq(u64::MAX));
        while let Some(slices) = pages.next_page().await? {
            for slice in slices {
                loaded.fold(slice.records());
                self.publish(slice);
            }
        }
        Ok(())
    }

    /// Waits until the reply to a permission question is in the log, from an event on: another process may append it. A log that can
    /// be followed no more has none.
    pub(crate) async fn reply_of(&self, permission: &PermissionId, from: Seq) -> PermissionReplied {
        let mut following = self.log.follow(Scope::Session { session: self.session, from });
        while let Some(Ok(followed)) = following.next().await {
            let Followed::Batch { slice, .. } = followed else { continue };
            for record in slice.records() {
                match record.event {
                    Event::Permission(PermissionEvent::Replied(replied)) if replied.permission == *permission => {
                        return replied.clone();
                    }
                    _ => {}
                }
            }
        }
        std::future::pending().await
    }

    /// Saves the view for the next resume, if enough is new. A cache that cannot be written costs time, later.
    pub(crate) async fn save_view(&self) {
        let mut loaded = self.loaded.lock().await;
        match self.log.head(self.session).await {
            Ok(Some(head)) if head.next == loaded.view.cut().next => {
                loaded.saved = self.views.keep(&loaded.view, head.digest, loaded.saved);
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(session = %self.session, %error, "the view was not saved"),
        }
    }

    /// Publishes a batch that another writer committed.
    fn publish(&self, slice: Slice) {
        if slice.batch.session == self.session {
            self.bus.publish(&Notice::Committed(slice.batch));
        }
    }
}

impl FoldedView {
    /// Folds records into the view. If a reader still holds it, what changes is copied.
    fn fold<'a>(&mut self, records: impl Iterator<Item = annals_core::Record<'a>>) {
        let view = Arc::make_mut(&mut self.view);
        records.for_each(|record| self.requests.apply_all(view, &record));
    }
}
