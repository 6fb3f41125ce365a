//! The ledger of compactions: what each covered, what it cost, and what left the model's view by it.

mod saved;

use crate::Projection;
use crate::history::History;
use crate::message::{Body, Content};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{CompactionEvent, CompactionReason, FilesEvent, Purpose, StepEvent, Usage};
use annals_core::{CallId, Digest, Event, ModelName, Record, Seq, Time, kinds};
use serde::{Deserialize, Serialize};

/// How a compaction ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum LedgerOutcome {
    /// It began and did not end.
    Open,
    /// A summary replaced what it covered.
    Completed,
    /// It gave no summary; nothing left the view.
    Failed {
        /// Why: the kind of the failure.
        kind: String,
    },
    /// It was completed and undone.
    Undone {
        /// The event that undid it. Its name in JSON differs from that of the compaction's own Seq, which is in the same
        /// object.
        by: Seq,
    },
    /// It was completed, and a committed revert removed it.
    Reverted {
        /// The event that committed the revert.
        by: Seq,
    },
}

/// One compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LedgerEntry {
    /// The Seq of its start; of its end when an import recorded no start.
    pub seq: Seq,
    /// The Seq of its end.
    pub ended: Option<Seq>,
    /// When it began.
    pub at: Time,
    /// Who asked.
    pub reason: CompactionReason,
    /// The model that summarised, if recorded.
    pub model: Option<ModelName>,
    /// Digest of the summary request, if recorded.
    pub request: Option<Digest>,
    /// Estimate before it, in tokens; 0 when unknown.
    pub before: u64,
    /// Estimate after it, in tokens; 0 when unknown.
    pub after: u64,
    /// Input tokens of the newest answered request of a turn before it, as the provider counted them.
    pub counted_before: Option<u64>,
    /// The same of the first request of a turn behind it.
    pub counted_after: Option<u64>,
    /// What the summary attempt reported.
    pub usage: Option<Usage>,
    /// In nano-dollars.
    pub cost: u64,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: LedgerOutcome,
    /// Messages that left the model's view by it: Seqs of user messages, answers and the like.
    pub messages: Vec<Seq>,
    /// Calls whose outputs left with them.
    pub tool_outputs: Vec<CallId>,
    /// Mid-Conversation System Messages among what it covered: they leave when the next epoch begins.
    pub context_messages: Vec<Seq>,
    /// Pinned messages that stayed.
    pub pinned: Vec<Seq>,
    /// Inputs of the running work that it covered and that follow the summary again.
    pub replayed: Vec<Seq>,
    /// The messages of the kept tail.
    pub kept: Vec<Seq>,
}

/// Every compaction of a session, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// In order of their starts.
    #[serde(serialize_with = "saved::serialize", deserialize_with = "saved::deserialize")]
    pub entries: Vec<LedgerEntry>,
    history: History,
    /// The input tokens of the newest answered request of a turn.
    counted: Option<u64>,
    /// Whether an answer began since the newest compaction.
    answers: bool,
}

impl Ledger {
    /// The history of which compactions cover parts.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Evicts what no compaction to come can cover, unless one is undone or reverted: see [`History::evict`].
    pub fn evict(&mut self) {
        self.history.evict();
    }

    fn open(&mut self) -> Option<&mut LedgerEntry> {
        self.entries.last_mut().filter(|entry| entry.outcome == LedgerOutcome::Open)
    }

    /// A compaction began. One that had not ended before it never will: it stays as it is.
    fn begin(&mut self, record: &Record<'_>, reason: CompactionReason) {
        self.entries.push(LedgerEntry {
            seq: record.seq,
            ended: None,
            at: record.at,
            reason,
            model: None,
            request: None,
            before: 0,
            after: 0,
            counted_before: self.counted,
            counted_after: None,
            usage: None,
            cost: 0,
            outcome: LedgerOutcome::Open,
            messages: Vec::new(),
            tool_outputs: Vec::new(),
            context_messages: Vec::new(),
            pinned: Vec::new(),
            replayed: Vec::new(),
            kept: Vec::new(),
        });
    }

    /// The compaction that an end belongs to; an import may have recorded no start.
    fn ending(&mut self, record: &Record<'_>, reason: CompactionReason) {
        if self.open().is_none() {
            self.begin(record, reason);
        }
    }

    /// Applies a compaction to the history, and sorts what was selected before it into what left by it and what stayed.
    fn cover(&mut self, record: &Record<'_>) {
        let before: Vec<Seq> = self.history.selected().map(|message| message.seq).collect();
        self.history.apply(record);
        let after = &self.history;
        let stays: BTreeSet<Seq> = after.selected().map(|message| message.seq).collect();
        let replayed: BTreeSet<Seq> = after.replayed().map(|message| message.seq).collect();
        let first_kept = after.kept().next().map_or(record.seq, |message| message.seq);
        let Some(entry) = self.entries.last_mut().filter(|entry| entry.outcome == LedgerOutcome::Open) else { return };
        for message in before.into_iter().filter_map(|seq| after.message(seq)) {
            let covered = message.seq < first_kept;
            match &message.body {
                Body::System { .. } if covered => entry.context_messages.push(message.seq),
                _ if replayed.contains(&message.seq) => entry.replayed.push(message.seq),
                _ if covered && stays.contains(&message.seq) => entry.pinned.push(message.seq),
                _ if stays.contains(&message.seq) => entry.kept.push(message.seq),
                Body::Assistant(assistant) => {
                    entry.messages.push(message.seq);
                    entry.tool_outputs.extend(assistant.content.iter().filter_map(|content| match content {
                        Content::Tool(tool) if !tool.output.is_empty() && tool.pruned.is_none() => {
                            Some(tool.call.clone())
                        }
                        _ => None,
                    }));
                }
                _ => entry.messages.push(message.seq),
            }
        }
    }

    /// An answer of a turn ended; what the provider counted of its request is the size behind a compaction.
    fn answered(&mut self, usage: Option<Usage>) {
        let Some(tokens) = usage.map(Usage::input_tokens).filter(|tokens| *tokens > 0) else { return };
        self.counted = Some(tokens);
        let completed = |entry: &&mut LedgerEntry| entry.outcome == LedgerOutcome::Completed && self.answers;
        if let Some(entry) = self.entries.last_mut().filter(completed) {
            entry.counted_after.get_or_insert(tokens);
        }
    }

    /// A compaction ended with a summary.
    fn completed(&mut self, record: &Record<'_>, reason: CompactionReason, end: (u64, Option<Usage>, u64)) {
        self.ending(record, reason);
        self.cover(record);
        self.answers = false;
        if let Some(entry) = self.open() {
            entry.ended = Some(record.seq);
            entry.learn(reason);
            (entry.after, entry.usage, entry.cost) = end;
            entry.outcome = LedgerOutcome::Completed;
        }
    }
}

impl LedgerEntry {
    /// Notes the reason, as a later event has it.
    pub fn learn(&mut self, reason: CompactionReason) {
        if self.reason == CompactionReason::Unknown {
            self.reason = reason;
        }
    }
}

impl Projection for Ledger {
    const NAME: &'static str = "ledger";
    const VERSION: u32 = 4;

    fn apply(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Compaction(CompactionEvent::Started(started)) => {
                self.begin(record, started.reason);
                if let Some(entry) = self.open() {
                    entry.model = started.model.clone();
                    entry.before = started.estimate;
                }
            }
            Event::Step(StepEvent::RequestSent(sent)) if sent.purpose == Purpose::Summary => {
                if let Some(entry) = self.open() {
                    entry.request = Some(sent.digest);
                    entry.model = Some(sent.model.clone());
                }
            }
            Event::Compaction(CompactionEvent::Ended(ended)) => {
                // The history has it already.
                return self.completed(record, ended.reason, (ended.estimate, ended.usage, ended.cost));
            }
            Event::Compaction(CompactionEvent::Completed(ended)) => {
                // The history has it already.
                return self.completed(record, ended.reason, (ended.estimate, ended.usage, ended.cost));
            }
            Event::Compaction(CompactionEvent::Failed(failed)) => {
                self.ending(record, failed.reason);
                if let Some(entry) = self.open() {
                    entry.ended = Some(record.seq);
                    entry.usage = failed.usage;
                    entry.cost = failed.cost;
                    entry.outcome = LedgerOutcome::Failed { kind: failed.error.kind.clone() };
                }
            }
            Event::Step(StepEvent::Started(_)) => self.answers = true,
            Event::Step(StepEvent::Ended(ended)) => self.answered(ended.usage),
            Event::Step(StepEvent::Failed(failed)) => self.answered(failed.usage),
            Event::Compaction(CompactionEvent::Undone(undone)) => {
                for entry in self.entries.iter_mut().filter(|entry| entry.ended == Some(undone.compaction)) {
                    entry.outcome = LedgerOutcome::Undone { by: record.seq };
                }
            }
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                let gone = |entry: &&mut LedgerEntry| {
                    entry.ended.is_some_and(|ended| ended >= committed.first_removed)
                        && entry.outcome == LedgerOutcome::Completed
                };
                for entry in self.entries.iter_mut().filter(gone) {
                    entry.outcome = LedgerOutcome::Reverted { by: record.seq };
                }
            }
            // The rest changes only the history, which is given every other record below.
            kinds!(
                Session,
                Input,
                Context,
                Profile,
                Step(RequestSent, RequestRecorded, AnswerRecorded, RetryScheduled, TextEnded, ReasoningEnded),
                Tool,
                Permission,
                Compaction(ToolOutputsPruned, ToolOutputsReduced, CallsReduced),
                Message,
                Files(
                    Captured,
                    Summarised,
                    RevertStaged,
                    RevertCleared,
                    RestoreBegun,
                    RestoreAbandoned,
                    DepartureBegun,
                    DepartureEnded
                ),
                Child,
                Erasure
            ) => {}
        }
        self.history.apply(record);
    }
}
