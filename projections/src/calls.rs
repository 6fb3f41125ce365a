//! Open tool calls: called, not settled (`docs/reference/turn.md#settlement`).

use crate::Projection;
use crate::anomaly::Anomalies;
use crate::shared::SharedSet;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use annals_core::event::{
    CompactionEvent, CompactionReason, FilesEvent, InputEvent, SessionEvent, StepEvent, ToolEvent, ToolOutcome,
    ToolSettled,
};
use annals_core::text::INLINE_MAX;
use annals_core::{BlobRef, CallId, Event, Json, Record, Seq, Text, Time, kinds};
use serde::{Deserialize, Serialize};

/// A call that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// Its id.
    pub call: CallId,
    /// The Seq of `tool.called`.
    pub seq: Seq,
    /// The tool.
    pub name: String,
    /// Whether the provider executes it.
    pub hosted: bool,
    /// A hash of its name and input: calls of which it differs are not the same.
    made: u64,
    /// When it was made.
    at: Time,
}

/// The open calls, and every call id that was ever used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// In the order of the calls.
    pub open: Vec<OpenCall>,
    /// Hashes of used-up ids, inherited ones included: see [`Calls::is_used`].
    used: SharedSet<u64>,
    /// Whether used-up ids were evicted: such a view is for reading only.
    pub for_looking: bool,
    /// Whether a step began and did not end.
    pub step_open: bool,
    /// Who asked for the compaction that began and did not end.
    pub compaction_open: Option<CompactionReason>,
    /// The newest calls, if they are equal.
    repeating: Repeating,
    /// What is wrong in this part of the log.
    pub anomalies: Anomalies,
}

/// Calls in a row with one name, one input and one result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Repeating {
    /// Of name and input.
    call: u64,
    /// The output that the model read.
    result: u64,
    counted: Repeats,
}

/// How often in a row a call was made with the same result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    /// How often it ended with this result.
    pub count: u64,
    /// Whether the result was a failure.
    pub failed: bool,
    /// How often it was not made again since.
    pub refused: u64,
}

/// Calls that succeed after this time are not counted: they waited for something, and the same result is news.
const WAITED_MS: u64 = 1_000;

/// How an error begins that says that a call was not made again; it neither continues nor ends a row of calls.
pub const REPEATED: &str = "Repeated call: ";

impl Calls {
    /// Forgets used-up ids. Bounds a saved view that only looks.
    pub fn evict(&mut self) {
        self.used.clear();
        self.for_looking = true;
    }

    /// How often in a row calls of this name and input had the same result, up to the newest call and since the newest input.
    pub fn repeats(&self, name: &str, input: &Json) -> Repeats {
        if self.repeating.call == identity(name, input) { self.repeating.counted } else { Repeats::default() }
    }

    fn settled(&mut self, open: &OpenCall, settled: &ToolSettled, at: Time) {
        let error = settled.error.as_ref();
        if error.and_then(Text::inline).is_some_and(|error| error.starts_with(REPEATED)) {
            if self.repeating.call == open.made {
                self.repeating.counted.refused += 1;
            }
            return;
        }
        let failed = settled.outcome == ToolOutcome::Failed || exited_badly(settled);
        if !failed && at.0.saturating_sub(open.at.0) >= WAITED_MS {
            self.repeating = Repeating::default();
            return;
        }
        let result =
            fnv(SEED, &[Some(&settled.output), error].map(|text| text.map_or_else(String::new, reference)).concat());
        let before = &self.repeating;
        let is_next = (before.call, before.result, before.counted.failed) == (open.made, result, failed);
        let count = if is_next { before.counted.count } else { 0 };
        let counted = Repeats { count: count + 1, failed, refused: 0 };
        self.repeating = Repeating { call: open.made, result, counted };
    }

    /// Whether a call is open.
    pub fn is_open(&self, call: &CallId) -> bool {
        self.open.iter().any(|open| open.call == *call)
    }

    /// Whether an id was used before, in this session or in what it inherits.
    pub fn is_used(&self, call: &CallId) -> bool {
        self.used.contains(&hash(call))
    }
}

/// FNV-1a. Two ids that meet here by chance look used: a call then gets another id, and nothing else happens.
fn hash(call: &CallId) -> u64 {
    fnv(SEED, call.as_str())
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(seed: u64, text: &str) -> u64 {
    text.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// A reference to a text: the text itself, or the hash of its blob.
fn reference(text: &Text) -> String {
    match text {
        Text::Inline(text) => text.clone(),
        Text::Blob(blob) => blob.blob.to_string(),
        Text::Absent(absent) => absent.commitment.to_string(),
    }
}

fn identity(name: &str, input: &Json) -> u64 {
    // Large inputs that are not in the store yet are named as they will be.
    let mut input = input.0.clone();
    if input.bytes() > INLINE_MAX as u64
        && let Some(text) = input.inline()
    {
        input = Text::Blob(Box::new(BlobRef::to(text)));
    }
    fnv(fnv(SEED, name).wrapping_add(1), &reference(&input))
}

/// Whether a command ended with another status than 0: a result, but one that repeats as errors do.
fn exited_badly(settled: &ToolSettled) -> bool {
    let value = settled.structured.as_ref().and_then(|value| value.0.inline());
    let status = value.and_then(|value| value.split_once("\"exit\":")).map(|(_, rest)| rest.trim_start());
    status.is_some_and(|status| status.starts_with(|c: char| c.is_ascii_digit() && c != '0'))
}

impl Projection for Calls {
    const NAME: &'static str = "calls";
    const VERSION: u32 = 3;

    fn apply(&mut self, record: &Record<'_>) {
        let seq = record.seq;
        match record.event {
            Event::Step(StepEvent::Started(_)) => self.step_open = true,
            Event::Step(StepEvent::Ended(_)) | Event::Step(StepEvent::Failed(_)) => {
                if !self.step_open {
                    self.anomalies.note(seq, "a step ends that was not started");
                }
                self.step_open = false;
            }
            Event::Step(StepEvent::TextEnded(_)) | Event::Step(StepEvent::ReasoningEnded(_)) => {
                if !self.step_open {
                    self.anomalies.note(seq, "a fragment arrives outside a step");
                }
            }
            Event::Compaction(CompactionEvent::Started(started)) => self.compaction_open = Some(started.reason),
            Event::Compaction(
                CompactionEvent::Ended(_) | CompactionEvent::Completed(_) | CompactionEvent::Failed(_),
            ) => {
                self.compaction_open = None;
            }
            Event::Tool(ToolEvent::Called(called)) => {
                if !self.step_open {
                    self.anomalies.note(seq, "a tool is called outside a step");
                }
                if !self.for_looking && !self.used.insert(hash(&called.call)) {
                    self.anomalies.note(seq, "a call id is used twice");
                }
                self.open.push(OpenCall {
                    call: called.call.clone(),
                    seq,
                    name: called.name.clone(),
                    hosted: called.hosted,
                    made: identity(&called.name, &called.input),
                    at: record.at,
                });
            }
            Event::Tool(ToolEvent::Progressed(progressed)) => {
                if !self.is_open(&progressed.call) {
                    self.anomalies.note(seq, "a call progresses that is not open");
                }
            }
            Event::Tool(ToolEvent::Settled(settled)) => {
                match self.open.iter().position(|open| open.call == settled.call) {
                    Some(at) => {
                        let open = self.open.remove(at);
                        self.settled(&open, settled, record.at);
                    }
                    None => self.anomalies.note(seq, "a call is settled that is not open"),
                }
            }
            Event::Input(InputEvent::Promoted(_)) => self.repeating = Repeating::default(),
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.repeating = Repeating::default();
                self.open.retain(|open| open.seq < committed.first_removed);
                self.step_open = false;
            }
            Event::Session(SessionEvent::Forked(_)) => {
                self.open.clear();
                self.repeating = Repeating::default();
                self.step_open = false;
                self.compaction_open = None;
            }
            kinds!(
                Session(Created, Titled, Moved, AgentSwitched, ProcessAttached, ModelSwitched, TitleFailed),
                Input(Admitted, Withdrawn, DeliveryChanged, Configured),
                Context,
                Profile,
                Step(RequestSent, RequestRecorded, AnswerRecorded, RetryScheduled),
                Permission,
                Compaction(Undone, ToolOutputsPruned, ToolOutputsReduced, CallsReduced),
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
    }
}
