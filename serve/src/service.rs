//! What all requests share: the store, prices, and the places of questions that are worked on.

use crate::followers::Followers;
use crate::hosting::HostedSessions;
use crate::problem::ApiProblem;
use annals_host::live::LiveReader;
use annals_inspect::live_store::LiveStore;
use annals_inspect::pricing::Pricing;
use axum::http::StatusCode;
use std::sync::{Arc, PoisonError, Weak};
use tokio::sync::{Semaphore, watch};

/// How many event streams may be open.
const STREAMS: usize = 2_048;
/// How many of them may be of the whole store: each reads for itself.
const WHOLE_STREAMS: usize = 32;

/// What all requests share.
pub struct Service {
    /// The store.
    pub store: Arc<LiveStore>,
    /// Prices of models.
    pub pricing: Pricing,
    /// The sessions that are run here; `None` when the store is only read.
    hosted: Option<Arc<HostedSessions>>,
    /// Closed when the server ends.
    pub(crate) running: watch::Receiver<()>,
    pub(crate) questions: Arc<Semaphore>,
    pub(crate) store_questions: Arc<Semaphore>,
    pub(crate) queries: Arc<Semaphore>,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) whole_streams: Arc<Semaphore>,
    pub(crate) followers: Followers,
    live: std::sync::Mutex<Weak<LiveReader>>,
}

impl Service {
    /// A service that works, until `running` is closed, on as many questions of a kind at a time as there are cores, and on one more
    /// about sessions.
    pub fn new(
        store: LiveStore,
        pricing: Pricing,
        hosted: Option<Arc<HostedSessions>>,
        running: watch::Receiver<()>,
    ) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            store: Arc::new(store),
            pricing,
            hosted,
            running,
            questions: Arc::new(Semaphore::new(cores + 1)),
            store_questions: Arc::new(Semaphore::new(cores)),
            queries: Arc::new(Semaphore::new(cores)),
            streams: Arc::new(Semaphore::new(STREAMS)),
            whole_streams: Arc::new(Semaphore::new(WHOLE_STREAMS)),
            followers: Followers::default(),
            live: std::sync::Mutex::default(),
        }
    }

    /// Whether sessions can be changed.
    pub fn writes(&self) -> bool {
        self.hosted.is_some()
    }

    /// The sessions that are run here.
    ///
    /// # Errors
    /// When the store is only read.
    pub(crate) fn hosted(&self) -> Result<&Arc<HostedSessions>, ApiProblem> {
        let detail = "this server only reads; annals serve --write starts one that can change sessions";
        self.hosted.as_ref().ok_or_else(|| ApiProblem::new(StatusCode::FORBIDDEN, "read only", detail))
    }

    /// What is on its way in all processes that run sessions of the store; read while this is held.
    pub(crate) async fn live(&self) -> Result<Arc<LiveReader>, ApiProblem> {
        let folder = self.store.now().await?.reader.folder().clone();
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = live.upgrade() {
            return Ok(known);
        }
        let started = Arc::new(LiveReader::start(&folder));
        *live = Arc::downgrade(&started);
        Ok(started)
    }
}
