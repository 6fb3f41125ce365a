//! One process of a scenario: the real runtime in the scripted world, from opening the store to its end.

mod act;
mod pace;
mod ports;

use super::action::Action;
use super::crash::CrashSwitch;
use super::crashing_log::CrashingLog;
use super::views::FoldedSession;
use super::world::{PerformActions, ScenarioProvider, ScenarioSource, ScenarioTool, ScriptedWorld};
use annals_core::Key;
use annals_runtime::Session;
use annals_runtime::context::instructions::InstructionFiles;
use annals_runtime::context::{
    Boundary, Builtins, ContextSource, DuplicateContribution, Instructions, Registration, Registry, SystemContext,
};
use annals_runtime::outcome::Refusal;
use annals_runtime::settings::{CallOrder, CompactionSettings, LoadOrder, LocationServices, Ports, Settings};
use annals_runtime::subagents::TaskTool;
use annals_runtime::tools::{Layer, RegistrationError, ToolRegistry};
use annals_store::{EventLog, ReadError};
use pace::WaitingWork;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// The runtime, and everything else that belongs to one process.
pub(super) struct Process {
    world: Arc<ScriptedWorld>,
    /// The store without the crash layer, for reading views.
    log: Arc<dyn EventLog>,
    crash: CrashSwitch,
    runtime: annals_runtime::Runtime,
    registry: Registry,
    tools: ToolRegistry,
    scopes: Mutex<Registrations>,
    perform: PerformActions,
    pace: Arc<WaitingWork>,
}

/// The registrations of this process.
#[derive(Default)]
struct Registrations {
    contributions: BTreeMap<Key, Registration>,
    tools: BTreeMap<String, (u64, Layer)>,
    task: Option<Layer>,
}

/// A declaration cannot be registered.
#[derive(Debug, thiserror::Error)]
enum RegisterError {
    #[error(transparent)]
    Contribution(#[from] DuplicateContribution),
    #[error(transparent)]
    Tool(#[from] RegistrationError),
}

impl Process {
    /// Starts a process over the store `log` and registers all declarations of the world.
    pub fn begin(world: &Arc<ScriptedWorld>, log: Arc<dyn EventLog>) -> Arc<Self> {
        Arc::new_cyclic(|this: &Weak<Self>| {
            let crash = CrashSwitch::new();
            let perform = Self::performing(this.clone());
            let crashing_log = CrashingLog::new(log.clone(), world.clone(), crash.clone());
            let registry = Registry::default();
            let tools = ToolRegistry::default();
            let pace = Arc::new(WaitingWork::default());
            let services = LocationServices {
                registry: registry.clone(),
                skills: ports::skills(world),
                references: None,
                tools: tools.clone(),
                renewal: None,
                nested: None,
                files: world.captures.clone().map(|files| files as Arc<dyn annals_runtime::worktree::Files>),
            };
            let ports = Ports {
                log: Arc::new(crashing_log),
                provider: Arc::new(ScenarioProvider::new(world.clone(), crash.clone(), perform.clone())),
                clock: world.clock.clone(),
                ids: world.ids.clone(),
                outputs: world.outputs.clone(),
                approver: ports::approver(world),
                locations: Arc::new(services),
                definitions: ports::definitions(world),
            };
            let process = Self {
                world: world.clone(),
                log,
                crash,
                runtime: annals_runtime::Runtime::new(ports, settings(world, pace.clone())),
                registry,
                tools,
                scopes: Mutex::default(),
                perform,
                pace,
            };
            // The declarations were accepted when they were made.
            if let Err(unfit) = process.register() {
                tracing::error!(%unfit, "a declaration of the scenario was refused after a restart");
            }
            process
        })
    }

    /// The switch that ends this process.
    pub fn crash(&self) -> CrashSwitch {
        self.crash.clone()
    }

    /// The session that actions apply to.
    #[cfg(test)]
    pub fn session(&self) -> Option<annals_core::SessionId> {
        self.world.session()
    }

    /// Every view of a session.
    async fn views(&self, session: &Session) -> Result<Value, ReadError> {
        let folded = FoldedSession::read(self.log.as_ref(), session.id()).await?;
        let (requests, runs) = {
            let state = self.world.state();
            (state.requests.clone(), state.runs.clone())
        };
        let mut views = folded.json(session.is_running(), &requests, &runs, self.log.blobs().as_ref());
        self.world.add_to(&folded.view, &mut views);
        Ok(views)
    }

    /// Every view of the session that actions apply to.
    pub async fn last_views(&self) -> Result<Value, Refusal> {
        match self.world.session() {
            Some(session) => Ok(self.views(&self.runtime.session(session).await?).await?),
            None => Ok(Value::Null),
        }
    }

    fn performing(this: Weak<Self>) -> PerformActions {
        Arc::new(move |actions| {
            let this = this.clone();
            Box::pin(async move {
                // A process that has ended performs nothing.
                let Some(process) = this.upgrade() else { return };
                // Interrupts last: they interrupt what performs the list.
                let (interrupts, others): (Vec<_>, Vec<_>) =
                    actions.iter().partition(|action| matches!(action, Action::Interrupt));
                for action in others.into_iter().chain(interrupts) {
                    process.act(action).await;
                }
            })
        })
    }

    /// Registers new declarations of the world, and closes the registrations of removed ones.
    fn register(&self) -> Result<(), RegisterError> {
        self.register_contributions()?;
        self.register_tools()?;
        self.register_task()
    }

    fn register_contributions(&self) -> Result<(), RegisterError> {
        let (builtins, declared) = (self.world.builtins(), self.world.contributions());
        // Declared sources of a built-in contribution follow directly after the built-in sources.
        let place = |key: &Key| match builtins.contains(key) {
            true => format!("{key}-").parse().unwrap_or_else(|_| key.clone()),
            false => key.clone(),
        };
        let declared: BTreeMap<Key, Key> = declared.into_iter().map(|key| (place(&key), key)).collect();
        let mut scopes = self.scopes();
        scopes.contributions.retain(|place, _| builtins.contains(place) || declared.contains_key(place));
        for key in &builtins {
            if !scopes.contributions.contains_key(key) {
                let registration = self.register_builtin(key)?;
                scopes.contributions.insert(key.clone(), registration);
            }
        }
        for (place, key) in declared {
            if let Entry::Vacant(vacant) = scopes.contributions.entry(place) {
                let place = vacant.key().clone();
                vacant.insert(self.registry.register(place, self.producer(key))?);
            }
        }
        Ok(())
    }

    fn register_builtin(&self, key: &Key) -> Result<Registration, DuplicateContribution> {
        use super::file::Builtin;
        let world = &self.world;
        if *key == Instructions::key() {
            let config = InstructionFiles { global: vec!["/global/AGENTS.md".to_owned()], ..Default::default() };
            return self.registry.register(key.clone(), Instructions { files: world.files.clone(), config });
        }
        let builtins = Builtins {
            files: world.files.clone(),
            clock: world.clock.clone(),
            platform: std::env::consts::OS.to_owned(),
            environment: world.scenario.builtins.contains(&Builtin::Environment),
            date: world.scenario.builtins.contains(&Builtin::Date),
        };
        self.registry.register(key.clone(), builtins)
    }

    /// Produces the sources of a contribution as they are declared at each boundary.
    fn producer(
        &self,
        contribution: Key,
    ) -> impl Fn(Boundary) -> std::future::Ready<Result<SystemContext, annals_runtime::context::Fault>> + Send + Sync + use<>
    {
        let (world, perform) = (self.world.clone(), self.perform.clone());
        move |_| {
            let state = world.state();
            let declared = state.sources.iter().filter(|source| source.contribution == contribution);
            let sources = declared.map(|source| -> Arc<dyn ContextSource> {
                Arc::new(ScenarioSource::new(source, world.clone(), perform.clone()))
            });
            let context = SystemContext::new(sources.collect::<Vec<_>>());
            std::future::ready(context.map_err(|error| annals_runtime::context::Fault::Failed(error.to_string())))
        }
    }

    fn register_tools(&self) -> Result<(), RegisterError> {
        let declared = self.world.state().tools.clone();
        let mut scopes = self.scopes();
        scopes.tools.retain(|name, (number, _)| declared.get(name).is_some_and(|(declared, _)| declared == number));
        for (name, (number, tool)) in declared {
            if scopes.tools.contains_key(&name) {
                continue;
            }
            let (world, crash) = (self.world.clone(), self.crash.clone());
            let scripted = ScenarioTool::new((number, tool), world, crash, self.perform.clone());
            match self.tools.register([Arc::new(scripted) as Arc<dyn annals_runtime::tools::Tool>]) {
                Ok(layer) => {
                    scopes.tools.insert(name, (number, layer));
                }
                Err(error) => {
                    self.world.state().tools.remove(&name);
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    /// The tool `task`, where the file has subagents.
    fn register_task(&self) -> Result<(), RegisterError> {
        let Some(subagents) = &self.world.scenario.subagents else { return Ok(()) };
        let mut scopes = self.scopes();
        if scopes.task.is_none() {
            let task = TaskTool::of(&self.runtime, subagents.clone());
            scopes.task = Some(self.tools.register([Arc::new(task) as Arc<dyn annals_runtime::tools::Tool>])?);
        }
        Ok(())
    }

    fn scopes(&self) -> MutexGuard<'_, Registrations> {
        self.scopes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn settings(world: &ScriptedWorld, pace: Arc<WaitingWork>) -> Settings {
    let compaction = &world.scenario.compaction;
    Settings {
        compaction: CompactionSettings {
            auto: compaction.auto,
            prune: compaction.prune,
            buffer: compaction.buffer,
            keep_tokens: compaction.keep_tokens,
            agent: compaction.agent.clone(),
            ..CompactionSettings::default()
        },
        // Settlements are in the order of the calls, however long an append takes.
        calls: CallOrder::InOrder,
        sources: LoadOrder::InOrder,
        title: world.scenario.titles.clone(),
        scheduler: Some(pace),
        // Scenarios test redaction and repeat limits nowhere: neither may change a run.
        redactor: None,
        repeat_limit: 0,
        // What is recorded depends on no clock.
        gather: Duration::ZERO,
        ..Settings::default()
    }
}
