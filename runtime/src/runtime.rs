//! The runtime: Sessions, and what runs them.

use crate::Boxed;
use crate::background::Background;
use crate::bus::Bus;
use crate::coordinator::{Coordinator, JobRunner, RunJob, RunResult};
use crate::drain::{drain, resume};
use crate::editing::{EditorPorts, EditorState};
use crate::guarded::guarded;
use crate::outcome::{LogError, MissingItem, Refusal};
use crate::process::ProcessRecorder;
use crate::session::{Session, SessionEditor};
use crate::settings::{Ports, Settings};
use crate::state::{Halting, Runtime, RuntimeState};
use crate::titles::Titles;
use crate::tools::Cancel;
use crate::turn::Runner;
use crate::turn::compaction::compact;
use annals_core::event::{Location, Origin, Parent, Policy, SessionCreated};
use annals_core::{AgentName, ModelName, Seq, SessionId};
use annals_store::Draft;
use std::sync::{Arc, Mutex};

/// The initial state of a session.
#[derive(Clone, Debug)]
pub struct NewSession {
    /// Its id; chosen by the id port without one.
    pub id: Option<SessionId>,
    /// Where it works.
    pub location: Location,
    /// The selected agent.
    pub agent: AgentName,
    /// The selected model.
    pub model: ModelName,
    /// What switches do to its Context Epoch.
    pub policy: Policy,
    /// Its title.
    pub title: Option<String>,
    /// The session and call that begin it, if it is a child.
    pub parent: Option<Parent>,
    /// Where it comes from, if it is imported.
    pub origin: Option<Origin>,
}

impl NewSession {
    /// A Session of the policy `keep` with an id from the id port.
    pub fn at(directory: impl Into<String>, agent: impl Into<AgentName>, model: impl Into<ModelName>) -> Self {
        Self {
            id: None,
            location: Location { directory: directory.into(), workspace: None },
            agent: agent.into(),
            model: model.into(),
            policy: Policy::default(),
            title: None,
            parent: None,
            origin: None,
        }
    }
}

impl Runtime {
    /// A runtime over these ports. A redactor in `settings` wraps the log, the provider and the output files.
    pub fn new(ports: Ports, settings: Settings) -> Self {
        let ports = match &settings.redactor {
            Some(redactor) => guarded(ports, redactor),
            None => ports,
        };
        let bus = Bus::default();
        let coordinator = Coordinator::new(bus.clone());
        let titles = Titles::default();
        let halting = Arc::new(Halting { coordinator: coordinator.clone(), titles: titles.clone() });
        let (serving, background) = (Mutex::default(), Background::default());
        let editing = Arc::new(EditorState::new(editor_ports(&ports, &settings), bus.clone(), coordinator.clone()));
        let shared = Arc::new(RuntimeState { editing, ports, settings, bus, coordinator, serving, background, titles });
        Self { shared, _halting: halting }
    }

    /// Creates a session.
    ///
    /// # Errors
    /// When the id is taken, or the log refuses.
    pub async fn create(&self, new: NewSession) -> Result<Session, LogError> {
        let NewSession { id, location, agent, model, policy, title, parent, origin } = new;
        let at = self.shared.ports.clock.now();
        let session = id.unwrap_or_else(|| self.shared.ports.ids.session(at));
        let key = self.shared.ports.ids.session_key().into();
        let recorder = self.shared.settings.process.as_deref();
        let process = ProcessRecorder::creating(recorder, &location).await;
        let created = SessionCreated { location, agent, model, policy, title, parent, origin, process, key };
        let events = vec![created.into()];
        self.shared
            .ports
            .log
            .append(Draft { session, expected: Seq::ZERO, at, events, digest: None, states: Vec::new() })
            .await?;
        ProcessRecorder::recorded(recorder, session);
        Ok(self.handle(session))
    }

    /// A Session of the log.
    ///
    /// # Errors
    /// [`Refusal::NotFound`] when no session has the id.
    pub async fn session(&self, session: SessionId) -> Result<Session, Refusal> {
        match self.shared.ports.log.head(session).await? {
            Some(_) => Ok(self.handle(session)),
            None => Err(Refusal::NotFound(MissingItem::Session(session))),
        }
    }

    /// The bus on which notices are published.
    pub fn bus(&self) -> &Bus {
        &self.shared.bus
    }

    /// Every session that runs.
    pub fn running(&self) -> Vec<SessionId> {
        self.shared.coordinator.busy()
    }

    /// Interrupts everything, tasks in the background included, and waits until all is settled.
    pub async fn shut_down(&self) {
        // First: a result that comes meanwhile begins no turn.
        self.shared.background.cancel(None);
        for session in self.running() {
            self.shared.coordinator.interrupt(session);
            self.shared.coordinator.idle(session).await;
        }
        self.shared.background.settled().await;
        self.shared.titles.shut_down().await;
    }

    /// Aborts everything that runs, as if the process had died: nothing more is written, and the next
    /// run settles what is open. Not to be awaited from inside a run.
    pub async fn halt(&self) {
        self.shared.titles.abort();
        self.shared.coordinator.halt().await;
    }

    pub(crate) fn handle(&self, session: SessionId) -> Session {
        Session::new(self.clone(), SessionEditor::of(self.shared.editing.clone(), session))
    }

    pub(crate) fn shared(&self) -> &Arc<RuntimeState> {
        &self.shared
    }
}

/// What edits need of the ports, which are guarded already.
fn editor_ports(ports: &Ports, settings: &Settings) -> EditorPorts {
    let locations = ports.locations.clone();
    EditorPorts {
        log: ports.log.clone(),
        files: Arc::new(move |location| locations.at(location).files),
        clock: ports.clock.clone(),
        ids: ports.ids.clone(),
        views: settings.views.clone(),
        process: settings.process.clone(),
        redactor: None,
    }
}

impl JobRunner for RuntimeState {
    fn work(self: Arc<Self>, session: SessionId, job: RunJob, cancel: Arc<Cancel>) -> Boxed<'static, RunResult> {
        Box::pin(async move {
            let lane = self.lane(session);
            let runner = Runner::new(self, lane, cancel).await?;
            let ended = match job {
                RunJob::Drain { forced } => drain(&runner, forced).await,
                RunJob::Resume => resume(&runner).await,
                RunJob::Compact => compact(&runner).await,
            };
            runner.lane.save_view().await;
            ended
        })
    }
}
