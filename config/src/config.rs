//! Everything that is configured for work in a directory.

use crate::agent::Agent;
use crate::origin::{ConfigLayer, ValueOrigin};
use crate::places::{PROJECT_FILE, Places, ProjectFile};
use crate::problem::{ConfigError, Problem};
use crate::reading::{self, Setting};
use crate::settings::MergedSettings;
use crate::trust::Trust;
use crate::variables::Variables;
use crate::{guard, mcp, models};
use annals_core::bound::Limits;
use annals_core::event::{Policy, Switch};
use annals_core::{AgentName, ModelName};
use annals_providers::catalog::Catalog;
use annals_runtime::context::instructions::{InstructionFiles, opted_out};
use annals_runtime::ports::SystemClock;
use annals_runtime::settings::{CompactionSettings, REPEAT_LIMIT};
use annals_runtime::subagents::{Subagent, Subagents};
use annals_tools::BuiltinSources;
use annals_tools::mcp::McpServer;
use annals_tools::skills::SkillRoot;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A project's own skills, below its folder.
const OWN_SKILLS: &str = ".annals/skills";

/// The default of `max_steps`.
const MAX_STEPS: u64 = 200;

/// Everything that is configured for work in a directory.
#[derive(Clone)]
pub struct Config {
    /// Every value with its origin.
    pub settings: MergedSettings,
    /// The agents by name.
    pub agents: BTreeMap<AgentName, Agent>,
    /// The models.
    pub catalog: Catalog,
    /// The project's file, if there is one.
    pub project: Option<ProjectFile>,
    /// Whether the user trusts the project's file as it is.
    trusted: bool,
    places: Places,
    directory: PathBuf,
    pub(crate) variables: Variables,
}

/// What is configured, and what of it may not be.
pub struct LoadedConfig {
    /// What the files say together. While anything is refused, without the project's file.
    pub config: Config,
    /// The text of the project's file that was judged.
    pub text: Option<String>,
    /// What of the project's file only a trusted one may do.
    pub refused: Vec<Problem>,
}

/// How heads of sessions are signed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SigningSettings {
    /// Whether `run` and `chat` sign the sessions that they changed once these are idle.
    pub automatically: bool,
    /// The file of the key.
    pub key: Option<PathBuf>,
}

impl Config {
    /// What is configured for work in a directory.
    ///
    /// # Errors
    /// When a file is wrong, cannot be read, or does what only a trusted one may.
    pub fn load(places: &Places, directory: &Path, variables: Variables) -> Result<Self, ConfigError> {
        let LoadedConfig { config, refused, .. } = Self::examine(places, directory, variables)?;
        match &config.project {
            Some(project) if !refused.is_empty() => Err(ConfigError::Untrusted {
                problems: refused,
                file: project.file.clone(),
                project: project.root.clone(),
            }),
            _ => Ok(config),
        }
    }

    /// The same, with everything that is refused.
    ///
    /// # Errors
    /// When a file is wrong or cannot be read.
    pub fn examine(places: &Places, directory: &Path, variables: Variables) -> Result<LoadedConfig, ConfigError> {
        let directory = std::path::absolute(directory)
            .map_err(|source| ConfigError::File { path: directory.to_owned(), source })?;
        let mut problems = Vec::new();
        let mut settings = MergedSettings::built_in();
        if let Some(text) = read(&places.user_file)? {
            let reading = reading::read(ConfigLayer::User, places.user_file.clone(), &text);
            problems.extend(reading.problems);
            settings.lay(reading.settings);
            crate::remember::apply(&mut settings, places, &directory);
        }
        let (mut refused, mut trusted, mut text) = (Vec::new(), false, None);
        let project = ProjectFile::find(&directory, &variables);
        if let Some(project) = &project {
            text = read(&project.file)?;
        }
        if let (Some(project), Some(text)) = (&project, &text) {
            let reading = reading::read(ConfigLayer::Project, project.file.clone(), text);
            problems.extend(reading.problems);
            problems.extend(guard::never(&reading.settings));
            trusted = Trust::kept_in(&places.trust).holds(project, text)?;
            if !trusted {
                refused = guard::refused(&reading.settings, &settings, &project.root);
            }
            if refused.is_empty() {
                settings.lay(reading.settings);
            }
        }
        settings.lay_environment(&variables);
        let file = |setting: &Setting| file_of(places, project.as_ref(), setting);
        let catalog = models::catalog(&settings, places, file, &mut problems)?;
        let mut agents = BTreeMap::new();
        for name in settings.names(&["agents"]) {
            agents.insert(AgentName::from(name), Agent::read(&settings, name, file, &mut problems)?);
        }
        let places = places.clone();
        let config = Self { settings, agents, catalog, project, trusted, places, directory, variables };
        let mut config = config;
        for agent in config.markdown_agents() {
            config.agents.entry(agent.name.clone()).or_insert(agent);
        }
        config.check(&mut problems);
        if problems.is_empty() { Ok(LoadedConfig { config, text, refused }) } else { Err(ConfigError::Wrong(problems)) }
    }

    /// The agent of a new session.
    pub fn default_agent(&self) -> AgentName {
        self.settings.text(&["agent"]).unwrap_or_default().into()
    }

    /// The agents that a session may have.
    pub fn selectable(&self) -> impl Iterator<Item = &AgentName> {
        self.agents.values().filter(|agent| agent.is_selectable()).map(|agent| &agent.name)
    }

    /// The agents that users switch between.
    pub fn modes(&self) -> impl Iterator<Item = &AgentName> {
        self.agents.values().filter(|agent| agent.is_mode()).map(|agent| &agent.name)
    }

    /// The model of a new session of an agent; `None` when none is configured.
    pub fn default_model(&self, agent: &AgentName) -> Option<ModelName> {
        // A variable is said for this very run.
        let model = self.settings.get(&["model"]);
        let general = model.and_then(|setting| setting.value.as_str()).map(ModelName::from);
        match model.map(|setting| &setting.origin) {
            Some(ValueOrigin::Environment(_)) => general,
            _ => self.agents.get(agent).and_then(|agent| agent.model.clone()).or(general),
        }
    }

    /// The model for small work.
    pub fn small_model(&self) -> Option<ModelName> {
        self.settings.text(&["small_model"]).map(ModelName::from)
    }

    /// Whether questions on a terminal first import what agents wrote.
    pub fn refresh(&self) -> bool {
        self.settings.flag(&["refresh"]).unwrap_or(true)
    }

    /// Whether untitled sessions are given a title.
    pub fn titles(&self) -> bool {
        self.settings.flag(&["titles"]).unwrap_or(false)
    }

    /// How much is asked for, as it is configured: `ask`, `edits` or `all`.
    pub fn approval(&self) -> &str {
        self.settings.text(&["approval"]).unwrap_or("ask")
    }

    /// When the history is compacted.
    pub fn compaction(&self) -> CompactionSettings {
        let usual = CompactionSettings::default();
        let flag = |key| self.settings.flag(&["compaction", key]);
        let count = |key| self.settings.count(&["compaction", key]);
        let text = |key| self.settings.text(&["compaction", key]);
        CompactionSettings {
            auto: flag("auto").unwrap_or(usual.auto),
            prune: flag("prune").unwrap_or(usual.prune),
            buffer: count("buffer").unwrap_or(usual.buffer),
            keep_tokens: count("keep_tokens").unwrap_or(usual.keep_tokens),
            agent: text("agent").map(AgentName::from),
            instructions: text("instructions").map(str::to_owned),
            model: text("model").map(ModelName::from),
        }
    }

    /// How much of a tool's output the model sees.
    pub fn output(&self) -> Limits {
        let usual = Limits::default();
        let count = |key| self.settings.count(&["output", key]).and_then(|count| usize::try_from(count).ok());
        Limits { lines: count("lines").unwrap_or(usual.lines), bytes: count("bytes").unwrap_or(usual.bytes) }
    }

    /// Number of equal failures in a row after which a call is refused; 0: never.
    pub fn repeat_limit(&self) -> u64 {
        self.settings.count(&["tools", "repeat_limit"]).unwrap_or(REPEAT_LIMIT)
    }

    /// Steps of one prompt after which a run ends; `None`: no limit.
    pub fn max_steps(&self) -> Option<u32> {
        let steps = self.settings.count(&["max_steps"]).unwrap_or(MAX_STEPS);
        Some(u32::try_from(steps).unwrap_or(u32::MAX)).filter(|steps| *steps > 0)
    }

    /// The built-in context sources.
    pub fn builtins(&self) -> BuiltinSources {
        let is_on = |name| self.settings.flag(&["builtins", name]).unwrap_or(true);
        BuiltinSources {
            clock: Arc::new(self.clock()),
            environment: is_on("environment"),
            date: is_on("date"),
            instructions: is_on("instructions"),
            skills: is_on("skills"),
        }
    }

    /// The clock, in the configured time zone or the machine's.
    pub fn clock(&self) -> SystemClock {
        // The name was tried when it was loaded.
        let zone = self.settings.text(&["time_zone"]).and_then(|zone| SystemClock::in_zone(zone).ok());
        zone.unwrap_or_else(SystemClock::local)
    }

    /// What selecting another agent or model does in new sessions.
    pub fn policy(&self) -> Policy {
        let replaces = |key| self.settings.text(&["switch", key]) == Some(Switch::Replace.as_str());
        let switch = |key| if replaces(key) { Switch::Replace } else { Switch::Keep };
        Policy { agent_switch: switch("agent"), model_switch: switch("model") }
    }

    /// The agents that take tasks, and how deep tasks nest. None at depth 0.
    pub fn subagents(&self) -> Subagents {
        let depth = self.settings.count(&["tasks", "depth"]).and_then(|depth| usize::try_from(depth).ok()).unwrap_or(1);
        let taking = self.agents.values().filter(|agent| depth > 0 && agent.takes_tasks());
        let subagent = |agent: &Agent| Subagent {
            agent: agent.name.clone(),
            description: agent.description.clone(),
            model: agent.model.clone(),
        };
        Subagents { agents: taking.map(subagent).collect(), depth }
    }

    /// The instruction files. By default the global one is `AGENTS.md` next to the user's configuration, else `~/.claude/CLAUDE.md`.
    pub fn instructions(&self) -> InstructionFiles {
        let global = self.settings.texts(&["instructions", "global"]);
        let user = &self.places.user_dir;
        let global: Vec<PathBuf> = match global {
            Some(paths) => paths.iter().map(|path| self.places.resolve(path, user)).collect(),
            None => {
                let claude = self.places.home.as_ref().map(|home| home.join(".claude/CLAUDE.md"));
                std::iter::once(user.join("AGENTS.md")).chain(claude).collect()
            }
        };
        let files = self.settings.list(&["instructions", "files"]);
        let project = self.settings.flag(&["instructions", "project"]).unwrap_or(true);
        InstructionFiles {
            global: global.into_iter().map(|path| path.to_string_lossy().into_owned()).collect(),
            names: self.settings.texts(&["instructions", "names"]).unwrap_or_default(),
            configured: files.filter_map(|setting| setting.value.as_str().map(str::to_owned)).collect(),
            home: self.places.home.as_ref().map(|home| home.to_string_lossy().into_owned()),
            project: project && !opted_out(|name| self.variables.get(name)),
            links_out: self.trusted,
            guarded: self.settings.rules(&["permissions"]),
        }
    }

    /// Folders with skills; the first with a skill of a name counts: the project's `.annals/skills`, those of the files, the
    /// user's `skills` next to the configuration. They are read without a question; those of an untrusted project are
    /// left out if they lead out of it, and bounded by it and by the rules for `read`.
    pub fn skills(&self) -> Vec<SkillRoot> {
        let root = self.project.as_ref().map_or(self.directory.as_path(), |project| project.root.as_path());
        let stays = self.trusted || guard::stays(Path::new(OWN_SKILLS), root);
        let project = !opted_out(|name| self.variables.get(name));
        let own = (stays && project).then(|| root.join(OWN_SKILLS));
        let bound = (!self.trusted).then(|| self.bound().to_string_lossy().into_owned());
        let rules = self.settings.rules(&["permissions"]);
        let of = |path: PathBuf, within: Option<String>| {
            // A model cannot name a path that is not UTF-8.
            let guarded = within.as_ref().map(|_| rules.clone()).unwrap_or_default();
            Some(SkillRoot { path: path.into_os_string().into_string().ok()?, within, guarded })
        };
        let named = self.settings.list(&["skills", "folders"]).filter_map(|setting| {
            let own = matches!(setting.origin, ValueOrigin::File { layer: ConfigLayer::Project, .. });
            of(file_of(&self.places, self.project.as_ref(), setting), bound.clone().filter(|_| own))
        });
        // Unlike commands and agents, skills are in a form that agents share: they are read next to an `AGENTS.md` as well.
        let claude = project.then(|| self.bound().join(".claude/skills")).filter(|folder| folder.is_dir());
        let claude =
            claude.filter(|folder| self.trusted || guard::stays(folder.strip_prefix(root).unwrap_or(folder), root));
        let users_claude = self.places.home.as_ref().map(|home| home.join(".claude/skills"));
        let users_claude = users_claude.filter(|folder| folder.is_dir());
        own.into_iter()
            .chain(claude)
            .filter_map(|own| of(own, bound.clone()))
            .chain(named)
            .chain(of(self.places.user_dir.join("skills"), None))
            .chain(users_claude.and_then(|folder| of(folder, None)))
            .collect()
    }

    /// The project's folder `.claude`, which is read where the project has no `AGENTS.md`.
    pub(crate) fn claude_folder(&self) -> Option<PathBuf> {
        let root = self.bound();
        let is_read = !root.join("AGENTS.md").exists() && !opted_out(|name| self.variables.get(name));
        is_read.then(|| root.join(".claude")).filter(|folder| folder.is_dir())
    }

    /// The user's folder `.claude`, which is read where the user has no `AGENTS.md`.
    pub(crate) fn user_claude_folder(&self) -> Option<PathBuf> {
        let folder = self.places.home.as_ref()?.join(".claude");
        (!self.places.user_dir.join("AGENTS.md").exists() && folder.is_dir()).then_some(folder)
    }

    /// The files that it was read from, those that would be read if they were there, and the folders of agents.
    pub fn sources(&self) -> Vec<PathBuf> {
        let project = match &self.project {
            Some(project) => vec![project.file.clone()],
            None => vec![self.directory.join(PROJECT_FILE), self.bound().join(PROJECT_FILE)],
        };
        let own = [self.places.user_file.clone(), self.places.trust.clone()];
        own.into_iter().chain(project).chain(self.agent_files()).collect()
    }

    /// Whether the user trusts the project's file as it is.
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// The folder that links of an untrusted project may not lead out of: the one with `.git`, else the project's own.
    pub(crate) fn bound(&self) -> &Path {
        let own = self.project.as_ref().map_or(self.directory.as_path(), |project| project.root.as_path());
        own.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(own)
    }

    /// The MCP servers that are to be started, by name.
    pub fn mcp(&self) -> Vec<McpServer> {
        let named = self.settings.names(&["mcp"]).into_iter();
        // Each of them was tried when it was loaded.
        let server = |name| mcp::server(&self.settings, &self.variables, &self.logins(), name).ok().flatten();
        named.filter_map(server).collect()
    }

    /// The folder with what logins at MCP servers gave.
    pub(crate) fn logins(&self) -> PathBuf {
        self.places.user_dir.join(mcp::LOGINS)
    }

    /// Where a server is configured, as `annals config` names it.
    pub fn mcp_origin(&self, name: &str) -> Option<String> {
        let of = |setting: &&crate::reading::Setting| matches!(setting.path.as_slice(), [mcp, server, ..] if mcp == "mcp" && server == name);
        self.settings.all().iter().rfind(of).map(|setting| setting.origin.to_string())
    }

    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether sessions are signed once they are idle, and the key that signs; without one it is the user's usual SSH key.
    pub fn signing(&self) -> SigningSettings {
        let key = self.settings.get(&["sign", "key"]);
        SigningSettings {
            automatically: self.settings.flag(&["sign", "automatically"]).unwrap_or(false),
            key: key.map(|setting| file_of(&self.places, None, setting)),
        }
    }

    /// The files that there are: the user's, then the project's.
    pub fn files(&self) -> (&Path, Option<&Path>) {
        (&self.places.user_file, self.project.as_ref().map(|project| project.file.as_path()))
    }
}

/// The file or folder that a setting names: what is relative is so to the project's folder, or to that of the user's
/// file.
fn file_of(places: &Places, project: Option<&ProjectFile>, setting: &Setting) -> PathBuf {
    let base = match (&setting.origin, project) {
        (ValueOrigin::File { layer: ConfigLayer::Project, .. }, Some(project)) => &project.root,
        _ => &places.user_dir,
    };
    places.resolve(setting.value.as_str().unwrap_or_default(), base)
}

fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::File { path: path.to_owned(), source }),
    }
}
