//! Calls from their beginning to their end: what was asked, who decided, how they ran. A part of folds over one session.

use super::SHOWN;
use super::call::{AuditedCall, CallDecision, CallOutcome, CommandConfinement};
use super::ended::{confine, unasked};
use super::network::{could_send, named_hosts};
use super::paths::SessionPlace;
use super::rules::{RulesInForce, resources_of};
use annals_core::event::{
    PermissionAsked, PermissionEvent, PermissionReplied, ProfileEvent, Purpose, Reply, Rule, SessionEvent, StepEvent,
    ToolCalled, ToolEvent, ToolSettled,
};
use annals_core::{Blobs, CallId, Digest, Event, PermissionId, Record, Seq, kinds};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How many calls may be open at a time; the oldest is then taken for one without an end.
const OPEN: usize = 4_096;
/// How many agent profiles and replies with rules are kept; the oldest replies go first.
const RULES: usize = 4_096;
/// How many resources and paths of a call are kept.
pub(super) const NAMED: usize = 16;

/// Tools that run commands, in several agents.
const SHELLS: [&str; 7] = ["bash", "shell", "exec_command", "shell_command", "local_shell", "local_shell_call", "exec"];

/// Whether a tool of this name runs commands, in one of several agents.
pub fn runs_commands(tool: &str) -> bool {
    SHELLS.contains(&tool.to_lowercase().as_str())
}

/// A call that has not ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct UnsettledCall {
    call: AuditedCall,
    /// Who recorded it, if not this program.
    foreign: bool,
    /// The resources that permissions are asked for; none if that is not certain.
    resources: Vec<String>,
    questions: Vec<PermissionId>,
}

/// A call that ended.
#[derive(Clone, Debug)]
pub struct EndedCall {
    /// The call.
    pub call: AuditedCall,
    /// Whether another agent recorded it: permissions are then not recorded.
    pub foreign: bool,
}

/// The calls of one session that have not ended, and the rules in force. Incremental; can be saved.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CallFold {
    place: SessionPlace,
    foreign: bool,
    profiles: BTreeMap<Digest, Vec<Rule>>,
    profile: Option<Digest>,
    approved: Vec<(Seq, Rule)>,
    open: BTreeMap<CallId, UnsettledCall>,
}

impl CallFold {
    /// Where the session works.
    pub fn place(&self) -> &SessionPlace {
        &self.place
    }

    /// Whether another agent recorded the session.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Applies a record, and gives the calls that end with it. `root` gives the folder of the project that a directory
    /// belongs to.
    pub fn apply(&mut self, record: &Record<'_>, blobs: &dyn Blobs, root: &dyn Fn(&str) -> PathBuf) -> Vec<EndedCall> {
        match record.event {
            Event::Session(event) => return self.about_session(event, blobs, root),
            Event::Profile(ProfileEvent::AgentRecorded(recorded)) => {
                if let Ok(digest) = recorded.profile.digest()
                    && self.profiles.len() < RULES
                {
                    self.profiles.insert(digest, recorded.profile.permissions.clone());
                }
            }
            Event::Step(StepEvent::RequestSent(sent)) if sent.purpose == Purpose::Turn => {
                self.profile = Some(sent.agent_profile);
            }
            Event::Tool(ToolEvent::Called(called)) if !called.hosted => return self.called(record, called, blobs),
            Event::Tool(ToolEvent::Settled(settled)) => {
                let open = self.open.remove(&settled.call);
                return open.map(|open| self.finish(open, Some(settled), blobs)).into_iter().collect();
            }
            Event::Permission(PermissionEvent::Asked(asked)) => self.asked(record.seq, asked),
            Event::Permission(PermissionEvent::Replied(replied)) => self.replied(record.seq, replied),
            kinds!(Input, Context, Profile, Step, Tool, Compaction, Message, Files, Child, Erasure) => {}
        }
        Vec::new()
    }

    fn about_session(
        &mut self,
        event: &SessionEvent,
        blobs: &dyn Blobs,
        root: &dyn Fn(&str) -> PathBuf,
    ) -> Vec<EndedCall> {
        match event {
            SessionEvent::Created(created) => {
                self.foreign = created.origin.is_some();
                self.moved(&created.location.directory, root);
            }
            SessionEvent::Forked(forked) => {
                self.foreign = forked.origin.is_some();
                self.approved.clear();
                // What was open where the fork began never ends in it.
                return self.end(blobs);
            }
            SessionEvent::Moved(moved) => self.moved(&moved.location.directory, root),
            SessionEvent::Titled(_)
            | SessionEvent::AgentSwitched(_)
            | SessionEvent::ModelSwitched(_)
            | SessionEvent::TitleFailed(_)
            | SessionEvent::ProcessAttached(_) => {}
        }
        Vec::new()
    }

    fn moved(&mut self, directory: &str, root: &dyn Fn(&str) -> PathBuf) {
        self.place = SessionPlace::new(directory, root(directory));
    }

    fn called(&mut self, record: &Record<'_>, called: &ToolCalled, blobs: &dyn Blobs) -> Vec<EndedCall> {
        let input = called.input.read(blobs);
        let below = |path: &str| self.place.resource(path);
        let resources = input.as_ref().map(|input| resources_of(&called.name, input, &below)).unwrap_or_default();
        let outside = self.place.outside(called, input.as_ref(), blobs);
        let is_command = runs_commands(&called.name);
        let hosts = input.as_ref().map(|input| named_hosts(input, is_command)).unwrap_or_default();
        let call = AuditedCall {
            session: record.session,
            seq: record.seq,
            at: record.at,
            tool: beginning(&called.name),
            subject: beginning(&input.map(|input| subject(&input)).unwrap_or_default()),
            decisions: Vec::new(),
            confinement: is_command.then_some(CommandConfinement::Unknown),
            network: false,
            hosts,
            refused: false,
            put_back: Vec::new(),
            outside_project: outside.iter().take(NAMED).map(|path| beginning(path)).collect(),
        };
        let open = UnsettledCall { call, foreign: self.foreign, resources, questions: Vec::new() };
        let mut ended = Vec::new();
        // An id that comes twice in a damaged log: the first call has no end.
        if let Some(before) = self.open.insert(called.call.clone(), open) {
            ended.push(self.finish(before, None, blobs));
        }
        if self.open.len() > OPEN {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.call.seq).map(|(id, _)| id.clone());
            if let Some(open) = oldest.and_then(|id| self.open.remove(&id)) {
                ended.push(self.finish(open, None, blobs));
            }
        }
        ended
    }

    fn asked(&mut self, seq: Seq, asked: &PermissionAsked) {
        let Some(open) = asked.call.as_ref().and_then(|call| self.open.get_mut(call)) else { return };
        open.questions.push(asked.permission.clone());
        open.call.decisions.push(CallDecision {
            asked: Some(seq),
            replied: None,
            action: beginning(&asked.action),
            resources: asked.resources.iter().take(NAMED).map(|resource| beginning(resource)).collect(),
            outcome: CallOutcome::Unanswered,
            by: String::new(),
            rule: None,
            approved: None,
        });
    }

    fn replied(&mut self, seq: Seq, replied: &PermissionReplied) {
        let found = self.open.values_mut().find_map(|open| {
            let at = open.questions.iter().position(|question| *question == replied.permission)?;
            open.call.decisions.get_mut(at)
        });
        if let Some(decision) = found {
            decision.replied = Some(seq);
            decision.by = beginning(&replied.by);
            decision.outcome = match replied.reply {
                Reply::Once => CallOutcome::Allowed,
                Reply::Always => CallOutcome::AllowedAlways,
                Reply::Reject => CallOutcome::Rejected,
            };
            if replied.by == "rule" {
                let rules = RulesInForce { configured: &[], approved: &self.approved };
                let resource = decision.resources.first().map_or("*", String::as_str);
                let rule = rules.last(&decision.action, Some(resource));
                decision.rule = rule.map(|(rule, _)| rule.clone());
                decision.approved = rule.and_then(|(_, seq)| seq);
            }
        }
        self.approved.extend(replied.rules.iter().map(|rule| (seq, rule.clone())));
        self.approved.drain(..self.approved.len().saturating_sub(RULES));
    }

    /// What is still open has no end.
    pub fn end(&mut self, blobs: &dyn Blobs) -> Vec<EndedCall> {
        let open = std::mem::take(&mut self.open);
        open.into_values().map(|open| self.finish(open, None, blobs)).collect()
    }

    fn finish(&self, mut open: UnsettledCall, settled: Option<&ToolSettled>, blobs: &dyn Blobs) -> EndedCall {
        if !open.foreign {
            let configured = self.profile.and_then(|profile| self.profiles.get(&profile));
            let rules = RulesInForce { configured: configured.map_or(&[], Vec::as_slice), approved: &self.approved };
            let unasked = unasked(&open.call, &open.resources, rules, settled, blobs);
            open.call.decisions.extend(unasked);
            if open.call.confinement.is_some() {
                confine(&mut open.call, settled, blobs);
            }
        }
        if !could_send(&open.call) {
            open.call.hosts.clear();
        }
        EndedCall { call: open.call, foreign: open.foreign }
    }
}

/// What a call is about: its command, its file, or its input.
fn subject(input: &Value) -> String {
    let members = ["command", "cmd", "path", "file_path", "filePath", "pattern"];
    let text = members.iter().find_map(|member| input.get(*member)?.as_str());
    text.map_or_else(|| input.to_string(), str::to_owned)
}

/// The beginning of a text, as far as an audit shows it.
pub(super) fn beginning(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
