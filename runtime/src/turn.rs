//! One turn: boundary, request, answer, settlement (`docs/reference/turn.md`).
//!
//! ```text
//! prepare (boundary) ─► record_request (request.sent) ─► exchange (attempts) ─► TurnEnd
//!        ▲                    │ too large                       │ overflow
//!        └── one round ◄──────┴─────────────────────────────────┘   (context_budget)
//! ```

mod answer;
mod authorise;
mod boundary;
mod calls;
pub(crate) mod compaction;
mod context_budget;
mod discovery;
mod epoch;
mod exchange;
mod files;
mod fragments;
pub(crate) mod one_shot;
mod promotion;
mod record_request;
mod request_profile;
mod retry;
mod small_window;
pub(crate) mod title;

pub(crate) use promotion::Promotion;
pub(crate) use request_profile::{RequestProfile, cost};
pub(crate) use retry::failure;

use crate::lane::Lane;
use crate::outcome::{LogError, Outcome, RunError};
use crate::settings::LocationServices;
use crate::state::RuntimeState;
use crate::subagents::{as_child, limits_of};
use crate::tools::InheritedDenials;
use crate::tools::{Cancel, Cancellation};
use annals_core::event::{AgentProfile, Location};
use annals_core::{AgentName, ModelName};
use annals_projections::SessionView;
use context_budget::{ContextBudget, NextStep};
use exchange::ExchangeEnd;
use record_request::{RecordedRequest, RequestDecision};
use std::future::Future;
use std::sync::Arc;

/// The context of a run: one session, at the location where the run began.
pub(crate) struct Runner {
    pub(crate) shared: Arc<RuntimeState>,
    pub(crate) lane: Arc<Lane>,
    pub(crate) location: Location,
    pub(crate) services: LocationServices,
    /// What the agents above a child are denied.
    pub(crate) limits: InheritedDenials,
    /// Whether another session began this one.
    is_child: bool,
    /// Ends the run: what a declined permission does, and an interruption from outside.
    pub(crate) cancel: Arc<Cancel>,
    pub(crate) cancellation: Cancellation,
}

/// Why a run ends before its work is done.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It was interrupted, declined or overtaken.
    Interrupted,
    /// It failed.
    Failed(RunError),
}

impl<E: Into<RunError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Stop {
    /// The result of the busy period.
    pub(crate) fn ended(self) -> Result<Outcome, RunError> {
        match self {
            Self::Interrupted => Ok(Outcome::Interrupted),
            Self::Failed(error) => Err(error),
        }
    }
}

/// Agent and model of a turn: those selected at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selected {
    pub(crate) agent: AgentName,
    pub(crate) model: ModelName,
}

impl Selected {
    /// The present selection.
    pub(crate) fn of(view: &SessionView) -> Self {
        Self { agent: view.session.agent.clone(), model: view.session.model.clone() }
    }
}

pub(crate) struct TurnEnd {
    /// Whether the model waits for results.
    pub(crate) continues: bool,
    /// The step that it was.
    pub(crate) step: u32,
}

/// The state of a turn across restarts of its boundary.
struct TurnState {
    promotion: Promotion,
    step: u32,
    selected: Option<Selected>,
    budget: ContextBudget,
    /// The number of the next attempt: more than one after an answer that broke off and made the request too large.
    attempt: u32,
}

/// Takes one turn.
#[tracing::instrument(level = "debug", skip_all, fields(session = %runner.lane.session(), step))]
pub(crate) async fn turn(runner: &Runner, promotion: Promotion, step: u32) -> Result<TurnEnd, Stop> {
    let ended = taken(runner, promotion, step).await;
    if ended.is_err()
        && let Err(error) = runner.lane.append_staged().await
    {
        // The inputs stay pending.
        tracing::warn!(session = %runner.lane.session(), %error, "what a boundary decided was not recorded");
    }
    ended
}

async fn taken(runner: &Runner, promotion: Promotion, step: u32) -> Result<TurnEnd, Stop> {
    let mut state = TurnState { promotion, step, selected: None, budget: ContextBudget::default(), attempt: 1 };
    loop {
        let profile = boundary::prepare(runner, &mut state).await?;
        let Some(request) = recorded(runner, &profile, &mut state).await? else { continue };
        match exchange::exchange(runner, &profile, request).await? {
            ExchangeEnd::Ended { continues } => return Ok(TurnEnd { continues, step: state.step }),
            ExchangeEnd::Outgrown { attempt } => {
                state.budget.answered();
                state.attempt = attempt;
            }
            ExchangeEnd::Overflow(failed) => {
                state.attempt = 1;
                context_budget::after_refusal(runner, &profile, &mut state.budget, failed).await?;
            }
        }
    }
}

/// Records the request of a turn; `None` when the boundary starts over.
async fn recorded(
    runner: &Runner,
    profile: &RequestProfile,
    state: &mut TurnState,
) -> Result<Option<RecordedRequest>, Stop> {
    loop {
        match record_request::record_request(runner, profile, &state.budget, state.attempt).await? {
            RequestDecision::Sent(request) => return Ok(Some(request)),
            RequestDecision::Overtaken => return Ok(None),
            RequestDecision::TooLarge(request) => {
                match context_budget::before_sending(runner, profile, &mut state.budget, &request).await? {
                    NextStep::StartOver => return Ok(None),
                    NextStep::SendAnyway => {}
                }
            }
        }
    }
}

impl Runner {
    /// A run of a session at its present location.
    pub(crate) async fn new(shared: Arc<RuntimeState>, lane: Arc<Lane>, cancel: Arc<Cancel>) -> Result<Self, LogError> {
        let view = lane.view().await?;
        // Only a damaged log has no location; an empty one matches no session that moves.
        let location = view.session.location.clone().unwrap_or(Location { directory: String::new(), workspace: None });
        let services = shared.ports.locations.at(&location);
        let cancellation = cancel.watch();
        let limits = limits_of(&shared, &view).await?;
        let is_child = view.session.parent.is_some();
        Ok(Self { shared, lane, location, services, limits, is_child, cancel, cancellation })
    }

    /// The profile of an agent in this session.
    pub(crate) fn agent(&self, agent: &AgentName) -> Option<AgentProfile> {
        self.as_here(agent, self.shared.ports.definitions.agent(agent))
    }

    /// The profile of the selected agent for the selected model.
    fn agent_on(&self, selected: &Selected) -> Option<AgentProfile> {
        self.as_here(&selected.agent, self.shared.ports.definitions.agent_on(&selected.agent, &selected.model))
    }

    fn as_here(&self, agent: &AgentName, profile: Option<AgentProfile>) -> Option<AgentProfile> {
        match self.is_child {
            true => profile.map(|profile| as_child(profile, &self.shared.ports.definitions.own_rules(agent))),
            false => profile,
        }
    }

    /// Ends the run if it was interrupted.
    pub(crate) fn check_not_interrupted(&self) -> Result<(), Stop> {
        if self.cancellation.is_cancelled() { Err(Stop::Interrupted) } else { Ok(()) }
    }

    /// Ends the run if the session is not at the run's location any more.
    pub(crate) fn check_location(&self, view: &SessionView) -> Result<(), Stop> {
        let here = view.session.location.as_ref().is_none_or(|location| *location == self.location);
        if here { Ok(()) } else { Err(Stop::Interrupted) }
    }

    /// The end of a turn whose request is no longer current. If a revert removed it, the run continues with what is pending:
    /// the input whose admission committed the revert gets its turn.
    fn superseded(&self, request: &RecordedRequest, view: &SessionView) -> Stop {
        if request.is_removed(view) {
            self.cancel.overtake();
        }
        Stop::Interrupted
    }

    /// Waits for something that an interruption may drop.
    pub(crate) async fn unless_interrupted<T>(&self, work: impl Future<Output = T>) -> Result<T, Stop> {
        let done = tokio::select! {
            biased;
            () = self.cancellation.cancelled() => return Err(Stop::Interrupted),
            done = work => done,
        };
        // The work itself may have caused the interruption: its result does not count then.
        self.check_not_interrupted().map(|()| done)
    }
}
