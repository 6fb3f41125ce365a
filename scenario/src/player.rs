//! Plays a scenario from its first action to its report.

use super::action::Action;
use super::file::Scenario;
use super::process::Process;
use super::report::ScenarioOutcome;
use super::world::ScriptedWorld;
use annals_runtime::{LogError, Refusal};
#[cfg(feature = "nats")]
use annals_store::nats::{NatsAddress, NatsError, NatsLog, NatsOptions};
use annals_store::{DiskLog, EventLog, MemoryLog, OpenError, OpenMode};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// Where a scenario stores its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// In memory; it survives a restart.
    Memory,
    /// On disk, in this folder: journal and sled.
    Sled(PathBuf),
    /// In a cluster of NATS JetStream, in a store that exists and is empty.
    #[cfg(feature = "nats")]
    Nats(Box<NatsAddress>),
}

/// A scenario could not be played to its end. Failed expectations are not errors but part of the outcome.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The store could not be opened: see its folder.
    #[error("the store could not be opened: {0}")]
    Open(#[from] OpenError),
    /// The store in a cluster could not be opened.
    #[cfg(feature = "nats")]
    #[error("the store could not be opened: {0}")]
    Cluster(#[from] NatsError),
    /// Every scenario needs a new store: name a folder that is empty or does not exist.
    #[error("{}: the folder is not empty; a scenario needs a new store", .0.display())]
    NotFresh(PathBuf),
    /// The log refused.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The last views could not be read.
    #[error("the last views could not be read: {0}")]
    Views(#[from] Refusal),
    /// A thread or an event loop could not be created.
    #[error("the player could not start: {0}")]
    Begin(#[from] std::io::Error),
    /// The runtime panicked, which is a bug.
    #[error("the runtime panicked")]
    Panicked,
}

/// Plays a scenario with the real runtime and a new store. `file` is its name in the report.
///
/// Blocks; callable with or without an async runtime, since it creates its own.
///
/// # Errors
/// When the store or the system fails. A failed `expect` is part of the outcome.
pub fn play(file: &str, scenario: &Scenario, backend: &Backend) -> Result<ScenarioOutcome, PlayError> {
    if let Backend::Sled(folder) = backend
        && std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
    {
        return Err(PlayError::NotFresh(folder.clone()));
    }
    std::thread::scope(|scope| {
        let player = std::thread::Builder::new().name("annals-scenario".to_owned());
        let player = player.spawn_scoped(scope, || Player::new(scenario, backend).play(file))?;
        player.join().unwrap_or(Err(PlayError::Panicked))
    })
}

struct Player {
    world: Arc<ScriptedWorld>,
    backend: Backend,
    memory: MemoryLog,
}

/// A process with its event loop.
struct RunningProcess {
    process: Arc<Process>,
    events: tokio::runtime::Runtime,
}

impl Player {
    fn new(scenario: &Scenario, backend: &Backend) -> Self {
        Self {
            world: Arc::new(ScriptedWorld::new(scenario.clone())),
            backend: backend.clone(),
            memory: MemoryLog::new(),
        }
    }

    fn play(self, file: &str) -> Result<ScenarioOutcome, PlayError> {
        let mut idle = Some(self.begin()?);
        for action in &self.world.scenario.script {
            let mut running = match idle.take() {
                Some(running) => running,
                None => self.begin()?,
            };
            match action {
                Action::Restart => running.end(),
                _ if running.perform(action) => idle = Some(running),
                _ => {
                    self.world.state().runs.push(json!({ "outcome": "crashed" }));
                    running.end();
                }
            }
        }
        let running = match idle.take() {
            Some(running) => running,
            None => self.begin()?,
        };
        let last = running.last_views()?;
        running.end();
        let mut state = self.world.state();
        Ok(ScenarioOutcome {
            file: file.to_owned(),
            name: self.world.scenario.name.clone(),
            failures: std::mem::take(&mut state.failures),
            captures: std::mem::take(&mut state.captures),
            last,
        })
    }

    /// Opens the store; the first time, also creates the first session.
    fn begin(&self) -> Result<RunningProcess, PlayError> {
        let events = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let log: Arc<dyn EventLog> = match &self.backend {
            Backend::Memory => Arc::new(self.memory.clone()),
            Backend::Sled(folder) => Arc::new(DiskLog::open(folder, OpenMode::Create)?.0),
            #[cfg(feature = "nats")]
            Backend::Nats(address) => Arc::new(events.block_on(NatsLog::open(address, NatsOptions::default()))?),
        };
        let process = Process::begin(&self.world, log);
        if self.world.session().is_none() {
            let session = events.block_on(process.create())?;
            self.world.state().sessions.insert("main".to_owned(), session);
        }
        Ok(RunningProcess { process, events })
    }
}

impl RunningProcess {
    /// Performs an action; false if the process crashed.
    fn perform(&mut self, action: &Action) -> bool {
        let (process, crash) = (self.process.clone(), self.process.crash());
        self.events.block_on(async {
            tokio::select! {
                biased;
                () = crash.wait() => false,
                () = process.act(action) => true,
            }
        })
    }

    fn last_views(&self) -> Result<Value, Refusal> {
        self.events.block_on(self.process.last_views())
    }

    /// Ends the process: drops its tasks, then closes the store with its last owner.
    fn end(self) {
        let Self { process, events } = self;
        drop(events);
        drop(process);
    }
}

#[cfg(test)]
mod deaths;
