//! The requests of a session, numbered, and the events that may bring content back into the model's view.

mod list;
mod unrecorded;

pub use list::IndexedRequests;

use crate::Projection;
use alloc::sync::Arc;
use alloc::vec::Vec;
use annals_core::event::{
    CompactionEvent, ContextEvent, EpochCause, FilesEvent, InputEvent, MessageEvent, Origin, ProfileEvent, Purpose,
    RequestSent, SessionEvent, StepEvent, StepStarted, Usage,
};
use annals_core::{AgentName, Digest, Event, ModelName, Record, Seq, Time, kinds};
use core::ops::Deref;
use serde::{Deserialize, Serialize};
use unrecorded::UnrecordedAnswers;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestEnd {
    /// The event that ended the answer or the attempt.
    pub seq: Seq,
    /// The time of that event.
    pub at: Time,
    /// What the provider reported.
    pub usage: Option<Usage>,
    /// In nano-dollars.
    pub cost: u64,
}

/// What most requests of a session have in common with others: it is shared between them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SharedProfile {
    /// Whether the request itself was recorded. If not, it is rebuilt from the views just before its answer.
    pub recorded: bool,
    /// A turn, a summary or a title.
    pub purpose: Purpose,
    /// From 1.
    pub attempt: u32,
    /// The agent that asked.
    pub agent: AgentName,
    /// The model that was asked.
    pub model: ModelName,
    /// Hash of the recorded agent profile.
    pub agent_profile: Option<Digest>,
    /// Hash of the recorded tool set.
    pub tools: Option<Digest>,
    /// Hash of the recorded options.
    pub options: Option<Digest>,
}

impl SharedProfile {
    fn recorded(sent: &RequestSent) -> Self {
        Self {
            recorded: true,
            purpose: sent.purpose,
            attempt: sent.attempt,
            agent: sent.agent.clone(),
            model: sent.model.clone(),
            agent_profile: Some(sent.agent_profile),
            tools: sent.tools,
            options: Some(sent.options),
        }
    }

    fn inferred(started: &StepStarted) -> Self {
        Self {
            recorded: false,
            purpose: Purpose::Turn,
            attempt: 1,
            agent: started.agent.clone(),
            model: started.model.clone(),
            agent_profile: None,
            tools: None,
            options: None,
        }
    }
}

/// One request: recorded as `request.sent`, or, where an import lacks that, the one before a `step.started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IndexedRequest {
    /// From 1.
    pub number: u64,
    /// The Seq of `request.sent`, or of `step.started` where no request was recorded.
    pub seq: Seq,
    /// The time of that event.
    pub at: Time,
    /// What it has in common with others.
    #[serde(flatten, serialize_with = "shared::serialize", deserialize_with = "shared::deserialize")]
    pub shape: Arc<SharedProfile>,
    /// How it ended; `None` while it is open.
    pub answer: Option<RequestEnd>,
}

/// A shape in JSON is that of one request.
mod shared {
    use super::{Arc, Deserialize, Serialize, SharedProfile};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(shape: &Arc<SharedProfile>, serializer: S) -> Result<S::Ok, S::Error> {
        (**shape).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<SharedProfile>, D::Error> {
        SharedProfile::deserialize(deserializer).map(Arc::new)
    }
}

impl Deref for IndexedRequest {
    type Target = SharedProfile;

    fn deref(&self) -> &SharedProfile {
        &self.shape
    }
}

/// Every request of a session (inherited ones are not included), and the events that may change what one contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestIndex {
    /// In order; the number of a request is its place plus 1.
    pub requests: IndexedRequests,
    /// Promotions of user messages, in order, inherited ones included: what `user` in a revert counts.
    pub users: Vec<Seq>,
    /// Hash and first Seq of each recorded profile, tool set and set of options, sorted by hash.
    recorded: Vec<(Digest, Seq)>,
    /// Events that may return content to the model's view, or change how it is shown there.
    pub returns: Vec<Seq>,
    /// Whether a recorded turn request waits for its answer.
    waits: bool,
    /// Whether every request was recorded as it was sent. An answer without one was given before the recording began: what was sent
    /// for it is not known, and it has no number.
    is_recording: bool,
    /// Answers that were given before the recording, or between two of them.
    unrecorded: UnrecordedAnswers,
    /// The first Context Epoch whose Baseline System Context the log has.
    baseline: Option<Seq>,
}

impl RequestIndex {
    /// The request with a number, from 1.
    pub fn get(&self, number: u64) -> Option<IndexedRequest> {
        self.requests.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// Whether every request was recorded as it was sent, with its body.
    pub fn is_recording(&self) -> bool {
        self.is_recording
    }

    /// Whether the log has a Baseline System Context.
    pub fn has_baseline(&self) -> bool {
        self.baseline.is_some()
    }

    /// The user turn that contains an event, from 1; 0 before the first.
    pub fn turn(&self, seq: Seq) -> u64 {
        self.users.partition_point(|user| *user <= seq) as u64
    }

    /// The first turn request after an event.
    pub fn first_after(&self, seq: Seq) -> Option<IndexedRequest> {
        let from = self.requests.before(seq.plus(1));
        self.requests.range(from, self.requests.len()).find(|request| request.purpose == Purpose::Turn)
    }

    /// The last turn request before an event.
    pub fn last_before(&self, seq: Seq) -> Option<IndexedRequest> {
        self.requests.range(0, self.requests.before(seq)).rev().find(|request| request.purpose == Purpose::Turn)
    }

    /// The index of the events before `until`, of a log without inherited ones there. It cannot be extended.
    #[must_use]
    pub fn before(&self, until: Seq) -> Self {
        let part = |list: &[Seq]| list.get(..list.partition_point(|seq| *seq < until)).unwrap_or_default().to_vec();
        Self {
            requests: self.requests.until(until),
            users: part(&self.users),
            recorded: self.recorded.iter().filter(|(_, seq)| *seq < until).copied().collect(),
            returns: part(&self.returns),
            waits: false,
            is_recording: self.is_recording,
            unrecorded: self.unrecorded.before(until),
            baseline: self.baseline.filter(|baseline| *baseline < until),
        }
    }

    /// The event that first recorded a profile, a tool set or a set of options.
    pub fn recorded_at(&self, digest: Digest) -> Option<Seq> {
        let at = self.recorded.binary_search_by_key(&digest.0, |(recorded, _)| recorded.0).ok()?;
        self.recorded.get(at).map(|(_, seq)| *seq)
    }

    fn push(&mut self, record: &Record<'_>, shape: SharedProfile) {
        self.requests.push(record.seq, record.at, shape);
    }

    fn record(&mut self, digest: Option<Digest>, seq: Seq) {
        let Some(digest) = digest else { return };
        if let Err(at) = self.recorded.binary_search_by_key(&digest.0, |(recorded, _)| recorded.0) {
            self.recorded.insert(at, (digest, seq));
        }
    }

    /// Ends the newest request of one of these purposes, unless it has ended.
    fn end(&mut self, record: &Record<'_>, purposes: &[Purpose], usage: Option<Usage>, cost: u64) {
        self.requests.end(purposes, RequestEnd { seq: record.seq, at: record.at, usage, cost });
    }

    fn session(&mut self, record: &Record<'_>, event: &SessionEvent) {
        match event {
            SessionEvent::Forked(forked) => {
                self.requests.clear();
                self.waits = false;
                self.is_recording = forked.origin.as_ref().is_some_and(|origin| origin.form == Origin::WIRE);
                self.unrecorded = UnrecordedAnswers::default();
                self.returns.push(record.seq);
            }
            // A title from the user ends no request.
            SessionEvent::Titled(titled) if titled.request.is_some() => {
                self.end(record, &[Purpose::Title], titled.usage, titled.cost);
            }
            SessionEvent::TitleFailed(failed) => self.end(record, &[Purpose::Title], failed.usage, failed.cost),
            SessionEvent::Moved(_) | SessionEvent::ModelSwitched(_) => self.returns.push(record.seq),
            SessionEvent::Created(created) => {
                self.is_recording = created.origin.as_ref().is_some_and(|origin| origin.form == Origin::WIRE);
            }
            SessionEvent::Titled(_) | SessionEvent::AgentSwitched(_) | SessionEvent::ProcessAttached(_) => {}
        }
    }

    fn profile(&mut self, seq: Seq, event: &ProfileEvent) {
        match event {
            ProfileEvent::AgentRecorded(recorded) => self.record(recorded.profile.digest().ok(), seq),
            ProfileEvent::ToolsRecorded(recorded) => self.record(recorded.digest().ok(), seq),
            ProfileEvent::OptionsRecorded(recorded) => self.record(recorded.options.digest().ok(), seq),
            ProfileEvent::ModelRecorded(recorded) => {
                self.record(recorded.profile.digest().ok(), seq);
                // How the model takes system messages may have changed, and with it how each is shown.
                self.returns.push(seq);
            }
        }
    }

    fn step(&mut self, record: &Record<'_>, event: &StepEvent) {
        match event {
            StepEvent::RequestSent(sent) => {
                self.unrecorded.sent(sent.purpose);
                // A title is requested while a turn may still be open: it does not take the turn's place.
                if !matches!(sent.purpose, Purpose::Title | Purpose::Other) {
                    self.waits = sent.purpose == Purpose::Turn;
                }
                self.push(record, SharedProfile::recorded(sent));
            }
            StepEvent::Started(started) => match (core::mem::take(&mut self.waits), self.is_recording) {
                (true, _) => {}
                (false, true) => self.unrecorded.begin(record.seq),
                (false, false) => self.push(record, SharedProfile::inferred(started)),
            },
            StepEvent::Ended(ended) => {
                if !self.unrecorded.end(record.seq) {
                    self.end(record, &[Purpose::Turn], ended.usage, ended.cost);
                }
            }
            StepEvent::Failed(failed) => {
                if !self.unrecorded.end(record.seq) {
                    self.end(record, &[Purpose::Turn], failed.usage, failed.cost);
                }
            }
            StepEvent::RetryScheduled(retry) => {
                self.end(record, &[Purpose::Turn, Purpose::Summary], retry.usage, retry.cost);
            }
            StepEvent::AnswerRecorded(answer) => self.end(record, &[Purpose::Other], answer.usage, answer.cost),
            StepEvent::TextEnded(_) | StepEvent::ReasoningEnded(_) | StepEvent::RequestRecorded(_) => {}
        }
    }

    fn compaction(&mut self, record: &Record<'_>, event: &CompactionEvent) {
        use CompactionEvent::{Completed, Ended, Failed};
        if let Ended(_) | Completed(_) | Failed(_) = event {
            self.unrecorded.compacted(!matches!(event, Failed(_)));
        }
        match event {
            CompactionEvent::Ended(ended) => self.end(record, &[Purpose::Summary], ended.usage, ended.cost),
            CompactionEvent::Completed(ended) => self.end(record, &[Purpose::Summary], ended.usage, ended.cost),
            CompactionEvent::Failed(failed) => self.end(record, &[Purpose::Summary], failed.usage, failed.cost),
            CompactionEvent::Undone(_) => self.returns.push(record.seq),
            CompactionEvent::Started(_)
            | CompactionEvent::ToolOutputsPruned(_)
            | CompactionEvent::ToolOutputsReduced(_)
            | CompactionEvent::CallsReduced(_) => {}
        }
    }
}

impl Projection for RequestIndex {
    const NAME: &'static str = "request-index";
    const VERSION: u32 = 6;

    fn apply(&mut self, record: &Record<'_>) {
        let seq = record.seq;
        match record.event {
            Event::Session(event) => self.session(record, event),
            Event::Profile(event) => self.profile(seq, event),
            Event::Step(event) => self.step(record, event),
            Event::Compaction(event) => self.compaction(record, event),
            Event::Input(InputEvent::Promoted(_)) => self.users.push(seq),
            Event::Context(ContextEvent::EpochStarted(started)) => {
                if started.known {
                    self.baseline.get_or_insert(seq);
                }
                // A compaction's epoch keeps the messages that were admitted after the compaction.
                if started.cause == EpochCause::Compaction {
                    self.returns.push(seq);
                }
            }
            Event::Files(FilesEvent::RevertCommitted(_))
            | Event::Message(MessageEvent::Pinned(_) | MessageEvent::Edited(_)) => {
                self.returns.push(seq);
            }
            kinds!(
                Input(Admitted, Withdrawn, DeliveryChanged, Configured),
                Context(EpochReplacementBlocked, Admitted, SnapshotAdvanced, InstructionDiscovered),
                Tool,
                Permission,
                Message(Unpinned, SyntheticAdded, ShellRan, TodoUpdated, RedactionApplied, UnknownPart),
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
