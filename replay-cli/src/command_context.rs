//! What every command is given: where sessions are, and how answers look.

use crate::diagnostics::Diagnostics;
use crate::error::{CliError, EditError, SigningError};
use crate::event_arg::EventArg;
use crate::import_into::shown_by;
use crate::progress::Bar;
use crate::remarks::Remarks;
use crate::store_choice::StoreChoice;
use crate::style::{Emphasis, Style, counted};
use annals_config::{Environment, Variables};
use annals_core::{Seq, SessionId};
use annals_import::{Homes, open_file};
use annals_index::IndexPlace;
use annals_inspect::SessionAt;
use annals_inspect::pricing::Pricing;
use annals_inspect::reader::{FindError, Reader};
use annals_providers::catalog::Catalog;
use annals_runtime::ProcessRecorder;
use annals_runtime::host::ThisProcess;
use annals_store::cache::ViewCache;
use annals_store::disk::{Examination, StoreId, StorePath, summary};
use annals_store::views::Views;
use annals_store::{DiskLog, OpenMode, OpeningReport, Ownership, SharedLog};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// How long closing may take before it is shown.
const LONG: Duration = Duration::from_millis(500);

/// The environment variable that names the machine in what is recorded.
const HOST: &str = "ANNALS_HOST";

/// What every command is given.
#[derive(Clone, Debug)]
pub struct CommandContext {
    /// The store.
    pub place: StoreChoice,
    /// The store's folder, if it was named on the command line.
    pub named: Option<PathBuf>,
    /// A file that is read instead of the store.
    pub file: Option<PathBuf>,
    /// How answers look.
    pub style: Style,
    /// Where remarks go.
    pub remarks: Remarks,
    /// Whether the answer goes to a terminal.
    pub watched: bool,
    /// Whether lists and `@last` are about all projects.
    pub all_projects: bool,
    /// Variables and the directory, for what is configured.
    pub environment: Environment,
    /// What the program reports of trouble.
    pub diagnostics: Diagnostics,
    /// The stores that were opened: closed when the command is done.
    opened: Arc<Mutex<Vec<OpenedStore>>>,
    process: Arc<OnceLock<Arc<ProcessRecorder>>>,
}

/// A Session, and a cut of it.
#[derive(Clone, Debug, clap::Args)]
pub struct Target {
    /// The session: its id, the start or end of the id, words of its title, or @last; or a FILE with one.
    #[arg(value_name = "SESSION", default_value = "@last")]
    pub session: String,
    /// Show the state right after EVENT (and the events written with it): its number, turn:N, -N from the end, a time.
    #[arg(long, value_name = "EVENT", allow_negative_numbers = true)]
    pub at: Option<EventArg>,
}

/// A Session that was found: where to read it, and up to where.
pub struct FoundSession {
    /// Where to read it.
    pub reader: Reader,
    pub session: SessionId,
    /// The first Seq that is not in view.
    pub until: Seq,
}

impl From<&FoundSession> for SessionAt {
    fn from(found: &FoundSession) -> Self {
        found.reader.session_at(found.session, found.until)
    }
}

/// A store that was opened, and its saved views.
#[derive(Debug)]
struct OpenedStore {
    log: SharedLog,
    views: Arc<ViewCache>,
}

/// Saves the folds over all sessions for commands that only read, which save nothing. Costs what was appended since they
/// were saved.
async fn save_folds(log: &SharedLog, views: Arc<ViewCache>) {
    if !matches!(log.ownership(), Ownership::Owner(_)) {
        return;
    }
    let views = Views::new(Arc::new(log.clone()), Some(views));
    let saved = async { views.catalogue().await.and(views.spending().await.map(drop)) };
    if let Err(error) = saved.await {
        tracing::debug!(%error, "the lists over all sessions were not saved; the next reader folds them again");
    }
}

/// Adds what was appended to the index. Where that fails, searches scan what it lacks: no command fails for it.
async fn fill_index(log: &SharedLog, dir: &Path, bar: &Bar) {
    if matches!(log.ownership(), Ownership::Reader(_) | Ownership::Closed) {
        return;
    }
    let filled =
        annals_index::fill(log, &IndexPlace::in_store(dir), |events| bar.name(&counted(events, "event"))).await;
    if let Err(error) = filled {
        tracing::warn!(%error, "the index was not brought up to date; the next command that writes tries again");
    }
}

impl CommandContext {
    /// A context with no open store.
    pub fn new(
        place: StoreChoice,
        named: Option<PathBuf>,
        file: Option<PathBuf>,
        style: Style,
        remarks: Remarks,
    ) -> Self {
        let environment = Environment::of_process();
        let (diagnostics, opened, process) = (Diagnostics::default(), Arc::default(), Arc::default());
        Self {
            place,
            named,
            file,
            style,
            remarks,
            watched: false,
            all_projects: false,
            environment,
            diagnostics,
            opened,
            process,
        }
    }

    /// The same in another environment.
    #[must_use]
    pub fn in_environment(self, environment: Environment) -> Self {
        Self { environment, ..self }
    }

    /// This program, the machine (`ANNALS_HOST`, else its own name), and the user.
    pub fn this_process(&self) -> ThisProcess {
        let variable = |name: &str| self.environment.variables.get(name);
        let this = ThisProcess::new("annals", env!("CARGO_PKG_VERSION"), variable);
        let build = option_env!("ANNALS_BUILD").map(str::to_owned);
        ThisProcess { build, host: variable(HOST).or(this.host.clone()), ..this }
    }

    /// Where the agents on this machine keep their sessions.
    pub fn homes(&self) -> Homes {
        match &self.environment.variables {
            Variables::OfProcess => Homes::from_env(),
            fixed => Homes::of(|name| fixed.get(name).map(PathBuf::from)),
        }
    }

    /// Records in each session that the command appends to that this process does.
    pub fn process_recorder(&self) -> Arc<ProcessRecorder> {
        self.process.get_or_init(|| Arc::new(ProcessRecorder::new(Arc::new(self.this_process())))).clone()
    }

    /// Opens what is read: the file that was named, else the store, in which nothing is written.
    ///
    /// # Errors
    /// When there is no store, or it cannot be read.
    pub async fn reader(&self) -> Result<Reader, CliError> {
        match &self.file {
            Some(file) => self.read_file(file).await,
            None => self.store(OpenMode::ReadOnly).await,
        }
    }

    /// Opens the store.
    ///
    /// # Errors
    /// When there is no store and `mode` creates none, or it cannot be opened.
    pub async fn store(&self, mode: OpenMode) -> Result<Reader, CliError> {
        let log = self.place.open(mode).await?;
        if mode == OpenMode::Create {
            self.diagnostics.keep_in(self.place.dir());
        }
        if let Ownership::Owner(report) | Ownership::Reader(report) = log.ownership() {
            self.tell(&report);
        }
        let views = Arc::new(self.place.cache(mode));
        let opened = OpenedStore { log: log.clone(), views: views.clone() };
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(opened);
        let dir = self.place.dir().to_owned();
        let reader = Reader::new(Arc::new(log.clone()), Some(views), dir.clone());
        if mode == OpenMode::ReadOnly {
            return Ok(reader);
        }
        let folder = log.folder().map_err(|source| CliError::File { path: dir, source })?;
        Ok(reader.in_folder(StorePath::held(folder)))
    }

    /// Opens the store to sign it, and says which store it is.
    ///
    /// # Errors
    /// When there is none, or it is not known which it is.
    pub async fn store_to_sign(&self) -> Result<(Reader, StoreId), CliError> {
        if let Some(file) = self.file.clone() {
            return Err(EditError::OnlyInTheStore { file }.into());
        }
        let reader = self.store(OpenMode::Existing).await?;
        let id = self.store_id().ok_or(SigningError::UnknownStore)?;
        Ok((reader, id))
    }

    /// Which store was opened last; `None` when none was, or its owner does not say.
    pub fn store_id(&self) -> Option<StoreId> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).last()?.log.store()
    }

    /// The log on disk that was opened last; `None` when another process owns it, or none was opened.
    pub fn owned_log(&self) -> Option<Arc<DiskLog>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).last()?.log.disk()
    }

    /// Compares both copies of the store that is only read; `None` when another process owns it, or a file is read.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn examine(&self) -> Result<Option<Examination>, CliError> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).last().map(|opened| opened.log.clone());
        let Some(log) = opened else { return Ok(None) };
        log.examine().await.map_err(|source| CliError::File { path: self.place.dir().to_owned(), source })
    }

    /// What was found damaged while the store was read.
    pub fn damage_met(&self) -> usize {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|opened| opened.log.remarks().len()).sum()
    }

    /// Closes what was opened.
    ///
    /// # Errors
    /// When a store cannot be left in order; nothing is lost by that.
    pub async fn close(&self) -> Result<(), CliError> {
        let opened = std::mem::take(&mut *self.opened.lock().unwrap_or_else(PoisonError::into_inner));
        for OpenedStore { log, views } in opened {
            save_folds(&log, views).await;
            let bar = Bar::new(self.shows_progress(), "indexing");
            fill_index(&log, self.place.dir(), &bar).await;
            bar.clear();
            let disk = log.disk();
            let read = if disk.is_none() { log.remarks() } else { Vec::new() };
            let closed = self.closing(&log, disk.as_deref()).await;
            // Only here: most of it is found while the store is given to its second copy.
            let found = disk.map_or(read, |disk| disk.remarks());
            summary(&found).iter().for_each(|line| self.remark(line));
            closed.map_err(|source| CliError::File { path: self.place.dir().to_owned(), source })?;
        }
        Ok(())
    }

    /// Closes a store; shows how far it is once that takes a while.
    async fn closing(&self, log: &SharedLog, disk: Option<&DiskLog>) -> std::io::Result<()> {
        let closing = log.close();
        tokio::pin!(closing);
        if let Ok(closed) = tokio::time::timeout(LONG, &mut closing).await {
            return closed;
        }
        let (bar, total) = (Bar::new(self.shows_progress(), "closing the store"), disk.map_or(0, DiskLog::lag));
        let closed = loop {
            let left = disk.map_or(0, DiskLog::lag);
            if total > 0 {
                bar.tell(total.saturating_sub(left), Some(total));
            }
            if let Ok(closed) = tokio::time::timeout(LONG / 5, &mut closing).await {
                break closed;
            }
        };
        bar.clear();
        closed
    }

    /// Reads a file into memory.
    ///
    /// # Errors
    /// When it is nothing that can be imported.
    pub async fn read_file(&self, path: &Path) -> Result<Reader, CliError> {
        let bar = Bar::new(self.shows_progress(), "reading");
        let file = open_file(path, &mut shown_by(&bar)).await?;
        bar.clear();
        file.remarks.iter().for_each(|remark| self.remark(remark));
        Ok(Reader::new(file.log, None, path.to_owned()).about(file.sessions))
    }

    /// Finds a session by name; a path to a file means the session in it.
    ///
    /// # Errors
    /// When no session has the name, or several match.
    pub async fn find(&self, name: &str) -> Result<(Reader, SessionId), CliError> {
        let path = Path::new(name);
        if self.file.is_none() && path.exists() {
            let reader = self.read_file(path).await?;
            let session = reader.only().await?;
            return Ok((reader, session));
        }
        // A title may hold a slash, or end like the name of a file.
        let found = async {
            let reader = self.reader().await?;
            let session = self.find_session(&reader, name).await?;
            Ok((reader, session))
        };
        found.await.map_err(|error| self.missing(name, error))
    }

    /// Says of what looks like a file, and names no session, that there is no such file.
    fn missing(&self, name: &str, error: CliError) -> CliError {
        let path = Path::new(name);
        let is_kind = |end: &str| path.extension().is_some_and(|extension| extension == end);
        let like_a_file = name.contains('/') || ["jsonl", "json", "db", "sqlite"].into_iter().any(is_kind);
        match error {
            CliError::Find(FindError::NoSession { .. } | FindError::NoSessions { .. }) | CliError::NoStore { .. }
                if self.file.is_none() && like_a_file =>
            {
                CliError::NoFile { path: path.to_owned() }
            }
            error => error,
        }
    }

    /// Finds a session of the store, to append to it.
    ///
    /// # Errors
    /// See [`CommandContext::stored`].
    pub async fn change(&self, name: &str) -> Result<(Reader, SessionId), CliError> {
        let found = self.stored(name).await?;
        self.diagnostics.keep_in(self.place.dir());
        Ok(found)
    }

    /// Finds a session of the store.
    ///
    /// # Errors
    /// See [`CommandContext::find`]; [`EditError::OnlyInTheStore`] when a file is named instead.
    pub async fn stored(&self, name: &str) -> Result<(Reader, SessionId), CliError> {
        let path = Path::new(name);
        let file = self.file.clone().or_else(|| path.exists().then(|| path.to_owned()));
        if let Some(file) = file {
            return Err(EditError::OnlyInTheStore { file }.into());
        }
        let found = async {
            let reader = self.store(OpenMode::Existing).await?;
            let session = self.find_session(&reader, name).await?;
            Ok((reader, session))
        };
        found.await.map_err(|error| self.missing(name, error))
    }

    /// Finds a session and the cut that a view of it is wanted at.
    ///
    /// # Errors
    /// See [`CommandContext::find`]; [`FindError::PastTheEnd`].
    pub async fn target(&self, target: &Target) -> Result<FoundSession, CliError> {
        let (reader, session) = self.find(&target.session).await?;
        let at = match target.at {
            Some(at) => Some(at.seq(&reader, session, &self.style).await?),
            None => None,
        };
        let until = reader.until(session, at).await?;
        Ok(FoundSession { reader, session, until })
    }

    /// The prices that are configured; where the configuration cannot be read, those that this build knows.
    pub fn pricing(&self) -> Pricing {
        let config = self.environment.config(&self.environment.directory);
        Pricing::new(config.map_or_else(|_| Catalog::built_in(), |config| config.catalog))
    }

    /// Prints a remark in addition to the answer.
    pub fn remark(&self, text: &str) {
        self.remarks.say(Emphasis::Dim, text);
    }

    /// Prints what opening a store found.
    pub fn tell(&self, report: &OpeningReport) {
        summary(&report.remarks).iter().for_each(|line| self.remark(line));
    }

    /// Whether progress is shown: stderr is a terminal.
    pub fn shows_progress(&self) -> bool {
        self.remarks.are_watched()
    }
}
