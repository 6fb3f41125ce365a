//! What an answer, or the lack of one, adds to a conversation.

use super::{FailedAttempt, InFlight, Thread, ThreadError, cost};
use crate::capture::CapturedAnswer;
use crate::facts::Facts;
use annals_core::event::{
    AnswerRecorded, ChildOutcome, Failure, FilesCaptured, Purpose, SessionTitled, StepEnded, StepFailed, StepStarted,
    TitleFailed,
};
use annals_core::{SessionId, Time};
use annals_providers::recorded::{DecodedAnswer, Speaker, Unit};
use annals_runtime::worktree::Tree;
use std::collections::HashMap;

impl Thread {
    /// Records an answer. `answer` has what it says, `body` the text to keep.
    pub(crate) async fn answer(
        &mut self,
        captured: &CapturedAnswer,
        answer: DecodedAnswer,
        body: Option<String>,
    ) -> Result<(), ThreadError> {
        let Some(at) = self.in_flight.iter().position(|flight| flight.id == captured.id) else { return Ok(()) };
        let flight = self.in_flight.remove(at);
        let cost = cost(&flight.prices, answer.usage);
        let is_other = flight.purpose == Purpose::Other;
        let mut facts = Facts::from(self.next);
        facts.push(AnswerRecorded {
            request: flight.request,
            attempt: flight.attempt,
            status: captured.status,
            media: captured.media.clone(),
            body: body.map(Into::into),
            complete: captured.complete,
            first_byte_ms: captured.first_byte_ms,
            duration_ms: captured.duration_ms,
            usage: answer.usage.filter(|_| is_other),
            cost: if is_other { cost } else { 0 },
        });
        match flight.purpose {
            Purpose::Other => {}
            Purpose::Title => title(&flight, &answer, cost, &mut facts),
            Purpose::Summary => self.summarised(&flight, &answer, &mut facts),
            Purpose::Turn => {
                if let (Some(error), true) = (&answer.error, answer.items.is_empty()) {
                    let (error, usage) = (error.clone(), answer.usage);
                    self.failed = Some(FailedAttempt { flight, at: captured.at, error, usage });
                } else {
                    self.turn_ended(flight, answer, cost, &mut facts);
                }
            }
        }
        self.append(captured.at, facts.events).await
    }

    fn turn_ended(&mut self, flight: InFlight, answer: DecodedAnswer, cost: u64, facts: &mut Facts) {
        let outcome = if answer.error.is_none() { ChildOutcome::Completed } else { ChildOutcome::Failed };
        self.last = Some((outcome, answer.text()));
        let finish = answer.finish.unwrap_or(annals_core::event::Finish::Other);
        let files = self.files.as_ref().map(Tree::to_string);
        let ended = StepEnded { finish, usage: answer.usage, cost, files: files.clone(), changed: Vec::new() };
        let end = answer.error.is_none().then_some(ended);
        self.transcriber.close(Vec::new(), facts);
        let unit = Unit { speaker: Speaker::Assistant, items: answer.items, pointers: Vec::new() };
        let ids = answer.id.iter().map(|id| id.message.clone()).chain(answer.items_ids);
        let ids: Vec<String> = ids.collect();
        let id = answer.id.clone();
        let started = self.transcriber.assistant(&unit, &self.agent, &flight.model, end, (id, files), facts);
        self.answers.extend(ids.into_iter().map(|id| (id, started)));
        if let Some(error) = answer.error {
            facts.push(StepFailed { error, usage: answer.usage, cost });
        }
    }

    /// No other attempt follows one that failed.
    pub(super) async fn give_up(&mut self, failed: FailedAttempt) -> Result<(), ThreadError> {
        let FailedAttempt { flight, at, error, usage } = failed;
        // It failed when its answer ended, unless something was recorded since.
        let at = at.max(self.newest);
        let mut facts = Facts::from(self.next);
        self.transcriber.close(Vec::new(), &mut facts);
        facts.push(StepStarted { agent: self.agent.clone(), model: flight.model, files: None, answer: None });
        facts.push(StepFailed { error, usage, cost: cost(&flight.prices, usage) });
        self.append(at, facts.events).await
    }

    /// How a subagent ended, as far as it got.
    pub(crate) fn ended(&self) -> (ChildOutcome, String) {
        match &self.last {
            Some((outcome, text)) if self.transcriber.open.is_none() && self.in_flight.is_empty() => {
                (*outcome, text.clone())
            }
            _ => (ChildOutcome::Cancelled, String::new()),
        }
    }

    /// The recording ends: nothing stays open.
    pub(crate) async fn finish(
        &mut self,
        at: Time,
        ended: &HashMap<SessionId, (ChildOutcome, String)>,
    ) -> Result<(), ThreadError> {
        if let Some(failed) = self.failed.take() {
            self.give_up(failed).await?;
        }
        let mut facts = Facts::from(self.next);
        self.transcriber.close(Vec::new(), &mut facts);
        if let Some(tree) = self.unrecorded_files.take() {
            facts.push(FilesCaptured { tree: tree.to_string() });
        }
        for child in self.transcriber.children.clone() {
            if let Some((outcome, result)) = ended.get(&child) {
                self.transcriber.child_ended(child, *outcome, result, &mut facts);
            }
        }
        self.summary_kept(&mut facts);
        self.append(at, facts.events).await
    }
}

/// The title in an answer to a request for one.
fn title(flight: &InFlight, answer: &DecodedAnswer, cost: u64, facts: &mut Facts) {
    let text = answer.text();
    let json = serde_json::from_str::<serde_json::Value>(text.trim()).ok();
    let title = json.and_then(|json| Some(json.get("title")?.as_str()?.to_owned())).unwrap_or(text);
    let title = title.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned();
    let (request, usage) = (flight.request, answer.usage);
    match (&answer.error, title.is_empty()) {
        (None, false) => facts.push(SessionTitled { title, request: Some(request), usage, cost }),
        (error, _) => {
            let blank =
                || Failure { kind: "blank".to_owned(), message: "the answer has no title".into(), status: None };
            facts.push(TitleFailed { request, error: error.clone().unwrap_or_else(blank), usage, cost })
        }
    };
}
