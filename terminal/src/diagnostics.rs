//! Diagnostics: warnings and errors of the program's own code, for the user.
//!
//! Warnings are shown on stderr in one plain line each. A command that writes to a store also keeps them in
//! `STORE/annals.log` ([`LogFile`]); one that looks writes no file. What is shown or kept is redacted and escaped: it may
//! quote a file or a model.

mod file;
mod layer;

pub use file::LogFile;

use crate::layout::plain;
use crate::remarks::Remarks;
use crate::style::Emphasis;
use annals_guard::redaction::Redactor;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;
use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;

/// The variable with a filter, as `tracing` writes them: `annals=debug`, `warn,annals_store=trace`.
pub const VARIABLE: &str = "ANNALS_LOG";

/// The filter of diagnostics cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("ANNALS_LOG={filter:?} is not a filter: {why}; example: annals=debug")]
pub struct FilterError {
    /// The filter.
    pub filter: String,
    /// Why not.
    pub why: String,
}

/// How many lines of one place in the code are shown, unless more was asked for. The file has all of them.
const SHOWN: u32 = 3;

/// How many lines wait for a file that is not known yet.
const WAITING: usize = 64;

/// The longest line, in characters.
const LONGEST: usize = 2_000;

/// Places whose reports the commands show in words of their own: these go to the file alone.
const SHOWN_OTHERWISE: [&str; 3] = ["annals_runtime::coordinator", "annals_store::views", "annals_store::disk::state"];

/// The diagnostics of a process. Clones share them; the default one hears nothing.
#[derive(Clone, Default)]
pub struct Diagnostics(Option<Arc<Reporter>>);

struct Reporter {
    /// Whether more than warnings was asked for.
    verbose: bool,
    state: Mutex<ReporterState>,
}

struct ReporterState {
    sink: Sink,
    redactor: ReportRedactor,
    file: Option<LogFile>,
    /// Lines for the file, while it is not known.
    waiting: Vec<String>,
    /// How often each place in the code reported something.
    reported: BTreeMap<(&'static str, u32), u32>,
}

/// What takes secrets out of reports.
enum ReportRedactor {
    /// The usual formats and the variables of the process. Made for the first report: most commands report nothing.
    OfProcess(LazyLock<Redactor>),
    /// Another one, or none.
    Given(Option<Arc<Redactor>>),
}

impl ReportRedactor {
    fn of_process() -> Self {
        Self::OfProcess(LazyLock::new(|| {
            Redactor::default().with_environment(annals_config::Variables::OfProcess.all(), &[], &[])
        }))
    }

    fn get(&self) -> Option<&Redactor> {
        match self {
            Self::OfProcess(redactor) => Some(redactor),
            Self::Given(redactor) => redactor.as_deref(),
        }
    }
}

enum Sink {
    Remarks(Remarks),
    /// The part that draws on the terminal shows them.
    Queue(mpsc::UnboundedSender<String>),
}

/// One report.
#[derive(Clone, Debug)]
struct Diagnostic {
    level: Level,
    /// The module.
    target: &'static str,
    /// The line of its file.
    line: u32,
    /// What happened, in words.
    message: String,
    /// The values that belong to it.
    fields: Vec<(&'static str, String)>,
}

impl Diagnostics {
    /// Hears the whole process from now on: warnings, with `verbosity` 1 also what was done, with 2 how; or what `filter`
    /// says.
    ///
    /// # Errors
    /// [`FilterError`] when the filter cannot be read.
    pub fn install(verbosity: u8, filter: Option<&str>, remarks: Remarks) -> Result<Self, FilterError> {
        let usual = match verbosity {
            0 => "annals=warn",
            1 => "annals=info",
            _ => "annals=debug",
        };
        let asked = filter.filter(|filter| verbosity == 0 && !filter.trim().is_empty());
        let filter = asked.unwrap_or(usual);
        let filter = EnvFilter::try_new(filter)
            .map_err(|error| FilterError { filter: filter.to_owned(), why: error.to_string() })?;
        let state = ReporterState {
            sink: Sink::Remarks(remarks),
            redactor: ReportRedactor::of_process(),
            file: None,
            waiting: Vec::new(),
            reported: BTreeMap::new(),
        };
        let shared = Arc::new(Reporter { verbose: verbosity > 0 || asked.is_some(), state: Mutex::new(state) });
        let subscriber = tracing_subscriber::registry().with(filter).with(layer::DiagnosticLayer(shared.clone()));
        // A program that embeds the command hears for itself.
        match tracing::subscriber::set_global_default(subscriber) {
            Ok(()) => Ok(Self(Some(shared))),
            Err(_) => Ok(Self::default()),
        }
    }

    /// Keeps what is reported in the folder of a store that the command writes to.
    pub fn keep_in(&self, store: &Path) {
        let Some(mut state) = self.state() else { return };
        if state.file.is_none() {
            let mut file = LogFile::in_store(store);
            state.waiting.drain(..).for_each(|line| file.append(&line));
            state.file = Some(file);
        }
    }

    /// Takes the secrets out of what is reported from now on; with `None` nothing is.
    pub fn redact(&self, redactor: Option<Arc<Redactor>>) {
        if let Some(mut state) = self.state() {
            state.redactor = ReportRedactor::Given(redactor);
        }
    }

    /// Sends reports to a receiver, until the [`Redirected`] is dropped.
    pub fn redirect(&self) -> (Redirected, mpsc::UnboundedReceiver<String>) {
        let (queue, arriving) = mpsc::unbounded_channel();
        let former = self.state().map(|mut state| std::mem::replace(&mut state.sink, Sink::Queue(queue)));
        (Redirected { diagnostics: self.clone(), former }, arriving)
    }

    /// The file that something was written to by this process.
    pub fn written(&self) -> Option<PathBuf> {
        let state = self.state()?;
        state.file.as_ref().filter(|file| file.was_written()).map(LogFile::path)
    }

    fn state(&self) -> Option<MutexGuard<'_, ReporterState>> {
        self.0.as_ref().map(|shared| shared.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reports go to a receiver while this exists.
pub struct Redirected {
    diagnostics: Diagnostics,
    former: Option<Sink>,
}

impl Drop for Redirected {
    fn drop(&mut self) {
        if let (Some(mut state), Some(former)) = (self.diagnostics.state(), self.former.take()) {
            state.sink = former;
        }
    }
}

impl Reporter {
    fn report(&self, report: &Diagnostic) {
        let mut locked = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *locked;
        let text = state.cleaned(&report.text());
        let line = format!("{} {} {text}", report.level, report.target);
        match &mut state.file {
            Some(file) => file.append(&line),
            None if state.waiting.len() < WAITING => state.waiting.push(line),
            None => {}
        }
        let times = state.reported.entry((report.target, report.line)).or_default();
        *times = times.saturating_add(1);
        let last = *times == SHOWN;
        if !self.verbose && (*times > SHOWN || SHOWN_OTHERWISE.iter().any(|place| report.target.starts_with(place))) {
            return;
        }
        let word = match report.level {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            _ => "debug",
        };
        let more = if last && !self.verbose { " (further ones of this kind are not shown)" } else { "" };
        state.show(&format!("{word}: {text}{more}"));
    }
}

impl ReporterState {
    /// Without secrets, on one line, and with nothing that steers a terminal.
    fn cleaned(&self, text: &str) -> String {
        let text = match self.redactor.get() {
            Some(redactor) => redactor.redact(text).text.into_owned(),
            None => text.to_owned(),
        };
        plain(&text).replace('\n', " ").chars().take(LONGEST).collect()
    }

    fn show(&self, text: &str) {
        match &self.sink {
            Sink::Remarks(remarks) => remarks.say(Emphasis::Warn, text),
            // If the receiver is gone, the file still has it.
            Sink::Queue(queue) => drop(queue.send(text.to_owned())),
        }
    }
}

impl Diagnostic {
    fn text(&self) -> String {
        let fields: Vec<String> = self.fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        match (self.message.is_empty(), fields.is_empty()) {
            (_, true) => self.message.clone(),
            (true, false) => fields.join(", "),
            (false, false) => format!("{} ({})", self.message, fields.join(", ")),
        }
    }
}

impl fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Diagnostics").field("hears", &self.0.is_some()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
