//! The configuration as it is now: files that change while a session runs count from its next boundary on.

use annals_config::{Config, Environment};
use annals_core::event::{AgentProfile, ModelProfile, RequestOptions, Rule};
use annals_core::{AgentName, ModelName, SessionId};
use annals_providers::http::{Endpoint, EndpointError, Endpoints};
use annals_runtime::Boxed;
use annals_runtime::hooks::{HookedCall, Hooks};
use annals_runtime::settings::{Definitions, SummaryHook};
use annals_runtime::tools::ToolOutput;
use annals_tools::mcp::McpServer;
use annals_tools::{ChangingConfiguration, RenewedSettings};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// A configuration that is read again when its files change.
pub struct LiveConfig {
    environment: Environment,
    directory: PathBuf,
    /// Servers that the client of a session names.
    named: Vec<McpServer>,
    read: Mutex<ReadConfig>,
}

/// What was read, and how the files were then.
struct ReadConfig {
    config: Arc<Config>,
    version: u64,
    files: Vec<ChangedFile>,
}

/// A file, and when it was last changed; without a time if it does not exist.
type ChangedFile = (PathBuf, Option<(SystemTime, u64)>);

fn files(config: &Config) -> Vec<ChangedFile> {
    let state = |path: PathBuf| {
        let found = fs::metadata(&path).ok();
        let changed = found.and_then(|found| Some((found.modified().ok()?, found.len())));
        (path, changed)
    };
    config.sources().into_iter().map(state).collect()
}

impl LiveConfig {
    /// A configuration that was read for work in a directory, and MCP servers that are used in addition to its own.
    pub fn new(
        config: Arc<Config>,
        environment: Environment,
        directory: impl Into<PathBuf>,
        named: Vec<McpServer>,
    ) -> Self {
        let files = files(&config);
        let read = Mutex::new(ReadConfig { config, version: 0, files });
        Self { environment, directory: directory.into(), named, read }
    }

    /// The MCP servers of a configuration, and those that were named; one of these takes the place of one with its name.
    pub fn mcp_servers(&self, config: &Config) -> Vec<McpServer> {
        let configured = config.mcp().into_iter();
        let configured = configured.filter(|server| !self.named.iter().any(|named| named.name == server.name));
        configured.chain(self.named.iter().cloned()).collect()
    }

    /// The configuration as it was last read.
    fn config(&self) -> Arc<Config> {
        self.read().config.clone()
    }

    /// The configuration as its files are now, and the number of this version. While they are wrong, the one before counts.
    pub fn now(&self) -> (u64, Arc<Config>) {
        let mut read = self.read();
        if read.files != files(&read.config) {
            match self.environment.config(&self.directory) {
                Ok(config) => (read.config, read.version) = (Arc::new(config), read.version + 1),
                Err(error) => tracing::warn!(%error, "the configuration was changed and is not used: it is wrong"),
            }
            read.files = files(&read.config);
        }
        (read.version, read.config.clone())
    }

    fn read(&self) -> MutexGuard<'_, ReadConfig> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChangingConfiguration for LiveConfig {
    fn since(&self, known: u64) -> Option<(u64, RenewedSettings)> {
        let (version, config) = self.now();
        let settings = || RenewedSettings {
            instructions: config.instructions(),
            skills: config.skills(),
            context: config.context_programs(),
            custom_tools: config.custom_tools(),
            mcp: self.mcp_servers(&config),
        };
        (version != known).then(|| (version, settings()))
    }
}

/// The hooks that are configured now. Most configurations have none.
impl Hooks for LiveConfig {
    fn before_tool<'a>(&'a self, call: &'a HookedCall) -> Boxed<'a, Result<(), String>> {
        Box::pin(async move { self.config().hooks().before_tool(call).await })
    }

    fn after_tool<'a>(
        &'a self,
        call: &'a HookedCall,
        ended: Result<&'a ToolOutput, &'a str>,
    ) -> Boxed<'a, Option<String>> {
        Box::pin(async move { self.config().hooks().after_tool(call, ended).await })
    }

    fn at_boundary<'a>(&'a self, session: SessionId, directory: &'a str) -> Boxed<'a, ()> {
        Box::pin(async move { self.now().1.hooks().at_boundary(session, directory).await })
    }
}

impl SummaryHook for LiveConfig {
    fn context(&self, session: SessionId) -> Boxed<'_, Option<String>> {
        Box::pin(async move { self.config().hooks().context(session).await })
    }
}

/// Agents, models and options as they were at the boundary.
impl Definitions for LiveConfig {
    fn agent(&self, agent: &AgentName) -> Option<AgentProfile> {
        self.config().agent(agent)
    }

    fn agent_on(&self, agent: &AgentName, model: &ModelName) -> Option<AgentProfile> {
        self.config().agent_on(agent, model)
    }

    fn own_rules(&self, agent: &AgentName) -> Vec<Rule> {
        self.config().own_rules(agent)
    }

    fn model(&self, model: &ModelName) -> Option<ModelProfile> {
        self.config().model(model)
    }

    fn options(&self, agent: &AgentName, model: &ModelName) -> RequestOptions {
        self.config().options(agent, model)
    }
}

impl Endpoints for LiveConfig {
    fn endpoint(&self, model: &ModelName) -> Result<Endpoint, EndpointError> {
        self.config().endpoint(model)
    }
}
