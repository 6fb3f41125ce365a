//! What agents asked for and were allowed: decisions on calls and who made them, how commands were confined, files outside of the
//! project, replaced secrets. Of one session with its sub-agents, or of many sessions.
//!
//! Everything is counted; the calls that a person may want to look at are listed, as many as were asked for. Memory is bounded
//! by that number: a log is read page by page, and no text is kept longer than [`SHOWN`] characters.

mod call;
mod calls;
mod ended;
mod fold;
mod network;
mod paths;
mod rules;
mod saved;
mod summary;

pub use call::{AuditedCall, CallDecision, CallOutcome, CommandConfinement};
pub use calls::{CallFold, EndedCall, runs_commands};
pub use network::named_hosts;
pub use paths::SessionPlace;
pub(crate) use saved::SavedSafety;
pub use summary::SafetySummary;

use crate::SessionAt;
use crate::reader::{FindError, Reader};
use annals_core::event::Rule;
use annals_core::{ModelName, Seq, SessionId};
use annals_projections::{Catalogue, ToJson};
use annals_store::{ReadError, Slice};
use fold::SafetyScope;
use network::{could_send, mcp_server};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

/// How many characters of a text are shown; `annals show` has the whole.
pub const SHOWN: usize = 400;

/// How many kinds of decisions are counted one by one; the rest is counted without its rule and its author.
const KINDS: usize = 1_000;

/// How many calls are listed, and of which sessions.
#[derive(Clone, Debug)]
pub struct SafetyQuery {
    /// The sessions, in the order in which they are read.
    pub sessions: Vec<SessionId>,
    /// List at most this many calls: the last ones.
    pub limit: usize,
    /// List every call, not only those that a person may want to look at.
    pub every_call: bool,
    /// Also count what a fork inherits from the session that it was forked from.
    pub inherited: bool,
    /// Only events before this one.
    pub until: Option<Seq>,
}

/// What agents asked for, were allowed and did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SafetyAudit {
    /// How many sessions were read.
    pub sessions: u64,
    /// How many calls there were, without those that a provider executes itself.
    pub calls: u64,
    /// Calls that a provider executed itself: no rule applies to them.
    pub hosted: u64,
    /// Calls of other agents (imported or recorded sessions), whose permissions were not recorded.
    pub not_recorded: u64,
    /// Decisions on calls, by what was decided and who decided; a call may need several.
    pub decisions: Vec<DecisionCount>,
    /// How commands ran.
    pub commands: CommandCounts,
    /// Calls of tools that named a file or folder outside of the project. What commands touched is not recorded.
    pub outside_project: u64,
    /// Secrets that were replaced before they were recorded, by kind.
    pub redactions: BTreeMap<String, u64>,
    /// Requests that were sent, by model.
    pub requests: BTreeMap<ModelName, u64>,
    /// Where else something may have been sent.
    pub destinations: Destinations,
    /// Calls to look at, oldest first within a session: asked for, denied, not confined although a sandbox was in use, refused
    /// something by the sandbox, or with a file outside of the project. Every call if that was asked for.
    pub listed: Vec<AuditedCall>,
    /// How many such calls before them are not listed.
    pub omitted: u64,
    /// Sessions that cannot be read to their end.
    pub unreadable: Vec<UnreadableSession>,
}

/// How often something was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionCount {
    /// The permission action; the name of the tool where the log does not have the action.
    pub action: String,
    /// What was decided.
    pub outcome: CallOutcome,
    /// Who decided: `user`, `rule`, `reply` for a rule that an earlier reply gave, or the name of what answered in the user's
    /// place. Empty where no one did.
    pub by: String,
    /// The configured rule that decided, if it is known.
    pub rule: Option<Rule>,
    /// How often.
    pub count: u64,
}

/// How commands ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommandCounts {
    /// In the sandbox.
    pub confined: u64,
    /// Outside of the sandbox, which was in use, after permission for that.
    pub outside: u64,
    /// Without a sandbox.
    pub unconfined: u64,
    /// Without a result that says so: interrupted, failed to start, or of another agent.
    pub unknown: u64,
    /// Not at all: denied or rejected.
    pub not_run: u64,
    /// In the sandbox, with a network.
    pub with_network: u64,
    /// In the sandbox, which seems to have refused them something.
    pub refused: u64,
    /// In the sandbox, after which protected files were put back.
    pub put_back: u64,
    /// Run by the user within the session.
    pub by_user: u64,
}

/// Where calls may have sent something besides requests to models, as far as their inputs name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Destinations {
    /// How many calls with a way to the network named a host.
    pub hosts: BTreeMap<String, u64>,
    /// Calls of tools of MCP servers, by server. Where these sent something is not recorded.
    pub mcp: BTreeMap<String, u64>,
    /// Commands that had a network and named no host.
    pub unnamed: u64,
}

/// A session that cannot be read to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnreadableSession {
    /// Which one.
    pub session: SessionId,
    /// The event that cannot be read.
    pub seq: Seq,
    /// What is wrong there.
    pub reason: String,
}

/// The same without the number.
type DecisionKind = (String, CallOutcome, String, Option<(String, String, u8)>);

/// What was counted so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SafetyCounts {
    audit: SafetyAudit,
    decisions: BTreeMap<DecisionKind, (Option<Rule>, u64)>,
    listed: VecDeque<AuditedCall>,
    limit: usize,
    every_call: bool,
}

impl SafetyCounts {
    fn decided(&mut self, decision: &CallDecision) {
        let key = |rule: &Rule| (rule.action.clone(), rule.resource.clone(), rule.effect as u8);
        let rule = decision.rule.as_ref().filter(|_| decision.approved.is_none());
        let by = if decision.approved.is_some() { "reply" } else { decision.by.as_str() };
        let mut kind = (decision.action.clone(), decision.outcome, by.to_owned(), rule.map(key));
        let mut rule = rule.cloned();
        if self.decisions.len() >= KINDS && !self.decisions.contains_key(&kind) {
            kind = (String::new(), decision.outcome, String::new(), None);
            rule = None;
        }
        self.decisions.entry(kind).or_insert((rule, 0)).1 += 1;
    }

    fn call(&mut self, call: AuditedCall) {
        call.decisions.iter().for_each(|decision| self.decided(decision));
        let audit = &mut self.audit;
        audit.calls += 1;
        audit.outside_project += u64::from(!call.outside_project.is_empty());
        let commands = &mut audit.commands;
        match call.confinement {
            Some(CommandConfinement::Confined) => commands.confined += 1,
            Some(CommandConfinement::Outside) => commands.outside += 1,
            Some(CommandConfinement::Unconfined) => commands.unconfined += 1,
            Some(CommandConfinement::NotRun) => commands.not_run += 1,
            Some(CommandConfinement::Unknown) => commands.unknown += 1,
            None => {}
        }
        let destinations = &mut audit.destinations;
        for host in &call.hosts {
            let known = destinations.hosts.len() < KINDS || destinations.hosts.contains_key(host);
            *destinations.hosts.entry(if known { host.clone() } else { "(others)".to_owned() }).or_default() += 1;
        }
        if could_send(&call) {
            if let Some(server) = mcp_server(&call.tool) {
                *destinations.mcp.entry(server.to_owned()).or_default() += 1;
            }
            destinations.unnamed += u64::from(call.confinement.is_some() && call.hosts.is_empty());
        }
        commands.with_network += u64::from(call.network);
        commands.refused += u64::from(call.refused);
        commands.put_back += u64::from(!call.put_back.is_empty());
        if !self.every_call && !call.is_notable() {
            return;
        }
        self.listed.push_back(call);
        if self.listed.len() > self.limit {
            self.listed.pop_front();
            self.audit.omitted += 1;
        }
    }

    fn end(self) -> SafetyAudit {
        let count = |((action, outcome, by, _), (rule, count))| DecisionCount { action, outcome, by, rule, count };
        let mut decisions: Vec<DecisionCount> = self.decisions.into_iter().map(count).collect();
        decisions.sort_by_key(|decision| std::cmp::Reverse(decision.count));
        SafetyAudit { decisions, listed: self.listed.into(), ..self.audit }
    }
}

impl Reader {
    /// What agents asked for and were allowed. `root` gives the folder of the project that a directory belongs to. A session
    /// that is damaged is read up to the damage.
    ///
    /// # Errors
    /// When the log cannot be read for another reason.
    pub async fn safety(&self, query: &SafetyQuery, root: &dyn Fn(&str) -> PathBuf) -> Result<SafetyAudit, FindError> {
        let mut counts = SafetyCounts { limit: query.limit, every_call: query.every_call, ..SafetyCounts::default() };
        for session in &query.sessions {
            let head = self.head(*session).await?.next;
            let until = query.until.map_or(head, |until| until.min(head));
            let scope = SafetyScope { session: *session, inherited: query.inherited, blobs: self.blobs(), root };
            let mut calls = CallFold::default();
            let mut pages = self.pages(*session, Seq::ZERO, until);
            let damage = loop {
                match pages.next_page().await {
                    Ok(Some(slices)) => {
                        slices.iter().flat_map(Slice::records).for_each(|it| counts.apply(&mut calls, &it, &scope));
                    }
                    Ok(None) => break None,
                    Err(ReadError::Damaged { seq, reason, .. }) => break Some((seq, reason)),
                    Err(error) => return Err(error.into()),
                }
            };
            counts.session_ended(calls, &scope);
            let unreadable = |(seq, reason)| UnreadableSession { session: *session, seq, reason };
            counts.audit.unreadable.extend(damage.map(unreadable));
        }
        Ok(counts.end())
    }
}

impl SessionAt {
    /// The answer of `annals usage SESSION --json`: tokens and recorded cost, and what was allowed.
    pub async fn audited_usage(&self, root: &dyn Fn(&str) -> PathBuf) -> Result<Value, ReadError> {
        let usage = self.usage().await?;
        let mut answer = usage.total.to_json(self.blobs());
        let summary = self.safety(root).await?;
        if let (Some(fields), Ok(summary)) = (answer.as_object_mut(), serde_json::to_value(summary)) {
            fields.insert("safety".to_owned(), summary);
        }
        Ok(answer)
    }
}

/// A session and the sub-agents that it started, and those that they started, each after the one that started it.
pub fn with_subagents(catalogue: &Catalogue, session: SessionId) -> Vec<SessionId> {
    let mut children: BTreeMap<SessionId, Vec<SessionId>> = BTreeMap::new();
    for (id, entry) in &catalogue.sessions {
        if let Some(parent) = entry.parent.as_ref().filter(|_| entry.fork.is_none()) {
            children.entry(parent.session).or_default().push(*id);
        }
    }
    let (mut found, mut known, mut left) = (Vec::new(), BTreeSet::new(), vec![session]);
    while let Some(id) = left.pop() {
        // A damaged log may claim a circle.
        if known.insert(id) {
            found.push(id);
            left.extend(children.get(&id).into_iter().flatten().rev());
        }
    }
    found
}
