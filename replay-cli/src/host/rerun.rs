//! A recorded Session, run again from a point in a fork of it.
//!
//! What a person did after that point is done again, in order: inputs are given, agents and models switched, compactions
//! asked for. Inputs that joined together are given together; one that joined in the middle of a turn is given when that
//! turn is done. In a recorded [`RecordedWorld`] no tool runs and nothing is looked at: calls give their recorded results, and
//! each boundary finds the context that was recorded there.

mod world;

pub use world::{RecordedWorld, UNBOUNDED};

use super::HostError;
use crate::error::CliError;
use annals_core::event::{
    CompactionEvent, CompactionReason, InputAdmitted, InputEvent, ProfileEvent, Purpose, SessionEvent, StepEvent,
    ToolDefinition, ToolEvent, ToolSettled,
};
use annals_core::{AgentName, Blobs, CallId, Event, InputId, ModelName, Record, Seq, SessionId, Snapshot};
use annals_inspect::reader::Reader;
use annals_projections::{Projection, SessionView};
use annals_runtime::NewInput;
use std::collections::BTreeMap;

/// One thing that a person did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserAction {
    /// Gave inputs that joined together.
    Gave(Vec<NewInput>),
    /// Selected an agent.
    Agent(AgentName),
    /// Selected a model.
    Model(ModelName),
    /// Asked for a compaction.
    Compaction,
}

/// What happened in a Session from a point on.
#[derive(Debug, Default)]
pub struct Recorded {
    /// The first Seq that is not inherited by a fork that does it again.
    pub cut: Seq,
    /// What a person did, in order.
    pub actions: Vec<UserAction>,
    /// The Context Snapshot at each boundary, in order.
    pub snapshots: Vec<Snapshot>,
    /// The tools that were offered last.
    pub tools: Vec<ToolDefinition>,
    /// Each call with its name and input, and how it was settled.
    pub calls: Vec<(String, String, ToolSettled)>,
}

/// Reads what happened in a Session from the user message at `from` on, or from its first one.
///
/// # Errors
/// When the log cannot be read, or there is no user message there.
pub async fn recorded(reader: &Reader, session: SessionId, from: Option<Seq>) -> Result<Recorded, CliError> {
    let until = reader.until(session, None).await?;
    let whole = reader.view(session, until).await?;
    let wanted = from.unwrap_or_default();
    let stands = |seq: Seq| !whole.transcript.is_removed(seq);
    let mut reading = ActionReader {
        blobs: reader.blobs(),
        wanted,
        view: SessionView::default(),
        found: Recorded::default(),
        begun: false,
        admitted: BTreeMap::new(),
        called: BTreeMap::new(),
        joined: None,
    };
    reader.each(session, Seq::ZERO, until, |record| reading.take(record, &stands)).await?;
    let found = reading.found;
    if !found.actions.iter().any(|action| matches!(action, UserAction::Gave(_))) {
        return Err(HostError::NothingToRerun { session, from: wanted }.into());
    }
    Ok(found)
}

struct ActionReader<'a> {
    blobs: &'a dyn Blobs,
    wanted: Seq,
    view: SessionView,
    found: Recorded,
    begun: bool,
    admitted: BTreeMap<InputId, InputAdmitted>,
    called: BTreeMap<CallId, (String, String)>,
    /// Where the Batch of the last promotion began.
    joined: Option<Seq>,
}

impl ActionReader<'_> {
    fn take(&mut self, record: &Record<'_>, stands: &impl Fn(Seq) -> bool) {
        if let Event::Input(InputEvent::Admitted(admitted)) = record.event {
            self.admitted.insert(admitted.input.clone(), admitted.clone());
        }
        if let Event::Input(InputEvent::Promoted(promoted)) = record.event
            && record.seq >= self.wanted
            && stands(record.seq)
            && let Some(admitted) = self.admitted.remove(&promoted.input)
        {
            if !self.begun {
                self.begun = true;
                self.found.cut = record.seq;
            }
            self.gave(record.seq, admitted);
        }
        if self.begun && stands(record.seq) {
            self.later(record);
        }
        if let Event::Profile(ProfileEvent::ToolsRecorded(recorded)) = record.event {
            self.found.tools = recorded.tools.clone();
        }
        self.view.apply(record);
    }

    fn gave(&mut self, seq: Seq, admitted: InputAdmitted) {
        let InputAdmitted { text, attachments, delivery, .. } = admitted;
        let text = text.resolve(self.blobs).into_owned();
        let input = NewInput { id: None, text, attachments, delivery };
        let together = self.joined.is_some_and(|joined| joined.plus(1) == seq);
        match self.found.actions.last_mut() {
            Some(UserAction::Gave(inputs)) if together => inputs.push(input),
            _ => self.found.actions.push(UserAction::Gave(vec![input])),
        }
        self.joined = Some(seq);
    }

    fn later(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Session(SessionEvent::AgentSwitched(switched)) => {
                self.found.actions.push(UserAction::Agent(switched.agent.clone()));
            }
            Event::Session(SessionEvent::ModelSwitched(switched)) => {
                self.found.actions.push(UserAction::Model(switched.model.clone()));
            }
            Event::Compaction(CompactionEvent::Started(started)) if started.reason == CompactionReason::Manual => {
                self.found.actions.push(UserAction::Compaction);
            }
            // A boundary that ended in a compaction or in pruning was followed by another one.
            Event::Compaction(CompactionEvent::Started(started)) if started.reason == CompactionReason::Auto => {
                self.boundary();
            }
            Event::Compaction(CompactionEvent::ToolOutputsPruned(_)) => self.boundary(),
            Event::Step(StepEvent::RequestSent(sent)) if sent.purpose == Purpose::Turn && sent.attempt == 1 => {
                self.boundary();
            }
            Event::Tool(ToolEvent::Called(called)) if !called.hosted => {
                let input = called.input.0.resolve(self.blobs).into_owned();
                self.called.insert(called.call.clone(), (called.name.clone(), input));
            }
            Event::Tool(ToolEvent::Settled(settled)) => {
                if let Some((name, input)) = self.called.remove(&settled.call) {
                    self.found.calls.push((name, input, (**settled).clone()));
                }
            }
            _ => {}
        }
    }

    fn boundary(&mut self) {
        self.found.snapshots.push(self.view.epochs.snapshot());
    }
}
