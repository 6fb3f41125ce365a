//! A Session as a person wants to read it: records become the items of a timeline.
//!
//! A fold like the others: fed records in order, it gives items in order, each as soon as nothing can change it any more.
//! Memory is bounded by what is open.

mod brief;
mod exit;
mod item;
mod notes;
mod tool;

pub use brief::{brief, changed};
pub use exit::{failed_exit, last_lines};
pub use item::{Activity, Asked, Called, Compacted, Item, Settled, Sort, What};
pub use tool::{input_in_brief, one_line, output_in_brief};

use annals_core::event::{
    Attachment, CompactionEvent, Failure, Finish, InputEvent, PermissionAsked, PermissionEvent, PermissionReplied,
    StepEvent, ToolEvent, ToolSettled, Usage,
};
use annals_core::{CallId, Event, InputId, ModelName, Record, Seq, Text, Time};
use std::collections::VecDeque;

/// An input that waits.
#[derive(Clone, Debug)]
struct Waiting {
    input: InputId,
    seq: Seq,
    text: Text,
    attachments: Vec<Attachment>,
}

/// Turns records into items.
#[derive(Clone, Debug, Default)]
pub struct Tale {
    items: VecDeque<Item>,
    /// Inputs that were admitted and not told yet: nothing else happened since.
    admitted: Vec<Item>,
    /// Inputs that wait.
    waiting: Vec<Waiting>,
    /// User messages so far.
    users: u64,
    /// What the model does now.
    activity: Option<Activity>,
    /// Where the last step ended.
    step_ended: Seq,
    /// When the last work was done.
    last_ended: Time,
    /// The number of the newest step, from 1, and whether it is open.
    step: (u64, bool),
    /// Whether the last item is the user's.
    user_last: bool,
    agent: String,
    step_agent: String,
    model: ModelName,
}

impl Tale {
    /// A timeline from the beginning of a Session.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next item that nothing can change any more.
    ///
    /// What belongs to an open step waits for its end: fragments become complete in another order than they are read in.
    pub fn pop(&mut self) -> Option<Item> {
        let (number, open) = self.step;
        let waits = |item: &Item| item.open || (open && item.place.is_some_and(|(step, _)| step == number));
        if waits(self.items.front()?) { None } else { self.items.pop_front() }
    }

    /// Everything that is left, open or not: the log ends here.
    pub fn finish(&mut self) -> Vec<Item> {
        self.answered();
        self.waits();
        self.items.drain(..).collect()
    }

    /// Tells of something impossible at a place.
    pub fn impossible(&mut self, record: &Record<'_>, what: &str) {
        self.push(record, What::Impossible { what: what.to_owned() }, false);
    }

    /// Takes in one record.
    pub fn apply(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Input(InputEvent::Admitted(admitted)) => {
                self.waits();
                let (input, text) = (admitted.input.clone(), admitted.text.clone());
                let attachments = admitted.attachments.clone();
                self.waiting.push(Waiting { input: input.clone(), seq: record.seq, text: text.clone(), attachments });
                let what = What::Waits { input, text, delivery: admitted.delivery };
                self.admitted.push(Item { seq: record.seq, at: record.at, what, place: None, open: false });
            }
            Event::Input(InputEvent::Promoted(promoted)) => self.promoted(record, &promoted.input),
            Event::Step(StepEvent::Started(started)) => {
                self.step = (self.step.0 + 1, true);
                self.step_agent = started.agent.to_string();
                self.model = started.model.clone();
                let activity =
                    self.activity.get_or_insert_with(|| Activity { began: record.at, ..Activity::default() });
                activity.steps += 1;
                activity.model = started.model.clone();
            }
            Event::Step(StepEvent::Ended(ended)) => {
                self.step_ended = record.seq;
                self.step.1 = false;
                self.spent(record.at, ended.usage, ended.cost, Some(ended.finish));
                if let Some(activity) = &mut self.activity {
                    activity.changed.extend(ended.changed.iter().cloned());
                }
                if !matches!(ended.finish, Finish::ToolCalls | Finish::Paused) {
                    self.answered();
                }
            }
            Event::Step(StepEvent::Failed(failed)) => {
                self.step_ended = record.seq;
                self.step.1 = false;
                self.spent(record.at, failed.usage, failed.cost, Some(Finish::Error));
                self.failure(record, "failed", &failed.error);
                self.answered();
            }
            Event::Step(StepEvent::RetryScheduled(retry)) => {
                self.spent(record.at, retry.usage, retry.cost, None);
                let after = crate::format::duration(retry.at.millis().saturating_sub(record.at.millis()));
                let line = format!("attempt {} in {after}: {}", retry.attempt, retry.error.kind);
                self.note(record, "retry", Sort::Warning, line, Some(retry.error.message.clone()));
            }
            Event::Step(StepEvent::TextEnded(ended)) => {
                let who = self.step_agent.clone();
                let (text, attachments) = (ended.text.clone(), Vec::new());
                self.fragment(
                    record,
                    ended.index,
                    What::Said { who, model: true, text, attachments, number: None },
                    false,
                );
            }
            Event::Step(StepEvent::ReasoningEnded(ended)) => {
                if !ended.text.is_empty() {
                    self.fragment(record, ended.index, What::Thought { text: ended.text.clone() }, false);
                }
            }
            Event::Tool(ToolEvent::Called(called)) => {
                let (call, name, input) = (called.call.clone(), called.name.clone(), called.input.clone());
                let what = What::Called(Box::new(Called { call, name, input, settled: None, asked: None }));
                self.fragment(record, called.index, what, true);
            }
            Event::Tool(ToolEvent::Settled(settled)) => self.settled(record, settled),
            Event::Permission(PermissionEvent::Asked(asked)) => self.asked(record, asked),
            Event::Permission(PermissionEvent::Replied(replied)) => self.replied(record, replied),
            Event::Compaction(CompactionEvent::Started(started)) => {
                let what = What::Compacted(Box::new(Compacted {
                    reason: started.reason.to_string(),
                    outcome: None,
                    ms: 0,
                    estimates: (started.estimate, 0),
                    cost: 0,
                }));
                self.push(record, what, true);
            }
            Event::Compaction(CompactionEvent::Ended(ended)) => {
                self.compacted(record, ended.reason.as_str(), Ok(ended.summary.clone()), ended.estimate, ended.cost);
            }
            Event::Compaction(CompactionEvent::Failed(failed)) => {
                let why = failed.error.message.inline().unwrap_or_default();
                let why = format!("{}: {why}", failed.error.kind);
                self.compacted(record, failed.reason.as_str(), Err(why), 0, failed.cost);
            }
            _ => self.aside(record),
        }
    }

    fn promoted(&mut self, record: &Record<'_>, input: &InputId) {
        self.users += 1;
        let told = |item: &Item| matches!(&item.what, What::Waits { input: other, .. } if other == input);
        self.admitted.retain(|item| !told(item));
        let at = self.waiting.iter().position(|waiting| waiting.input == *input);
        let (admitted, text, attachments) = match at.map(|at| self.waiting.remove(at)) {
            Some(Waiting { seq, text, attachments, .. }) => (seq, text, attachments),
            None => (record.seq, Text::default(), Vec::new()),
        };
        let number = self.users;
        // An input that came while the model worked joins its work; after an interrupt it begins anew.
        let joins =
            self.user_last || (self.activity.as_ref().is_some_and(|it| it.steps > 0) && admitted < self.step_ended);
        if !joins {
            self.answered();
            // An input that waited joined when the work before it was done, whatever its record says.
            let began = record.at.max(self.last_ended);
            let record = Record { at: began, ..*record };
            self.push(&record, What::Turn { number }, false);
            self.activity = Some(Activity { began, ended: began, ..Activity::default() });
        }
        let number = joins.then_some(number);
        self.push(record, What::Said { who: "you".to_owned(), model: false, text, attachments, number }, false);
        self.user_last = true;
    }

    fn spent(&mut self, at: Time, usage: Option<Usage>, cost: u64, finish: Option<Finish>) {
        let activity = self.activity.get_or_insert_with(|| Activity { began: at, ..Activity::default() });
        activity.ended = at;
        activity.cost = activity.cost.saturating_add(cost);
        activity.finish = finish.or(activity.finish);
        if let Some(usage) = usage {
            let sum = &mut activity.usage;
            sum.input = sum.input.saturating_add(usage.input);
            sum.output = sum.output.saturating_add(usage.output);
            sum.reasoning = sum.reasoning.saturating_add(usage.reasoning);
            sum.cache_read = sum.cache_read.saturating_add(usage.cache_read);
            sum.cache_write = sum.cache_write.saturating_add(usage.cache_write);
        }
    }

    /// Ends what the model does: how long it took, what it cost.
    fn answered(&mut self) {
        let Some(activity) = self.activity.take().filter(|activity| activity.steps > 0) else { return };
        self.last_ended = activity.ended;
        let seq = self.items.back().map_or(Seq::ZERO, |item| item.seq);
        self.items.push_back(Item {
            seq,
            at: activity.ended,
            what: What::Answered(activity),
            place: None,
            open: false,
        });
    }

    fn failure(&mut self, record: &Record<'_>, label: &'static str, failure: &Failure) {
        let status = failure.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
        let line = format!("{}{status}", failure.kind);
        self.note(record, label, Sort::Failure, line, Some(failure.message.clone()));
    }

    fn compacted(&mut self, record: &Record<'_>, reason: &str, outcome: Result<Text, String>, after: u64, cost: u64) {
        let open = self.items.iter_mut().rev().find(|item| item.open && matches!(item.what, What::Compacted(_)));
        let Some(item) = open else {
            let reason = reason.to_owned();
            let compacted = Compacted { reason, outcome: Some(outcome), ms: 0, estimates: (0, after), cost };
            return self.push(record, What::Compacted(Box::new(compacted)), false);
        };
        item.open = false;
        let began = item.at;
        if let What::Compacted(compacted) = &mut item.what {
            compacted.outcome = Some(outcome);
            compacted.ms = record.at.millis().saturating_sub(began.millis());
            compacted.estimates.1 = after;
            compacted.cost = cost;
        }
    }

    fn call(&mut self, call: &CallId) -> Option<&mut Item> {
        let of = |item: &&mut Item| matches!(&item.what, What::Called(called) if called.call == *call && item.open);
        self.items.iter_mut().rev().find(of)
    }

    fn settled(&mut self, record: &Record<'_>, settled: &ToolSettled) {
        let Some(item) = self.call(&settled.call) else { return };
        item.open = false;
        let ms = record.at.millis().saturating_sub(item.at.millis());
        if let What::Called(called) = &mut item.what {
            called.settled = Some(Settled {
                outcome: settled.outcome,
                ms,
                output: settled.output.clone(),
                error: settled.error.clone(),
                structured: settled.structured.clone(),
                truncated: settled.truncated,
                paths: settled.paths.clone(),
            });
        }
    }

    fn asked(&mut self, record: &Record<'_>, asked: &PermissionAsked) {
        let question = format!("{} {}", asked.action, asked.resources.join(" "));
        if let Some(item) = asked.call.as_ref().and_then(|call| self.call(call))
            && let What::Called(called) = &mut item.what
        {
            called.asked = Some(Asked { permission: asked.permission.clone(), question, answer: None });
            return;
        }
        self.note(record, "asks", Sort::Warning, question, None);
    }

    fn replied(&mut self, record: &Record<'_>, replied: &PermissionReplied) {
        let feedback = replied.feedback.as_ref().and_then(|text| text.inline()).map(|text| format!(": {text}"));
        let answer = format!("{} by {}{}", replied.reply, replied.by, feedback.unwrap_or_default());
        for item in &mut self.items {
            if let What::Called(called) = &mut item.what
                && let Some(asked) = called.asked.as_mut().filter(|asked| asked.permission == replied.permission)
            {
                asked.answer = Some(answer);
                return;
            }
        }
        self.note(record, "answer", Sort::Session, answer, None);
    }

    fn note(&mut self, record: &Record<'_>, label: &'static str, sort: Sort, line: String, more: Option<Text>) {
        // What happens between admission and promotion of an input does not make it a waiting one.
        let what = What::Note { label, sort, line, more };
        self.items.push_back(Item { seq: record.seq, at: record.at, what, place: None, open: false });
    }

    /// A piece of an answer, in the order in which the pieces began.
    fn fragment(&mut self, record: &Record<'_>, index: u32, what: What, open: bool) {
        self.waits();
        self.user_last = false;
        let step = self.step.0;
        let later = |item: &Item| item.place.is_some_and(|(other, at)| other == step && at > index);
        let after = self.items.iter().rev().take_while(|item| later(item)).count();
        let item = Item { seq: record.seq, at: record.at, what, place: Some((step, index)), open };
        self.items.insert(self.items.len() - after, item);
    }

    fn push(&mut self, record: &Record<'_>, what: What, open: bool) {
        self.waits();
        self.user_last = false;
        self.items.push_back(Item { seq: record.seq, at: record.at, what, place: None, open });
    }

    /// Something else happens while inputs wait: they are told where they were admitted.
    fn waits(&mut self) {
        self.items.extend(self.admitted.drain(..));
    }
}
