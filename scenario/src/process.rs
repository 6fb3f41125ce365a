//! One process of a scenario: the real runtime over the scripted world, from an opening of the store to its end.

mod act;
mod pace;
mod ports;

use super::action::Action;
use super::death::Death;
use super::dying::DyingLog;
use super::views::Folded;
use super::world::{Answering, Declared, Perform, ScriptedTool, World};
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
use pace::Held;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The runtime, and everything else that ends with the process.
pub(super) struct Process {
    world: Arc<World>,
    /// The store as it is, for looking.
    log: Arc<dyn EventLog>,
    death: Death,
    runtime: annals_runtime::Runtime,
    registry: Registry,
    tools: ToolRegistry,
    scopes: Mutex<Scopes>,
    perform: Perform,
    pace: Arc<Held>,
}

/// What is registered in this process.
#[derive(Default)]
struct Scopes {
    contributions: BTreeMap<Key, Registration>,
    tools: BTreeMap<String, (u64, Layer)>,
    task: Option<Layer>,
}

/// What the world declares cannot be registered.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error(transparent)]
    Contribution(#[from] DuplicateContribution),
    #[error(transparent)]
    Tool(#[from] RegistrationError),
}

impl Process {
    /// A process over the store `log`, with everything registered that the world declares.
    pub fn begin(world: &Arc<World>, log: Arc<dyn EventLog>) -> Arc<Self> {
        Arc::new_cyclic(|this: &Weak<Self>| {
            let death = Death::new();
            let perform = Self::performing(this.clone());
            let dying = DyingLog::new(log.clone(), world.clone(), death.clone());
            let registry = Registry::default();
            let tools = ToolRegistry::default();
            let pace = Arc::new(Held::default());
            let services = LocationServices {
                registry: registry.clone(),
                skills: ports::skills(world),
                references: None,
                tools: tools.clone(),
                nested: None,
                files: world.captures.clone().map(|files| files as Arc<dyn annals_runtime::worktree::Files>),
            };
            let ports = Ports {
                log: Arc::new(dying),
                provider: Arc::new(Answering::new(world.clone(), death.clone(), perform.clone())),
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
                death,
                runtime: annals_runtime::Runtime::new(ports, settings(world, pace.clone())),
                registry,
                tools,
                scopes: Mutex::default(),
                perform,
                pace,
            };
            // What the world holds was accepted when it was declared.
            if let Err(unfit) = process.register() {
                tracing::error!(%unfit, "a declaration of the scenario was refused after a restart");
            }
            process
        })
    }

    /// How this process dies.
    pub fn death(&self) -> Death {
        self.death.clone()
    }

    /// The Session that actions go to.
    #[cfg(test)]
    pub fn session(&self) -> Option<annals_core::SessionId> {
        self.world.session()
    }

    /// Every view of a Session.
    ///
    /// # Errors
    /// When the log cannot be read.
    async fn views(&self, session: &Session) -> Result<Value, ReadError> {
        let folded = Folded::read(self.log.as_ref(), session.id()).await?;
        let (requests, runs) = {
            let state = self.world.state();
            (state.requests.clone(), state.runs.clone())
        };
        let mut views = folded.json(session.is_running(), &requests, &runs, self.log.blobs().as_ref());
        self.world.add_to(&folded.view, &mut views);
        Ok(views)
    }

    /// Every view of the Session that actions go to.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn last_views(&self) -> Result<Value, Refusal> {
        match self.world.session() {
            Some(session) => Ok(self.views(&self.runtime.session(session).await?).await?),
            None => Ok(Value::Null),
        }
    }

    fn performing(this: Weak<Self>) -> Perform {
        Arc::new(move |actions| {
            let this = this.clone();
            Box::pin(async move {
                // A process that is gone performs nothing.
                let Some(process) = this.upgrade() else { return };
                // An interrupt comes into force after the whole list: what it interrupts is what performs the list.
                let (interrupts, others): (Vec<_>, Vec<_>) =
                    actions.iter().partition(|action| matches!(action, Action::Interrupt));
                for action in others.into_iter().chain(interrupts) {
                    process.act(action).await;
                }
            })
        })
    }

    /// Registers what the world declares and is not registered, and closes what it declares no more.
    fn register(&self) -> Result<(), Unfit> {
        self.register_contributions()?;
        self.register_tools()?;
        self.register_task()
    }

    fn register_contributions(&self) -> Result<(), Unfit> {
        let (builtins, declared) = (self.world.builtins(), self.world.contributions());
        // Declared sources that share a built-in contribution stand right after what is built in.
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

    /// Produces the declared sources of a contribution, as they are declared at each boundary.
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
                Arc::new(Declared::new(source, world.clone(), perform.clone()))
            });
            let context = SystemContext::new(sources.collect::<Vec<_>>());
            std::future::ready(context.map_err(|error| annals_runtime::context::Fault::Failed(error.to_string())))
        }
    }

    fn register_tools(&self) -> Result<(), Unfit> {
        let declared = self.world.state().tools.clone();
        let mut scopes = self.scopes();
        scopes.tools.retain(|name, (number, _)| declared.get(name).is_some_and(|(declared, _)| declared == number));
        for (name, (number, tool)) in declared {
            if scopes.tools.contains_key(&name) {
                continue;
            }
            let (world, death) = (self.world.clone(), self.death.clone());
            let scripted = ScriptedTool::new((number, tool), world, death, self.perform.clone());
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
    fn register_task(&self) -> Result<(), Unfit> {
        let Some(subagents) = &self.world.scenario.subagents else { return Ok(()) };
        let mut scopes = self.scopes();
        if scopes.task.is_none() {
            let task = TaskTool::of(&self.runtime, subagents.clone());
            scopes.task = Some(self.tools.register([Arc::new(task) as Arc<dyn annals_runtime::tools::Tool>])?);
        }
        Ok(())
    }

    fn scopes(&self) -> MutexGuard<'_, Scopes> {
        self.scopes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn settings(world: &World, pace: Arc<Held>) -> Settings {
    let compaction = world.scenario.compaction;
    Settings {
        compaction: CompactionSettings {
            auto: compaction.auto,
            prune: compaction.prune,
            buffer: compaction.buffer,
            keep_tokens: compaction.keep_tokens,
            ..CompactionSettings::default()
        },
        // Settlements stand in the order of the calls, however long an append takes.
        calls: CallOrder::InOrder,
        sources: LoadOrder::InOrder,
        title: world.scenario.titles.clone(),
        scheduler: Some(pace),
        // Scenarios say themselves what is replaced and what ends.
        redactor: None,
        repeat_limit: 0,
        ..Settings::default()
    }
}
