//! Importers of real Sessions: what OpenCode, Codex CLI and Claude Code left on disk becomes logs of ours.
//!
//! A reader goes through a foreign source in bounded memory and gives one Batch per foreign record, at that record's
//! own time; the driver appends them. What a foreign record means is said in one file per agent and form
//! (`opencode/v2.rs`, `opencode/v1.rs`, `codex/mapping.rs`, `claude/mapping.rs`); `docs/import.md` tells it in prose.
//!
//! **Invariant**: an event depends on the source alone. Nothing of the import's own time or place enters it, so the
//! same source always gives the same Batches, and importing again adds nothing.

mod changed;
mod claude;
mod codex;
mod discover;
mod drive;
mod follow;
mod foreign;
mod identity;
mod lines;
mod opencode;
mod recalled;
mod recognise;
mod report;
mod sink;
mod text;
mod utf8;
mod whole;

pub use discover::{Homes, ListedSession, Selection, discover, list, sources};
pub use drive::SourceImportError;
pub use follow::ImportFollower;
pub use identity::{Editions, IMPORTER};
pub use lines::{LINE_MAX, TORN};
pub use recognise::{ImportSource, RecogniseError, SourceForm, recognise};
pub use report::{ImportOutcome, ImportReport, Loss, PLACES_MAX, SessionReport};
pub use sink::ReadSourceError;
pub use text::TextFile;
pub use whole::import;

use annals_core::SessionId;

/// How to import.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Puts a diverged Session beside the one that was imported before, as a Session of its own. Doing so again adds
    /// nothing.
    pub as_new: bool,
    /// Keeps every record that loses something as a blob, named in the report. No event names it, so that the log is
    /// the same either way; a clean-up of unnamed blobs removes it.
    pub keep_originals: bool,
    /// Which Sessions stand beside earlier ones already; empty to begin with.
    pub editions: Editions,
    /// Also imports a Claude Code transcript that holds a prompt and no answer yet. It is created with the model
    /// `anthropic/unknown`, and the first answer's model is a switch.
    pub prompts: bool,
}

/// What an import is doing, for a progress display.
#[derive(Clone, Copy, Debug)]
pub enum ImportProgress<'a> {
    /// A foreign Session begins.
    Session(&'a SessionReport),
    /// A Batch was appended, or was known.
    Batch {
        /// Whose.
        session: SessionId,
        /// The line (or row) that it comes from, from 1.
        line: u64,
        /// Whether it stood there already.
        known: bool,
    },
    /// How far reading the source is: in bytes of a file, in Sessions of a database.
    Bytes {
        /// What was read.
        done: u64,
        /// All of it.
        total: u64,
    },
}
