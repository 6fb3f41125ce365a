//! The fold over one session: calls from their beginning to their end.

use super::call::{AuditedCall, CallDecision, CallOutcome, CommandConfinement};
use super::ended::{confine, unasked};
use super::network::{could_send, named_hosts};
use super::paths::SessionPlace;
use super::rules::{RulesInForce, resources_of};
use super::{SHOWN, SafetyCounts};
use annals_core::event::{
    MessageEvent, PermissionAsked, PermissionEvent, PermissionReplied, ProfileEvent, Purpose, Reply, Rule,
    SessionEvent, StepEvent, ToolCalled, ToolEvent, ToolSettled,
};
use annals_core::{Blobs, CallId, Digest, Event, PermissionId, Record, Seq, SessionId};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How many calls may be open at a time; the oldest is then taken for one without an end.
const OPEN: usize = 4_096;
/// How many resources and paths of a call are kept.
pub(super) const NAMED: usize = 16;

/// Tools that run commands, in several agents.
const SHELLS: [&str; 7] = ["bash", "shell", "exec_command", "shell_command", "local_shell", "local_shell_call", "exec"];

/// A call that has not ended.
struct UnsettledCall {
    call: AuditedCall,
    /// Who recorded it, if not this program.
    foreign: bool,
    /// Whether it counts.
    counts: bool,
    /// What it is judged by; none if that is not certain.
    resources: Vec<String>,
    questions: Vec<PermissionId>,
}

pub(super) struct SafetyFold<'a> {
    session: SessionId,
    inherited: bool,
    blobs: &'a dyn Blobs,
    root: &'a dyn Fn(&str) -> PathBuf,
    counts: &'a mut SafetyCounts,
    place: SessionPlace,
    foreign: bool,
    profiles: BTreeMap<Digest, Vec<Rule>>,
    profile: Option<Digest>,
    approved: Vec<(Seq, Rule)>,
    open: BTreeMap<CallId, UnsettledCall>,
}

impl<'a> SafetyFold<'a> {
    pub(super) fn new(
        session: SessionId,
        inherited: bool,
        blobs: &'a dyn Blobs,
        root: &'a dyn Fn(&str) -> PathBuf,
        counts: &'a mut SafetyCounts,
    ) -> Self {
        Self {
            session,
            inherited,
            blobs,
            root,
            counts,
            place: SessionPlace::default(),
            foreign: false,
            profiles: BTreeMap::new(),
            profile: None,
            approved: Vec::new(),
            open: BTreeMap::new(),
        }
    }

    pub(super) fn apply(&mut self, record: &Record<'_>) {
        let counts = self.inherited || record.session == self.session;
        match record.event {
            Event::Session(event) => self.about_session(event),
            Event::Profile(ProfileEvent::AgentRecorded(recorded)) => {
                if let Ok(digest) = recorded.profile.digest() {
                    self.profiles.insert(digest, recorded.profile.permissions.clone());
                }
            }
            Event::Step(StepEvent::RequestSent(sent)) => {
                if sent.purpose == Purpose::Turn {
                    self.profile = Some(sent.agent_profile);
                }
                if counts {
                    *self.counts.audit.requests.entry(sent.model.clone()).or_default() += 1;
                }
            }
            Event::Tool(ToolEvent::Called(called)) => self.called(record, called, counts),
            Event::Tool(ToolEvent::Settled(settled)) => self.settled(settled),
            Event::Permission(PermissionEvent::Asked(asked)) => self.asked(record.seq, asked),
            Event::Permission(PermissionEvent::Replied(replied)) => self.replied(record.seq, replied),
            Event::Message(MessageEvent::RedactionApplied(applied)) if counts => {
                for (kind, count) in &applied.counts {
                    let sum = self.counts.audit.redactions.entry(kind.clone()).or_default();
                    *sum = sum.saturating_add(*count);
                }
            }
            Event::Message(MessageEvent::ShellRan(_)) if counts => self.counts.audit.commands.by_user += 1,
            Event::Input(_)
            | Event::Context(_)
            | Event::Profile(_)
            | Event::Step(_)
            | Event::Tool(ToolEvent::Progressed(_))
            | Event::Compaction(_)
            | Event::Message(_)
            | Event::Files(_)
            | Event::Child(_)
            | Event::Erasure(_) => {}
        }
    }

    fn about_session(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Created(created) => {
                self.foreign = created.origin.is_some();
                self.moved(&created.location.directory);
            }
            SessionEvent::Forked(forked) => {
                self.foreign = forked.origin.is_some();
                self.approved.clear();
                // What was open where the fork began never ends in it.
                self.end();
            }
            SessionEvent::Moved(moved) => self.moved(&moved.location.directory),
            SessionEvent::Titled(_)
            | SessionEvent::AgentSwitched(_)
            | SessionEvent::ModelSwitched(_)
            | SessionEvent::TitleFailed(_)
            | SessionEvent::ProcessAttached(_) => {}
        }
    }

    fn moved(&mut self, directory: &str) {
        self.place = SessionPlace::new(directory, (self.root)(directory));
    }

    fn called(&mut self, record: &Record<'_>, called: &ToolCalled, counts: bool) {
        if called.hosted {
            self.counts.audit.hosted += u64::from(counts);
            return;
        }
        let input = called.input.read(self.blobs);
        let below = |path: &str| self.place.resource(path);
        let resources = input.as_ref().map(|input| resources_of(&called.name, input, &below)).unwrap_or_default();
        let outside = self.place.outside(called, input.as_ref(), self.blobs);
        let is_command = SHELLS.contains(&called.name.to_lowercase().as_str());
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
        let open = UnsettledCall { call, foreign: self.foreign, counts, resources, questions: Vec::new() };
        // An id that comes twice in a damaged log: the first call has no end.
        if let Some(before) = self.open.insert(called.call.clone(), open) {
            self.finish(before, None);
        }
        if self.open.len() > OPEN {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.call.seq).map(|(id, _)| id.clone());
            if let Some(open) = oldest.and_then(|id| self.open.remove(&id)) {
                self.finish(open, None);
            }
        }
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
    }

    fn settled(&mut self, settled: &ToolSettled) {
        if let Some(open) = self.open.remove(&settled.call) {
            self.finish(open, Some(settled));
        }
    }

    /// What is still open has no end.
    pub(super) fn end(&mut self) {
        for open in std::mem::take(&mut self.open).into_values() {
            self.finish(open, None);
        }
    }

    fn finish(&mut self, mut open: UnsettledCall, settled: Option<&ToolSettled>) {
        if !open.counts {
            return;
        }
        if open.foreign {
            self.counts.audit.not_recorded += 1;
        } else {
            let configured = self.profile.and_then(|profile| self.profiles.get(&profile));
            let rules = RulesInForce { configured: configured.map_or(&[], Vec::as_slice), approved: &self.approved };
            let unasked = unasked(&open.call, &open.resources, rules, settled, self.blobs);
            open.call.decisions.extend(unasked);
            if open.call.confinement.is_some() {
                confine(&mut open.call, settled, self.blobs);
            }
        }
        if !could_send(&open.call) {
            open.call.hosts.clear();
        }
        self.counts.call(open.call);
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
