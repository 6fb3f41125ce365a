//! Compaction and pruning (`docs/reference/compaction.md`).

use super::step::{Failure, Usage};
use super::{payload, words};
use crate::Seq;
use crate::id::{CallId, ModelName};
use crate::text::Text;
use alloc::vec::Vec;

words! {
    /// Who asked for it.
    CompactionReason {
        /// A request would be too large.
        Auto = "auto",
        /// The user.
        Manual = "manual",
        /// The provider refused a request as too large.
        Overflow = "overflow",
    }
}

payload! {
    /// A summary was asked for. A start without an end changes nothing; recovery settles it as failed.
    CompactionStarted {
        /// Who asked.
        reason: CompactionReason,
        /// The model that summarises, if it was recorded.
        model: Option<ModelName>,
        /// Estimate of the request that made it due, in tokens; 0 when unknown.
        estimate: u64,
    } texts {}
}

payload! {
    /// A summary replaced what came before it: from here on there is a compaction message.
    CompactionEnded {
        /// Who asked.
        reason: CompactionReason,
        /// The exact text.
        summary: Text,
        /// The kept tail, rendered; empty when nothing fitted.
        recent: Text,
        /// Estimate of the history after it, in tokens; 0 when unknown.
        estimate: u64,
        /// What the summary attempt reported.
        usage: Option<Usage>,
        /// In nano-dollars.
        cost: u64,
    } texts { summary, recent }
}

payload! {
    /// A compaction gave no summary: the attempt failed, its text was blank, or the process died.
    CompactionFailed {
        /// Who asked.
        reason: CompactionReason,
        /// The error.
        error: Failure,
        /// What the summary attempt reported.
        usage: Option<Usage>,
        /// In nano-dollars.
        cost: u64,
    } texts { error }
}

payload! {
    /// The history is again what it was without a compaction.
    CompactionUndone {
        /// The Seq of its [`CompactionEnded`].
        compaction: Seq,
    } texts {}
}

payload! {
    /// Old tool outputs left the model's view, which reads `[Old tool result content cleared]` instead.
    ToolOutputsPruned {
        /// Whose outputs.
        calls: Vec<CallId>,
    } texts {}
}
