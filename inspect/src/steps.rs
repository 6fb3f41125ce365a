//! The requests of a Session, numbered: an index that provenance and cache answers are made from.

use annals_core::event::{
    CompactionEvent, ContextEvent, EpochCause, FilesEvent, InputEvent, MessageEvent, ProfileEvent, Purpose,
    SessionEvent, StepEvent, StepStarted, Usage,
};
use annals_core::{AgentName, Digest, Event, ModelName, Record, Seq, Time};
use annals_projections::Projection;
use serde::{Deserialize, Serialize};

/// What a request was answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Where the answer, or the attempt, ended.
    pub seq: Seq,
    /// When.
    pub at: Time,
    /// What the provider reported.
    pub usage: Option<Usage>,
    /// In nano-dollars.
    pub cost: u64,
}

/// One request: recorded as `request.sent`, or, where an import lacks that, the one before a `step.started`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// From 1.
    pub number: u64,
    /// The Seq of `request.sent`, or of `step.started` where no request was recorded.
    pub seq: Seq,
    /// When.
    pub at: Time,
    /// Whether the request itself was recorded. If not, it is rebuilt from the views just before its answer.
    pub recorded: bool,
    /// What for.
    pub purpose: Purpose,
    /// From 1.
    pub attempt: u32,
    /// The agent.
    pub agent: AgentName,
    /// The model.
    pub model: ModelName,
    /// The recorded agent profile.
    pub agent_profile: Option<Digest>,
    /// The recorded tool set.
    pub tools: Option<Digest>,
    /// The recorded options.
    pub options: Option<Digest>,
    /// What came back, once it ended.
    pub answer: Option<Answer>,
}

/// Every request of a Session, its own ones only, and where what it holds may have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// In order.
    pub steps: Vec<Step>,
    /// Where user messages joined, in order, inherited ones included: what `user` in a revert counts.
    pub users: Vec<Seq>,
    /// Where each profile, tool set and set of options was recorded first: its hash, its Seq. Sorted by hash.
    recorded: Vec<(Digest, Seq)>,
    /// Where something that was not in the model's view, or stood there otherwise, may have come back to it.
    pub returns: Vec<Seq>,
    /// Whether a recorded turn request waits for its answer.
    asked: bool,
}

impl Steps {
    /// The request with a number.
    pub fn get(&self, number: u64) -> Option<&Step> {
        self.steps.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// Which user turn a place belongs to, from 1; 0 before the first.
    pub fn turn(&self, seq: Seq) -> u64 {
        self.users.partition_point(|user| *user <= seq) as u64
    }

    /// The first turn request after a place.
    pub fn first_after(&self, seq: Seq) -> Option<&Step> {
        let from = self.steps.partition_point(|step| step.seq <= seq);
        self.steps.get(from..)?.iter().find(|step| step.purpose == Purpose::Turn)
    }

    /// The last turn request before a place.
    pub fn last_before(&self, seq: Seq) -> Option<&Step> {
        let until = self.steps.partition_point(|step| step.seq < seq);
        self.steps.get(..until)?.iter().rev().find(|step| step.purpose == Purpose::Turn)
    }

    /// Where a profile, tool set or set of options was recorded first.
    pub fn recorded_at(&self, digest: Digest) -> Option<Seq> {
        let at = self.recorded.binary_search_by_key(&digest.0, |(recorded, _)| recorded.0).ok()?;
        self.recorded.get(at).map(|(_, seq)| *seq)
    }

    fn record(&mut self, digest: Option<Digest>, seq: Seq) {
        let Some(digest) = digest else { return };
        if let Err(at) = self.recorded.binary_search_by_key(&digest.0, |(recorded, _)| recorded.0) {
            self.recorded.insert(at, (digest, seq));
        }
    }

    fn answered(&mut self, record: &Record<'_>, purposes: &[Purpose], usage: Option<Usage>, cost: u64) {
        let step = self.steps.iter_mut().rev().find(|step| purposes.contains(&step.purpose));
        if let Some(step) = step.filter(|step| step.answer.is_none()) {
            step.answer = Some(Answer { seq: record.seq, at: record.at, usage, cost });
        }
    }

    /// An answer begins: without a recorded request before it, here is where there was one.
    fn started(&mut self, record: &Record<'_>, started: &StepStarted) {
        if std::mem::take(&mut self.asked) {
            return;
        }
        self.steps.push(Step {
            number: self.number(),
            seq: record.seq,
            at: record.at,
            recorded: false,
            purpose: Purpose::Turn,
            attempt: 1,
            agent: started.agent.clone(),
            model: started.model.clone(),
            agent_profile: None,
            tools: None,
            options: None,
            answer: None,
        });
    }

    fn number(&self) -> u64 {
        self.steps.len() as u64 + 1
    }
}

impl Projection for Steps {
    const NAME: &'static str = "steps";
    const VERSION: u32 = 1;

    fn apply(&mut self, record: &Record<'_>) {
        let (seq, at) = (record.seq, record.at);
        match record.event {
            Event::Step(StepEvent::RequestSent(sent)) => {
                // A title is asked for beside a turn whose answer may still be to come.
                if sent.purpose != Purpose::Title {
                    self.asked = sent.purpose == Purpose::Turn;
                }
                self.steps.push(Step {
                    number: self.number(),
                    seq,
                    at,
                    recorded: true,
                    purpose: sent.purpose,
                    attempt: sent.attempt,
                    agent: sent.agent.clone(),
                    model: sent.model.clone(),
                    agent_profile: Some(sent.agent_profile),
                    tools: sent.tools,
                    options: Some(sent.options),
                    answer: None,
                });
            }
            Event::Step(StepEvent::Started(started)) => self.started(record, started),
            Event::Step(StepEvent::Ended(ended)) => self.answered(record, &[Purpose::Turn], ended.usage, ended.cost),
            Event::Step(StepEvent::Failed(failed)) => {
                self.answered(record, &[Purpose::Turn], failed.usage, failed.cost);
            }
            Event::Step(StepEvent::RetryScheduled(retry)) => {
                let all = [Purpose::Turn, Purpose::Summary];
                self.answered(record, &all, retry.usage, retry.cost);
            }
            Event::Compaction(CompactionEvent::Ended(ended)) => {
                self.answered(record, &[Purpose::Summary], ended.usage, ended.cost);
            }
            Event::Compaction(CompactionEvent::Failed(failed)) => {
                self.answered(record, &[Purpose::Summary], failed.usage, failed.cost);
            }
            Event::Session(SessionEvent::Titled(titled)) if titled.request.is_some() => {
                self.answered(record, &[Purpose::Title], titled.usage, titled.cost);
            }
            Event::Session(SessionEvent::TitleFailed(failed)) => {
                self.answered(record, &[Purpose::Title], failed.usage, failed.cost);
            }
            Event::Input(InputEvent::Promoted(_)) => self.users.push(seq),
            Event::Session(SessionEvent::Forked(_)) => {
                self.steps.clear();
                self.asked = false;
                self.returns.push(seq);
            }
            Event::Profile(ProfileEvent::AgentRecorded(recorded)) => self.record(recorded.profile.digest().ok(), seq),
            Event::Profile(ProfileEvent::ToolsRecorded(recorded)) => self.record(recorded.digest().ok(), seq),
            Event::Profile(ProfileEvent::OptionsRecorded(recorded)) => self.record(recorded.options.digest().ok(), seq),
            Event::Profile(ProfileEvent::ModelRecorded(recorded)) => {
                self.record(recorded.profile.digest().ok(), seq);
                self.returns.push(seq);
            }
            Event::Context(ContextEvent::EpochStarted(started)) if started.cause == EpochCause::Compaction => {
                self.returns.push(seq);
            }
            Event::Compaction(CompactionEvent::Undone(_))
            | Event::Files(FilesEvent::RevertCommitted(_))
            | Event::Message(MessageEvent::Pinned(_))
            | Event::Session(SessionEvent::Moved(_))
            | Event::Session(SessionEvent::ModelSwitched(_)) => self.returns.push(seq),
            // Nothing else is a request, joins a user's words, or brings back what had left the model's view.
            _ => {}
        }
    }
}
