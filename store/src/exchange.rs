//! Sessions as files: export, import, and the proof that nothing was altered (`fixtures/FORMAT.md`).
//!
//! An export is JSON lines: a header, then the batches of everything that the session reads (its ancestors' first), each
//! blob before the first batch that names it. `fixtures/FORMAT.md` is the rule in words; `tests/verify_log.py` follows
//! that text and nothing else. Everything here streams: memory holds one page of a log of any length.

mod bounded_line;
mod brought;
mod copy;
mod export;
mod import;
mod keys;
mod line;
mod matching;
mod reveal;
mod rule;
mod salvage;
pub mod verify;
mod withhold;

pub use copy::{CopiedSession, CopyError, copy_session};
pub use export::{ExportError, Exported, export, export_until, export_withheld, matches_left};
pub use import::{ImportError, Imported, ImportedSession, import, import_file};
pub use keys::{has_key, session_key};
pub use line::{Ancestor, FORMAT, Header, HeaderHead};
pub use reveal::{RevealOutcome, RevealedText, compare_revealed, reveal_texts};
pub use rule::{InvalidRule, WithholdRule};
pub use salvage::DamagedLog;
pub use verify::{
    Damage, Flaw, Proven, VerifyReport, WithheldTexts, verify_file, verify_session, verify_sessions, verify_store,
};
pub use withhold::WithholdRules;

pub(crate) use bounded_line::read_line;
pub(crate) use brought::ExportBlobs;
pub(crate) use export::texts_of;
pub(crate) use keys::ancestors;
pub(crate) use line::{HeaderKeys, Line, digest_of};
pub(crate) use withhold::{TextSelection, Withholding};

/// How far a long piece of work is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Batches done.
    pub batches: u64,
    /// Done so far: bytes of a file that is read, events of a log that is read.
    pub done: u64,
    /// What `done` will be in the end, in the same unit, if known.
    pub total: Option<u64>,
}

/// Called with the progress, once a page.
pub type OnProgress<'a> = &'a mut (dyn FnMut(Progress) + Send);
