//! What surrounds the configuration: environment variables, and the directory where work is done.

use crate::config::{Config, LoadedConfig};
use crate::places::Places;
use crate::problem::ConfigError;
use crate::variables::Variables;
use std::path::{Path, PathBuf};

/// What surrounds the configuration.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Environment variables.
    pub variables: Variables,
    /// Where work is done unless something else is said.
    pub directory: PathBuf,
}

impl Environment {
    /// That of this process.
    pub fn of_process() -> Self {
        // A directory that is gone shows when something is looked for in it.
        let directory = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        Self { variables: Variables::OfProcess, directory }
    }

    /// Where configuration files are.
    ///
    /// # Errors
    /// When there is no home folder.
    pub fn places(&self) -> Result<Places, ConfigError> {
        Places::of(&self.variables)
    }

    /// A directory: the one that is named, below the one where work is done.
    pub fn directory(&self, named: Option<&Path>) -> PathBuf {
        named.map_or_else(|| self.directory.clone(), |named| self.directory.join(named))
    }

    /// What is configured for work in a directory.
    pub fn config(&self, directory: &Path) -> Result<Config, ConfigError> {
        Config::load(&self.places()?, directory, self.variables.clone())
    }

    /// The same, with everything that is refused.
    pub fn examined(&self, directory: &Path) -> Result<LoadedConfig, ConfigError> {
        Config::examine(&self.places()?, directory, self.variables.clone())
    }
}
