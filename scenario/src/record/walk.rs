//! Builds the script of a recorded session: the actions that lead to its events.

mod tools;
mod turn;

use super::context::{RecordedSources, order};
use super::expectation::Tolerances;
use super::run::{CallEnding, RecordedActivity};
use super::{RecordError, RecordedEvent, RecordedSession};
use annals_core::event::{ContextAdmitted, Event, FilesEvent, InputConfigured, InputEvent, MessageEvent, SessionEvent};
use annals_core::{AgentName, CallId, InputId, Seq, kinds};
use annals_projections::{Projection, SessionView};
use annals_runtime::settings::CompactionSettings;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use tools::RecordedTools;

/// The script so far.
pub(super) struct ScriptBuilder<'a> {
    recording: &'a RecordedSession,
    /// The views before the next event.
    view: SessionView,
    /// What inputs bring in addition to their texts; recorded right after their admission.
    configured: BTreeMap<InputId, InputConfigured>,
    sources: RecordedSources,
    tools: RecordedTools,
    script: Vec<Value>,
    run: Option<RecordedActivity>,
    update: Option<ContextAdmitted>,
    rejected: BTreeSet<CallId>,
    tolerances: Tolerances,
    limits: CompactionEvidence,
    /// The view before a prune, until the request that caused it is sent.
    unpruned: Option<SessionView>,
}

/// What the log reveals about the settings of compaction.
#[derive(Default)]
struct CompactionEvidence {
    automatic: bool,
    /// Whether a summary was made where old outputs could have been pruned.
    unpruned: bool,
    /// Set where the usual value leads to other compactions.
    keep_tokens: Option<u64>,
    /// The largest value under which summaries that failed are asked for.
    asked: Option<u64>,
    /// The agent that summarises, where it is not the session's.
    agent: Option<AgentName>,
    /// The start of the newest compaction.
    started: Seq,
    /// The size of the newest request of a turn in characters.
    newest: u64,
    /// The largest estimate of a request that was sent, and the smallest of one that was not, with its context limit.
    sent: u64,
    due: Option<(u64, u64)>,
}

/// The result.
pub(super) struct BuiltScript {
    pub script: Vec<Value>,
    pub tolerances: Tolerances,
    /// Permission actions with a question.
    pub asked: Vec<String>,
    /// The settings of compaction that lead to the same compactions.
    pub compaction: Value,
}

impl<'a> ScriptBuilder<'a> {
    pub fn new(recording: &'a RecordedSession, facts: &[RecordedEvent]) -> Self {
        Self {
            recording,
            view: SessionView::default(),
            configured: configured(facts),
            sources: RecordedSources::new(order(facts)),
            tools: RecordedTools::of(facts),
            script: Vec::new(),
            run: None,
            update: None,
            rejected: BTreeSet::new(),
            tolerances: Tolerances::default(),
            limits: CompactionEvidence::default(),
            unpruned: None,
        }
    }

    /// Adds the next event.
    pub fn take(&mut self, fact: &RecordedEvent) -> Result<(), RecordError> {
        self.fact(fact)?;
        self.view.apply(&fact.record(self.recording.session));
        Ok(())
    }

    fn fact(&mut self, fact: &RecordedEvent) -> Result<(), RecordError> {
        let blobs = self.recording.blobs.clone();
        match &fact.event {
            Event::Input(InputEvent::Admitted(admitted)) if admitted.attachments.is_empty() => {
                let (id, text) = (&admitted.input, admitted.text.resolve(blobs.as_ref()));
                let mut input = json!({ "id": id, "text": text, "delivery": admitted.delivery });
                if let Some(configured) = self.configured.get(id) {
                    let InputConfigured { system, tools, .. } = configured;
                    let system = system.as_ref().map(|system| system.resolve(blobs.as_ref()));
                    system.into_iter().for_each(|system| input["system"] = json!(system));
                    if !tools.is_empty() {
                        input["tools"] = json!(tools);
                    }
                }
                self.external(fact.seq, json!({ "admit": input }))?;
            }
            Event::Input(InputEvent::Withdrawn(withdrawn)) => {
                self.external(fact.seq, json!({ "cancel": withdrawn.input }))?;
            }
            Event::Message(MessageEvent::Pinned(pinned)) => {
                let user = self.user(fact.seq, pinned.message, "a pin of")?;
                self.external(fact.seq, json!({ "pin": { "user": user } }))?;
            }
            Event::Message(MessageEvent::Unpinned(unpinned)) => {
                let user = self.user(fact.seq, unpinned.message, "a pin of")?;
                self.external(fact.seq, json!({ "unpin": { "user": user } }))?;
            }
            Event::Session(SessionEvent::AgentSwitched(switched)) => {
                self.external(fact.seq, json!({ "agent": switched.agent }))?;
            }
            Event::Session(SessionEvent::ModelSwitched(switched)) => {
                self.external(fact.seq, json!({ "model": switched.model }))?;
            }
            Event::Session(SessionEvent::Moved(moved)) => {
                self.external(fact.seq, json!({ "move": moved.location.directory }))?;
                self.run.iter_mut().for_each(|run| run.moved = true);
            }
            Event::Files(FilesEvent::RevertStaged(staged)) => {
                let user = self.user(fact.seq, staged.first_removed, "a revert to")?;
                self.alone(json!({ "revert": { "to": { "user": user } } }));
            }
            Event::Files(FilesEvent::RevertCleared(_)) => self.alone(json!({ "revert": "clear" })),
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                if self.view.session.revert.is_none() {
                    let user = self.user(fact.seq, committed.first_removed, "a revert to")?;
                    self.alone(json!({ "revert": { "to": { "user": user } } }));
                }
                self.alone(json!({ "revert": "commit" }));
            }
            Event::Session(SessionEvent::Forked(_)) => self.forked(),
            // They change no expected view, or follow from the events around them.
            kinds!(
                Session(Created, ProcessAttached, Titled, TitleFailed),
                Input(Configured),
                Profile(AgentRecorded, ModelRecorded, ToolsRecorded, OptionsRecorded),
                Tool(Progressed),
                Permission(Asked),
                Context(InstructionDiscovered),
                Message(TodoUpdated, RedactionApplied, Edited, UnknownPart),
                Files(Captured, Summarised, RestoreBegun, RestoreAbandoned, DepartureBegun, DepartureEnded),
                Child(Started, Settled)
            ) => {}
            other => {
                if !self.turn_fact(fact)? {
                    return Err(self.recording.inexpressible(fact.seq, format!("`{}`", other.kind().name())));
                }
            }
        }
        Ok(())
    }

    /// An action of the user, during a turn or between two.
    fn external(&mut self, seq: Seq, action: Value) -> Result<(), RecordError> {
        match &mut self.run {
            Some(run) if run.attempts.is_empty() && run.promoted => {
                return Err(self.recording.inexpressible(seq, "an action while the sources were observed"));
            }
            Some(run) => run.external(action),
            None => self.script.push(action),
        }
        Ok(())
    }

    /// An action of the user that is only possible while nothing runs.
    fn alone(&mut self, action: Value) {
        self.close();
        self.script.push(action);
    }

    fn user(&self, seq: Seq, message: Seq, what: &str) -> Result<u64, RecordError> {
        let items = self.view.transcript.items.iter();
        let users = items.filter(|item| item.user && !self.view.transcript.is_removed(item.seq));
        let at = users.map(|item| item.seq).position(|user| user == message);
        at.map(|at| at as u64 + 1)
            .ok_or_else(|| self.recording.inexpressible(seq, format!("{what} an event that is not a user message")))
    }

    /// The session continues as a fork of the session so far.
    fn forked(&mut self) {
        let users = self.view.transcript.items.iter().filter(|item| item.user);
        let users = users.filter(|item| !self.view.transcript.is_removed(item.seq)).count();
        // An activity that was cut off before its first request is run in the first session and cut off again.
        let cut = self.run.as_ref().is_some_and(|run| run.attempts.is_empty());
        self.close();
        self.script.push(match cut {
            true => json!({ "fork": { "at": { "user": users + 1 }, "as": "recorded" } }),
            false => json!({ "fork": { "as": "recorded" } }),
        });
    }

    /// Ends the activity, if there is one.
    fn close(&mut self) {
        let Some(mut run) = self.run.take() else { return };
        if let Some(attempt) = run.open() {
            if !attempt.calls.iter().any(|made| made.ending == CallEnding::Open) {
                attempt.during.push(json!({ "crash": { "at": "during-stream" } }));
            }
            attempt.open = false;
        }
        self.results(&run);
        self.script.extend(run.actions(json!({ "run": "idle" })));
    }

    /// Adds the results of an activity to its tools, in the order of the calls.
    fn results(&mut self, run: &RecordedActivity) {
        for made in run.attempts.iter().flat_map(|attempt| &attempt.calls) {
            if let (Some(declared), Some(given)) = (made.declared, made.given()) {
                self.tools.gave(declared, given);
            }
            if made.ending == CallEnding::Open {
                // The process crashed in it: later calls never ran.
                break;
            }
        }
    }

    /// The complete script.
    pub fn finish(mut self) -> Result<BuiltScript, RecordError> {
        self.close();
        self.tolerances.values.append(&mut self.sources.tolerances);
        let compaction = self.limits.settings();
        let asked = self.tools.asked();
        let script = self.script.into_iter().map(|action| self.tools.resolve(action)).collect();
        Ok(BuiltScript { script, tolerances: self.tolerances, asked, compaction })
    }
}

/// What the inputs of a session bring in addition to their texts.
pub(super) fn configured(facts: &[RecordedEvent]) -> BTreeMap<InputId, InputConfigured> {
    let of = |fact: &RecordedEvent| match &fact.event {
        Event::Input(InputEvent::Configured(configured)) => Some((configured.input.clone(), configured.clone())),
        _ => None,
    };
    facts.iter().filter_map(of).collect()
}

impl CompactionEvidence {
    /// Settings under which the same requests are sent and the same ones compacted.
    fn settings(&self) -> Value {
        let usual = CompactionSettings::default();
        let fitting = |(due, context): (u64, u64)| {
            let limit = context.saturating_sub(usual.buffer.min(context / 4));
            match limit < due && self.sent <= limit {
                true => usual.buffer,
                false => context.saturating_sub(due.saturating_sub(1).max(self.sent)),
            }
        };
        let mut settings = json!({
            "auto": self.automatic, "prune": !self.unpruned, "buffer": self.due.map_or(usual.buffer, fitting),
            "keep_tokens": self.keep_tokens.or(self.asked).unwrap_or(usual.keep_tokens),
        });
        if let Some(agent) = &self.agent {
            settings["agent"] = json!(agent);
        }
        settings
    }
}
