//! The walk through a recorded log: from facts to the actions that make them happen.

mod tools;
mod turn;

use super::context::{RecordedSources, order};
use super::expectation::Tolerances;
use super::run::{CallEnding, RecordedActivity};
use super::{RecordError, RecordedEvent, RecordedSession};
use annals_core::event::{
    ChildEvent, ContextAdmitted, ContextEvent, Event, FilesEvent, InputEvent, MessageEvent, PermissionEvent,
    ProfileEvent, SessionEvent, ToolEvent,
};
use annals_core::{CallId, Seq};
use annals_projections::{Projection, SessionView};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tools::RecordedTools;

/// Where the walk is.
pub(super) struct ScriptBuilder<'a> {
    recording: &'a RecordedSession,
    /// Everything before the fact that is taken next.
    view: SessionView,
    sources: RecordedSources,
    tools: RecordedTools,
    script: Vec<Value>,
    run: Option<RecordedActivity>,
    told: Option<ContextAdmitted>,
    /// Calls that the user rejected.
    rejected: BTreeSet<CallId>,
    tolerances: Tolerances,
    limits: CompactionEvidence,
    /// The view before a prune, until the request that made it due is sent.
    unpruned: Option<SessionView>,
}

/// What the log shows of the settings of compaction.
#[derive(Default)]
struct CompactionEvidence {
    automatic: bool,
    overflow: bool,
    pruned: bool,
    keep_tokens: u64,
    /// The largest estimate of a request that was sent, and the smallest of one that was not, with its context limit.
    sent: u64,
    due: Option<(u64, u64)>,
}

/// What the walk found.
pub(super) struct BuiltScript {
    pub script: Vec<Value>,
    pub tolerances: Tolerances,
    /// Permission actions that were ever asked.
    pub asked: Vec<String>,
    /// The settings of compaction that lead to the same compactions.
    pub compaction: Value,
}

impl<'a> ScriptBuilder<'a> {
    pub fn new(recording: &'a RecordedSession, facts: &[RecordedEvent]) -> Self {
        Self {
            recording,
            view: SessionView::default(),
            sources: RecordedSources::new(order(facts)),
            tools: RecordedTools::of(facts),
            script: Vec::new(),
            run: None,
            told: None,
            rejected: BTreeSet::new(),
            tolerances: Tolerances::default(),
            limits: CompactionEvidence::default(),
            unpruned: None,
        }
    }

    /// Takes in the next fact.
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
                self.external(fact.seq, json!({ "admit": { "id": id, "text": text, "delivery": admitted.delivery } }))?;
            }
            Event::Input(InputEvent::Withdrawn(withdrawn)) => {
                self.external(fact.seq, json!({ "cancel": withdrawn.input }))?;
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
                let user = self.user(fact.seq, staged.first_removed)?;
                self.alone(json!({ "revert": { "to": { "user": user } } }));
            }
            Event::Files(FilesEvent::RevertCleared(_)) => self.alone(json!({ "revert": "clear" })),
            Event::Files(FilesEvent::RevertCommitted(committed)) => {
                if self.view.session.revert.is_none() {
                    let user = self.user(fact.seq, committed.first_removed)?;
                    self.alone(json!({ "revert": { "to": { "user": user } } }));
                }
                self.alone(json!({ "revert": "commit" }));
            }
            Event::Session(SessionEvent::Forked(_)) => self.forked(),
            // They shape no view that is expected, or are told by the facts around them.
            Event::Session(SessionEvent::Created(_))
            | Event::Session(SessionEvent::Titled(_))
            | Event::Profile(ProfileEvent::AgentRecorded(_))
            | Event::Profile(ProfileEvent::ModelRecorded(_))
            | Event::Profile(ProfileEvent::ToolsRecorded(_))
            | Event::Profile(ProfileEvent::OptionsRecorded(_))
            | Event::Tool(ToolEvent::Progressed(_))
            | Event::Permission(PermissionEvent::Asked(_))
            | Event::Context(ContextEvent::InstructionDiscovered(_))
            | Event::Message(MessageEvent::TodoUpdated(_))
            | Event::Message(MessageEvent::RedactionApplied(_))
            | Event::Session(SessionEvent::TitleFailed(_))
            | Event::Files(FilesEvent::Captured(_))
            | Event::Files(FilesEvent::Summarised(_))
            | Event::Files(FilesEvent::RestoreBegun(_))
            | Event::Files(FilesEvent::RestoreAbandoned(_))
            | Event::Files(FilesEvent::DepartureBegun(_))
            | Event::Files(FilesEvent::DepartureEnded(_))
            | Event::Child(ChildEvent::Started(_))
            | Event::Child(ChildEvent::Settled(_)) => {}
            other => {
                if !self.turn_fact(fact)? {
                    return Err(self.recording.untold(fact.seq, format!("`{}`", other.kind().name())));
                }
            }
        }
        Ok(())
    }

    /// Something that a person did while a turn ran, or between two.
    fn external(&mut self, seq: Seq, action: Value) -> Result<(), RecordError> {
        match &mut self.run {
            Some(run) if run.attempts.is_empty() && run.promoted => {
                return Err(self.recording.untold(seq, "what happened while the sources were observed"));
            }
            Some(run) => run.external(action),
            None => self.script.push(action),
        }
        Ok(())
    }

    /// Something that a person does only when nothing runs.
    fn alone(&mut self, action: Value) {
        self.close();
        self.script.push(action);
    }

    fn user(&self, seq: Seq, message: Seq) -> Result<u64, RecordError> {
        let items = self.view.transcript.items.iter();
        let users = items.filter(|item| item.user && !self.view.transcript.is_removed(item.seq));
        let at = users.map(|item| item.seq).position(|user| user == message);
        at.map(|at| at as u64 + 1).ok_or_else(|| self.recording.untold(seq, "a revert to what is no user message"))
    }

    /// The log goes on as a fork of what was told so far.
    fn forked(&mut self) {
        let users = self.view.transcript.items.iter().filter(|item| item.user);
        let users = users.filter(|item| !self.view.transcript.is_removed(item.seq)).count();
        // An activity that was cut off before its first request is run in the first Session and cut off again.
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

    /// What the tools gave to the calls of an activity, in the order of the calls.
    fn results(&mut self, run: &RecordedActivity) {
        for made in run.attempts.iter().flat_map(|attempt| &attempt.calls) {
            if let (Some(declared), Some(given)) = (made.declared, made.given()) {
                self.tools.gave(declared, given);
            }
            if made.ending == CallEnding::Open {
                // The process died in it: those after it never ran.
                break;
            }
        }
    }

    /// The whole script, and what was found on the way.
    pub fn finish(mut self) -> Result<BuiltScript, RecordError> {
        self.close();
        self.tolerances.values.append(&mut self.sources.tolerances);
        let compaction = self.limits.settings();
        let asked = self.tools.asked();
        let script = self.script.into_iter().map(|action| self.tools.resolve(action)).collect();
        Ok(BuiltScript { script, tolerances: self.tolerances, asked, compaction })
    }
}

impl CompactionEvidence {
    /// Settings under which the same requests are sent and the same ones compacted.
    fn settings(&self) -> Value {
        let buffer = match self.due {
            Some((estimate, context)) => context.saturating_sub(estimate.saturating_sub(1).max(self.sent)),
            None => 0,
        };
        json!({
            "auto": self.automatic || self.overflow, "prune": self.pruned, "buffer": buffer,
            "keep_tokens": self.keep_tokens,
        })
    }
}
