//! What a first walk through a Session finds: how much there is of everything, and what should not be there.

use crate::timeline::one_line;
use annals_core::event::{
    CompactionEvent, ContextEvent, FilesEvent, InputEvent, Purpose, StepEvent, ToolEvent, ToolOutcome,
};
use annals_core::{AgentName, CallId, Event, Record, Seq, Time};
use annals_projections::{
    Anomalies, Anomaly, Calls, Epochs, Inbox, Permissions, Profiles, Projection, SessionInfo, Unpriced, UsageTotals,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How often a tool was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolCount {
    /// Calls.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// Time between call and settlement, in milliseconds.
    pub ms: u64,
}

/// The folds that notice anomalies, and counts. Bounded by the views, not by the log.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// What the Session is.
    pub session: SessionInfo,
    /// What it used.
    pub usage: UsageTotals,
    /// What it used that the log knows no cost of.
    pub unpriced: Unpriced,
    /// Its epochs.
    pub epochs: Epochs,
    inbox: Inbox,
    calls: Calls,
    permissions: Permissions,
    profiles: Profiles,
    /// How the first input begins: what stands in for a missing title.
    pub opening: Option<String>,
    /// Time of the first event.
    pub began: Option<Time>,
    /// Events.
    pub events: u64,
    /// User messages.
    pub turns: u64,
    /// Answers.
    pub steps: u64,
    /// Answers that failed.
    pub failed: u64,
    /// Attempts that followed others.
    pub retries: u64,
    /// Context messages.
    pub told: u64,
    /// Completed compactions.
    pub compactions: u64,
    /// What committed reverts undid: ranges `[from, until)`.
    pub undone: Vec<(Seq, Seq)>,
    /// Every agent that answered.
    pub agents: BTreeSet<AgentName>,
    /// Recorded requests of turns.
    pub requests: u64,
    /// By tool.
    pub tools: BTreeMap<String, ToolCount>,
    open: BTreeMap<CallId, (String, Time)>,
}

impl Audit {
    /// Takes in one record.
    pub fn apply(&mut self, record: &Record<'_>) {
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
            Event::Input(InputEvent::Admitted(admitted)) if self.opening.is_none() => {
                self.opening = admitted.text.inline().map(one_line).filter(|line| !line.is_empty());
            }
            Event::Input(InputEvent::Promoted(_)) => self.turns += 1,
            Event::Step(StepEvent::Started(started)) => {
                self.steps += 1;
                self.agents.insert(started.agent.clone());
            }
            Event::Step(StepEvent::Failed(_)) => self.failed += 1,
            Event::Step(StepEvent::RetryScheduled(_)) => self.retries += 1,
            Event::Context(ContextEvent::Admitted(_)) => self.told += 1,
            Event::Compaction(CompactionEvent::Ended(_)) => self.compactions += 1,
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                self.undone.push((committed.first_removed, record.seq));
            }
            Event::Step(StepEvent::RequestSent(sent)) => self.requests += u64::from(sent.purpose == Purpose::Turn),
            Event::Tool(ToolEvent::Called(called)) => {
                self.tools.entry(called.name.clone()).or_default().calls += 1;
                self.open.insert(called.call.clone(), (called.name.clone(), record.at));
            }
            Event::Tool(ToolEvent::Settled(settled)) => {
                if let Some((name, at)) = self.open.remove(&settled.call) {
                    let count = self.tools.entry(name).or_default();
                    count.failed += u64::from(settled.outcome != ToolOutcome::Completed);
                    count.ms = count.ms.saturating_add(record.at.millis().saturating_sub(at.millis()));
                }
            }
            // The rest is counted by the folds above, or not at all.
            _ => {}
        }
    }

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

    /// Anomalies, by Seq; past a limit they are only counted.
    pub fn anomalies(&self) -> Vec<&Anomaly> {
        let mut list: Vec<&Anomaly> = self.noticed().into_iter().flat_map(|anomalies| &anomalies.list).collect();
        list.sort_by_key(|anomaly| anomaly.seq);
        list
    }

    /// How many anomalies there are.
    pub fn anomaly_count(&self) -> u64 {
        self.noticed().into_iter().map(|anomalies| anomalies.count).sum()
    }

    /// The anomalies at a place.
    pub fn anomalies_at(&self, seq: Seq) -> impl Iterator<Item = &Anomaly> {
        self.noticed().into_iter().flat_map(move |anomalies| {
            let list = &anomalies.list;
            let from = list.partition_point(|anomaly| anomaly.seq < seq);
            list.iter().skip(from).take_while(move |anomaly| anomaly.seq == seq)
        })
    }

    /// From the first event to the last, in milliseconds.
    pub fn lasted(&self) -> u64 {
        self.session.updated.millis().saturating_sub(self.began.unwrap_or_default().millis())
    }

    /// The counts as JSON.
    pub fn to_json(&self) -> Value {
        let tools: BTreeMap<&str, Value> = self
            .tools
            .iter()
            .map(|(name, count)| (name.as_str(), json!({"calls": count.calls, "failed": count.failed, "ms": count.ms})))
            .collect();
        let anomalies: Vec<Value> =
            self.anomalies().iter().map(|anomaly| json!({"seq": anomaly.seq, "what": anomaly.what})).collect();
        json!({
            "events": self.events, "turns": self.turns, "steps": self.steps, "failed": self.failed,
            "retries": self.retries, "context_messages": self.told, "compactions": self.compactions,
            "reverts": self.undone.len(), "requests": self.requests, "tools": tools, "anomalies": anomalies,
            "began": self.began, "ended": self.session.updated,
        })
    }
}
