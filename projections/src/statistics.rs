//! Counts of what a session contains, and the anomalies that its folds noticed.

use crate::{
    Anomalies, Anomaly, Calls, Epochs, Inbox, Permissions, Profiles, Projection, SessionInfo, Unpriced, UsageTotals,
};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use annals_core::event::{
    CompactionEvent, ContextEvent, FilesEvent, InputEvent, Purpose, StepEvent, ToolEvent, ToolOutcome,
};
use annals_core::{AgentName, CallId, Event, Record, Seq, Text, Time, kinds};
use serde::{Deserialize, Serialize};

/// How often a tool was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCount {
    /// All calls.
    pub calls: u64,
    /// Calls that did not complete.
    pub failed: u64,
    /// Time between call and settlement, in milliseconds.
    pub ms: u64,
}

/// The folds that notice anomalies, and counts. Bounded by the views, not by the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// Agent, model, location, title, origin.
    pub session: SessionInfo,
    /// Tokens and cost.
    pub usage: UsageTotals,
    /// Tokens whose cost the log does not contain.
    pub unpriced: Unpriced,
    /// Every context epoch.
    pub epochs: Epochs,
    inbox: Inbox,
    calls: Calls,
    permissions: Permissions,
    profiles: Profiles,
    /// The first input that contains more than white space: it replaces a missing title.
    pub opening: Option<Text>,
    /// Time of the first event.
    pub began: Option<Time>,
    /// Number of events.
    pub events: u64,
    /// Number of user messages.
    pub turns: u64,
    /// Number of answers.
    pub steps: u64,
    /// Number of answers that failed.
    pub failed: u64,
    /// Number of attempts after the first of a request.
    pub retries: u64,
    /// Number of context messages.
    pub context_messages: u64,
    /// Number of completed compactions.
    pub compactions: u64,
    /// What committed reverts removed: ranges `[from, until)` of events.
    pub undone: Vec<(Seq, Seq)>,
    /// Every agent that answered.
    pub agents: BTreeSet<AgentName>,
    /// Number of recorded turn requests.
    pub requests: u64,
    /// Calls by name of the tool.
    pub tools: BTreeMap<String, ToolCount>,
    /// Open calls: the tool and the time of the call.
    open: BTreeMap<CallId, (String, Time)>,
}

/// The counts of [`Statistics`] as `annals replay --json` shows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatisticsSummary {
    /// Number of events.
    pub events: u64,
    /// Number of user messages.
    pub turns: u64,
    /// Number of answers.
    pub steps: u64,
    /// Number of answers that failed.
    pub failed: u64,
    /// Number of attempts after the first of a request.
    pub retries: u64,
    /// Number of context messages.
    pub context_messages: u64,
    /// Number of completed compactions.
    pub compactions: u64,
    /// Number of committed reverts.
    pub reverts: u64,
    /// Number of recorded turn requests.
    pub requests: u64,
    /// Calls by name of the tool.
    pub tools: BTreeMap<String, ToolCount>,
    /// What is impossible in the log, by Seq.
    pub anomalies: Vec<Anomaly>,
    /// Time of the first event.
    pub began: Option<Time>,
    /// Time of the last event.
    pub ended: Time,
}

impl Statistics {
    fn noticed(&self) -> [&Anomalies; 6] {
        [
            &self.session.anomalies,
            &self.epochs.anomalies,
            &self.inbox.anomalies,
            &self.calls.anomalies,
            &self.permissions.anomalies,
            &self.profiles.anomalies,
        ]
    }

    /// Anomalies, by Seq; past [`Anomalies::MAX`] per fold they are only counted.
    pub fn anomalies(&self) -> Vec<&Anomaly> {
        let mut list: Vec<&Anomaly> = self.noticed().into_iter().flat_map(|anomalies| &anomalies.list).collect();
        list.sort_by_key(|anomaly| anomaly.seq);
        list
    }

    /// The number of anomalies.
    pub fn anomaly_count(&self) -> u64 {
        self.noticed().into_iter().map(|anomalies| anomalies.count).sum()
    }

    /// The anomalies of one event.
    pub fn anomalies_at(&self, seq: Seq) -> impl Iterator<Item = &Anomaly> {
        self.noticed().into_iter().flat_map(|anomalies| &anomalies.list).filter(move |anomaly| anomaly.seq == seq)
    }

    /// From the first event to the last, in milliseconds.
    pub fn duration_ms(&self) -> u64 {
        self.session.updated.millis().saturating_sub(self.began.unwrap_or_default().millis())
    }

    /// The counts in their public form.
    pub fn summary(&self) -> StatisticsSummary {
        StatisticsSummary {
            events: self.events,
            turns: self.turns,
            steps: self.steps,
            failed: self.failed,
            retries: self.retries,
            context_messages: self.context_messages,
            compactions: self.compactions,
            reverts: self.undone.len() as u64,
            requests: self.requests,
            tools: self.tools.clone(),
            anomalies: self.anomalies().into_iter().cloned().collect(),
            began: self.began,
            ended: self.session.updated,
        }
    }

    fn step(&mut self, event: &StepEvent) {
        match event {
            StepEvent::RequestSent(sent) => self.requests += u64::from(sent.purpose == Purpose::Turn),
            StepEvent::Started(started) => {
                self.steps += 1;
                self.agents.insert(started.agent.clone());
            }
            StepEvent::Failed(_) => self.failed += 1,
            StepEvent::RetryScheduled(_) => self.retries += 1,
            StepEvent::Ended(_)
            | StepEvent::TextEnded(_)
            | StepEvent::ReasoningEnded(_)
            | StepEvent::RequestRecorded(_)
            | StepEvent::AnswerRecorded(_) => {}
        }
    }

    fn tool(&mut self, at: Time, event: &ToolEvent) {
        match event {
            ToolEvent::Called(called) => {
                self.tools.entry(called.name.clone()).or_default().calls += 1;
                self.open.insert(called.call.clone(), (called.name.clone(), at));
            }
            ToolEvent::Settled(settled) => {
                if let Some((name, called)) = self.open.remove(&settled.call) {
                    let count = self.tools.entry(name).or_default();
                    count.failed += u64::from(settled.outcome != ToolOutcome::Completed);
                    count.ms = count.ms.saturating_add(at.millis().saturating_sub(called.millis()));
                }
            }
            ToolEvent::Progressed(_) => {}
        }
    }
}

impl Projection for Statistics {
    const NAME: &'static str = "statistics";
    const VERSION: u32 = 1;

    fn apply(&mut self, record: &Record<'_>) {
        self.session.apply(record);
        self.usage.apply(record);
        self.unpriced.apply(record);
        self.epochs.apply(record);
        self.inbox.apply(record);
        self.calls.apply(record);
        self.permissions.apply(record);
        self.profiles.apply(record);
        self.began.get_or_insert(record.at);
        self.events += 1;
        match record.event {
            Event::Input(InputEvent::Admitted(admitted)) => {
                let has_text = |text: &str| !text.trim().is_empty();
                if self.opening.is_none() && admitted.text.inline().is_some_and(has_text) {
                    self.opening = Some(admitted.text.clone());
                }
            }
            Event::Input(InputEvent::Promoted(_)) => self.turns += 1,
            Event::Context(ContextEvent::Admitted(_)) => self.context_messages += 1,
            Event::Step(event) => self.step(event),
            Event::Tool(event) => self.tool(record.at, event),
            Event::Compaction(CompactionEvent::Ended(_) | CompactionEvent::Completed(_)) => self.compactions += 1,
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.undone.push((committed.first_removed, record.seq));
            }
            // Not counted; the folds above look for anomalies in them.
            kinds!(
                Session,
                Input(Withdrawn, DeliveryChanged, Configured),
                Context(EpochStarted, EpochReplacementBlocked, SnapshotAdvanced, InstructionDiscovered),
                Profile,
                Permission,
                Compaction(Started, Failed, Undone, ToolOutputsPruned, ToolOutputsReduced, CallsReduced),
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
