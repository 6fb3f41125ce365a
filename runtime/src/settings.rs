//! The ports and settings of a runtime.

mod summary;

pub use summary::SummaryHook;

use crate::Boxed;
use crate::background::Scheduler;
use crate::context::instructions::InstructionFiles;
use crate::context::{ReferenceCatalogue, Registry, SkillCatalogue};
use crate::hooks::Hooks;
use crate::permission::Approver;
use crate::ports::{Clock, Filesystem, Ids, OutputFiles, Provider};
use crate::process::ProcessRecorder;
use crate::tools::ToolRegistry;
use crate::worktree::Files;
use annals_core::bound::Limits;
use annals_core::event::{AgentProfile, Location, ModelProfile, RequestOptions, Rule};
use annals_core::{AgentName, ModelName};
use annals_guard::redaction::Redactor;
use annals_projections::ContextLimits;
use annals_store::EventLog;
use annals_store::cache::ViewCache;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The ports of a runtime: everything outside of it (`ARCHITECTURE.md#codemap`).
#[derive(Clone)]
pub struct Ports {
    /// The log: events are appended and read here.
    pub log: Arc<dyn EventLog>,
    /// Sends requests to models.
    pub provider: Arc<dyn Provider>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of ids.
    pub ids: Arc<dyn Ids>,
    /// Keeps long tool outputs for a while.
    pub outputs: Arc<dyn OutputFiles>,
    /// Answers permission questions.
    pub approver: Arc<dyn Approver>,
    /// The services of each location.
    pub locations: Arc<dyn Locations>,
    /// The definitions of agents and models.
    pub definitions: Arc<dyn Definitions>,
}

/// Gives the services of a location. Called once per run, so that a moved session finds the services of its
/// destination when it next runs (`docs/reference/revert.md#moves`).
pub trait Locations: Send + Sync {
    /// The services of a location. The same location gives the same registries.
    fn at(&self, location: &Location) -> LocationServices;
}

/// The services of a location.
#[derive(Clone, Default)]
pub struct LocationServices {
    /// Who contributes Context Sources.
    pub registry: Registry,
    /// The skills, if there is a catalogue.
    pub skills: Option<Arc<dyn SkillCatalogue>>,
    /// The project references, if there is a catalogue.
    pub references: Option<Arc<dyn ReferenceCatalogue>>,
    /// The tools.
    pub tools: ToolRegistry,
    /// Who brings the services up to date at each boundary.
    pub renewal: Option<Arc<dyn ToolRenewal>>,
    /// How instruction files near what a tool reads are discovered; without it none are.
    pub nested: Option<NestedInstructions>,
    /// The files of the project, for undos that restore them; without it, reverts affect the conversation only.
    pub files: Option<Arc<dyn Files>>,
}

/// Brings tools and contributions of a location up to date: those of servers that say that they have others, and of a configuration
/// that was edited. What did not change stays as it is: another list of tools is another beginning of every request, which no provider
/// has in its cache.
pub trait ToolRenewal: Send + Sync {
    /// Called at each boundary of a session other than a sub-agent's, before the context is observed.
    fn renew(&self) -> Boxed<'_, ()>;
}

/// Where nested instruction files are looked for, and by which names (`docs/reference/context.md#instructions`).
#[derive(Clone)]
pub struct NestedInstructions {
    /// The files of the location.
    pub files: Arc<dyn Filesystem>,
    /// As for the ambient ones.
    pub config: Arc<InstructionFiles>,
}

/// The same services at every location: for a host with one.
impl Locations for LocationServices {
    fn at(&self, _: &Location) -> LocationServices {
        self.clone()
    }
}

/// Defines agents and models. Called at the start of each turn; a profile is recorded when it changes.
pub trait Definitions: Send + Sync {
    /// The profile of an agent; `None` for one that is not defined: it has no text, no rules, no step allowance and no
    /// skill guidance.
    fn agent(&self, agent: &AgentName) -> Option<AgentProfile>;

    /// The profile of an agent for a model: its own text, or the one for the family of the model.
    fn agent_on(&self, agent: &AgentName, model: &ModelName) -> Option<AgentProfile> {
        let _ = model;
        self.agent(agent)
    }

    /// The rules that an agent has of its own, without those for every agent: only these give a child what children lack.
    fn own_rules(&self, agent: &AgentName) -> Vec<Rule> {
        self.agent(agent).map(|profile| profile.permissions).unwrap_or_default()
    }

    /// The profile of a model; `None` fails the turn after its input was promoted (`docs/reference/turn.md#boundary`).
    fn model(&self, model: &ModelName) -> Option<ModelProfile>;

    /// The options of a turn's requests.
    fn options(&self, agent: &AgentName, model: &ModelName) -> RequestOptions {
        let _ = (agent, model);
        RequestOptions::default()
    }
}

/// Agents and models that are known from the start.
#[derive(Clone, Debug, Default)]
pub struct FixedDefinitions {
    /// Agents by name.
    pub agents: BTreeMap<AgentName, AgentProfile>,
    /// Models by name.
    pub models: BTreeMap<ModelName, ModelProfile>,
    /// The options of every request.
    pub options: RequestOptions,
}

impl FixedDefinitions {
    /// Adds an agent.
    #[must_use]
    pub fn agent(mut self, profile: AgentProfile) -> Self {
        self.agents.insert(profile.agent.clone(), profile);
        self
    }

    /// Adds a model.
    #[must_use]
    pub fn model(mut self, profile: ModelProfile) -> Self {
        self.models.insert(profile.model.clone(), profile);
        self
    }

    /// The same with the options of every request.
    #[must_use]
    pub fn options(self, options: RequestOptions) -> Self {
        Self { options, ..self }
    }
}

impl Definitions for FixedDefinitions {
    fn agent(&self, agent: &AgentName) -> Option<AgentProfile> {
        self.agents.get(agent).cloned()
    }

    fn model(&self, model: &ModelName) -> Option<ModelProfile> {
        self.models.get(model).cloned()
    }

    fn options(&self, _: &AgentName, _: &ModelName) -> RequestOptions {
        self.options.clone()
    }
}

/// An agent without system text, rules and step allowance.
pub fn bare_agent(agent: &AgentName) -> AgentProfile {
    AgentProfile { agent: agent.clone(), system: None, steps: None, permissions: Vec::new() }
}

/// A model with limits in tokens that takes system messages natively, costs nothing and speaks no wire protocol: its requests
/// are not encoded. Set `protocol` and `encoding` for one that is reached over HTTP.
pub fn bare_model(model: &ModelName, context: u64, output: u64) -> ModelProfile {
    ModelProfile {
        context,
        output,
        protocol: annals_projections::SCRIPTED_PROTOCOL.into(),
        encoding: 1,
        ..ModelProfile::of_name(model.clone())
    }
}

/// When the history is compacted and how much of it is kept, in tokens (`docs/reference/compaction.md`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether requests that would be too large are compacted first, and refused ones afterwards.
    pub auto: bool,
    /// Whether old tool outputs are pruned before a summary is made.
    pub prune: bool,
    /// What stays free of the context, unless the model's output limit is larger.
    pub buffer: u64,
    /// How much of the end of the conversation is kept verbatim.
    pub keep_tokens: u64,
    /// The agent whose text and options summary requests have. Without one they have the options of the session's agent, and no
    /// system text.
    pub agent: Option<AgentName>,
    /// What takes the place of the usual instructions at the end of a summary request; those of a [`SummaryHook`] come first.
    pub instructions: Option<String>,
    /// The model that summarises; the session's own without one.
    pub model: Option<ModelName>,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            auto: true,
            prune: true,
            buffer: 20_000,
            keep_tokens: 8_000,
            agent: None,
            instructions: None,
            model: None,
        }
    }
}

impl CompactionSettings {
    /// The limits of requests to a model.
    pub fn limits(&self, model: &ModelProfile) -> ContextLimits {
        ContextLimits::of(model, self.buffer, self.keep_tokens)
    }
}

/// How titles are requested for sessions that have none (`docs/reference/turn.md#titles`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TitleSettings {
    /// The agent whose profile and options title requests carry; the session's own without one.
    pub agent: Option<AgentName>,
    /// A small model; the model of the session if this is absent or not defined.
    pub model: Option<ModelName>,
}

/// The default of [`Settings::repeat_limit`].
pub const REPEAT_LIMIT: u64 = 5;

/// How the calls of one answer run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallOrder {
    /// Each as soon as it is durable, all at once, settled in the order in which they end.
    #[default]
    Eager,
    /// One after the other in the order of the calls, once the answer is complete: a run is then reproducible to the
    /// byte, however long an append takes.
    InOrder,
}

/// How the Context Sources of a boundary are loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadOrder {
    /// All at once.
    #[default]
    AtOnce,
    /// One after the other in order of composition: a run whose sources have side effects is then reproducible.
    InOrder,
}

/// The settings of a runtime.
#[derive(Clone)]
pub struct Settings {
    /// When the history is compacted.
    pub compaction: CompactionSettings,
    /// What one call may show the model.
    pub output: Limits,
    /// How calls run.
    pub calls: CallOrder,
    /// How Context Sources are loaded.
    pub sources: LoadOrder,
    /// Adds to the prompt of summary requests.
    pub summary: Option<Arc<dyn SummaryHook>>,
    /// What the host does around calls and at boundaries.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// How titles are requested; without it none are.
    pub title: Option<TitleSettings>,
    /// When background work starts; at once without one.
    pub scheduler: Option<Arc<dyn Scheduler>>,
    /// Replaces secrets in everything that comes in: by default formats of common keys and values with names of secrets, no
    /// environment variables ([`Redactor::with_environment`]). Without one nothing is replaced.
    pub redactor: Option<Arc<Redactor>>,
    /// Where views are saved, so that a long session is resumed at the cost of what is new.
    pub views: Option<Arc<ViewCache>>,
    /// Number of failures in a row of calls with the same name, input and result after which a further such call is refused; the same after five
    /// times as many successes that took less than a second each. 0: never. The turn ends with the third call that is not made.
    pub repeat_limit: u64,
    /// Steps since the newest prompt after which an unfinished run fails; `None`: no limit.
    pub max_steps: Option<u32>,
    /// Whether a model that calls a tool that is not offered reads the names of those that are.
    pub names_tools: bool,
    /// Time limits of calls by the names of tools; others limit themselves.
    pub tool_limits: BTreeMap<String, Duration>,
    /// Tools that are left out first where system text and tools would take more than a third of the largest request.
    pub dispensable_tools: Vec<String>,
    /// The tools that are offered, with short descriptions, where system text and tools would take more than a third of the
    /// largest request; without them tools are always offered as they are.
    pub small_window_tools: Option<Vec<String>>,
    /// How long finished fragments of an answer may wait for what is appended with them; with zero each is appended at once. A call never waits.
    pub gather: Duration,
    /// Records in each session which process appends to it; without one nothing is recorded.
    pub process: Option<Arc<ProcessRecorder>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            compaction: CompactionSettings::default(),
            output: Limits::default(),
            calls: CallOrder::default(),
            sources: LoadOrder::default(),
            summary: None,
            hooks: None,
            title: None,
            scheduler: None,
            redactor: Some(annals_guard::redaction::usual()),
            views: None,
            repeat_limit: REPEAT_LIMIT,
            max_steps: None,
            names_tools: false,
            tool_limits: BTreeMap::new(),
            dispensable_tools: Vec::new(),
            small_window_tools: None,
            gather: Duration::from_millis(200),
            process: None,
        }
    }
}
