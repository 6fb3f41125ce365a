//! One turn: boundary, request, answer, settlement (`docs/reference/turn.md`).
//!
//! ```text
//! prepare (boundary) ─► announce (request.sent) ─► exchange (attempts) ─► Turned
//!        ▲                    │ too large                 │ overflow
//!        └──── make room ◄────┴───────────────────────────┘
//! ```

mod announce;
mod authorise;
mod boundary;
mod calls;
pub(crate) mod compaction;
mod discovery;
mod epoch;
mod exchange;
mod files;
mod fragments;
mod promotion;
mod reply;
mod retry;
mod room;
mod shape;
pub(crate) mod single;
pub(crate) mod title;

pub(crate) use promotion::Promotion;
pub(crate) use retry::failure;
pub(crate) use shape::{Shape, cost};

use crate::lane::Lane;
use crate::outcome::{LogError, Outcome, RunError};
use crate::settings::LocationServices;
use crate::shared::Shared;
use crate::subagents::{as_child, limits_of};
use crate::tools::Limits;
use crate::tools::{Cancel, Cancellation};
use annals_core::event::{AgentProfile, Location};
use annals_core::{AgentName, ModelName};
use annals_projections::SessionView;
use announce::{Announced, Durable};
use exchange::Exchanged;
use room::Room;
use std::future::Future;
use std::sync::Arc;

/// What a run works with: one Session, at the Location where the run began.
pub(crate) struct Runner {
    pub(crate) shared: Arc<Shared>,
    pub(crate) lane: Arc<Lane>,
    pub(crate) location: Location,
    pub(crate) services: LocationServices,
    /// What the agents above a child are denied.
    pub(crate) limits: Limits,
    /// Whether another Session began this one.
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
    /// How the busy period ends.
    pub(crate) fn ended(self) -> Result<Outcome, RunError> {
        match self {
            Self::Interrupted => Ok(Outcome::Interrupted),
            Self::Failed(error) => Err(error),
        }
    }
}

/// Agent and model of a turn: those at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selected {
    pub(crate) agent: AgentName,
    pub(crate) model: ModelName,
}

impl Selected {
    /// What is selected now.
    pub(crate) fn of(view: &SessionView) -> Self {
        Self { agent: view.session.agent.clone(), model: view.session.model.clone() }
    }
}

/// A turn ended.
pub(crate) struct Turned {
    /// Whether the model waits for results.
    pub(crate) continues: bool,
    /// The step that it was.
    pub(crate) step: u32,
}

/// What a turn still has to do, and what it did, across its restarts.
struct Plan {
    promotion: Promotion,
    step: u32,
    selected: Option<Selected>,
    room: Room,
}

/// Takes one turn.
#[tracing::instrument(level = "debug", skip_all, fields(session = %runner.lane.session(), step))]
pub(crate) async fn turn(runner: &Runner, promotion: Promotion, step: u32) -> Result<Turned, Stop> {
    let mut plan = Plan { promotion, step, selected: None, room: Room::default() };
    loop {
        let shape = boundary::prepare(runner, &mut plan).await?;
        let request = match announce::announce(runner, &shape, &plan.room).await? {
            Announced::Sent(request) => request,
            Announced::Overtaken => continue,
            Announced::TooLarge { estimate } => {
                room::before_sending(runner, &shape, &mut plan.room, estimate).await?;
                continue;
            }
        };
        match exchange::exchange(runner, &shape, request).await? {
            Exchanged::Ended { continues } => return Ok(Turned { continues, step: plan.step }),
            Exchanged::Overflow(failed) => room::after_refusal(runner, &shape, &mut plan.room, failed).await?,
        }
    }
}

impl Runner {
    /// A run of a Session at its present Location.
    pub(crate) async fn new(shared: Arc<Shared>, lane: Arc<Lane>, cancel: Arc<Cancel>) -> Result<Self, LogError> {
        let view = lane.view().await?;
        // Only a damaged log has no Location; an empty one matches no Session that moves.
        let location = view.session.location.clone().unwrap_or(Location { directory: String::new(), workspace: None });
        let services = shared.ports.locations.at(&location);
        let cancellation = cancel.watch();
        let limits = limits_of(&shared, &view).await?;
        let is_child = view.session.parent.is_some();
        Ok(Self { shared, lane, location, services, limits, is_child, cancel, cancellation })
    }

    /// What an agent is in this Session.
    pub(crate) fn agent(&self, agent: &AgentName) -> Option<AgentProfile> {
        let profile = self.shared.ports.definitions.agent(agent);
        if self.is_child { profile.map(as_child) } else { profile }
    }

    /// The same as it speaks to the model of a turn.
    fn agent_on(&self, selected: &Selected) -> Option<AgentProfile> {
        let profile = self.shared.ports.definitions.agent_on(&selected.agent, &selected.model);
        if self.is_child { profile.map(as_child) } else { profile }
    }

    /// Ends the run if it was interrupted.
    pub(crate) fn goes_on(&self) -> Result<(), Stop> {
        if self.cancellation.is_cancelled() { Err(Stop::Interrupted) } else { Ok(()) }
    }

    /// Ends the run if the Session is not at the run's Location any more.
    pub(crate) fn stays(&self, view: &SessionView) -> Result<(), Stop> {
        let here = view.session.location.as_ref().is_none_or(|location| *location == self.location);
        if here { Ok(()) } else { Err(Stop::Interrupted) }
    }

    /// How a turn ends whose request does not hold any more. If a revert removed it, the drain continues with what is
    /// pending: the input whose admission committed the revert gets its turn.
    fn lost(&self, request: &Durable, view: &SessionView) -> Stop {
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
        // The work itself may have brought the interruption: what comes with it does not count.
        self.goes_on().map(|()| done)
    }
}
