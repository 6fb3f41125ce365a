//! The folds of Annals: everything that anyone reads.
//!
//! A fold is fed [`Record`]s in the order of their Seq and builds a view. It is pure, total and incremental: the same
//! records give the same view on any machine, next year; a log that holds the impossible gives an [`Anomaly`] in its
//! place, never a refusal. Nothing here validates, renders a Context Source, reads a blob while folding, or panics on
//! data (`docs/reference/events.md#folds`).
#![no_std]
#![warn(missing_docs)]

extern crate alloc;

mod anomaly;
mod calls;
mod catalogue;
mod changed;
mod compaction;
mod epochs;
#[cfg(test)]
mod facts;
mod history;
mod inbox;
pub mod json;
mod ledger;
mod message;
mod messages;
mod permissions;
mod profiles;
mod request;
mod request_index;
mod requests;
mod session;
mod statistics;
mod timeline;
mod transcript;
mod usage;
mod view;

pub use anomaly::{Anomalies, Anomaly};
pub use calls::{Calls, OpenCall, REPEATED};
pub use catalogue::{Catalogue, CatalogueEntry};
pub use changed::{ChangedFiles, FileTotals};
pub use compaction::{CompactionPlan, Entry, NothingToCompact, PrunePlan, estimate, plan, prune};
pub use epochs::{Blocked, Epoch, EpochMark, Epochs};
pub use history::History;
pub use inbox::{Admission, Inbox, Pending};
pub use json::{ToJson, event_json};
pub use ledger::{Ledger, LedgerEntry, LedgerOutcome, unmentioned};
pub use message::{Assistant, Body, Content, Message, Status, ToolCall};
pub use messages::Messages;
pub use permissions::{Permissions, Question};
pub use profiles::Profiles;
pub use request::{
    Block, BuildError, LAST_STEP, PRUNED, Request, RequestMessage, Role, Span, SystemText, ToolChoice, ToolResult,
    rebuild, wrapped,
};
pub use request_index::{IndexedRequest, RequestEnd, RequestIndex};
pub use requests::{RequestMark, Requests};
pub use session::{Child, Fork, Restoring, Revert, SessionInfo, Titling};
pub use statistics::{Statistics, StatisticsSummary, ToolCount};
pub use timeline::{
    CallQuestion, CallResult, CompactionOutcome, EntryKind, Timeline, TimelineCall, TimelineCompaction, TimelineEntry,
    TimelineNote, TurnSummary,
};
pub use transcript::{Transcript, TranscriptItem};
pub use usage::{Unpriced, UsageByModel, UsageTotals};
pub use view::SessionView;

use annals_core::Record;

/// What the model and the person read of a call that the process's death, an interrupt or a fork left open.
pub const INTERRUPTED: &str = "Tool execution interrupted";

/// The error of an answer that was interrupted.
pub const ANSWER_INTERRUPTED: &str = "Provider turn interrupted";

/// A view built by folding records.
///
/// **Invariant**: `apply` is pure, total and incremental: folding `a` and then `b` gives what folding `a ++ b` gives.
pub trait Projection: Default {
    /// The name under which the view is cached.
    const NAME: &'static str;
    /// The version of its shape: a cached view of another version is not used.
    const VERSION: u32;

    /// Takes in one record.
    fn apply(&mut self, record: &Record<'_>);
}
