//! The player: one scenario from its first action to its report.

use super::action::Action;
use super::file::Scenario;
use super::process::Process;
use super::report::ScenarioOutcome;
use super::world::ScriptedWorld;
use annals_runtime::{LogError, Refusal};
use annals_store::{DiskLog, EventLog, MemoryLog, OpenError, OpenMode};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// Where the log of a scenario lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// In memory; it belongs to the scripted world and survives a restart.
    Memory,
    /// On disk, in this folder: journal and sled.
    Sled(PathBuf),
}

/// A scenario could not be played to its end. This is no failed expectation: something outside of it is wrong.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The store could not be opened: see its folder.
    #[error("the store could not be opened: {0}")]
    Open(#[from] OpenError),
    /// Every file gets a fresh store: name a folder that is empty or not there yet.
    #[error("{}: the folder is not empty; a scenario begins with a fresh store", .0.display())]
    NotFresh(PathBuf),
    /// The log refused.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The last views could not be read.
    #[error("the last views could not be read: {0}")]
    Views(#[from] Refusal),
    /// The system gave no thread or event loop.
    #[error("the player could not begin: {0}")]
    Begin(#[from] std::io::Error),
    /// The runtime panicked: a mistake in it.
    #[error("the runtime panicked")]
    Panicked,
}

/// Plays a scenario through the real runtime over a fresh store, and gives what came of it. `file` is what the report
/// names it by.
///
/// It blocks, and may be called from anywhere: what it needs of an event loop it makes itself.
///
/// # Errors
/// When the store or the system refuses. A failed `expect` is no error but a part of the outcome.
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

/// A process, and what ends after it.
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

    /// Opens the store, and the first time creates the first Session.
    fn begin(&self) -> Result<RunningProcess, PlayError> {
        let log: Arc<dyn EventLog> = match &self.backend {
            Backend::Memory => Arc::new(self.memory.clone()),
            Backend::Sled(folder) => Arc::new(DiskLog::open(folder, OpenMode::Create)?.0),
        };
        let events = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let process = Process::begin(&self.world, log);
        if self.world.session().is_none() {
            let session = events.block_on(process.create())?;
            self.world.state().sessions.insert("main".to_owned(), session);
        }
        Ok(RunningProcess { process, events })
    }
}

impl RunningProcess {
    /// Performs an action; false when the process died of it.
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

    /// The end of a process: its tasks are dropped where they stand, then the store is closed with its last owner.
    fn end(self) {
        let Self { process, events } = self;
        drop(events);
        drop(process);
    }
}

#[cfg(test)]
mod deaths;
