//! Facts that need nothing but their event.

use super::{FactReading, NewFact, number, text};
use crate::fact::{FactField, FactKind, FactValue};
use annals_core::event::{ChildEvent, ChildOutcome, ContextEvent, Failure, MessageEvent, StepEvent, Usage};

fn money(nanos: u64) -> FactValue {
    FactValue::Money(i64::try_from(nanos).unwrap_or(i64::MAX))
}

fn list(items: impl Iterator<Item = String>) -> FactValue {
    FactValue::List(items.take(1_024).collect())
}

fn used(mut fact: NewFact, usage: Option<Usage>) -> NewFact {
    if let Some(usage) = usage {
        let output = usage.output.saturating_add(usage.reasoning);
        fact = fact.with(FactField::Input_, number(usage.input)).with(FactField::Output_, number(output));
        fact = fact.with(FactField::CacheRead, number(usage.cache_read));
        fact = fact.with(FactField::CacheWrite, number(usage.cache_write));
    }
    fact
}

fn failure(error: &Failure, retried: bool, cost: u64, reading: &FactReading<'_>) -> NewFact {
    NewFact::new(FactKind::Failure)
        .about(FactField::Text, &error.message, reading)
        .with(FactField::Reason, text(error.kind.clone()))
        .maybe(FactField::Status, error.status.map(number))
        .with(FactField::Retried, FactValue::Bool(retried))
        .with(FactField::Cost, money(cost))
}

pub(super) fn of_step(event: &StepEvent, reading: &FactReading<'_>) -> Vec<NewFact> {
    vec![match event {
        StepEvent::RequestSent(sent) => NewFact::new(FactKind::Request)
            .with(FactField::Purpose, text(sent.purpose.as_str()))
            .with(FactField::Attempt, number(sent.attempt))
            .with(FactField::Model, text(sent.model.to_string()))
            .with(FactField::Agent, text(sent.agent.to_string()))
            .shown(&sent.model.to_string()),
        StepEvent::Ended(ended) => {
            let fact = NewFact::new(FactKind::Step)
                .with(FactField::Finish, text(ended.finish.as_str()))
                .with(FactField::Cost, money(ended.cost))
                .with(FactField::Changed, list(ended.changed.iter().cloned()))
                .shown(ended.finish.as_str());
            used(fact, ended.usage)
        }
        StepEvent::Failed(failed) => failure(&failed.error, false, failed.cost, reading),
        StepEvent::RetryScheduled(retry) => failure(&retry.error, true, retry.cost, reading),
        StepEvent::TextEnded(ended) => NewFact::new(FactKind::Answer).about(FactField::Text, &ended.text, reading),
        StepEvent::ReasoningEnded(ended) => {
            NewFact::new(FactKind::Reasoning).about(FactField::Text, &ended.text, reading)
        }
        StepEvent::Started(_) | StepEvent::RequestRecorded(_) | StepEvent::AnswerRecorded(_) => return Vec::new(),
    }]
}

pub(super) fn of_context(event: &ContextEvent, reading: &FactReading<'_>) -> Vec<NewFact> {
    vec![match event {
        ContextEvent::Admitted(admitted) => NewFact::new(FactKind::Context)
            .about(FactField::Text, &admitted.text, reading)
            .with(FactField::Keys, list(admitted.keys.iter().map(ToString::to_string))),
        ContextEvent::EpochStarted(epoch) => {
            let parts = epoch.parts.iter().filter_map(|part| reading.text(FactField::Text, &part.text));
            NewFact::new(FactKind::Baseline)
                .with(FactField::Text, text(parts.collect::<Vec<_>>().join("\n\n")))
                .with(FactField::Cause, text(epoch.cause.as_str()))
                .with(FactField::Keys, list(epoch.parts.iter().map(|part| part.key.to_string())))
                .shown(epoch.cause.as_str())
        }
        ContextEvent::EpochReplacementBlocked(_)
        | ContextEvent::SnapshotAdvanced(_)
        | ContextEvent::InstructionDiscovered(_) => return Vec::new(),
    }]
}

pub(super) fn of_message(event: &MessageEvent, reading: &FactReading<'_>) -> Vec<NewFact> {
    vec![match event {
        MessageEvent::ShellRan(ran) => NewFact::new(FactKind::Shell)
            .maybe(FactField::Output, reading.text(FactField::Output, &ran.output).map(FactValue::Text))
            .about(FactField::Command, &ran.command, reading)
            .maybe(FactField::Exit, ran.exit.map(number)),
        MessageEvent::TodoUpdated(todo) => {
            let is_done = |status: &str| matches!(status, "completed" | "cancelled");
            let done = todo.items.iter().filter(|item| is_done(&item.status)).count();
            let items: Vec<&str> = todo.items.iter().map(|item| item.content.as_str()).collect();
            NewFact::new(FactKind::Todo)
                .with(FactField::Open, number(todo.items.len() - done))
                .with(FactField::Done, number(done))
                .with(FactField::Text, text(items.join("\n")))
                .shown(&items.join("; "))
        }
        MessageEvent::RedactionApplied(applied) => {
            let count = applied.counts.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
            let kinds: Vec<&str> = applied.counts.keys().map(String::as_str).collect();
            NewFact::new(FactKind::Redaction).with(FactField::Count, number(count)).shown(&kinds.join(", "))
        }
        MessageEvent::UnknownPart(part) => NewFact::new(FactKind::Context)
            .about(FactField::Text, &part.text, reading)
            .with(FactField::Keys, list(std::iter::once(annals_projections::UNKNOWN_PART.to_owned()))),
        MessageEvent::Pinned(_)
        | MessageEvent::Unpinned(_)
        | MessageEvent::SyntheticAdded(_)
        | MessageEvent::Edited(_) => return Vec::new(),
    }]
}

pub(super) fn of_child(event: &ChildEvent, reading: &FactReading<'_>) -> Vec<NewFact> {
    vec![match event {
        ChildEvent::Started(started) => NewFact::new(FactKind::Subagent)
            .with(FactField::Child, text(started.child.to_string()))
            .with(FactField::Agent, text(started.agent.to_string()))
            .maybe(FactField::Id, started.call.as_ref().map(|call| text(call.to_string())))
            .shown(&started.agent.to_string()),
        ChildEvent::Settled(settled) => NewFact::new(FactKind::SubagentResult)
            .about(FactField::Text, &settled.result, reading)
            .with(FactField::Child, text(settled.child.to_string()))
            .with(
                FactField::Outcome,
                text(match settled.outcome {
                    ChildOutcome::Completed => "completed",
                    ChildOutcome::Failed => "failed",
                    ChildOutcome::Cancelled => "cancelled",
                }),
            ),
    }]
}
