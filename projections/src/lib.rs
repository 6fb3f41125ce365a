//! The folds of Annals: every view of a session, computed from its records.
//!
//! A fold applies [`Record`]s in the order of their Seq and builds a view. It is pure, total and incremental: the same
//! records give the same view on every machine; an impossible event gives an [`Anomaly`] in its place, not an error.
//! Nothing here validates, renders a Context Source, reads a blob while folding, or panics on data
//! (`docs/reference/events.md#folds`).
//!
//! ```text
//! Record ─► messages ─► history, transcript ─────────┐
//!       ├─► session, epochs, inbox, calls,           ├─► SessionView ─► rebuild (a Request) ─► json (public form)
//!       │   permissions, profiles, usage, requests  ─┘
//!       ├─► request_index, statistics, timeline      what readers ask
//!       └─► catalogue                                all sessions of a store
//! ```
#![no_std]

extern crate alloc;

mod anomaly;
mod calls;
mod catalogue;
mod changed;
mod compaction;
mod edited;
mod epochs;
#[cfg(test)]
mod facts;
mod fidelity;
mod fold;
mod history;
mod inbox;
pub mod json;
mod ledger;
mod message;
mod messages;
mod permissions;
pub mod prelude;
mod profiles;
mod recipe;
mod reduced;
mod request;
mod request_index;
mod requests;
mod session;
mod shared;
mod shorten;
mod size;
mod spending;
mod statistics;
mod timeline;
mod transcript;
mod usage;
mod view;

pub use anomaly::{Anomalies, Anomaly};
pub use calls::{Calls, OpenCall, REPEATED, Repeats};
pub use catalogue::{Catalogue, CatalogueEntry, opening};
pub use changed::{ChangedFiles, FileTotals};
pub use compaction::{
    CompactionPlan, ContextLimits, NothingToCompact, OutputPlan, RequestParts, SummaryRequest, TokenRate,
    conversation_size, cut, estimate, history_tokens, plan, prune, running_inputs, shorten_unread,
};
pub use epochs::{Blocked, Epoch, EpochMark, Epochs};
pub use fidelity::{CoveredText, Fidelity, KeptCount, SentenceFidelity, unmentioned};
pub use fold::{every_cut, fold, fold_at};
pub use history::History;
pub use inbox::{Admission, Inbox, Pending};
pub use json::{ToJson, event_json};
pub use ledger::{Ledger, LedgerEntry, LedgerOutcome};
pub use message::{Assistant, Body, Content, Message, Status, ToolCall};
pub use messages::{Messages, UNKNOWN_PART};
pub use permissions::{PendingQuestion, Permissions};
pub use profiles::Profiles;
pub use recipe::{MISSING_MESSAGE, Recipe, RecipeError, RecipePart};
pub use request::{
    Block, BuildError, BuiltRequest, LAST_STEP, LoweredMessage, Request, RequestBuilder, RequestHead, RequestMessage,
    RequestMessages, Role, Span, SystemText, ToolChoice, ToolResult, rebuild, wrapped,
};
pub use request_index::{IndexedRequest, IndexedRequests, RequestEnd, RequestIndex, SharedProfile};
pub use requests::{ReportedSize, RequestMark, Requests};
pub use session::{Child, Fork, Restoring, Revert, SessionInfo, Titling};
pub use shared::{PackedVec, SharedMap, SharedSet, SharedVec, SharedVecIter};
pub use shorten::{PRUNED, SHORTENED_ENDS, without_middle, without_middle_chars};
pub use spending::{QUARTER_HOUR, SessionSpending, Spending, SpendingCell};
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

/// The protocol of models that a script answers for: their requests have no wire form.
pub const SCRIPTED_PROTOCOL: &str = "scripted";

/// A view built by folding records.
///
/// **Invariant**: `apply` is pure, total and incremental: folding `a` and then `b` gives what folding `a ++ b` gives.
///
/// ```
/// use annals_core::event::{StepEvent, StepStarted};
/// use annals_core::{Event, Record, Seq, SessionId, Time};
/// use annals_projections::Projection;
///
/// /// How many answers began.
/// #[derive(Default)]
/// struct Answers(u64);
///
/// impl Projection for Answers {
///     const NAME: &'static str = "answers";
///     const VERSION: u32 = 1;
///
///     fn apply(&mut self, record: &Record<'_>) {
///         if let Event::Step(StepEvent::Started(_)) = record.event {
///             self.0 += 1;
///         }
///     }
/// }
///
/// let event = Event::from(StepStarted { agent: "build".into(), model: "test/alpha".into(), files: None, answer: None });
/// let session = SessionId::from_parts(1_780_488_000_000, 1);
/// let mut view = Answers::default();
/// view.apply(&Record { session, seq: Seq(0), at: Time(1_780_488_000_000), event: &event });
/// assert_eq!(view.0, 1);
/// ```
pub trait Projection: Default {
    /// The name under which the view is cached.
    const NAME: &'static str;
    /// The version of its shape: a cached view of another version is not used.
    const VERSION: u32;

    /// Applies one record.
    fn apply(&mut self, record: &Record<'_>);
}
