//! A log to read: its blobs, sessions by name, and views at any cut.

mod error;
mod names;

pub use error::{Candidate, FindError};
pub use names::short_ids;

use crate::SessionAt;
use annals_core::event::{SessionCreated, SessionEvent};
use annals_core::{Blobs, Event, Record, Seq, SessionId};
use annals_projections::{Body, Catalogue, Message, Messages, Projection, SessionView, Spending, Transcript};
use annals_store::cache::ViewCache;
use annals_store::disk::StorePath;
use annals_store::exchange::VerifyReport;
use annals_store::views::Views;
use annals_store::{EventLog, Head, Pages, ReadError, Slice};
use std::path::PathBuf;
use std::sync::Arc;

/// How many messages of a transcript are folded at a time.
const PAGE: usize = 64;
/// How many batches are read at a time where the first lines are waited for.
const SCREEN: usize = 128;

/// A log that is read: sessions by name, records, views.
#[derive(Clone)]
pub struct Reader {
    log: Arc<dyn EventLog>,
    blobs: Arc<dyn Blobs + Send + Sync>,
    views: Views,
    saved: Option<Arc<ViewCache>>,
    store: PathBuf,
    folder: StorePath,
    /// The sessions that a file is about, without those that they only inherit from.
    subjects: Vec<SessionId>,
    /// What verifying the file found, if it is damaged.
    damage: Option<Arc<VerifyReport>>,
}

impl Reader {
    /// Reads `log`, which is in `store` (for messages), with the help of saved views.
    pub fn new(log: Arc<dyn EventLog>, saved: Option<Arc<ViewCache>>, store: PathBuf) -> Self {
        let (blobs, views) = (log.blobs(), Views::new(log.clone(), saved.clone()));
        let folder = StorePath::from(std::path::absolute(&store).unwrap_or_else(|_| store.clone()));
        Self { log, blobs, views, saved, store, folder, subjects: Vec::new(), damage: None }
    }

    /// The same with a layer before its log.
    pub fn with_log(self, before: impl FnOnce(Arc<dyn EventLog>) -> Arc<dyn EventLog>) -> Self {
        let log = before(self.log);
        Self { blobs: log.blobs(), views: Views::new(log.clone(), self.saved.clone()), log, ..self }
    }

    /// The same in a folder that is held open.
    pub fn in_folder(self, folder: StorePath) -> Self {
        Self { folder, ..self }
    }

    /// The same, about these sessions.
    pub fn about(self, subjects: Vec<SessionId>) -> Self {
        Self { subjects, ..self }
    }

    /// The same from a file of which verifying found this damage.
    pub fn damaged(self, damage: Option<VerifyReport>) -> Self {
        Self { damage: damage.map(Arc::new), ..self }
    }

    /// What verifying the file found, if it is damaged.
    pub fn damage(&self) -> Option<&VerifyReport> {
        self.damage.as_deref()
    }

    /// The log itself.
    pub fn log(&self) -> &Arc<dyn EventLog> {
        &self.log
    }

    /// Where views are saved, if they are.
    pub fn saved(&self) -> Option<&Arc<ViewCache>> {
        self.saved.as_ref()
    }

    /// Where blobs are read.
    pub fn blobs(&self) -> &dyn Blobs {
        &*self.blobs
    }

    /// Where the log lies, or the file that it was read from.
    pub fn store(&self) -> &PathBuf {
        &self.store
    }

    /// The folder of the store, for files that do not belong to the log.
    pub fn folder(&self) -> &StorePath {
        &self.folder
    }

    /// A session up to a cut, for questions.
    pub fn session_at(&self, session: SessionId, until: Seq) -> SessionAt {
        SessionAt::new(Arc::clone(&self.log), self.saved.clone(), session, until).in_file(self.damage.clone())
    }

    /// Where a session ends.
    ///
    /// # Errors
    /// When there is no such session, or the log cannot be read.
    pub async fn head(&self, session: SessionId) -> Result<Head, FindError> {
        self.log.head(session).await?.ok_or(FindError::Read(ReadError::NoSession(session)))
    }

    /// The first Seq that is not in view: the end of the session, or what follows the batch that holds `at` (facts of a
    /// batch landed together, so a view has all of them or none).
    ///
    /// # Errors
    /// [`FindError::PastTheEnd`] when there is no event at `at`.
    pub async fn until(&self, session: SessionId, at: Option<Seq>) -> Result<Seq, FindError> {
        let next = self.head(session).await?.next;
        let Some(at) = at else { return Ok(next) };
        if at >= next {
            return Err(FindError::PastTheEnd { session, seq: at, last: Seq(next.0.saturating_sub(1)) });
        }
        Ok(self.log.batch_at(session, at).await?.map_or(next, |slice| slice.until))
    }

    /// The batches of a session in `[from, until)`.
    pub fn pages(&self, session: SessionId, from: Seq, until: Seq) -> Pages<'_> {
        self.log.pages(session, from..until)
    }

    /// Folds every record of a session before `until`.
    pub async fn fold<P: Projection>(&self, session: SessionId, until: Seq) -> Result<P, FindError> {
        let mut view = P::default();
        self.each(session, Seq::ZERO, until, |record| view.apply(record)).await?;
        Ok(view)
    }

    /// Visits the records of a session in `[from, until)`.
    pub async fn each(
        &self,
        session: SessionId,
        from: Seq,
        until: Seq,
        mut visit: impl FnMut(&Record<'_>),
    ) -> Result<(), FindError> {
        let mut pages = self.pages(session, from, until);
        while let Some(slice) = pages.next_slice().await? {
            slice.records().for_each(|record| visit(&record));
        }
        Ok(())
    }

    /// The event that created a session; for a fork, the session that it continues. `None` where its log is damaged.
    ///
    /// # Errors
    /// When there is no such session, or the log cannot be read.
    pub async fn created(&self, session: SessionId) -> Result<Option<SessionCreated>, FindError> {
        let first = self.log.batch_at(session, Seq::ZERO).await?;
        Ok(first.and_then(|slice| match slice.batch.events.first()? {
            Event::Session(SessionEvent::Created(created)) => Some((**created).clone()),
            _ => None,
        }))
    }

    /// The directory that a session was created in; empty where its log is damaged. Paths below it are shown from there.
    ///
    /// # Errors
    /// When there is no such session, or the log cannot be read.
    pub async fn directory(&self, session: SessionId) -> Result<String, FindError> {
        let created = self.created(session).await?;
        Ok(created.map(|created| created.location.directory).unwrap_or_default())
    }

    /// Where the `count` newest events before `until` that `takes` accepts begin; the first event if there are fewer. Reads
    /// backwards, no further than needed.
    pub async fn newest_from(
        &self,
        session: SessionId,
        until: Seq,
        count: u64,
        takes: impl Fn(&Record<'_>) -> bool,
    ) -> Result<Seq, FindError> {
        let Some(mut left) = count.checked_sub(1) else { return Ok(until) };
        let mut pages = self.log.pages_back(session, until);
        while let Some(slices) = pages.next_page().await? {
            for record in slices.iter().flat_map(|slice| slice.records().rev()).filter(|record| takes(record)) {
                match left.checked_sub(1) {
                    Some(fewer) => left = fewer,
                    None => return Ok(record.seq),
                }
            }
        }
        Ok(Seq::ZERO)
    }

    /// All views of a session before `until`, whole: the nearest saved view and the rest.
    pub async fn view(&self, session: SessionId, until: Seq) -> Result<SessionView, FindError> {
        Ok(self.views.whole(session, until).await?.0)
    }

    /// All views of a session before `until`, for looking: lists that grow with the log hold their newest items only.
    pub async fn bounded(&self, session: SessionId, until: Seq) -> Result<SessionView, FindError> {
        Ok(self.views.bounded(session, until).await?.0)
    }

    /// The list of all sessions.
    pub async fn catalogue(&self) -> Result<Catalogue, FindError> {
        Ok(self.views.catalogue().await?)
    }

    /// What all sessions used.
    pub async fn spending(&self) -> Result<Spending, FindError> {
        Ok(self.views.spending().await?)
    }

    /// Visits a transcript in bounded memory: `visit` gets a page of messages, oldest first, each whole.
    ///
    /// # Errors
    /// When the log cannot be read, or what `visit` gives.
    pub async fn transcript<E: From<FindError>>(
        &self,
        session: SessionId,
        until: Seq,
        index: &Transcript,
        mut visit: impl FnMut(&Messages, &[Seq]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut at = 0;
        while at < index.items.len() {
            let end = (at + PAGE).min(index.items.len());
            let wanted: Vec<Seq> = index.items.range(at..end).map(|item| item.seq).collect();
            let Some((first, last)) = index.reach(at..end) else { break };
            let mut messages = Messages::default();
            self.each(session, first, last.min(until), |record| {
                messages.apply(record);
            })
            .await?;
            visit(&messages, &wanted)?;
            at = end;
        }
        Ok(())
    }

    /// Visits every message of a transcript, oldest first, each as soon as no later event can change it.
    ///
    /// # Errors
    /// When the log cannot be read, or what `visit` gives.
    pub async fn each_message<E: From<FindError>>(
        &self,
        session: SessionId,
        until: Seq,
        mut visit: impl FnMut(&Message) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut messages = Messages::default();
        let mut pages = self.pages(session, Seq::ZERO, until).at_most(SCREEN);
        let mut visit = |message: &Arc<Message>| match message.body {
            Body::System { .. } => Ok(()),
            _ => visit(message),
        };
        while let Some(slices) = pages.next_page().await.map_err(FindError::from)? {
            slices.iter().flat_map(Slice::records).for_each(|record| {
                messages.apply(&record);
            });
            messages.take_settled().iter().try_for_each(&mut visit)?;
        }
        messages.list().iter().try_for_each(visit)
    }
}
