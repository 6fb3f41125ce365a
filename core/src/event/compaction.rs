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
        /// Nothing says it: another agent compacted, and neither its file nor its requests show who asked.
        Unknown = "unknown",
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
    /// A summary replaced everything before it, of which a part was kept as text: what imports record, and what sessions
    /// recorded before [`CompactionCompleted`].
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
    /// A summary replaced the messages before the kept tail: from here on there is a compaction message.
    CompactionCompleted {
        /// Who asked.
        reason: CompactionReason,
        /// The text as it was answered, whole.
        summary: Text,
        /// Whether requests contain only the two ends of the summary.
        truncated: bool,
        /// How many characters of each end they contain; 0 unless it is truncated.
        ends: u64,
        /// The first message of the kept tail, or the event that was next when the summary was asked for.
        first_kept: Seq,
        /// The covered inputs of the running work, which follow the compaction message again.
        replayed: Vec<ReplayedInput>,
        /// Estimate of the history after it, in tokens; 0 when unknown.
        estimate: u64,
        /// What the summary attempt reported.
        usage: Option<Usage>,
        /// In nano-dollars.
        cost: u64,
    } texts { summary, replayed }
}

payload! {
    /// A covered input that is sent again.
    ReplayedInput {
        /// Its user message.
        seq: Seq,
        /// What is sent in the place of its text; `None` where that is the text itself.
        text: Option<Text>,
    } texts { text }
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
    /// The compaction was undone: the history is as if it had not happened.
    CompactionUndone {
        /// The Seq of its [`CompactionEnded`].
        compaction: Seq,
    } texts {}
}

payload! {
    /// Tool outputs were made smaller in what the model reads: what sessions recorded before [`CallsReduced`].
    ToolOutputsReduced {
        /// Whose outputs are cleared: the model reads `[Old tool result content cleared]` instead.
        calls: Vec<CallId>,
        /// Whose outputs are shortened and not cleared: the model reads their two ends.
        shortened: Vec<CallId>,
    } texts {}
}

payload! {
    /// Tool outputs, inputs of calls and results of the provider's own tools were made smaller in what the model reads; the log
    /// keeps them.
    CallsReduced {
        /// Whose outputs are cleared: the model reads `[Old tool result content cleared]` instead.
        calls: Vec<CallId>,
        /// Whose outputs are shortened and not cleared: the model reads their two ends.
        shortened: Vec<CallId>,
        /// Whose inputs are shortened: the model reads the two ends of the long texts in them.
        inputs: Vec<CallId>,
        /// Calls of the provider's own tools whose results are shortened: the model reads call and result as text.
        hosted: Vec<CallId>,
    } texts {}
}

payload! {
    /// Old tool outputs left the model's view, which reads `[Old tool result content cleared]` instead: what imports record,
    /// and what sessions recorded before [`ToolOutputsReduced`].
    ToolOutputsPruned {
        /// Whose outputs.
        calls: Vec<CallId>,
    } texts {}
}

impl CallsReduced {
    /// The calls of which something is shortened and not cleared.
    pub fn shortened(&self) -> impl Iterator<Item = &CallId> {
        self.shortened.iter().chain(&self.inputs).chain(&self.hosted)
    }
}
