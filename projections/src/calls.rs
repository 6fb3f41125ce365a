//! Open tool calls: called, not settled (spec 10, DESIGN section 6).

use crate::Projection;
use crate::anomaly::Anomalies;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use annals_core::{CallId, Event, Record, Seq};
use serde::{Deserialize, Serialize};

/// A call that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// The Seq of `tool.called`.
    pub seq: Seq,
    /// The tool.
    pub name: String,
    /// Whether the provider executes it.
    pub hosted: bool,
}

/// The open calls, and every call id that was ever used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calls {
    /// By id.
    pub open: BTreeMap<CallId, OpenCall>,
    /// Used-up ids, inherited ones included.
    pub used: BTreeSet<CallId>,
    /// Whether a step began and did not end.
    pub step_open: bool,
    /// Whether a compaction began and did not end.
    pub compaction_open: bool,
    /// What is wrong in this part of the log.
    pub anomalies: Anomalies,
}

impl Projection for Calls {
    const NAME: &'static str = "calls";
    const VERSION: u32 = 1;

    fn apply(&mut self, record: &Record<'_>) {
        let seq = record.seq;
        match record.event {
            Event::StepStarted(_) => self.step_open = true,
            Event::StepEnded(_) | Event::StepFailed(_) => {
                if !self.step_open {
                    self.anomalies.note(seq, "a step ends that did not begin");
                }
                self.step_open = false;
            }
            Event::TextEnded(_) | Event::ReasoningEnded(_) => {
                if !self.step_open {
                    self.anomalies.note(seq, "a fragment arrives outside a step");
                }
            }
            Event::CompactionStarted(_) => self.compaction_open = true,
            Event::CompactionEnded(_) | Event::CompactionFailed(_) => self.compaction_open = false,
            Event::ToolCalled(called) => {
                if !self.step_open {
                    self.anomalies.note(seq, "a tool is called outside a step");
                }
                if !self.used.insert(called.call.clone()) {
                    self.anomalies.note(seq, "a call id is used twice");
                }
                let open = OpenCall { seq, name: called.name.clone(), hosted: called.hosted };
                self.open.insert(called.call.clone(), open);
            }
            Event::ToolProgressed(progressed) => {
                if !self.open.contains_key(&progressed.call) {
                    self.anomalies.note(seq, "a call progresses that is not open");
                }
            }
            Event::ToolSettled(settled) => {
                if self.open.remove(&settled.call).is_none() {
                    self.anomalies.note(seq, "a call is settled that is not open");
                }
            }
            Event::RevertCommitted(committed) => {
                self.open.retain(|_, open| open.seq < committed.first_removed);
                self.step_open = false;
            }
            Event::SessionForked(_) => {
                self.open.clear();
                self.step_open = false;
                self.compaction_open = false;
            }
            ignored!(
                SessionCreated SessionTitled SessionMoved AgentSwitched ModelSwitched InputAdmitted InputPromoted
                InputWithdrawn InputDeliveryChanged EpochStarted EpochReplacementBlocked ContextAdmitted
                SnapshotAdvanced InstructionDiscovered AgentProfileRecorded ModelProfileRecorded ToolsRecorded
                OptionsRecorded RequestSent RetryScheduled PermissionAsked PermissionReplied CompactionUndone
                ToolOutputsPruned MessagePinned MessageUnpinned SyntheticAdded ShellRan TodoUpdated RedactionApplied
                FilesCaptured RevertStaged RevertCleared ChildStarted ChildSettled
            ) => {}
        }
    }
}
