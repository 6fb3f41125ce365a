//! Open tool calls: called, not settled (spec 10, DESIGN section 6).

use crate::Projection;
use crate::anomaly::Anomalies;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::CompactionReason;
use annals_core::{CallId, Event, Record, Seq};
use serde::{Deserialize, Serialize};

/// A call that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenCall {
    /// Its id.
    pub call: CallId,
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
    /// In the order of the calls.
    pub open: Vec<OpenCall>,
    /// Hashes of used-up ids, inherited ones included: see [`Calls::is_used`].
    used: BTreeSet<u64>,
    /// Whether used-up ids were let go: such a view is for looking, not for calling.
    pub for_looking: bool,
    /// Whether a step began and did not end.
    pub step_open: bool,
    /// Who asked for the compaction that began and did not end.
    pub compaction_open: Option<CompactionReason>,
    /// What is wrong in this part of the log.
    pub anomalies: Anomalies,
}

impl Calls {
    /// Forgets used-up ids. Bounds a saved view that only looks.
    pub fn let_go(&mut self) {
        self.used.clear();
        self.for_looking = true;
    }

    /// Whether a call is open.
    pub fn is_open(&self, call: &CallId) -> bool {
        self.open.iter().any(|open| open.call == *call)
    }

    /// Whether an id was used before, in this Session or in what it inherits.
    pub fn is_used(&self, call: &CallId) -> bool {
        self.used.contains(&hash(call))
    }
}

/// FNV-1a. Two ids that meet here by chance look used: a call then gets another id, and nothing else happens.
fn hash(call: &CallId) -> u64 {
    call.as_str()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
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
            Event::CompactionStarted(started) => self.compaction_open = Some(started.reason),
            Event::CompactionEnded(_) | Event::CompactionFailed(_) => self.compaction_open = None,
            Event::ToolCalled(called) => {
                if !self.step_open {
                    self.anomalies.note(seq, "a tool is called outside a step");
                }
                if !self.for_looking && !self.used.insert(hash(&called.call)) {
                    self.anomalies.note(seq, "a call id is used twice");
                }
                self.open.push(OpenCall {
                    call: called.call.clone(),
                    seq,
                    name: called.name.clone(),
                    hosted: called.hosted,
                });
            }
            Event::ToolProgressed(progressed) => {
                if !self.is_open(&progressed.call) {
                    self.anomalies.note(seq, "a call progresses that is not open");
                }
            }
            Event::ToolSettled(settled) => match self.open.iter().position(|open| open.call == settled.call) {
                Some(at) => {
                    self.open.remove(at);
                }
                None => self.anomalies.note(seq, "a call is settled that is not open"),
            },
            Event::RevertCommitted(committed) => {
                self.open.retain(|open| open.seq < committed.first_removed);
                self.step_open = false;
            }
            Event::SessionForked(_) => {
                self.open.clear();
                self.step_open = false;
                self.compaction_open = None;
            }
            ignored!(
                SessionCreated SessionTitled TitleFailed SessionMoved AgentSwitched ModelSwitched InputAdmitted InputPromoted
                InputWithdrawn InputDeliveryChanged EpochStarted EpochReplacementBlocked ContextAdmitted
                SnapshotAdvanced InstructionDiscovered AgentProfileRecorded ModelProfileRecorded ToolsRecorded
                OptionsRecorded RequestSent RetryScheduled PermissionAsked PermissionReplied CompactionUndone
                ToolOutputsPruned MessagePinned MessageUnpinned SyntheticAdded ShellRan TodoUpdated RedactionApplied
                FilesCaptured FilesSummarised RestoreBegun RestoreAbandoned DepartureBegun DepartureEnded RevertStaged RevertCleared ChildStarted ChildSettled
            ) => {}
        }
    }
}
