//! A session in reading order.
//!
//! A fold like the others: fed records in order, it gives entries in order, each as soon as nothing can change it any
//! more ([`Timeline::pop`]). A call and its result are one entry, as are a compaction and its outcome. Memory is bounded
//! by what is open, if entries are taken out.

mod compacting;
mod entry;
mod note;

pub use entry::{
    CallQuestion, CallResult, CompactionOutcome, EntryKind, TimelineCall, TimelineCompaction, TimelineEntry,
    TurnSummary,
};
pub use note::TimelineNote;

use crate::Projection;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec::Vec;
use annals_core::event::{
    Attachment, Finish, InputAdmitted, InputEvent, PermissionAsked, PermissionEvent, PermissionReplied, StepEvent,
    ToolEvent, ToolSettled, Usage,
};
use annals_core::{AgentName, CallId, Event, InputId, ModelName, Record, Seq, Text, Time};
use serde::{Deserialize, Serialize};

/// An input that was admitted and not promoted yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct AdmittedInput {
    input: InputId,
    seq: Seq,
    text: Text,
    attachments: Vec<Attachment>,
}

/// Folds records into the entries of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    entries: VecDeque<TimelineEntry>,
    /// Inputs that were admitted since the last entry. One that is promoted next never shows as waiting.
    admitted: Vec<TimelineEntry>,
    /// Inputs that wait.
    waiting: Vec<AdmittedInput>,
    /// User messages so far.
    users: u64,
    /// What the model has done since the turn began.
    turn: Option<TurnSummary>,
    /// The event that ended the last step.
    step_ended: Seq,
    /// When the last turn ended.
    turn_ended: Time,
    /// The number of the newest step, from 1, and whether it is open.
    step: (u64, bool),
    /// Whether the last entry is a user message.
    user_last: bool,
    /// The event of the last entry that was taken out.
    popped: Seq,
    agent: AgentName,
    step_agent: AgentName,
    model: ModelName,
}

impl Timeline {
    /// The next entry that nothing can change any more.
    ///
    /// Content of an open step waits for the end of the step, because fragments are completed in another order than they
    /// are read in.
    pub fn pop(&mut self) -> Option<TimelineEntry> {
        if self.entries.front().is_none_or(|entry| self.may_change(entry)) {
            return None;
        }
        let entry = self.entries.pop_front()?;
        self.popped = entry.seq;
        Some(entry)
    }

    /// Every entry that is left, open or not: the log ends here.
    pub fn finish(mut self) -> Vec<TimelineEntry> {
        self.end_turn();
        self.show_waiting();
        self.entries.into()
    }

    /// Adds an entry about something impossible at a record. Call it before `apply` is given the record.
    pub fn anomaly(&mut self, record: &Record<'_>, what: &str) {
        self.push(record, EntryKind::Anomaly { what: what.to_string() }, false);
    }

    fn may_change(&self, entry: &TimelineEntry) -> bool {
        let (number, open) = self.step;
        entry.open || (open && entry.place.is_some_and(|(step, _)| step == number))
    }

    fn input(&mut self, record: &Record<'_>, event: &InputEvent) {
        match event {
            InputEvent::Admitted(admitted) => self.input_admitted(record, admitted),
            InputEvent::Promoted(promoted) => self.promoted(record, &promoted.input),
            InputEvent::Withdrawn(withdrawn) => {
                self.waiting.retain(|waiting| waiting.input != withdrawn.input);
                self.note(record, TimelineNote::Withdrawn);
            }
            InputEvent::DeliveryChanged(changed) => {
                self.note(record, TimelineNote::DeliveryChanged { delivery: changed.delivery });
            }
            InputEvent::Configured(configured) => {
                let (system, tools) = (configured.system.clone(), configured.tools.clone());
                self.note(record, TimelineNote::Configured { system, tools });
            }
        }
    }

    fn input_admitted(&mut self, record: &Record<'_>, admitted: &InputAdmitted) {
        self.show_waiting();
        let (input, text) = (admitted.input.clone(), admitted.text.clone());
        let attachments = admitted.attachments.clone();
        self.waiting.push(AdmittedInput { input: input.clone(), seq: record.seq, text: text.clone(), attachments });
        let kind = EntryKind::Waiting { input, text, delivery: admitted.delivery };
        self.admitted.push(entry(record, kind, None, false));
    }

    fn promoted(&mut self, record: &Record<'_>, input: &InputId) {
        self.users += 1;
        let is_of =
            |entry: &TimelineEntry| matches!(&entry.kind, EntryKind::Waiting { input: other, .. } if other == input);
        self.admitted.retain(|entry| !is_of(entry));
        let at = self.waiting.iter().position(|waiting| waiting.input == *input);
        let (admitted, text, attachments) = match at.map(|at| self.waiting.remove(at)) {
            Some(AdmittedInput { seq, text, attachments, .. }) => (seq, text, attachments),
            None => (record.seq, Text::default(), Vec::new()),
        };
        let number = self.users;
        // An input that came while the model worked joins its work; after an interrupt it begins a turn.
        let working = self.turn.as_ref().is_some_and(|turn| turn.steps > 0);
        let joins = self.user_last || (working && admitted < self.step_ended);
        if !joins {
            self.end_turn();
            // A waiting input was promoted when the work before it was done; the time of its record may be earlier.
            let began = record.at.max(self.turn_ended);
            let record = Record { at: began, ..*record };
            self.push(&record, EntryKind::Turn { number }, false);
            self.turn = Some(TurnSummary::starting(began));
        }
        let joined = joins.then_some(number);
        self.push(record, EntryKind::User { text, attachments, joined }, false);
        self.user_last = true;
    }

    fn step(&mut self, record: &Record<'_>, event: &StepEvent) {
        match event {
            StepEvent::Started(started) => {
                self.step = (self.step.0 + 1, true);
                self.step_agent = started.agent.clone();
                self.model = started.model.clone();
                let turn = self.turn_at(record.at);
                turn.steps += 1;
                turn.model = started.model.clone();
            }
            StepEvent::Ended(ended) => {
                self.step_ended = record.seq;
                self.step.1 = false;
                self.spend(record.at, ended.usage, ended.cost, Some(ended.finish));
                if let Some(turn) = &mut self.turn {
                    turn.changed.extend(ended.changed.iter().cloned());
                }
                if !matches!(ended.finish, Finish::ToolCalls | Finish::Paused) {
                    self.end_turn();
                }
            }
            StepEvent::Failed(failed) => {
                self.step_ended = record.seq;
                self.step.1 = false;
                self.spend(record.at, failed.usage, failed.cost, Some(Finish::Error));
                self.note(record, TimelineNote::StepFailed { error: failed.error.clone() });
                self.end_turn();
            }
            StepEvent::RetryScheduled(retry) => {
                self.spend(record.at, retry.usage, retry.cost, None);
                let (attempt, follows, error) = (retry.attempt, retry.at, retry.error.clone());
                self.note(record, TimelineNote::RetryScheduled { attempt, follows, error });
            }
            StepEvent::TextEnded(ended) => {
                let kind = EntryKind::Answer { agent: self.step_agent.clone(), text: ended.text.clone() };
                self.fragment(record, ended.index, kind, false);
            }
            StepEvent::ReasoningEnded(ended) => {
                if !ended.text.is_empty() {
                    self.fragment(record, ended.index, EntryKind::Reasoning { text: ended.text.clone() }, false);
                }
            }
            // A request shows nothing until it is answered.
            StepEvent::RequestSent(_) | StepEvent::RequestRecorded(_) | StepEvent::AnswerRecorded(_) => {}
        }
    }

    fn tool(&mut self, record: &Record<'_>, event: &ToolEvent) {
        match event {
            ToolEvent::Called(called) => {
                let (call, name, input) = (called.call.clone(), called.name.clone(), called.input.clone());
                let call = TimelineCall { call, name, input, result: None, question: None, waited_ms: 0 };
                self.fragment(record, called.index, EntryKind::Call(Box::new(call)), true);
            }
            ToolEvent::Settled(settled) => self.settled(record, settled),
            // Replaced by the result.
            ToolEvent::Progressed(_) => {}
        }
    }

    fn turn_at(&mut self, at: Time) -> &mut TurnSummary {
        self.turn.get_or_insert_with(|| TurnSummary { began: at, ..TurnSummary::default() })
    }

    fn spend(&mut self, at: Time, usage: Option<Usage>, cost: u64, finish: Option<Finish>) {
        let turn = self.turn_at(at);
        turn.ended = at;
        turn.cost = turn.cost.saturating_add(cost);
        turn.finish = finish.or(turn.finish);
        if let Some(usage) = usage {
            crate::usage::add(&mut turn.usage, usage);
        }
    }

    /// Ends the turn with a summary, if the model did anything in it.
    fn end_turn(&mut self) {
        let Some(turn) = self.turn.take().filter(|turn| turn.steps > 0) else { return };
        self.turn_ended = turn.ended;
        let seq = self.entries.back().map_or(self.popped, |entry| entry.seq);
        let at = turn.ended;
        let kind = EntryKind::TurnEnded(Box::new(turn));
        self.entries.push_back(TimelineEntry { seq, at, kind, place: None, open: false });
    }

    fn open_call(&mut self, call: &CallId) -> Option<&mut TimelineEntry> {
        let is_of = |entry: &&mut TimelineEntry| {
            entry.open && matches!(&entry.kind, EntryKind::Call(other) if other.call == *call)
        };
        self.entries.iter_mut().rev().find(is_of)
    }

    fn settled(&mut self, record: &Record<'_>, settled: &ToolSettled) {
        let Some(entry) = self.open_call(&settled.call) else { return };
        entry.open = false;
        let ms = record.at.millis().saturating_sub(entry.at.millis());
        if let EntryKind::Call(call) = &mut entry.kind {
            if let Some(question) = call.question.as_ref().filter(|question| question.reply.is_none()) {
                let waited = record.at.millis().saturating_sub(question.at.millis());
                call.waited_ms = call.waited_ms.saturating_add(waited);
            }
            call.result = Some(CallResult {
                outcome: settled.outcome,
                ms: ms.saturating_sub(call.waited_ms),
                output: settled.output.clone(),
                error: settled.error.clone(),
                structured: settled.structured.clone(),
                truncated: settled.truncated,
                paths: settled.paths.clone(),
            });
        }
    }

    fn permission(&mut self, record: &Record<'_>, event: &PermissionEvent) {
        match event {
            PermissionEvent::Asked(asked) => self.asked(record, asked),
            PermissionEvent::Replied(replied) => self.replied(record, replied),
        }
    }

    fn asked(&mut self, record: &Record<'_>, asked: &PermissionAsked) {
        let (action, resources) = (asked.action.clone(), asked.resources.clone());
        if let Some(entry) = asked.call.as_ref().and_then(|call| self.open_call(call))
            && let EntryKind::Call(call) = &mut entry.kind
        {
            let permission = asked.permission.clone();
            call.question = Some(CallQuestion { permission, at: record.at, action, resources, reply: None });
            return;
        }
        self.note(record, TimelineNote::PermissionAsked { action, resources });
    }

    fn replied(&mut self, record: &Record<'_>, replied: &PermissionReplied) {
        let (number, open) = self.step;
        for entry in &mut self.entries {
            // An entry that may have been taken out already takes no reply: the timeline would depend on when it was.
            let may_change = entry.open || (open && entry.place.is_some_and(|(step, _)| step == number));
            if let EntryKind::Call(call) = &mut entry.kind
                && let Some(question) = call.question.as_mut().filter(|it| it.permission == replied.permission)
                && may_change
            {
                question.reply = Some(replied.clone());
                let waited = record.at.millis().saturating_sub(question.at.millis());
                call.waited_ms = call.waited_ms.saturating_add(waited);
                return;
            }
        }
        self.note(record, TimelineNote::PermissionReplied(replied.clone()));
    }

    /// Adds a line between other entries; what happens between the admission and the promotion of an input does not show
    /// that input as waiting.
    fn note(&mut self, record: &Record<'_>, note: TimelineNote) {
        self.entries.push_back(entry(record, EntryKind::Note(Box::new(note)), None, false));
    }

    /// Adds a fragment of an answer, in the order in which the fragments began.
    fn fragment(&mut self, record: &Record<'_>, index: u32, kind: EntryKind, open: bool) {
        self.show_waiting();
        self.user_last = false;
        let step = self.step.0;
        let is_later = |entry: &TimelineEntry| entry.place.is_some_and(|(other, at)| other == step && at > index);
        let later = self.entries.iter().rev().take_while(|entry| is_later(entry)).count();
        self.entries.insert(self.entries.len() - later, entry(record, kind, Some((step, index)), open));
    }

    fn push(&mut self, record: &Record<'_>, kind: EntryKind, open: bool) {
        self.show_waiting();
        self.user_last = false;
        self.entries.push_back(entry(record, kind, None, open));
    }

    /// Something else happens while inputs wait: they show where they were admitted.
    fn show_waiting(&mut self) {
        self.entries.extend(self.admitted.drain(..));
    }
}

fn entry(record: &Record<'_>, kind: EntryKind, place: Option<(u64, u32)>, open: bool) -> TimelineEntry {
    TimelineEntry { seq: record.seq, at: record.at, kind, place, open }
}

impl Projection for Timeline {
    const NAME: &'static str = "timeline";
    const VERSION: u32 = 2;

    fn apply(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Session(event) => self.session(record, event),
            Event::Input(event) => self.input(record, event),
            Event::Context(event) => self.context(record, event),
            Event::Step(event) => self.step(record, event),
            Event::Tool(event) => self.tool(record, event),
            Event::Permission(event) => self.permission(record, event),
            Event::Compaction(event) => self.compaction(record, event),
            Event::Message(event) => self.message(record, event),
            Event::Files(event) => self.files(record, event),
            Event::Child(event) => self.child(record, event),
            Event::Erasure(event) => self.erasure(record, event),
            // Shown with the requests that they shape.
            Event::Profile(_) => {}
        }
    }
}
