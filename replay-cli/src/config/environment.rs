//! What surrounds the configuration: environment variables, and the directory where work is done.

use super::places::Places;
use super::problem::ConfigError;
use super::{Config, LoadedConfig};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Environment variables. They may hold secrets: the `Debug` form shows none.
#[derive(Clone)]
pub enum Variables {
    /// Those of this process, read at each use. One that is not UTF-8 counts as unset.
    OfProcess,
    /// These and no others.
    Fixed(Arc<BTreeMap<String, String>>),
}

impl Variables {
    /// These and no others.
    pub fn fixed<'a>(variables: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        Self::Fixed(Arc::new(variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
    }

    /// One of them, unless it is empty.
    pub fn get(&self, name: &str) -> Option<String> {
        let value = match self {
            Self::OfProcess => std::env::var(name).ok(),
            Self::Fixed(all) => all.get(name).cloned(),
        };
        value.filter(|value| !value.is_empty())
    }

    /// All of them.
    pub fn all(&self) -> Vec<(String, String)> {
        match self {
            Self::OfProcess => std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
            Self::Fixed(all) => all.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Variables")
    }
}

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
    ///
    /// # Errors
    /// See [`Config::load`].
    pub fn config(&self, directory: &Path) -> Result<Config, ConfigError> {
        Config::load(&self.places()?, directory, self.variables.clone())
    }

    /// The same, with everything that is refused.
    ///
    /// # Errors
    /// See [`Config::examine`].
    pub fn examined(&self, directory: &Path) -> Result<LoadedConfig, ConfigError> {
        Config::examine(&self.places()?, directory, self.variables.clone())
    }
}
