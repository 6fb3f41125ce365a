//! Context Epochs: Baseline System Context, Context Snapshot, and what makes a new epoch due
//! (`docs/reference/context.md#epochs`).

use crate::Projection;
use crate::anomaly::Anomalies;
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{
    CompactionEvent, ContextEvent, EpochCause, FilesEvent, Location, Part, Policy, SessionEvent, Switch,
};
use annals_core::{AgentName, Blobs, Event, Key, Record, Seq, Snapshot, kinds};
use serde::{Deserialize, Serialize};

/// That an epoch began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochMark {
    /// Its number, from 1.
    pub epoch: u64,
    /// The Seq of its start.
    pub seq: Seq,
    /// Why it began.
    pub cause: EpochCause,
}

/// A replacement that is due and blocked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// Where it was recorded.
    pub seq: Seq,
    /// What made it due.
    pub cause: EpochCause,
    /// The sources in the current epoch that are unavailable.
    pub keys: Vec<Key>,
}

/// The current epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epoch {
    /// Its number, start and cause.
    pub mark: EpochMark,
    /// The agent that the baseline was rendered for.
    pub agent: AgentName,
    /// Where it was observed.
    pub location: Location,
    /// The pieces of the Baseline System Context, in order.
    pub parts: Vec<Part>,
    /// The last value of each source that the model was given.
    pub snapshot: Snapshot,
    /// False for an imported epoch whose baseline was not kept.
    pub known: bool,
    /// The replacement that waits, if one does.
    pub blocked: Option<Blocked>,
}

impl Epoch {
    /// The exact text of the Baseline System Context.
    pub fn text(&self, blobs: &dyn Blobs) -> String {
        let parts: Vec<_> = self.parts.iter().map(|part| part.text.resolve(blobs)).collect();
        parts.join("\n\n")
    }
}

/// All epochs of a session, the current one, and what is due at the next boundary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Epochs {
    /// Every epoch, in order.
    pub marks: Vec<EpochMark>,
    /// The current one; `None` before the first turn, after a move and after a committed revert.
    pub current: Option<Epoch>,
    /// What is wrong in this part of the log.
    pub anomalies: Anomalies,
    policy: Policy,
    /// Completed compactions that were not undone, and whether the current epoch began after each.
    compactions: Vec<(Seq, bool)>,
    reverted: bool,
    moved: bool,
    agent_switched: bool,
    model_switched: bool,
    /// Whether another agent recorded it: what is missing was not recorded, and the log is not at fault.
    imported: bool,
}

impl Epochs {
    /// The Context Snapshot; empty while there is no epoch.
    pub fn snapshot(&self) -> Snapshot {
        self.current.as_ref().map(|epoch| epoch.snapshot.clone()).unwrap_or_default()
    }

    /// What makes a new epoch due at the next boundary, apart from what an observation may find. The first in the order
    /// of `docs/reference/context.md#what-makes-a-new-epoch-due`.
    pub fn due(&self) -> Option<EpochCause> {
        let first = self.current.is_none();
        if first && self.marks.is_empty() {
            return Some(EpochCause::FirstTurn);
        }
        let compacted = self.compactions.last().is_some_and(|(_, folded)| !folded);
        [
            (self.reverted, EpochCause::Reverted),
            (self.moved, EpochCause::Moved),
            (compacted, EpochCause::Compaction),
            (self.agent_switched, EpochCause::AgentSwitched),
            (self.model_switched, EpochCause::ModelSwitched),
        ]
        .into_iter()
        .find_map(|(due, cause)| due.then_some(cause))
        .or_else(|| first.then_some(EpochCause::FirstTurn))
    }

    /// Whether the standing epoch belongs to an agent that was switched away from under the policy `replace`: it must be
    /// replaced before the next turn.
    pub fn agent_replacement_due(&self) -> bool {
        self.current.is_some() && self.agent_switched
    }

    fn end(&mut self) {
        self.current = None;
    }
}

impl Projection for Epochs {
    const NAME: &'static str = "epochs";
    const VERSION: u32 = 2;

    fn apply(&mut self, record: &Record<'_>) {
        let seq = record.seq;
        match record.event {
            Event::Session(SessionEvent::Created(created)) => {
                self.policy = created.policy;
                self.imported = created.origin.is_some();
            }
            Event::Session(SessionEvent::Forked(forked)) => self.imported = forked.origin.is_some(),
            Event::Context(ContextEvent::EpochStarted(started)) => {
                let mark = EpochMark { epoch: self.marks.len() as u64 + 1, seq, cause: started.cause };
                self.marks.push(mark);
                self.current = Some(Epoch {
                    mark,
                    agent: started.agent.clone(),
                    location: started.location.clone(),
                    parts: started.parts.clone(),
                    snapshot: Snapshot(started.entries.clone()),
                    known: started.known,
                    blocked: None,
                });
                self.compactions.iter_mut().for_each(|(_, folded)| *folded = true);
                self.reverted = false;
                self.moved = false;
                self.agent_switched = false;
                self.model_switched = false;
            }
            Event::Context(ContextEvent::EpochReplacementBlocked(blocked)) => match &mut self.current {
                Some(epoch) => {
                    epoch.blocked = Some(Blocked { seq, cause: blocked.cause, keys: blocked.keys.clone() });
                }
                None if self.imported => {}
                None => self.anomalies.note(seq, "a blocked system prompt is recorded while none is in force"),
            },
            Event::Context(ContextEvent::SnapshotAdvanced(advanced)) => match &mut self.current {
                Some(epoch) => {
                    epoch.snapshot.0.extend(advanced.set.iter().map(|(key, entry)| (key.clone(), entry.clone())));
                    for key in &advanced.removed {
                        if epoch.snapshot.0.remove(key).is_none() && !self.imported {
                            self.anomalies.note(seq, "a source is removed that is not in the snapshot");
                        }
                    }
                    // Advancing means that nothing blocks any more: a new block is a new fact.
                    epoch.blocked = None;
                }
                None if self.imported => {}
                None => self.anomalies.note(seq, "a context update is recorded while no system prompt is in force"),
            },
            Event::Session(SessionEvent::Moved(_)) => {
                self.moved |= self.current.is_some();
                self.end();
            }
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.reverted |= self.current.is_some();
                self.compactions.retain(|(compaction, _)| *compaction < committed.first_removed);
                self.end();
            }
            Event::Session(SessionEvent::AgentSwitched(_)) => {
                self.agent_switched |= self.current.is_some() && self.policy.agent_switch == Switch::Replace;
            }
            Event::Session(SessionEvent::ModelSwitched(_)) => {
                self.model_switched |= self.current.is_some() && self.policy.model_switch == Switch::Replace;
            }
            Event::Compaction(CompactionEvent::Ended(_) | CompactionEvent::Completed(_)) => {
                self.compactions.push((seq, false));
            }
            Event::Compaction(CompactionEvent::Undone(undone)) => {
                self.compactions.retain(|(compaction, _)| *compaction != undone.compaction);
            }
            kinds!(
                Session(Titled, TitleFailed, ProcessAttached),
                Input,
                Context(Admitted, InstructionDiscovered),
                Profile,
                Step,
                Tool,
                Permission,
                Compaction(Started, Failed, ToolOutputsPruned, ToolOutputsReduced, CallsReduced),
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
