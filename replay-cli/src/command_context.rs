//! What every command is given: where sessions are, and how answers look.

use crate::diagnostics::Diagnostics;
use crate::error::{CliError, EditError};
use crate::event_arg::EventArg;
use crate::import_into::shown_by;
use crate::import_secret;
use crate::layout::plain;
use crate::progress::Bar;
use crate::remarks::Remarks;
use crate::style::{Emphasis, Style, counted};
use annals_config::{Environment, Variables};
use annals_core::{ImportSecret, Seq, SessionId};
use annals_host::{Host, HostContext, HostProgram, HostRemarks, StoreChoice, WorkProgress};
use annals_import::{Homes, open_file};
use annals_inspect::SessionAt;
use annals_inspect::reader::{FindError, Reader};
use annals_runtime::host::HostParts;
use annals_runtime::ports::FixedClock;
use annals_store::OpenMode;
use annals_store::disk::StoreId;
use annals_terminal::Terminal;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// This program, as logs name it.
const PROGRAM: HostProgram =
    HostProgram { name: "annals", version: env!("CARGO_PKG_VERSION"), build: option_env!("ANNALS_BUILD") };

/// What every command is given.
#[derive(Clone, Debug)]
pub struct CommandContext {
    /// The store and the configuration.
    pub host: HostContext,
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
    /// What the program reports of trouble.
    pub diagnostics: Diagnostics,
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

impl CommandContext {
    /// A context with no open store.
    pub fn new(
        place: StoreChoice,
        named: Option<PathBuf>,
        file: Option<PathBuf>,
        style: Style,
        remarks: Remarks,
    ) -> Self {
        let host = HostContext::new(PROGRAM, place, Environment::of_process())
            .at(Arc::new(FixedClock(style.now)))
            .with_remarks(Arc::new(ShownRemarks(remarks.clone())));
        let diagnostics = Diagnostics::default();
        Self { host, named, file, style, remarks, watched: false, all_projects: false, diagnostics }
    }

    /// The same in another environment.
    #[must_use]
    pub fn in_environment(self, environment: Environment) -> Self {
        Self { host: self.host.in_environment(environment), ..self }
    }

    /// How wide lines may be: as a terminal is, or as `COLUMNS` says; as they like when the answer goes elsewhere.
    pub fn line_width(&self) -> Option<usize> {
        (self.watched || self.environment.variables.get("COLUMNS").is_some()).then_some(self.style.width)
    }

    /// A line, wrapped where lines have a width; its other lines are indented by two more blanks than the first.
    pub fn fitted(&self, line: &str) -> String {
        self.terminal().fitted(line)
    }

    /// The terminal that the command was given.
    pub fn terminal(&self) -> Terminal {
        let (style, remarks, diagnostics) = (self.style.clone(), self.remarks.clone(), self.diagnostics.clone());
        Terminal { style, remarks, watched: self.watched, line_width: self.line_width(), diagnostics }
    }

    /// Where the agents on this machine keep their sessions.
    pub fn homes(&self) -> Homes {
        match &self.environment.variables {
            Variables::OfProcess => Homes::from_env(),
            fixed => Homes::of(|name| fixed.get(name).map(PathBuf::from)),
        }
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
        let reader = self.host.store(mode).await?;
        if mode == OpenMode::Create {
            self.diagnostics.keep_in(self.place.dir());
        }
        Ok(reader)
    }

    /// Opens the store to sign it, and says which store it is.
    ///
    /// # Errors
    /// When there is none, or it is not known which it is.
    pub async fn store_to_sign(&self) -> Result<(Reader, StoreId), CliError> {
        if let Some(file) = self.file.clone() {
            return Err(EditError::OnlyInTheStore { file }.into());
        }
        Ok(self.host.store_to_sign().await?)
    }

    /// A runtime over the store that `reader` reads; what is reported of it is kept in the store, without secrets.
    ///
    /// # Errors
    /// When the system gives no entropy for ids.
    pub fn open_host(&self, reader: Reader, parts: HostParts) -> Result<Host, CliError> {
        self.diagnostics.keep_in(reader.store());
        self.diagnostics.redact(parts.settings.redactor.clone());
        Ok(Host::open(self, reader, parts)?)
    }

    /// Reads a file into memory.
    ///
    /// # Errors
    /// When it is nothing that can be imported.
    pub async fn read_file(&self, path: &Path) -> Result<Reader, CliError> {
        self.read_file_with(path, ImportSecret::default()).await
    }

    async fn read_file_with(&self, path: &Path, secret: ImportSecret) -> Result<Reader, CliError> {
        let bar = Bar::new(self.shows_progress(), "reading");
        let file = open_file(path, secret, &mut shown_by(&bar)).await?;
        bar.clear();
        file.remarks.iter().for_each(|remark| self.remark(remark));
        Ok(Reader::new(file.log, None, path.to_owned()).about(file.sessions).damaged(file.damage))
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

    /// As [`CommandContext::find`], for an export or a report. The keys of sessions of another agent's file follow from a secret that
    /// is not shared: the keys of a file that is only looked at can be computed from the file, and with them guesses of withheld texts
    /// can be tested.
    ///
    /// # Errors
    /// See [`CommandContext::find`]; when the system gives no random bytes.
    pub async fn find_to_export(&self, name: &str) -> Result<(Reader, SessionId), CliError> {
        let named = Path::new(name);
        let secret = || import_secret::unshared(&self.environment);
        match &self.file {
            None if named.exists() => {
                let reader = self.read_file_with(named, secret()?).await?;
                let session = reader.only().await?;
                Ok((reader, session))
            }
            Some(file) => {
                let reader = self.read_file_with(file, secret()?).await?;
                let session = self.find_session(&reader, name).await.map_err(|error| self.missing(name, error))?;
                Ok((reader, session))
            }
            None => self.find(name).await,
        }
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

    /// Prints a remark in addition to the answer.
    pub fn remark(&self, text: &str) {
        self.remarks.say(Emphasis::Dim, text);
    }

    /// Whether progress is shown: stderr is a terminal.
    pub fn shows_progress(&self) -> bool {
        self.remarks.are_watched()
    }
}

impl Deref for CommandContext {
    type Target = HostContext;

    fn deref(&self) -> &HostContext {
        &self.host
    }
}

/// What a host says, among the remarks of the command.
#[derive(Debug)]
struct ShownRemarks(Remarks);

impl HostRemarks for ShownRemarks {
    fn remark(&self, text: &str) {
        self.0.say(Emphasis::Dim, &plain(text));
    }

    fn warn(&self, text: &str) {
        self.0.say(Emphasis::Warn, &plain(text));
    }

    fn progress(&self, work: &'static str) -> Box<dyn WorkProgress> {
        Box::new(ShownProgress(Bar::new(self.0.are_watched(), work)))
    }
}

/// A bar that is gone once the work is done.
struct ShownProgress(Bar);

impl WorkProgress for ShownProgress {
    fn done(&self, done: u64, total: Option<u64>) {
        self.0.update(done, total);
    }

    fn counted(&self, count: u64, noun: &str) {
        self.0.name(&counted(count, noun));
    }
}

impl Drop for ShownProgress {
    fn drop(&mut self) {
        self.0.clear();
    }
}
