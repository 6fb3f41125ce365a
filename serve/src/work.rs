//! Work on questions: on threads of their own, each for a limited time, and no longer than its client waits.

use crate::problem::ApiProblem;
use crate::service::Service;
use annals_core::{Seq, SessionId};
use annals_store::{
    Boxed, EventLog, Following, Head, LogLayer, PageToken, ReadError, Scope, SessionListPage, Slice, StoreCursor,
};
use axum::http::StatusCode;
use futures_util::StreamExt;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep_until};

/// How long work keeps its place while others wait.
const TURN: Duration = Duration::from_millis(200);

/// The kinds of work. Each has its own places, so that long work of one kind does not delay another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkKind {
    /// A question about one session, or about the server.
    Session,
    /// A question that reads the whole store.
    Store,
    /// A query in SQL.
    Query,
    /// A change of a session. What was begun is finished, whether its client waits or not.
    Change,
}

impl WorkKind {
    /// How long one question may take; `None` for what is finished in any case.
    pub const fn limit(self) -> Option<Duration> {
        match self {
            Self::Session => Some(Duration::from_secs(60)),
            Self::Store => Some(Duration::from_secs(300)),
            Self::Query => Some(Duration::from_secs(30)),
            Self::Change => None,
        }
    }

    /// Its places.
    pub fn places(self, service: &Service) -> &Arc<Semaphore> {
        match self {
            Self::Session | Self::Change => &service.questions,
            Self::Store => &service.store_questions,
            Self::Query => &service.queries,
        }
    }
}

/// Ends work on a question when its client has left, when the server ends, or when its time is over. Clones end together.
#[derive(Clone, Debug)]
pub struct WorkEnd {
    /// Closed when the client has left, and when the server ends.
    held: [watch::Receiver<()>; 2],
    until: Option<Instant>,
}

impl WorkEnd {
    /// The end of work for a client that has left, in a server that has ended, when these are closed, and when its time is over.
    pub const fn new(client: watch::Receiver<()>, server: watch::Receiver<()>, until: Option<Instant>) -> Self {
        Self { held: [client, server], until }
    }

    /// Whether to stop.
    pub fn is_due(&self) -> bool {
        let Some(until) = self.until else { return false };
        Instant::now() >= until || self.held.iter().any(|held| held.has_changed().is_err())
    }

    /// Waits until it is due, which may be never.
    pub async fn due(&self) {
        let Some(until) = self.until else { return std::future::pending().await };
        let [mut client, mut server] = self.held.clone();
        tokio::select! {
            _ = client.changed() => {}
            _ = server.changed() => {}
            () = sleep_until(until) => {}
        }
    }

    /// Returns at once unless it is due, and then never: a caller that also waits for [`WorkEnd::due`] drops the work.
    async fn pass(&self) {
        if self.is_due() {
            std::future::pending::<()>().await;
        }
    }
}

/// A place for work of one kind. Long work that calls [`WorkPlace::share`] takes turns with what waits, so that no number of long
/// questions keeps a short one waiting for their end.
#[derive(Debug)]
pub struct WorkPlace {
    places: Arc<Semaphore>,
    /// Taken since when; `None` while it waits for its next turn.
    taken: Mutex<Option<(OwnedSemaphorePermit, Instant)>>,
}

impl WorkPlace {
    /// Waits for one of these places, in the order of asking.
    ///
    /// # Errors
    /// When the places are closed.
    pub async fn take(places: &Arc<Semaphore>) -> Result<Self, AcquireError> {
        let permit = places.clone().acquire_owned().await?;
        Ok(Self { places: places.clone(), taken: Mutex::new(Some((permit, Instant::now()))) })
    }

    /// After each [`TURN`] gives the place to the work that waits longest, and blocks until it is taken again. True: the work was due to
    /// end before.
    ///
    /// Called inside of a tokio runtime, on a thread that may block.
    pub fn share(&self, end: &WorkEnd) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.as_ref().is_some_and(|(_, since)| since.elapsed() < TURN) {
            return false;
        }
        *taken = None;
        let (given, next) = std::sync::mpsc::sync_channel(1);
        let asking = self.places.clone().acquire_owned();
        // A place that is not waited for any more is free again.
        tokio::spawn(async move { asking.await.map(|permit| given.send(permit)) });
        while !end.is_due() {
            match next.recv_timeout(TURN) {
                Ok(permit) => {
                    *taken = Some((permit, Instant::now()));
                    return false;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
        true
    }
}

/// The answer to a question whose time is over.
pub fn took_too_long(kind: WorkKind) -> ApiProblem {
    let seconds = kind.limit().unwrap_or_default().as_secs();
    let what = if kind == WorkKind::Query { "query" } else { "question" };
    let command = if kind == WorkKind::Query { "annals sql" } else { "the annals command" };
    let detail = format!("the {what} took longer than {seconds} s and was stopped; ask for less, or use {command}");
    ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "took too long", detail)
}

/// A log that is read until the work on a question ends.
pub struct StoppedLog {
    /// The log.
    pub log: Arc<dyn EventLog>,
    /// When to stop.
    pub end: WorkEnd,
}

impl LogLayer for StoppedLog {
    fn inner(&self) -> &dyn EventLog {
        &*self.log
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        Box::pin(async move {
            self.end.pass().await;
            self.log.head(session).await
        })
    }

    fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Boxed<'_, Result<SessionListPage, ReadError>> {
        Box::pin(async move {
            self.end.pass().await;
            self.log.sessions_page(from, limit).await
        })
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move {
            self.end.pass().await;
            self.log.read(session, from, limit).await
        })
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move {
            self.end.pass().await;
            self.log.read_back(session, before, limit).await
        })
    }

    fn follow(&self, scope: Scope) -> Following {
        let end = self.end.clone();
        let passed = self.log.follow(scope).then(move |followed| {
            let end = end.clone();
            async move {
                end.pass().await;
                followed
            }
        });
        Box::pin(passed)
    }

    fn last_before(&self, cursor: &StoreCursor) -> Boxed<'_, Result<Option<Slice>, ReadError>> {
        let reading = self.log.last_before(cursor);
        Box::pin(async move {
            self.end.pass().await;
            reading.await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use annals_store::MemoryLog;
    use futures_util::FutureExt;

    fn held() -> (watch::Sender<()>, watch::Receiver<()>) {
        watch::channel(())
    }

    #[tokio::test]
    async fn work_ends_with_its_client_with_the_server_and_with_its_time() {
        let ((client, of_client), (server, of_server)) = (held(), held());
        let long = Some(Instant::now() + Duration::from_secs(1_000));
        let end = || WorkEnd::new(of_client.clone(), of_server.clone(), long);
        assert!(!end().is_due() && end().due().now_or_never().is_none());
        let late = WorkEnd::new(of_client.clone(), of_server.clone(), Some(Instant::now()));
        assert!(late.is_due());
        late.due().await;
        let never = WorkEnd::new(of_client.clone(), of_server.clone(), None);
        let held_up = WorkEnd::new(of_client, held().1, long);
        assert!(held_up.is_due(), "the server has ended");
        let other = WorkEnd::new(held().1, of_server, long);
        assert!(other.is_due(), "the client has left");
        drop((client, server));
        assert!(!never.is_due(), "what is begun is finished");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn long_work_gives_its_place_to_what_waits_and_has_it_again() {
        let ((client, of_client), (_server, of_server)) = (held(), held());
        let end = WorkEnd::new(of_client, of_server, Some(Instant::now() + Duration::from_secs(60)));
        let places = Arc::new(Semaphore::new(1));
        let long = WorkPlace::take(&places).await.unwrap();
        let shares = tokio::task::spawn_blocking(move || while !long.share(&end) {});
        for _ in 0..3 {
            let short = tokio::time::timeout(Duration::from_secs(60), WorkPlace::take(&places)).await;
            drop(short.expect("a turn").unwrap());
        }
        drop(client);
        shares.await.unwrap();
        assert_eq!(places.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_log_is_read_until_the_work_ends() {
        let ((client, of_client), (_server, of_server)) = (held(), held());
        let end = WorkEnd::new(of_client, of_server, Some(Instant::now() + Duration::from_secs(1_000)));
        let log = StoppedLog { log: Arc::new(MemoryLog::new()), end };
        assert!(EventLog::sessions_page(&log, None, 1).now_or_never().is_some());
        drop(client);
        assert!(EventLog::sessions_page(&log, None, 1).now_or_never().is_none());
        let mut followed = EventLog::follow(&log, Scope::All { from: StoreCursor::START });
        assert!(followed.next().now_or_never().is_none());
    }
}
