//! The scenario file.

use super::action::Action;
use annals_core::event::{Policy, Rule, SystemMessages};
use annals_core::{AgentName, ModelName};
use annals_runtime::settings::TitleSettings;
use annals_runtime::subagents::Subagents;
use std::collections::{BTreeMap, BTreeSet};

/// A scenario file, read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// A sentence that describes it.
    pub name: String,
    /// Location, agent and model of the first session.
    pub session: InitialSession,
    /// The effect of switches on the context epoch.
    pub policy: Policy,
    /// The declared agents; any other one exists without system text, rules and step limit.
    pub agents: BTreeMap<AgentName, DeclaredAgent>,
    /// The declared models; any other one has [`DeclaredModel::default`].
    pub models: BTreeMap<ModelName, DeclaredModel>,
    /// The settings of compaction.
    pub compaction: CompactionSpec,
    /// The enabled built-in context sources.
    pub builtins: BTreeSet<Builtin>,
    /// Whether files are captured at steps, so that a revert can restore them; an addition to
    /// `fixtures/scenarios/FORMAT.md`.
    pub worktree: bool,
    /// The model that generates titles, if any; an addition to `fixtures/scenarios/FORMAT.md`.
    pub titles: Option<TitleSettings>,
    /// The agents that take tasks, if the tool `task` is offered; an addition to `fixtures/scenarios/FORMAT.md`.
    pub subagents: Option<Subagents>,
    /// The actions in order, at least one.
    pub script: Vec<Action>,
}

/// Location, agent and model of the first session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialSession {
    /// Absolute path of its directory.
    pub location: String,
    /// The selected agent.
    pub agent: AgentName,
    /// The selected model.
    pub model: ModelName,
}

/// A declared agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredAgent {
    /// Its own system text.
    pub system: Option<String>,
    /// The most steps of one activity.
    pub steps: Option<u32>,
    /// Its permission rules; the last one that matches counts.
    pub permissions: Vec<Rule>,
}

/// A declared model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredModel {
    /// Context limit in tokens.
    pub context: u64,
    /// Output limit in tokens.
    pub output: u64,
    /// How context updates are encoded for it.
    pub system_messages: SystemMessages,
}

/// The settings of compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionSpec {
    /// Whether a request that is too large is compacted.
    pub auto: bool,
    /// Whether old tool outputs are cleared before a summary is made.
    pub prune: bool,
    /// Tokens kept free below the context limit.
    pub buffer: u64,
    /// Tokens of the history that a compaction keeps.
    pub keep_tokens: u64,
    /// The agent that summarises; an addition to `fixtures/scenarios/FORMAT.md`.
    pub agent: Option<AgentName>,
}

/// A built-in context source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Builtin {
    /// `core/environment`.
    Environment,
    /// `core/date`.
    Date,
    /// `core/instructions`.
    Instructions,
    /// `core/skill-guidance`.
    Skills,
}

/// Words of `builtins`, in the order of the sources in a baseline.
pub const BUILTINS: &[(&str, Builtin)] = &[
    ("environment", Builtin::Environment),
    ("date", Builtin::Date),
    ("instructions", Builtin::Instructions),
    ("skills", Builtin::Skills),
];

impl Default for InitialSession {
    fn default() -> Self {
        Self { location: "/project".to_owned(), agent: "build".into(), model: "test/alpha".into() }
    }
}

impl Default for DeclaredModel {
    fn default() -> Self {
        Self { context: 200_000, output: 32_000, system_messages: SystemMessages::Native }
    }
}

impl Default for CompactionSpec {
    fn default() -> Self {
        Self { auto: true, prune: true, buffer: 20_000, keep_tokens: 8_000, agent: None }
    }
}
