//! What shapes requests besides history and baseline: recorded once per change, named by hash
//! (`docs/reference/events.md#what-shapes-requests`).

use crate::Projection;
use crate::anomaly::Anomalies;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use annals_core::event::{AgentProfile, ModelProfile, ProfileEvent, RequestOptions, ToolDefinition};
use annals_core::{AgentName, Digest, Event, ModelName, Record, kinds};
use serde::{Deserialize, Serialize};

/// Everything recorded so far, by hash, and what each name means now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profiles {
    /// Agent profiles by hash.
    pub agents: BTreeMap<Digest, AgentProfile>,
    /// The hash of each agent's newest profile.
    pub agent: BTreeMap<AgentName, Digest>,
    /// Model profiles by hash.
    pub models: BTreeMap<Digest, ModelProfile>,
    /// The hash of each model's newest profile.
    pub model: BTreeMap<ModelName, Digest>,
    /// Tool sets by hash.
    pub tools: BTreeMap<Digest, Vec<ToolDefinition>>,
    /// Options by hash.
    pub options: BTreeMap<Digest, RequestOptions>,
    /// What is wrong in this part of the log.
    pub anomalies: Anomalies,
}

impl Projection for Profiles {
    const NAME: &'static str = "profiles";
    const VERSION: u32 = 1;

    fn apply(&mut self, record: &Record<'_>) {
        let unnamed = "a recorded profile cannot be named: a number in it is not below 2^53";
        match record.event {
            Event::Profile(ProfileEvent::AgentRecorded(recorded)) => match recorded.profile.digest() {
                Ok(digest) => {
                    self.agent.insert(recorded.profile.agent.clone(), digest);
                    self.agents.insert(digest, recorded.profile.clone());
                }
                Err(_) => self.anomalies.note(record.seq, unnamed),
            },
            Event::Profile(ProfileEvent::ModelRecorded(recorded)) => match recorded.profile.digest() {
                Ok(digest) => {
                    self.model.insert(recorded.profile.model.clone(), digest);
                    self.models.insert(digest, recorded.profile.clone());
                }
                Err(_) => self.anomalies.note(record.seq, unnamed),
            },
            Event::Profile(ProfileEvent::ToolsRecorded(recorded)) => match recorded.digest() {
                Ok(digest) => {
                    self.tools.insert(digest, recorded.tools.clone());
                }
                Err(_) => self.anomalies.note(record.seq, unnamed),
            },
            Event::Profile(ProfileEvent::OptionsRecorded(recorded)) => match recorded.options.digest() {
                Ok(digest) => {
                    self.options.insert(digest, recorded.options.clone());
                }
                Err(_) => self.anomalies.note(record.seq, unnamed),
            },
            kinds!(Session, Input, Context, Step, Tool, Permission, Compaction, Message, Files, Child, Erasure) => {}
        }
    }
}
