//! Usage and cost, folded from the log: every attempt that reported counts, nothing is ever subtracted (spec 14).

use crate::Projection;
use annals_core::event::Usage;
use annals_core::{Event, Record};
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
}

impl UsageTotals {
    fn add(&mut self, usage: Option<Usage>, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
        let Some(usage) = usage else { return };
        self.attempts += 1;
        self.tokens.input = self.tokens.input.saturating_add(usage.input);
        self.tokens.output = self.tokens.output.saturating_add(usage.output);
        self.tokens.reasoning = self.tokens.reasoning.saturating_add(usage.reasoning);
        self.tokens.cache_read = self.tokens.cache_read.saturating_add(usage.cache_read);
        self.tokens.cache_write = self.tokens.cache_write.saturating_add(usage.cache_write);
    }
}

impl Projection for UsageTotals {
    const NAME: &'static str = "usage";
    const VERSION: u32 = 2;

    fn apply(&mut self, record: &Record<'_>) {
        match record.event {
            Event::StepEnded(ended) => self.add(ended.usage, ended.cost),
            Event::StepFailed(failed) => self.add(failed.usage, failed.cost),
            Event::RetryScheduled(retry) => self.add(retry.usage, retry.cost),
            Event::CompactionEnded(ended) => self.add(ended.usage, ended.cost),
            Event::CompactionFailed(failed) => self.add(failed.usage, failed.cost),
            Event::SessionTitled(titled) => self.add(titled.usage, titled.cost),
            Event::TitleFailed(failed) => self.add(failed.usage, failed.cost),
            Event::SessionForked(_) => *self = Self::default(),
            ignored!(
                SessionCreated SessionMoved AgentSwitched ModelSwitched InputAdmitted InputPromoted
                InputWithdrawn InputDeliveryChanged EpochStarted EpochReplacementBlocked ContextAdmitted
                SnapshotAdvanced InstructionDiscovered AgentProfileRecorded ModelProfileRecorded ToolsRecorded
                OptionsRecorded RequestSent StepStarted TextEnded ReasoningEnded ToolCalled ToolProgressed
                ToolSettled PermissionAsked PermissionReplied CompactionStarted CompactionUndone ToolOutputsPruned
                MessagePinned MessageUnpinned SyntheticAdded ShellRan TodoUpdated RedactionApplied FilesCaptured FilesSummarised RestoreBegun RestoreAbandoned DepartureBegun DepartureEnded
                RevertStaged RevertCleared RevertCommitted ChildStarted ChildSettled
            ) => {}
        }
    }
}
