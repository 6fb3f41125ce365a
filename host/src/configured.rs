//! What configuration, environment and options make of a host.

use crate::context::HostContext;
use crate::error::HostError;
use crate::existing_session::{ExistingSession, working_directory};
use crate::expansion::{ExpandedPrompt, PromptExpander, TemplateSource};
use crate::launcher::launcher;
use crate::live_config::LiveConfig;
use annals_config::{Config, SigningSettings};
use annals_core::event::Policy;
use annals_core::{AgentName, ModelName};
use annals_guard::redaction::Redactor;
use annals_providers::http::{Endpoint, Endpoints, HttpProvider, KeySource, check_local_server};
use annals_providers::{CassettePlayer, CassetteRecorder};
use annals_runtime::host::{HostParts, QuestionSender};
use annals_runtime::ports::{Provider, SystemClock, now_of};
use annals_runtime::prompt::UserPrompt;
use annals_runtime::settings::{Definitions, TitleSettings};
use annals_runtime::{NewSession, Settings};
use annals_tools::mcp::{McpServer, McpServers};
use annals_tools::{BackgroundCommands, EditorFiles, LocalServices, SandboxLimits, SandboxSettings};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How like a name must be to be offered, and how many are.
const ALIKE: f64 = 0.75;
const OFFERED: usize = 3;

/// What is asked for: by options of a command, or by the request of a client.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The agent; without it that of the session, or the default one.
    pub agent: Option<String>,
    /// The model; without it that of the session, or the default one.
    pub model: Option<String>,
    /// Where answers are recorded.
    pub record: Option<PathBuf>,
    /// Where recorded answers are taken from.
    pub replay: Option<PathBuf>,
    /// Steps of one prompt after which a run ends; `None`: as configured.
    pub max_steps: Option<u32>,
    /// Where a new session works; the current directory without it.
    pub directory: Option<PathBuf>,
    /// MCP servers besides those of the configuration; one with the same name takes the place of that one.
    pub mcp: Vec<McpServer>,
    /// What an editor does for the session.
    pub editor: EditorServices,
}

/// What an editor does for a session.
#[derive(Clone, Default)]
pub struct EditorServices {
    /// Files with what is not saved in them.
    pub files: Option<Arc<dyn EditorFiles>>,
    /// Questions of models.
    pub user: Option<Arc<dyn UserPrompt>>,
}

impl fmt::Debug for EditorServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EditorServices").field("files", &self.files).finish_non_exhaustive()
    }
}

/// What a run begins with.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The agent.
    pub agent: AgentName,
    /// The model.
    pub model: ModelName,
    /// Where it works.
    pub directory: String,
    /// The agents that can be selected.
    pub agents: Vec<AgentName>,
    /// Those of them that users switch between.
    pub modes: Vec<AgentName>,
    /// What switches do in a new session.
    pub policy: Policy,
    /// Whether the sessions are signed once they are idle.
    pub signing: SigningSettings,
    /// Expands typed prompts.
    pub expander: PromptExpander,
    /// The commands that run in the background.
    pub commands: BackgroundCommands,
    /// The agents that take tasks.
    pub subagents: Vec<AgentName>,
    /// How much is asked for: `ask`, `edits` or `all`.
    pub approval: String,
}

impl Chosen {
    /// A new session with it.
    pub fn new_session(&self) -> NewSession {
        let Self { agent, model, directory, policy, .. } = self.clone();
        NewSession { policy, ..NewSession::at(directory, agent, model) }
    }

    /// Takes agent and model that a template asks for, unless they were named.
    ///
    /// # Errors
    /// When there is no such agent or model.
    pub fn take_from(
        &mut self,
        prompt: &ExpandedPrompt,
        names_agent: bool,
        names_model: bool,
        definitions: &dyn Definitions,
    ) -> Result<(), HostError> {
        if let Some(name) = prompt.agent.as_ref().filter(|_| !names_agent) {
            let known = || self.agents.iter().map(ToString::to_string).collect();
            let found = self.agents.iter().find(|agent| agent.as_str() == name);
            self.agent =
                found.cloned().ok_or_else(|| HostError::UnknownAgent { name: name.clone(), known: known() })?;
        }
        if let Some(model) = prompt.model.as_ref().filter(|_| !names_model) {
            let profile = definitions.model(model);
            let unknown = || HostError::UnknownModel { name: model.to_string(), meant: Vec::new() };
            self.model = profile.ok_or_else(unknown)?.model;
        }
        Ok(())
    }
}

/// The parts of a host for an existing session, or for a new one in the current directory. Nothing is made yet.
///
/// # Errors
/// When the configuration is wrong, there is no such agent or model, or the model cannot be asked.
pub fn configured(
    context: &HostContext,
    options: &RunOptions,
    found: Option<&ExistingSession>,
    questions: QuestionSender,
) -> Result<(HostParts, Chosen), HostError> {
    configured_asking(context, options, found, questions, None)
}

/// The same, where models may also ask the user questions: `user` answers them.
///
/// # Errors
/// As [`configured`].
pub fn configured_asking(
    context: &HostContext,
    options: &RunOptions,
    found: Option<&ExistingSession>,
    questions: QuestionSender,
    user: Option<Arc<dyn UserPrompt>>,
) -> Result<(HostParts, Chosen), HostError> {
    let user = user.or_else(|| options.editor.user.clone());
    let place = match found {
        Some(found) => found.directory.clone(),
        None => working_directory(context, options.directory.as_deref())?,
    };
    let config = context.environment.config(Path::new(&place))?;
    let agent = agent(&config, options, found)?;
    let model = model(&config, &agent, options, found)?;
    let config = Arc::new(config);
    let live = Arc::new(LiveConfig::new(config.clone(), context.environment.clone(), &place, options.mcp.clone()));
    let provider = provider(&config, live.clone(), &model, options)?;
    if options.replay.is_none() {
        answers(&model, &config.endpoint(&model).map_err(|error| no_endpoint(&model, &error))?)?;
    }
    let signing = config.signing();
    let hidden = config.catalog.providers().filter_map(|provider| match config.key(&provider.id) {
        Some(KeySource::Env(name)) => Some(name),
        Some(KeySource::Command(_)) | None => None,
    });
    let commands = BackgroundCommands::default();
    let mcp = McpServers::new(live.mcp_servers(&config)).asking(user.clone());
    let services = LocalServices {
        builtins: config.builtins(),
        instructions: config.instructions(),
        skills: config.skills(),
        hidden: hidden.collect(),
        variables: config.shown_variables(),
        sandbox: config.sandbox().map(sandbox).transpose()?,
        output: config.output(),
        mcp: mcp.clone(),
        command_limit_ms: config.command_limit_ms(),
        commands: commands.clone(),
        search: config.search(),
        servers: config.language_servers(),
        user,
        custom_tools: config.custom_tools(),
        editor: options.editor.files.clone(),
        terminals: Arc::new(config.terminal_variables()),
        context: config.context_programs(),
        configuration: Some(live.clone()),
        own: config.own_folders(),
    };
    let redactor = config.redactor();
    let title = config.titles().then(|| TitleSettings { agent: None, model: small(&config) });
    let settings = Settings {
        compaction: config.compaction(),
        output: config.output(),
        title,
        redactor,
        repeat_limit: config.repeat_limit(),
        max_steps: options.max_steps.map_or_else(|| config.max_steps(), |most| Some(most).filter(|most| *most > 0)),
        names_tools: true,
        summary: Some(live.clone()),
        hooks: Some(live.clone()),
        tool_limits: config.tool_limits(),
        dispensable_tools: DISPENSABLE_TOOLS.map(str::to_owned).to_vec(),
        small_window_tools: Some(SMALL_WINDOW_TOOLS.map(str::to_owned).to_vec()),
        process: Some(context.process_recorder()),
        ..Settings::default()
    };
    let parts = HostParts {
        provider,
        definitions: live.clone(),
        settings,
        services_at: Arc::new(services),
        subagents: config.subagents(),
        clock: Arc::new(config.clock()),
        approver: Arc::new(questions),
    };
    let (agents, policy) = (config.selectable().cloned().collect(), config.policy());
    let modes = config.modes().cloned().collect();
    let subagents: Vec<AgentName> = config.subagents().agents.into_iter().map(|one| one.agent).collect();
    let approval = config.approval().to_owned();
    let templates = TemplateSource::new(move || live.now().1.templates());
    let expander = PromptExpander::new(templates, subagents.clone(), &place, config.is_trusted()).with_servers(mcp);
    let directory = place;
    let chosen =
        Chosen { agent, model, directory, agents, modes, policy, signing, expander, commands, subagents, approval };
    Ok((parts, chosen))
}

/// The sandbox, whose launcher is this program.
fn sandbox(limits: SandboxLimits) -> Result<SandboxSettings, HostError> {
    let launcher = launcher().map_err(|source| HostError::File { path: "/proc/self/exe".into(), source })?;
    Ok(SandboxSettings { launcher, limits })
}

/// The model for small work, if it can be asked: a missing key for another provider must not fail the run.
fn small(config: &Config) -> Option<ModelName> {
    config.small_model().filter(|model| reachable(config, model).is_ok())
}

/// What is left out first where the window of the model is small: what other tools do as well, or few tasks need.
const DISPENSABLE_TOOLS: [&str; 11] = [
    "apply_patch",
    "bash_input",
    "bash_kill",
    "bash_output",
    "lsp_diagnostics",
    "lsp_hover",
    "multiedit",
    "question",
    "todo",
    "webfetch",
    "websearch",
];

/// What is offered where the window of the model is small.
const SMALL_WINDOW_TOOLS: [&str; 6] = ["bash", "edit", "glob", "grep", "read", "write"];

fn agent(config: &Config, options: &RunOptions, found: Option<&ExistingSession>) -> Result<AgentName, HostError> {
    match (&options.agent, found) {
        (Some(name), _) => match config.selectable().find(|agent| agent.as_str() == name) {
            Some(agent) => Ok(agent.clone()),
            None => {
                let known = config.selectable().map(ToString::to_string).collect();
                Err(HostError::UnknownAgent { name: name.clone(), known })
            }
        },
        // The agents of other programs are not known here.
        (None, Some(found)) if found.is_imported && !config.agents.contains_key(&found.agent) => {
            Ok(config.default_agent())
        }
        (None, Some(found)) => Ok(found.agent.clone()),
        (None, None) => Ok(config.default_agent()),
    }
}

fn model(
    config: &Config,
    agent: &AgentName,
    options: &RunOptions,
    found: Option<&ExistingSession>,
) -> Result<ModelName, HostError> {
    let named = options.model.as_deref().map(ModelName::from);
    let recorded = || found.filter(|found| is_usable_here(config, options, found)).map(|found| found.model.clone());
    let wanted = named.or_else(recorded).or_else(|| config.default_model(agent));
    let wanted = wanted.or_else(|| found.map(|found| found.model.clone()));
    let model = wanted.ok_or_else(|| HostError::NoModel { advice: choose(config) })?;
    let known = config.catalog.model(&model).ok_or_else(|| match (&options.model, found) {
        // It was not named for this run: it was selected earlier, when it was known.
        (None, Some(_)) => HostError::RecordedModel { name: model.to_string() },
        _ => unknown_model(config, &model),
    })?;
    match known.profile() {
        Ok(_) => Ok(model),
        Err(error) => Err(HostError::NoEndpoint { model: model.to_string(), why: error.to_string() }),
    }
}

/// Whether a session continues with the model that it was recorded with. One of another program does so only if that can be
/// asked here.
fn is_usable_here(config: &Config, options: &RunOptions, found: &ExistingSession) -> bool {
    !found.is_imported
        || config.catalog.model(&found.model).is_some()
            && (options.replay.is_some() || reachable(config, &found.model).is_ok())
}

/// No model of that name: what was perhaps meant.
pub fn unknown_model(config: &Config, model: &ModelName) -> HostError {
    let wanted = model.as_str().to_lowercase();
    let mut scored: Vec<(f64, String)> = config
        .catalog
        .models()
        .map(|known| known.model.to_string())
        .map(|name| (strsim::jaro_winkler(&wanted, &name), name))
        .filter(|(score, name)| *score >= ALIKE || (!wanted.is_empty() && name.ends_with(&format!("/{wanted}"))))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let meant = scored.into_iter().take(OFFERED).map(|(_, name)| name).collect();
    HostError::UnknownModel { name: model.to_string(), meant }
}

/// How to choose a model, by what keys there are.
fn choose(config: &Config) -> String {
    let file = config.files().0.display().to_string();
    let has_key = |model: &annals_providers::catalog::CatalogModel| {
        config.key(&model.provider).is_some() && config.has_key(&model.provider)
    };
    match config.catalog.models().find(has_key) {
        Some(model) => format!(
            "use --model {0} for this run, or write `model = \"{0}\"` into {file} for all; `annals models` lists others",
            model.model
        ),
        None => format!(
            "set the key of a provider (ANTHROPIC_API_KEY, OPENAI_API_KEY, ...) or start a local server such as Ollama, \
             then use --model NAME, or write `model = \"NAME\"` into {file}; `annals models --all` lists models and keys"
        ),
    }
}

fn provider(
    config: &Config,
    live: Arc<LiveConfig>,
    model: &ModelName,
    options: &RunOptions,
) -> Result<Arc<dyn Provider>, HostError> {
    if let Some(folder) = &options.replay {
        return Ok(Arc::new(CassettePlayer::open(folder.clone()).map_err(HostError::Cassette)?));
    }
    reachable(config, model)?;
    let provider = HttpProvider::new(live, now_of(Arc::new(SystemClock::local())));
    Ok(match &options.record {
        Some(folder) => {
            Arc::new(CassetteRecorder::new(provider, folder.clone()).redacting(config.redactor().map(Redactor::scrub)))
        }
        None => Arc::new(provider),
    })
}

/// A server on this machine must accept connections before a session starts that needs it.
fn answers(model: &ModelName, endpoint: &Endpoint) -> Result<(), HostError> {
    check_local_server(&endpoint.base_url).map_err(|source| {
        let provider = model.as_str().split_once('/').map_or(model.as_str(), |(provider, _)| provider).to_owned();
        HostError::NoServer { model: model.to_string(), provider, source }
    })
}

fn no_endpoint(model: &ModelName, error: &impl std::fmt::Display) -> HostError {
    HostError::NoEndpoint { model: model.to_string(), why: error.to_string() }
}

/// Fails before anything is created if the model cannot be asked.
fn reachable(config: &Config, model: &ModelName) -> Result<(), HostError> {
    let cannot = |why: String| HostError::NoEndpoint { model: model.to_string(), why };
    let endpoint = config.endpoint(model).map_err(|error| no_endpoint(model, &error))?;
    let provider = model.as_str().split_once('/').map_or(model.as_str(), |(provider, _)| provider);
    match endpoint.key {
        Some(KeySource::Env(name)) if !config.has_key(provider) => Err(cannot(format!(
            "{name} is not set; set that environment variable to your key for {provider}, or configure a `key_command` for \
             it in {}",
            config.files().0.display()
        ))),
        Some(KeySource::Env(_) | KeySource::Command(_)) | None => Ok(()),
    }
}
