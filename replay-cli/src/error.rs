//! How a command ends.

mod conversions;
mod edit_text;
mod files;
mod import;
mod lab;
mod mcp;
mod record;
mod report;
mod run_command;
mod scenario;
mod serve;
mod what_if;

pub use annals_host::{EditError, SigningError};
pub use edit_text::EditTextError;
pub use files::FilesQuestionError;
pub use import::ImportCommandError;
pub use lab::LabCommandError;
pub use mcp::McpCommandError;
pub use record::RecordingError;
pub use report::ReportError;
pub use run_command::RunCommandError;
pub use scenario::ScenarioError;
pub use serve::ServingError;
pub use what_if::WhatIfError;

use crate::style::Style;
use annals_config::ConfigError;
use annals_host::{HostError, status_of_file};
use annals_index::{IndexError, SqlError};
use annals_inspect::AskError;
use annals_inspect::blame::BlameError;
use annals_inspect::reader::FindError;
use annals_inspect::requests::RebuildError;
use annals_inspect::search::SearchPatternError;
use annals_rules::RuleError;
use annals_runtime::ports::NoEntropy;
use annals_store::disk::CollectError;
use annals_store::erasure::{EraseError, RecordErasureError};
use annals_store::exchange::ExportError;
use annals_store::{AppendError, OpenError, ReadError, SharedError};
use annals_terminal::diagnostics::FilterError;
use std::io;
use std::path::PathBuf;

/// What a command's answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Fine: exit status 0.
    Fine,
    /// The answer is bad news (damage, a difference, a failed expectation): exit status 1.
    BadNews,
    /// The exit status of the program that the command ran.
    Exit(u8),
}

impl Verdict {
    /// Bad news if there is any.
    pub fn bad_if(bad: bool) -> Self {
        if bad { Self::BadNews } else { Self::Fine }
    }
}

/// A command gave no answer. Each message says what happened, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The search pattern is invalid.
    #[error(transparent)]
    Pattern(#[from] SearchPatternError),
    /// A rule cannot be used.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The query gave no answer.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// The index cannot be used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A file is named that does not exist.
    #[error("{}: no such file", path.display())]
    NoFile { path: PathBuf },
    /// The program of a server cannot be started.
    #[cfg(feature = "nats")]
    #[error(
        "{} cannot be started: {source}; install nats-server 2.12 or newer, name the program in ANNALS_NATS_SERVER, or name a \
         cluster with --store nats://HOST:PORT/NAME",
        program.display()
    )]
    NoServerProgram {
        /// Which program.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A store would be copied to itself.
    #[error("{store} cannot be copied to itself; name another store with --to")]
    SameStore {
        /// Which.
        store: String,
    },
    /// `--reveal` compares with an exported file.
    #[error("--reveal compares texts with an exported file; name the file")]
    RevealNeedsFile,
    /// Texts are erased only after a confirmation.
    #[error("erasing cannot be undone; to do it without being asked, add --yes")]
    NotConfirmed,
    /// There is nothing to erase, or not here.
    #[error(transparent)]
    Erase(#[from] EraseError),
    /// An erasure could not be recorded.
    #[error(transparent)]
    RecordErasure(#[from] RecordErasureError),
    /// No new id can be made.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
    /// A session without an event.
    #[error("the number of an event is missing: annals show {session} EVENT (annals log {session} lists them)")]
    EventMissing {
        /// The session as it was named.
        session: String,
    },
    /// A number was expected.
    #[error("{text:?} is not an event number (see annals log)")]
    NotASeq { text: String },
    /// A recorded request cannot be rebuilt.
    #[error(transparent)]
    Rebuild(RebuildError),
    /// It needs keys and a screen.
    #[error("{what} needs a terminal")]
    NoTerminal {
        /// The command or option.
        what: &'static str,
    },
    /// The filter of diagnostics cannot be read.
    #[error(transparent)]
    BadFilter(#[from] FilterError),
    /// There is no place to keep a store.
    #[error("no home folder for the store; name a folder with --store DIR or ANNALS_STORE")]
    NoPlace,
    /// A command about MCP servers gave no answer.
    #[error(transparent)]
    Mcp(#[from] McpCommandError),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// There is no store yet.
    #[error(
        "there is no store in {}; `annals import` imports what it finds (--dry-run lists it), --store DIR names another \
         store", dir.display()
    )]
    NoStore { dir: PathBuf },
    /// The store cannot be opened.
    #[error("{0}")]
    Open(#[source] Box<SharedError>),
    /// Blobs cannot be collected.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// A Session cannot be exported.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// No session, event or message is meant.
    #[error(transparent)]
    Find(FindError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The log cannot be extended.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// A question about the past has no answer.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// A changed decision is none.
    #[error(transparent)]
    WhatIf(#[from] WhatIfError),
    /// A line has no answer.
    #[error(transparent)]
    Blame(#[from] BlameError),
    /// A host cannot start, or continue.
    #[error(transparent)]
    Host(Box<HostError>),
    /// A command that runs a session was used wrongly.
    #[error(transparent)]
    Run(#[from] RunCommandError),
    /// The configuration cannot be worked with.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A session was not changed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The laboratory gave no answer.
    #[error(transparent)]
    Lab(#[from] LabCommandError),
    /// A text of a session was not edited.
    #[error(transparent)]
    EditText(#[from] EditTextError),
    /// Nothing is recorded.
    #[error(transparent)]
    Record(#[from] RecordingError),
    /// The files of a session are not shown.
    #[error(transparent)]
    Files(#[from] FilesQuestionError),
    /// Nothing is served.
    #[error(transparent)]
    Serve(#[from] ServingError),
    /// Nothing was imported, or not everything.
    #[error(transparent)]
    Import(#[from] ImportCommandError),
    /// A report was not written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A scenario was not played or recorded.
    #[error(transparent)]
    Scenario(Box<ScenarioError>),
    /// A command that signs, proves or witnesses gave no answer.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// The answer cannot be written.
    #[error("cannot write the answer: {0}")]
    Output(#[from] io::Error),
}

impl CliError {
    /// The exit status: 2 when the command was used wrongly, 1 when the world is bad news.
    pub fn status(&self) -> u8 {
        match self {
            Self::Ask(error) => error.status(),
            Self::Host(error) => error.status(),
            Self::Run(error) => error.status(),
            Self::Signing(error) => error.status(),
            Self::Edit(error) => error.status(),
            Self::EditText(error) => error.status(),
            Self::Lab(error) => error.status(),
            Self::Import(error) => error.status(),
            Self::Report(error) => error.status(),
            Self::Mcp(error) => {
                if error.is_wrong_use() {
                    2
                } else {
                    1
                }
            }
            Self::Scenario(error) => error.status(),
            Self::Record(error) => error.status(),
            Self::File { source, .. } => status_of_file(source),
            Self::Find(_)
            | Self::RevealNeedsFile
            | Self::NotConfirmed
            | Self::Serve(_)
            | Self::Erase(EraseError::NoMatch { .. } | EraseError::Inherited { .. })
            | Self::NoFile { .. }
            | Self::Rebuild(RebuildError::NoRequest { .. })
            | Self::NotASeq { .. }
            | Self::EventMissing { .. }
            | Self::NoPlace
            | Self::WhatIf(_)
            | Self::Blame(BlameError::NoFile { .. } | BlameError::NoLine { .. })
            | Self::Files(FilesQuestionError::NotEmpty { .. })
            | Self::Pattern(_)
            | Self::Rule(_)
            | Self::Sql(SqlError::Query(_) | SqlError::NotAllowed)
            | Self::BadFilter(_)
            | Self::NoTerminal { .. }
            | Self::SameStore { .. }
            | Self::NoStore { .. }
            | Self::Config(_)
            | Self::Export(ExportError::NoMatch { .. })
            | Self::Read(ReadError::NoSession(_)) => 2,
            #[cfg(feature = "nats")]
            Self::NoServerProgram { .. } => 2,
            Self::Open(error) if matches!(**error, SharedError::Open(OpenError::Foreign { .. })) => 2,
            Self::Open(_)
            | Self::Rebuild(_)
            | Self::Erase(_)
            | Self::RecordErasure(_)
            | Self::Collect(_)
            | Self::Export(_)
            | Self::Read(_)
            | Self::Append(_)
            | Self::NoEntropy(_)
            | Self::Output(_)
            | Self::Sql(_)
            | Self::Files(_)
            | Self::Blame(_)
            | Self::Index(_) => 1,
        }
    }

    /// The message for the user: with ages where there are times.
    pub fn shown(&self, style: &Style) -> String {
        match self {
            Self::Find(error) => error.shown(|at| style.short_age(at)),
            other => other.to_string(),
        }
    }

    /// Whether only one source of an import is to blame: the others can be imported.
    pub fn is_of_source(&self) -> bool {
        matches!(self, Self::Import(error) if error.is_of_source())
    }

    /// Whether the reader of the answer went away: no message is needed.
    pub fn is_closed_pipe(&self) -> bool {
        let broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        match self {
            Self::Output(error) | Self::Sql(SqlError::Output(error)) => broken(error),
            Self::Export(ExportError::Io(error)) => broken(error),
            _ => false,
        }
    }
}
