//! Where a host works, and the stores that it opened.

use crate::error::{HostError, SigningError};
use crate::opened_log::{ClusterErasure, OpenedLog};
use crate::project::root;
use crate::remarks::{HostRemarks, LoggedRemarks, NoProgress, WorkProgress};
use crate::store_choice::StoreChoice;
use annals_config::Environment;
use annals_core::SessionId;
use annals_index::IndexPlace;
use annals_inspect::SessionAt;
use annals_inspect::pricing::Pricing;
use annals_inspect::reader::Reader;
use annals_providers::catalog::Catalog;
use annals_runtime::ProcessRecorder;
use annals_runtime::host::ThisProcess;
use annals_runtime::ports::{Clock, SystemClock};
use annals_store::cache::ViewCache;
use annals_store::disk::{Examination, StoreId, StorePath, summary};
use annals_store::views::Views;
use annals_store::{DiskLog, OpenMode, OpeningReport};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How long closing may take before it is shown.
const LONG: Duration = Duration::from_millis(500);

/// The environment variable that names the machine in what is recorded.
const HOST: &str = "ANNALS_HOST";

/// The program that hosts sessions, as logs name it.
#[derive(Clone, Debug)]
pub struct HostProgram {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Distinguishes builds of one version.
    pub build: Option<&'static str>,
}

/// Where a host works: which store, with which variables, in which directory, and who receives its remarks. Clones share what they
/// open.
#[derive(Clone)]
pub struct HostContext {
    /// The store.
    pub place: StoreChoice,
    /// Variables and the directory, for what is configured.
    pub environment: Environment,
    /// The present time of what is recorded without a runtime.
    pub clock: Arc<dyn Clock>,
    /// Receives what is said besides answers.
    pub remarks: Arc<dyn HostRemarks>,
    program: HostProgram,
    /// The stores that were opened: closed when the work is done.
    opened: Arc<Mutex<Vec<OpenedStore>>>,
    process: Arc<OnceLock<Arc<ProcessRecorder>>>,
}

/// A store that was opened, and its saved views.
#[derive(Clone, Debug)]
struct OpenedStore {
    log: OpenedLog,
    views: Arc<ViewCache>,
    /// Its folder, or that of what this machine keeps of it.
    dir: PathBuf,
    mode: OpenMode,
}

impl HostContext {
    /// A context with no open store, whose remarks go to the log of the process.
    pub fn new(program: HostProgram, place: StoreChoice, environment: Environment) -> Self {
        let (opened, process) = (Arc::default(), Arc::default());
        let (clock, remarks) = (Arc::new(SystemClock::local()), Arc::new(LoggedRemarks));
        Self { place, environment, clock, remarks, program, opened, process }
    }

    /// The same with another receiver of its remarks.
    #[must_use]
    pub fn with_remarks(self, remarks: Arc<dyn HostRemarks>) -> Self {
        Self { remarks, ..self }
    }

    /// The same in another environment.
    #[must_use]
    pub fn in_environment(self, environment: Environment) -> Self {
        Self { environment, ..self }
    }

    /// The same with another store. What it opens is closed with the rest.
    #[must_use]
    pub fn at_place(&self, place: StoreChoice) -> Self {
        Self { place, ..self.clone() }
    }

    /// The same at another time.
    #[must_use]
    pub fn at(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// This program, the machine (`ANNALS_HOST`, else its own name), and the user.
    pub fn this_process(&self) -> ThisProcess {
        let variable = |name: &str| self.environment.variables.get(name);
        let this = ThisProcess::new(self.program.name, self.program.version, variable);
        let build = self.program.build.map(str::to_owned);
        ThisProcess { build, host: variable(HOST).or(this.host.clone()), ..this }
    }

    /// Records in each session that is appended to that this process does.
    pub fn process_recorder(&self) -> Arc<ProcessRecorder> {
        self.process.get_or_init(|| Arc::new(ProcessRecorder::new(Arc::new(self.this_process())))).clone()
    }

    /// Opens the store.
    ///
    /// # Errors
    /// When there is no store and `mode` creates none, or it cannot be opened.
    pub async fn store(&self, mode: OpenMode) -> Result<Reader, HostError> {
        let log = self.place.open(mode, &self.environment.variables, &self.remarks).await?;
        if let Some(report) = log.report() {
            self.report_opening(&report);
        }
        let views = Arc::new(self.place.cache(mode));
        let dir = self.place.dir().to_owned();
        self.opened().push(OpenedStore { log: log.clone(), views: views.clone(), dir: dir.clone(), mode });
        let reader = Reader::new(log.log(), Some(views), dir.clone());
        let Some(shared) = log.folder().filter(|_| mode != OpenMode::ReadOnly) else { return Ok(reader) };
        let folder = shared.folder().map_err(|source| HostError::File { path: dir, source })?;
        Ok(reader.in_folder(StorePath::held(folder)))
    }

    /// Opens the store to sign it, and says which store it is.
    ///
    /// # Errors
    /// When there is none, or it is not known which it is.
    pub async fn store_to_sign(&self) -> Result<(Reader, StoreId), HostError> {
        self.place.folder("annals sign")?;
        let reader = self.store(OpenMode::Existing).await?;
        let id = self.store_id().ok_or(SigningError::UnknownStore)?;
        Ok((reader, id))
    }

    /// Which store was opened last; `None` when none was, or its owner does not say.
    pub fn store_id(&self) -> Option<StoreId> {
        self.opened().last()?.log.folder()?.store()
    }

    /// The log on disk that was opened last; `None` when another process owns it, or none was opened.
    pub fn owned_log(&self) -> Option<Arc<DiskLog>> {
        self.opened().last()?.log.disk()
    }

    /// Compares both copies of the store that is only read; `None` when another process owns it, or none was opened.
    pub async fn examine(&self) -> Result<Option<Examination>, HostError> {
        let opened = self.opened().last().map(|opened| opened.log.clone());
        let Some(log) = opened else { return Ok(None) };
        log.examine().await.map_err(|source| HostError::File { path: self.place.dir().to_owned(), source })
    }

    /// The erasure that is pending in the store that was opened last, if it is in a cluster.
    pub async fn pending_erasure(&self) -> Result<Option<ClusterErasure>, HostError> {
        let opened = self.opened().last().map(|opened| opened.log.clone());
        let Some(log) = opened else { return Ok(None) };
        log.pending_erasure().await
    }

    /// What was found damaged while the store was read.
    pub fn damage_met(&self) -> usize {
        self.opened().iter().map(|opened| opened.log.remarks().len()).sum()
    }

    /// The prices that are configured; where the configuration cannot be read, those that this build knows.
    pub fn pricing(&self) -> Pricing {
        let config = self.environment.config(&self.environment.directory);
        Pricing::new(config.map_or_else(|_| Catalog::built_in(), |config| config.catalog))
    }

    /// Says what opening a store found.
    pub fn report_opening(&self, report: &OpeningReport) {
        summary(&report.remarks).iter().for_each(|line| self.remarks.remark(line));
    }

    /// Adds what was appended to the index of the store that was opened last, if it is opened to be written.
    pub async fn index_now(&self) {
        let opened = self.opened().last().cloned();
        if let Some(opened) = opened {
            opened.fill_index(|| Box::new(NoProgress)).await;
        }
    }

    /// Closes what was opened: lists over all sessions are saved, and what questions about long sessions begin from; the index is
    /// brought up to date.
    ///
    /// # Errors
    /// When a store cannot be left in order; nothing is lost by that.
    pub async fn close(&self) -> Result<(), HostError> {
        let opened = std::mem::take(&mut *self.opened());
        let appended_to = self.process.get().map(|process| process.sessions()).unwrap_or_default();
        for opened in opened {
            opened.save_folds().await;
            opened.save_indexes(&appended_to).await;
            opened.fill_index(|| self.remarks.progress("indexing")).await;
            let OpenedStore { log, dir, .. } = opened;
            let disk = log.disk();
            let read = if disk.is_none() { log.remarks() } else { Vec::new() };
            let closed = self.closing(&log, disk.as_deref()).await;
            // Only here: most of it is found while the store is given to its second copy.
            let found = disk.map_or(read, |disk| disk.remarks());
            summary(&found).iter().for_each(|line| self.remarks.remark(line));
            closed.map_err(|source| HostError::File { path: dir, source })?;
        }
        Ok(())
    }

    /// Closes a store; shows how far it is once that takes a while.
    async fn closing(&self, log: &OpenedLog, disk: Option<&DiskLog>) -> io::Result<()> {
        let closing = log.close();
        tokio::pin!(closing);
        if let Ok(closed) = tokio::time::timeout(LONG, &mut closing).await {
            return closed;
        }
        let (progress, total) = (self.remarks.progress("closing the store"), disk.map_or(0, DiskLog::lag));
        loop {
            let left = disk.map_or(0, DiskLog::lag);
            if total > 0 {
                progress.done(total.saturating_sub(left), Some(total));
            }
            if let Ok(closed) = tokio::time::timeout(LONG / 5, &mut closing).await {
                return closed;
            }
        }
    }

    fn opened(&self) -> MutexGuard<'_, Vec<OpenedStore>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for HostContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostContext").field("place", &self.place).finish_non_exhaustive()
    }
}

impl OpenedStore {
    /// Whether a command that only looks has it open, in a cluster: a store in a folder knows that itself.
    fn only_looks(&self) -> bool {
        self.mode == OpenMode::ReadOnly && self.log.folder().is_none()
    }

    fn is_indexed(&self) -> bool {
        IndexPlace::in_store(&self.dir).file().exists()
    }

    /// Saves the folds over all sessions for commands that only read, which save nothing. Costs what was appended since they
    /// were saved.
    async fn save_folds(&self) {
        if self.only_looks() || !self.log.keeps_lists(self.is_indexed()).await {
            return;
        }
        let views = Views::new(self.log.log(), Some(self.views.clone()));
        let saved = async { views.catalogue().await.and(views.spending().await.map(drop)) };
        if let Err(error) = saved.await {
            tracing::debug!(%error, "the lists over all sessions were not saved; the next reader folds them again");
        }
    }

    /// Saves what questions about these sessions begin from, if enough was appended to them.
    async fn save_indexes(&self, sessions: &[SessionId]) {
        if self.only_looks() {
            return;
        }
        let log = self.log.log();
        for session in sessions {
            let Ok(Some(head)) = log.head(*session).await else { continue };
            let past = SessionAt::new(log.clone(), Some(self.views.clone()), *session, head.next);
            if let Err(error) = past.save_new(&|directory| root(Path::new(directory))).await {
                tracing::debug!(%session, %error, "indexes were not saved; the next reader reads the session again");
            }
        }
    }

    /// Adds what was appended to the index. Where that fails, searches scan what it lacks: no command fails for it.
    async fn fill_index(&self, progress: impl FnOnce() -> Box<dyn WorkProgress>) {
        if !annals_index::IS_BUILT || self.only_looks() || !self.log.keeps_index(self.is_indexed()).await {
            return;
        }
        let (log, place) = (self.log.log(), IndexPlace::in_store(&self.dir));
        let progress = progress();
        let filled = annals_index::fill(&*log, &place, |events| progress.counted(events, "event")).await;
        if let Err(error) = filled {
            tracing::warn!(%error, "the index was not brought up to date; the next command that writes tries again");
        }
    }
}
