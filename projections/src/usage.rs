//! Usage and cost, folded from the log: every attempt that reported counts, nothing is ever subtracted
//! (`docs/reference/turn.md#cost`).

mod asked;

pub(crate) use asked::AskedModels;

use crate::Projection;
use alloc::collections::BTreeMap;
use annals_core::event::{CompactionEvent, SessionEvent, StepEvent, Usage};
use annals_core::{Event, ModelName, Record, kinds};
use serde::{Deserialize, Serialize};

/// Totals over every attempt that reported usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageTotals {
    /// Tokens.
    pub tokens: Usage,
    /// In nano-dollars.
    pub cost: u64,
    /// How many attempts reported.
    pub attempts: u64,
    /// How many of them reported tokens without a known price: their cost is unknown, not zero.
    pub unpriced: u64,
}

impl UsageTotals {
    fn add(&mut self, usage: Option<Usage>, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
        let Some(usage) = usage else { return };
        self.attempts += 1;
        self.unpriced += u64::from(is_unpriced(usage, cost));
        add(&mut self.tokens, usage);
    }
}

/// Whether an attempt used tokens whose price is unknown.
fn is_unpriced(usage: Usage, cost: u64) -> bool {
    cost == 0 && usage != Usage::default()
}

pub(crate) fn add(total: &mut Usage, usage: Usage) {
    total.input = total.input.saturating_add(usage.input);
    total.output = total.output.saturating_add(usage.output);
    total.reasoning = total.reasoning.saturating_add(usage.reasoning);
    total.cache_read = total.cache_read.saturating_add(usage.cache_read);
    total.cache_write = total.cache_write.saturating_add(usage.cache_write);
}

/// The tokens of attempts whose cost the log does not know, by model: what a list of prices can estimate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpriced {
    /// Tokens by the model that was asked.
    pub tokens: BTreeMap<ModelName, Usage>,
    /// Who was asked.
    asked: AskedModels,
}

impl Unpriced {
    /// The model that answers turns.
    pub fn turn_model(&self) -> &ModelName {
        self.asked.turn_model()
    }

    /// The model whose attempt a record ends; `None` for a record that ends none.
    pub fn asked(&self, event: &Event) -> Option<&ModelName> {
        self.asked.asked(event)
    }
}

impl Projection for Unpriced {
    const NAME: &'static str = "unpriced";
    const VERSION: u32 = 2;

    fn apply(&mut self, record: &Record<'_>) {
        self.asked.apply(record);
        if let Event::Session(SessionEvent::Forked(_)) = record.event {
            self.tokens.clear();
        }
        let mut totals = UsageTotals::default();
        totals.apply(record);
        if totals.unpriced > 0
            && let Some(model) = self.asked(record.event).cloned()
        {
            add(self.tokens.entry(model).or_default(), totals.tokens);
        }
    }
}

/// Usage and cost of a session by model, and in total.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageByModel {
    /// Everything, titles and summaries included.
    pub total: UsageTotals,
    /// By the model that was asked; a model without an attempt that reported has totals of zero.
    pub models: BTreeMap<ModelName, UsageTotals>,
    /// The tokens of attempts whose cost the log does not contain.
    pub unpriced: Unpriced,
}

impl UsageByModel {
    /// The models that reported usage or cost something.
    pub fn used(&self) -> impl Iterator<Item = (&ModelName, &UsageTotals)> {
        self.models.iter().filter(|(_, totals)| totals.attempts > 0 || totals.cost > 0)
    }
}

impl Projection for UsageByModel {
    const NAME: &'static str = "usage-by-model";
    const VERSION: u32 = 2;

    fn apply(&mut self, record: &Record<'_>) {
        self.total.apply(record);
        // What a fork inherits was used by its parent.
        if let Event::Session(SessionEvent::Forked(_)) = record.event {
            self.models.clear();
        }
        self.unpriced.apply(record);
        if let Some(model) = self.unpriced.asked(record.event) {
            self.models.entry(model.clone()).or_default().apply(record);
        }
    }
}

impl Projection for UsageTotals {
    const NAME: &'static str = "usage";
    const VERSION: u32 = 4;

    fn apply(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Step(StepEvent::Ended(ended)) => self.add(ended.usage, ended.cost),
            Event::Step(StepEvent::Failed(failed)) => self.add(failed.usage, failed.cost),
            Event::Step(StepEvent::RetryScheduled(retry)) => self.add(retry.usage, retry.cost),
            Event::Step(StepEvent::AnswerRecorded(answer)) => self.add(answer.usage, answer.cost),
            Event::Compaction(CompactionEvent::Ended(ended)) => self.add(ended.usage, ended.cost),
            Event::Compaction(CompactionEvent::Completed(ended)) => self.add(ended.usage, ended.cost),
            Event::Compaction(CompactionEvent::Failed(failed)) => self.add(failed.usage, failed.cost),
            Event::Session(SessionEvent::Titled(titled)) => self.add(titled.usage, titled.cost),
            Event::Session(SessionEvent::TitleFailed(failed)) => self.add(failed.usage, failed.cost),
            Event::Session(SessionEvent::Forked(_)) => *self = Self::default(),
            kinds!(
                Session(Created, Moved, AgentSwitched, ProcessAttached, ModelSwitched),
                Input,
                Context,
                Profile,
                Step(RequestSent, RequestRecorded, Started, TextEnded, ReasoningEnded),
                Tool,
                Permission,
                Compaction(Started, Undone, ToolOutputsPruned, ToolOutputsReduced, CallsReduced),
                Message,
                Files,
                Child,
                Erasure
            ) => {}
        }
    }
}

#[cfg(test)]
mod tests;
