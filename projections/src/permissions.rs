//! Permission questions that wait, and what was answered for the rest of the session (`docs/reference/permissions.md`).

use crate::Projection;
use crate::anomaly::Anomalies;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{FilesEvent, PermissionEvent, Rule, SessionEvent, ToolEvent};
use annals_core::{AgentName, CallId, Event, PermissionId, Record, Seq, kinds};
use serde::{Deserialize, Serialize};

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingQuestion {
    /// Where it was asked.
    pub seq: Seq,
    /// The call that waits.
    pub call: Option<CallId>,
    /// Whose rules were asked.
    pub agent: AgentName,
    /// What it wants to do.
    pub action: String,
    /// The resources that the action concerns.
    pub resources: Vec<String>,
}

/// Waiting questions and approvals in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// By id.
    pub waiting: BTreeMap<PermissionId, PendingQuestion>,
    /// Rules that replies added for the rest of the session, in order.
    pub rules: Vec<Rule>,
    /// What is wrong in this part of the log.
    pub anomalies: Anomalies,
}

impl Projection for Permissions {
    const NAME: &'static str = "permissions";
    const VERSION: u32 = 1;

    fn apply(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Permission(PermissionEvent::Asked(asked)) => {
                let question = PendingQuestion {
                    seq: record.seq,
                    call: asked.call.clone(),
                    agent: asked.agent.clone(),
                    action: asked.action.clone(),
                    resources: asked.resources.clone(),
                };
                self.waiting.insert(asked.permission.clone(), question);
            }
            Event::Permission(PermissionEvent::Replied(replied)) => {
                if self.waiting.remove(&replied.permission).is_none() {
                    self.anomalies.note(record.seq, "a permission reply has no question");
                }
                self.rules.extend(replied.rules.iter().cloned());
            }
            // A question dies with the call that asked it.
            Event::Tool(ToolEvent::Settled(settled)) => {
                self.waiting.retain(|_, question| question.call.as_ref() != Some(&settled.call));
            }
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.waiting.retain(|_, question| question.seq < committed.first_removed);
            }
            Event::Session(SessionEvent::Forked(_)) => {
                self.waiting.clear();
                self.rules.clear();
            }
            kinds!(
                Session(Created, Titled, Moved, AgentSwitched, ProcessAttached, ModelSwitched, TitleFailed),
                Input,
                Context,
                Profile,
                Step,
                Tool(Called, Progressed),
                Compaction,
                Message,
                Files(
                    Captured,
                    Summarised,
                    RevertStaged,
                    RevertCleared,
                    RestoreBegun,
                    RestoreAbandoned,
                    DepartureBegun,
                    DepartureEnded
                ),
                Child,
                Erasure
            ) => {}
        }
    }
}

#[cfg(test)]
mod tests;
