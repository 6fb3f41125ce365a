//! A recorded session, run again from a point in a fork of it.
//!
//! The user's actions after that point are repeated, in order: inputs are given, agents and models switched, compactions
//! asked for. Inputs that joined together are given together; one that joined in the middle of a turn is given when that
//! turn is done. In a recorded [`RecordedWorld`] no tool runs and nothing is looked at: calls give their recorded results, and
//! each boundary finds the context that was recorded there.

mod world;

pub use world::{RecordedWorld, UNBOUNDED};

use crate::host::RunGoal;
use crate::outcome::Refusal;
use crate::session::{NewInput, Session};
use annals_core::event::{
    CompactionEvent, CompactionReason, InputAdmitted, InputConfigured, InputEvent, ProfileEvent, Purpose, SessionEvent,
    StepEvent, ToolDefinition, ToolEvent, ToolSettled,
};
use annals_core::{AgentName, Blobs, CallId, Event, InputId, ModelName, Record, Seq, SessionId, Snapshot, kinds};
use annals_projections::{Projection, SessionView};
use annals_store::views::Views;
use annals_store::{EventLog, ReadError, Slice};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One action of the user.
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

impl UserAction {
    /// Does it in `session`; returns what to run next, or `None` for an action that leads to no run.
    pub async fn begin(&self, session: &Session) -> Result<Option<RunGoal>, Refusal> {
        match self {
            Self::Gave(inputs) => {
                for input in inputs {
                    session.admit(input.clone()).await?;
                }
                Ok(Some(RunGoal::Answer))
            }
            Self::Agent(agent) => {
                session.switch_agent(agent.clone()).await?;
                Ok(None)
            }
            Self::Model(model) => {
                session.switch_model(model.clone()).await?;
                Ok(None)
            }
            Self::Compaction => Ok(Some(RunGoal::Compaction)),
        }
    }
}

/// A session cannot be run again.
#[derive(Debug, thiserror::Error)]
pub enum RerunError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The recorded session holds no input to be given again.
    #[error("session {session} has no user message at event {from} or later; nothing to rerun")]
    NoUserMessage {
        /// The session.
        session: SessionId,
        /// From where.
        from: Seq,
    },
}

/// What happened in a session from a point on.
#[derive(Debug, Default)]
pub struct RecordedRun {
    /// The first Seq that is not inherited by a fork that does it again.
    pub cut: Seq,
    /// The actions of the user, in order.
    pub actions: Vec<UserAction>,
    /// The Context Snapshot at each boundary, in order.
    pub snapshots: Vec<Snapshot>,
    /// The tools that were offered last.
    pub tools: Vec<ToolDefinition>,
    /// Each call with its name and input, and how it was settled.
    pub calls: Vec<(String, String, ToolSettled)>,
}

impl RecordedRun {
    /// Whether a call with this input was made in the recorded session.
    pub fn has_call(&self, tool: &str, input: &str) -> bool {
        self.calls.iter().any(|(name, recorded, _)| name == tool && recorded == input)
    }

    /// Reads what happened in a session from the user message at `from` on, or from its first one.
    ///
    /// # Errors
    /// When the log cannot be read, or there is no user message at `from` or later.
    pub async fn read(log: &Arc<dyn EventLog>, session: SessionId, from: Option<Seq>) -> Result<Self, RerunError> {
        let until = log.head(session).await?.ok_or(ReadError::NoSession(session))?.next;
        let (whole, _) = Views::new(log.clone(), None).whole(session, until).await?;
        let from = from.unwrap_or_default();
        let remains = |seq: Seq| !whole.transcript.is_removed(seq);
        let mut reading = ActionReader {
            blobs: &*log.blobs(),
            from,
            view: SessionView::default(),
            found: Self::default(),
            begun: false,
            admitted: BTreeMap::new(),
            configured: BTreeMap::new(),
            called: BTreeMap::new(),
            joined: None,
            unanswered: false,
        };
        let mut pages = log.pages(session, Seq::ZERO..until);
        while let Some(slices) = pages.next_page().await? {
            slices.iter().flat_map(Slice::records).for_each(|record| reading.take(&record, &remains));
        }
        let found = reading.found;
        if !found.actions.iter().any(|action| matches!(action, UserAction::Gave(_))) {
            return Err(RerunError::NoUserMessage { session, from });
        }
        Ok(found)
    }
}

struct ActionReader<'a> {
    blobs: &'a dyn Blobs,
    from: Seq,
    view: SessionView,
    found: RecordedRun,
    begun: bool,
    admitted: BTreeMap<InputId, InputAdmitted>,
    configured: BTreeMap<InputId, InputConfigured>,
    called: BTreeMap<CallId, (String, String)>,
    /// Where the batch of the last promotion began.
    joined: Option<Seq>,
    /// Whether the newest request of a turn has no answer yet, so that what follows is what its refusal led to.
    unanswered: bool,
}

impl ActionReader<'_> {
    fn take(&mut self, record: &Record<'_>, remains: &impl Fn(Seq) -> bool) {
        if let Event::Input(InputEvent::Admitted(admitted)) = record.event {
            self.admitted.insert(admitted.input.clone(), admitted.clone());
        }
        if let Event::Input(InputEvent::Configured(configured)) = record.event {
            self.configured.insert(configured.input.clone(), configured.clone());
        }
        if let Event::Input(InputEvent::Promoted(promoted)) = record.event
            && record.seq >= self.from
            && remains(record.seq)
            && let Some(admitted) = self.admitted.remove(&promoted.input)
        {
            if !self.begun {
                self.begun = true;
                self.found.cut = record.seq;
            }
            self.gave(record.seq, admitted);
        }
        if self.begun && remains(record.seq) {
            self.later(record);
        }
        if let Event::Profile(ProfileEvent::ToolsRecorded(recorded)) = record.event {
            self.found.tools = recorded.tools.clone();
        }
        self.view.apply(record);
    }

    fn gave(&mut self, seq: Seq, admitted: InputAdmitted) {
        let InputAdmitted { input, text, attachments, delivery } = admitted;
        let text = text.resolve(self.blobs).into_owned();
        let (system, tools) = match self.configured.remove(&input) {
            Some(InputConfigured { system, tools, .. }) => (system, tools),
            None => (None, BTreeMap::new()),
        };
        let system = system.map(|system| system.resolve(self.blobs).into_owned());
        let input = NewInput { id: None, text, attachments, delivery, system, tools };
        let together = self.joined.is_some_and(|joined| joined.plus(1) == seq);
        match self.found.actions.last_mut() {
            Some(UserAction::Gave(inputs)) if together => inputs.push(input),
            _ => self.found.actions.push(UserAction::Gave(vec![input])),
        }
        self.joined = Some(seq);
    }

    fn later(&mut self, record: &Record<'_>) {
        match record.event {
            Event::Session(event) => match event {
                SessionEvent::AgentSwitched(switched) => {
                    self.found.actions.push(UserAction::Agent(switched.agent.clone()));
                }
                SessionEvent::ModelSwitched(switched) => {
                    self.found.actions.push(UserAction::Model(switched.model.clone()));
                }
                SessionEvent::Created(_)
                | SessionEvent::Forked(_)
                | SessionEvent::Titled(_)
                | SessionEvent::Moved(_)
                | SessionEvent::TitleFailed(_)
                | SessionEvent::ProcessAttached(_) => {}
            },
            Event::Compaction(event) => match event {
                CompactionEvent::Started(started) => match started.reason {
                    CompactionReason::Manual => self.found.actions.push(UserAction::Compaction),
                    CompactionReason::Auto | CompactionReason::Overflow | CompactionReason::Unknown => self.round(),
                },
                CompactionEvent::ToolOutputsPruned(_)
                | CompactionEvent::ToolOutputsReduced(_)
                | CompactionEvent::CallsReduced(_) => self.round(),
                CompactionEvent::Ended(_)
                | CompactionEvent::Completed(_)
                | CompactionEvent::Failed(_)
                | CompactionEvent::Undone(_) => {}
            },
            Event::Step(event) => match event {
                StepEvent::RequestSent(sent) => {
                    if sent.purpose == Purpose::Turn && sent.attempt == 1 {
                        self.boundary();
                    }
                    self.unanswered |= sent.purpose == Purpose::Turn;
                }
                // A failure without a request is that of one that was too large to be sent.
                StepEvent::Started(_) => self.round(),
                StepEvent::Ended(_)
                | StepEvent::Failed(_)
                | StepEvent::RetryScheduled(_)
                | StepEvent::TextEnded(_)
                | StepEvent::ReasoningEnded(_)
                | StepEvent::RequestRecorded(_)
                | StepEvent::AnswerRecorded(_) => {}
            },
            Event::Tool(event) => self.tool(event),
            // Inputs are read where they are promoted; the rest follows from what is done again.
            kinds!(Input, Context, Profile, Permission, Message, Files, Child, Erasure) => {}
        }
    }

    fn tool(&mut self, event: &ToolEvent) {
        match event {
            ToolEvent::Called(called) => {
                if !called.hosted {
                    let input = called.input.0.resolve(self.blobs).into_owned();
                    self.called.insert(called.call.clone(), (called.name.clone(), input));
                }
            }
            ToolEvent::Settled(settled) => {
                if let Some((name, input)) = self.called.remove(&settled.call) {
                    self.found.calls.push((name, input, (**settled).clone()));
                }
            }
            ToolEvent::Progressed(_) => {}
        }
    }

    /// A boundary that led to no request made the request smaller instead, or failed. What follows a request has the
    /// boundary of that.
    fn round(&mut self) {
        if !std::mem::take(&mut self.unanswered) {
            self.boundary();
        }
    }

    fn boundary(&mut self) {
        self.found.snapshots.push(self.view.epochs.snapshot());
    }
}
