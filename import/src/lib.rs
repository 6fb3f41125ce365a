//! Imports sessions that other coding agents recorded (OpenCode, Codex CLI, Claude Code), and exports of Annals, into a log.
//!
//! ```text
//!  file, folder            recognise         ImportSource { path, form, only }
//!  database     ------->   discover   -----------------+
//!                                                      v
//!  a thread:    opencode/   codex/   claude/      one reader per agent and form
//!               v2.rs v1.rs mapping.rs mapping.rs the mapping: foreign record -> events
//!                                 |
//!                                 | SourceItem: Started, Batch, Lost, Damaged, Progress   (sink.rs; bounded channel)
//!                                 v
//!  async:       drive.rs            appends each batch at its expected position, or finds it known
//!               import_source.rs    reads again what is imported as a second session
//!               exports.rs          exports of Annals: verified, then appended unchanged
//!                                 |
//!                                 v
//!               EventLog            ImportReport { sessions, losses, damage, refused }
//! ```
//!
//! A reader goes through a foreign source in bounded memory and sends one batch per foreign record, at the time of that record.
//! The mappings are in one file per agent and form (`opencode/v2.rs`, `opencode/v1.rs`, `codex/mapping.rs`,
//! `claude/mapping.rs`); `docs/import.md` describes them.
//!
//! **Invariant**: events depend on the source alone, not on time or place of the import. The same source always gives the same
//! batches, so importing it again appends nothing.

mod changed;
mod claude;
mod codex;
mod compressed;
mod discover;
mod drive;
mod exports;
mod folders;
mod follow;
mod foreign;
mod identity;
mod import_source;
mod kept_secret;
mod known_context;
mod lines;
mod listing;
mod open_file;
mod opencode;
mod plan;
mod recognise;
mod recovery;
mod report;
mod report_file;
mod sink;
mod state;
mod text;
mod utf8;

pub use discover::{Homes, ListedSession, Selection, discover, list, sources};
pub use drive::SourceImportError;
pub use exports::collect_withheld;
pub use follow::ImportFollower;
pub use identity::{Editions, IMPORTER};
pub use import_source::import;
pub use kept_secret::kept_secret;
pub use lines::{LINE_MAX, TORN};
pub use listing::list_sessions;
pub use open_file::{FileLog, OpenFileError, open_file};
pub use plan::ImportPlan;
pub use recognise::{ImportSource, RecogniseError, SourceForm, recognise};
pub use report::{FilledSession, ImportOutcome, ImportReport, Loss, LossKind, PLACES_MAX, SessionReport};
pub use report_file::{EXPORT_LINE, REPORT_BEGINNING};
pub use sink::ReadSourceError;
pub use state::{FileStamps, ImportState, PlannedSource, SessionPosition};
pub use text::TextFile;

use annals_core::{ImportSecret, SessionId};

/// How to import.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Imports a diverged session as a second session. Doing so again appends nothing.
    pub as_new: bool,
    /// Whether the import follows sources that are being written. A session whose source was rewritten is then imported as a second session.
    pub follows: bool,
    /// Stores every record with a loss as a blob that the report names. No event refers to it, so that the log is the same either
    /// way; a clean-up of unreferenced blobs removes it.
    pub keep_originals: bool,
    /// The sessions that were imported again as second sessions; empty at first.
    pub editions: Editions,
    /// Also imports a Claude Code transcript with a prompt and no answer yet. It is created with the model
    /// `anthropic/unknown`, and the first answer's model is a switch.
    pub prompts: bool,
    /// Leaves out requests that a source records: their bodies cannot be proved once secrets in them are replaced.
    pub without_requests: bool,
    /// What the keys of sessions that are new to the log are derived from. With the same secret a source has the same digests in
    /// every store.
    pub secret: ImportSecret,
}

/// Progress of an import.
#[derive(Clone, Copy, Debug)]
pub enum ImportProgress<'a> {
    /// A foreign session starts.
    Session(&'a SessionReport),
    /// A batch was appended or known.
    Batch {
        /// The session.
        session: SessionId,
        /// Its line (or row) in the source, from 1.
        line: u64,
        /// Whether the log contained it already.
        known: bool,
    },
    /// How much of the source was read: bytes of a file, sessions of a database.
    Bytes {
        /// Read so far.
        done: u64,
        /// The total, if known.
        total: Option<u64>,
    },
}
