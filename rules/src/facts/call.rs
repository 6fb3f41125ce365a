//! Facts of calls: the call, its questions, its result, and what was pruned of it.

use super::{CALLS, FactFold, FactReading, NewFact, beginning, text};
use crate::fact::{FactField, FactKind, FactValue};
use crate::plan::FactFields;
use annals_core::event::{
    CompactionEvent, CompactionReason, PermissionEvent, ToolCalled, ToolEvent, ToolOutcome, ToolSettled,
};
use annals_core::{CallId, Event, Record, Seq, Time};
use annals_inspect::safety::{CallDecision, CallOutcome, CommandConfinement, EndedCall, named_hosts, runs_commands};
use annals_inspect::touched_files::touched_files;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What other agents answer where a call was refused.
const REFUSALS: [&str; 4] =
    ["The user doesn't want to ", "Permission to use ", "exec command rejected by user", "rejected by user"];

/// A call, as later facts about it show it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CallSubject {
    call: CallId,
    at: Time,
    fields: FactFields,
    excerpt: String,
}

/// The fields that are known of a call once it ended.
const AFTERWARDS: [FactField; 7] = [
    FactField::Tool,
    FactField::Id,
    FactField::Path,
    FactField::Paths,
    FactField::Name,
    FactField::Action,
    FactField::Command,
];

/// The command of a call: a text, or words of which the last may be a script.
fn command(input: &Value) -> Option<String> {
    match input.get("command").or_else(|| input.get("cmd"))? {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [_, flag, script] if flag.starts_with('-') && flag.ends_with('c') => Some((*script).to_owned()),
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}

/// The exit status in a structured result.
fn exit(settled: &ToolSettled, reading: &FactReading<'_>) -> Option<i64> {
    let value = settled.structured.as_ref()?.read(reading.blobs)?;
    let members = ["/exit", "/exit_code", "/exitCode", "/metadata/exit_code", "/metadata/exit"];
    members.iter().find_map(|member| value.pointer(member)?.as_i64())
}

impl FactFold {
    pub(super) fn of_tool(
        &mut self,
        record: &Record<'_>,
        event: &ToolEvent,
        ended: Vec<EndedCall>,
        reading: &FactReading<'_>,
    ) -> Vec<NewFact> {
        match event {
            ToolEvent::Called(called) => vec![self.called(record, called, reading)],
            ToolEvent::Settled(settled) => vec![self.settled(record.at, settled, ended.into_iter().next(), reading)],
            ToolEvent::Progressed(_) => Vec::new(),
        }
    }

    fn called(&mut self, record: &Record<'_>, called: &ToolCalled, reading: &FactReading<'_>) -> NewFact {
        let input = called.input.read(reading.blobs);
        let place = self.calls.place();
        let touched = touched_files(&Event::from(called.clone()), reading.blobs);
        let paths: Vec<String> = touched.iter().map(|file| place.resource(&file.path)).take(64).collect();
        let is_command = runs_commands(&called.name);
        let action = match touched.first() {
            _ if is_command => "run",
            Some(file) => file.action.name(),
            None => "other",
        };
        let outside = !place.outside(called, input.as_ref(), reading.blobs).is_empty();
        let command = input.as_ref().and_then(command);
        let subject = command.as_deref().or(paths.first().map(String::as_str)).map(str::to_owned);
        let input_text = reading.text(FactField::Input, &called.input.0);
        let subject = subject.or_else(|| input_text.clone()).unwrap_or_default();
        let name = paths.first().and_then(|path| path.rsplit('/').next()).map(text);
        let hosts = input.as_ref().map(|input| named_hosts(input, is_command)).unwrap_or_default();
        let fact = NewFact::new(FactKind::Call)
            .with(FactField::Tool, text(called.name.clone()))
            .with(FactField::Id, text(called.call.to_string()))
            .maybe(FactField::Input, input_text.map(FactValue::Text))
            .maybe(FactField::Command, command.map(FactValue::Text))
            .maybe(FactField::Path, paths.first().cloned().map(FactValue::Text))
            .maybe(FactField::Name, name)
            .with(FactField::Paths, FactValue::List(paths))
            .with(FactField::Action, text(action))
            .with(FactField::Outside, FactValue::Bool(outside))
            .with(FactField::Hosts, FactValue::List(hosts))
            .with(FactField::Hosted, FactValue::Bool(called.hosted))
            .shown(&format!("{} {subject}", called.name));
        let (fields, excerpt) = (fact.fields.clone(), fact.excerpt.clone());
        let subject = CallSubject { call: called.call.clone(), at: record.at, fields, excerpt };
        self.subjects.insert(record.seq, subject);
        self.ids.insert(called.call.clone(), record.seq);
        if self.subjects.len() > CALLS
            && let Some((seq, oldest)) = self.subjects.pop_first()
            && self.ids.get(&oldest.call) == Some(&seq)
        {
            self.ids.remove(&oldest.call);
        }
        fact
    }

    fn subject(&self, call: &CallId) -> Option<(Seq, &CallSubject)> {
        let seq = *self.ids.get(call)?;
        Some((seq, self.subjects.get(&seq)?))
    }

    fn settled(
        &mut self,
        at: Time,
        settled: &ToolSettled,
        ended: Option<EndedCall>,
        reading: &FactReading<'_>,
    ) -> NewFact {
        let mut fact = NewFact::new(FactKind::Result);
        let mut shown = String::new();
        if let Some((seq, subject)) = self.subject(&settled.call).map(|(seq, subject)| (seq, subject.clone())) {
            let took = i64::try_from(at.0.saturating_sub(subject.at.0)).unwrap_or(i64::MAX);
            fact.fields = subject.fields;
            fact = fact.with(FactField::Took, FactValue::Duration(took));
            shown = subject.excerpt;
            if let Some(subject) = self.subjects.get_mut(&seq) {
                subject.fields.retain(|field, _| AFTERWARDS.contains(field));
                if let Some(FactValue::Text(command)) = subject.fields.get_mut(&FactField::Command) {
                    *command = beginning(command);
                }
            }
        }
        let error = settled.error.as_ref().and_then(|error| reading.text(FactField::Error, error));
        let refused = error.as_deref().is_some_and(|error| REFUSALS.iter().any(|refusal| error.starts_with(refusal)));
        let mut ran = settled.outcome != ToolOutcome::Exhausted && !refused;
        if let Some(EndedCall { call, foreign: false }) = &ended {
            ran &=
                !call.decisions.iter().any(CallDecision::stops) && call.confinement != Some(CommandConfinement::NotRun);
            if let Some(decision) = call.decisions.iter().find(|it| it.stops()).or(call.decisions.last()) {
                let rule = decision.rule.as_ref();
                let rule = rule.map(|rule| format!("{} {} {}", rule.action, rule.resource, rule.effect.as_str()));
                let by = if decision.approved.is_some() { "reply" } else { decision.by.as_str() };
                fact = fact
                    .with(FactField::Decision, text(decision_name(decision.outcome)))
                    .with(FactField::By, text(by))
                    .maybe(FactField::Rule, rule.map(FactValue::Text));
            }
            if let Some(confinement) = call.confinement {
                fact = fact.with(FactField::Confinement, text(confinement_name(confinement)));
                fact = fact.with(FactField::Network, FactValue::Bool(call.network));
            }
        }
        let outcome = settled.outcome.as_str();
        fact.with(FactField::Id, text(settled.call.to_string()))
            .with(FactField::Outcome, text(outcome))
            .with(FactField::Ran, FactValue::Bool(ran))
            .maybe(FactField::Output, reading.text(FactField::Output, &settled.output).map(FactValue::Text))
            .maybe(FactField::Exit, exit(settled, reading).map(FactValue::Number))
            .with(FactField::Truncated, FactValue::Bool(settled.truncated))
            .shown(&match &error {
                Some(error) => format!("{shown}: {outcome}: {error}"),
                None => format!("{shown}: {outcome}"),
            })
            .maybe(FactField::Error, error.map(FactValue::Text))
    }

    pub(super) fn of_permission(&mut self, event: &PermissionEvent, reading: &FactReading<'_>) -> Vec<NewFact> {
        match event {
            PermissionEvent::Asked(asked) => {
                let mut fact = NewFact::new(FactKind::Asked);
                if let Some((_, subject)) = asked.call.as_ref().and_then(|call| self.subject(call)) {
                    fact.fields = about_call(&subject.fields);
                }
                let resources: Vec<String> = asked.resources.iter().take(64).cloned().collect();
                fact = fact
                    .shown(&format!("{} {}", asked.action, resources.join(", ")))
                    .with(FactField::Permission, text(asked.action.clone()))
                    .with(FactField::Resources, FactValue::List(resources));
                if let Some(call) = &asked.call
                    && self.questions.len() < CALLS
                {
                    self.questions.insert(asked.permission.clone(), (call.clone(), fact.fields.clone()));
                }
                vec![fact]
            }
            PermissionEvent::Replied(replied) => {
                let mut fact = NewFact::new(FactKind::Reply);
                if let Some((_, fields)) = self.questions.remove(&replied.permission) {
                    fact.fields = fields;
                }
                let reply = replied.reply.as_str();
                let feedback = replied.feedback.as_ref().and_then(|text| reading.text(FactField::Text, text));
                let fact = fact
                    .with(FactField::Reply, text(reply))
                    .with(FactField::By, text(replied.by.clone()))
                    .maybe(FactField::Text, feedback.map(FactValue::Text));
                vec![fact.shown(&format!("{reply} by {}", replied.by))]
            }
        }
    }

    pub(super) fn of_compaction(&mut self, event: &CompactionEvent, reading: &FactReading<'_>) -> Vec<NewFact> {
        let summary = |reason: CompactionReason, text_: &annals_core::Text| {
            let fact = NewFact::new(FactKind::Summary).about(FactField::Text, text_, reading);
            vec![fact.with(FactField::Reason, text(reason.as_str()))]
        };
        match event {
            CompactionEvent::Ended(ended) => summary(ended.reason, &ended.summary),
            CompactionEvent::Completed(ended) => summary(ended.reason, &ended.summary),
            CompactionEvent::ToolOutputsPruned(pruned) => {
                pruned.calls.iter().map(|call| self.pruned(call, false)).collect()
            }
            CompactionEvent::ToolOutputsReduced(reduced) => {
                let cleared = reduced.calls.iter().map(|call| self.pruned(call, false));
                cleared.chain(reduced.shortened.iter().map(|call| self.pruned(call, true))).collect()
            }
            CompactionEvent::CallsReduced(reduced) => {
                let cleared = reduced.calls.iter().map(|call| self.pruned(call, false));
                cleared.chain(reduced.shortened().map(|call| self.pruned(call, true))).collect()
            }
            CompactionEvent::Started(_) | CompactionEvent::Failed(_) | CompactionEvent::Undone(_) => Vec::new(),
        }
    }

    fn pruned(&self, call: &CallId, shortened: bool) -> NewFact {
        let mut fact = NewFact::new(FactKind::Prune);
        let mut shown = call.to_string();
        if let Some((_, subject)) = self.subject(call) {
            fact.fields = subject.fields.iter().filter(|(field, _)| AFTERWARDS.contains(field)).map(cloned).collect();
            shown = format!("result of {}", subject.excerpt);
        }
        fact.with(FactField::Id, text(call.to_string()))
            .with(FactField::Shortened, FactValue::Bool(shortened))
            .shown(&shown)
    }
}

fn cloned((field, value): (&FactField, &FactValue)) -> (FactField, FactValue) {
    (*field, value.clone())
}

/// The fields of a call that a question shows.
fn about_call(fields: &FactFields) -> FactFields {
    let shown = [FactField::Tool, FactField::Id, FactField::Path, FactField::Command];
    fields.iter().filter(|(field, _)| shown.contains(field)).map(cloned).collect()
}

const fn decision_name(outcome: CallOutcome) -> &'static str {
    match outcome {
        CallOutcome::Allowed => "allowed",
        CallOutcome::AllowedAlways => "allowed-always",
        CallOutcome::Denied => "denied",
        CallOutcome::Rejected => "rejected",
        CallOutcome::Unanswered => "unanswered",
        CallOutcome::Unknown => "unknown",
    }
}

const fn confinement_name(confinement: CommandConfinement) -> &'static str {
    match confinement {
        CommandConfinement::Confined => "confined",
        CommandConfinement::Outside => "outside",
        CommandConfinement::Unconfined => "unconfined",
        CommandConfinement::NotRun => "not-run",
        CommandConfinement::Unknown => "unknown",
    }
}
