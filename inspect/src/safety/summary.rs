//! An audit in a few numbers.

use super::{CallOutcome, SafetyAudit};
use serde::Serialize;

/// What was allowed, by whom, and how far, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SafetySummary {
    /// Calls of tools.
    pub calls: u64,
    /// Decisions that the user made.
    pub asked: u64,
    /// Decisions that allowed something by a rule or an earlier reply, or in the user's place.
    pub unasked: u64,
    /// Decisions against a call, by a rule or the user.
    pub refused: u64,
    /// Commands in the sandbox.
    pub confined: u64,
    /// Commands outside of the sandbox or without one.
    pub unconfined: u64,
    /// Commands that the sandbox seems to have refused something.
    pub sandbox_refusals: u64,
    /// Calls that named a file or folder outside of the project.
    pub outside_project: u64,
    /// Hosts that calls with a network named.
    pub hosts: u64,
    /// Secrets that were replaced.
    pub redactions: u64,
}

impl SafetyAudit {
    /// The same in a few numbers.
    pub fn summary(&self) -> SafetySummary {
        let mut summary = SafetySummary {
            calls: self.calls,
            confined: self.commands.confined,
            unconfined: self.commands.outside + self.commands.unconfined,
            sandbox_refusals: self.commands.refused,
            outside_project: self.outside_project,
            hosts: self.destinations.hosts.len() as u64,
            redactions: self.redactions.values().sum(),
            ..SafetySummary::default()
        };
        for decision in &self.decisions {
            summary.asked += if decision.by == "user" { decision.count } else { 0 };
            match decision.outcome {
                CallOutcome::Allowed | CallOutcome::AllowedAlways if decision.by != "user" => {
                    summary.unasked += decision.count;
                }
                CallOutcome::Denied | CallOutcome::Rejected => summary.refused += decision.count,
                _ => {}
            }
        }
        summary
    }
}
