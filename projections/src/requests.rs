//! Every request that was about to reach a provider: an index; [`crate::rebuild`] gives the request itself.

use crate::Projection;
use crate::shared::PackedVec;
use alloc::collections::BTreeMap;
use annals_core::event::{CompactionEvent, Purpose, RequestSent, SessionEvent, StepEvent, Usage};
use annals_core::{AgentName, Digest, Event, ModelName, Record, RequestId, Seq, Time, kinds};
use serde::{Deserialize, Serialize};

/// One request: its event and its digests. The view at the cut before `seq` rebuilds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestMark {
    /// The Seq of `request.sent`.
    pub seq: Seq,
    /// The time.
    pub at: Time,
    /// The same for every attempt.
    pub request: RequestId,
    /// What for.
    pub purpose: Purpose,
    /// From 1.
    pub attempt: u32,
    /// The agent.
    pub agent: AgentName,
    /// The model.
    pub model: ModelName,
    /// What it must hash to.
    pub digest: Digest,
}

impl RequestMark {
    /// The mark of a request that a record holds.
    pub fn of(record: &Record<'_>, sent: &RequestSent) -> Self {
        Self {
            seq: record.seq,
            at: record.at,
            request: sent.request,
            purpose: sent.purpose,
            attempt: sent.attempt,
            agent: sent.agent.clone(),
            model: sent.model.clone(),
            digest: sent.digest,
        }
    }
}

/// The size of a request as its provider reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedSize {
    /// The Seq of `request.sent`.
    pub request: Seq,
    /// Input tokens, those of a cache included.
    pub tokens: u64,
}

/// Every request of a session, its own ones only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// In order; after [`Requests::evict`] the newest ones.
    pub marks: PackedVec<RequestMark>,
    /// How many older marks were evicted.
    pub dropped: u64,
    /// By model, the newest request for a turn or a summary whose size was reported.
    pub reported: BTreeMap<ModelName, ReportedSize>,
    /// The newest request for a turn or a summary, and its model.
    newest: Option<(Seq, ModelName)>,
}

impl Requests {
    /// Keeps the newest `keep` marks. Bounds a saved view.
    pub fn evict(&mut self, keep: usize) {
        let old = self.marks.len().saturating_sub(keep);
        self.marks.remove_front(old);
        self.dropped += old as u64;
    }

    fn sent(&mut self, record: &Record<'_>, sent: &RequestSent) {
        self.marks.push(RequestMark::of(record, sent));
        if matches!(sent.purpose, Purpose::Turn | Purpose::Summary) {
            self.newest = Some((record.seq, sent.model.clone()));
        }
    }

    fn answered(&mut self, usage: Option<Usage>) {
        let (Some(usage), Some((request, model))) = (usage, &self.newest) else { return };
        let tokens = usage.input_tokens();
        if tokens > 0 {
            self.reported.insert(model.clone(), ReportedSize { request: *request, tokens });
        }
    }
}

impl Projection for Requests {
    const NAME: &'static str = "requests";
    const VERSION: u32 = 3;

    fn apply(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Step(StepEvent::RequestSent(sent)) => self.sent(record, sent),
            Event::Step(StepEvent::Ended(ended)) => self.answered(ended.usage),
            Event::Step(StepEvent::Failed(failed)) => self.answered(failed.usage),
            Event::Compaction(CompactionEvent::Completed(ended)) => self.answered(ended.usage),
            Event::Compaction(CompactionEvent::Failed(failed)) => self.answered(failed.usage),
            Event::Session(SessionEvent::Forked(_)) => *self = Self::default(),
            kinds!(
                Session(Created, Titled, Moved, AgentSwitched, ProcessAttached, ModelSwitched, TitleFailed),
                Step(Started, RetryScheduled, TextEnded, ReasoningEnded, RequestRecorded, AnswerRecorded),
                Input,
                Context,
                Profile,
                Tool,
                Permission,
                Compaction(Started, Ended, Undone, ToolOutputsPruned, ToolOutputsReduced, CallsReduced),
                Message,
                Files,
                Child,
                Erasure
            ) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(seq: u64) -> RequestMark {
        RequestMark {
            seq: Seq(seq),
            at: Time(seq * 1_000),
            request: RequestId([7; 16]),
            purpose: Purpose::Turn,
            attempt: 1,
            agent: "build".into(),
            model: "test/model".into(),
            digest: Digest([9; 32]),
        }
    }

    #[test]
    fn the_newest_marks_are_kept_and_the_others_counted() {
        for count in [0, 5, 64, 200, 500] {
            let mut requests = Requests::default();
            (0..count).for_each(|seq| requests.marks.push(mark(seq)));
            requests.evict(64);
            let dropped = count.saturating_sub(64);
            assert_eq!(requests.dropped, dropped);
            assert!(requests.marks.iter().eq((dropped..count).map(mark)), "of {count}");
        }
    }
}
