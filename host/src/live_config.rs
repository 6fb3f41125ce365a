//! The configuration as it is now: files that change while a session runs count from its next boundary on.

use annals_config::{Config, Environment};
use annals_core::event::{AgentProfile, ModelProfile, RequestOptions, Rule};
use annals_core::{AgentName, ModelName};
use annals_providers::http::{Endpoint, EndpointError, Endpoints};
use annals_runtime::settings::Definitions;
use annals_tools::{ChangingConfiguration, ContextSettings};
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// A configuration that is read again when its files change.
pub struct LiveConfig {
    environment: Environment,
    directory: PathBuf,
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
    /// A configuration that was read for work in a directory.
    pub fn new(config: Arc<Config>, environment: Environment, directory: impl Into<PathBuf>) -> Self {
        let files = files(&config);
        Self { environment, directory: directory.into(), read: Mutex::new(ReadConfig { config, version: 0, files }) }
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
    fn since(&self, known: u64) -> Option<(u64, ContextSettings)> {
        let (version, config) = self.now();
        let settings = || ContextSettings {
            instructions: config.instructions(),
            skills: config.skills(),
            context: config.context_programs(),
        };
        (version != known).then(|| (version, settings()))
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
