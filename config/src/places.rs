//! Where configuration files are.

use crate::problem::ConfigError;
use crate::variables::Variables;
use annals_runtime::context::instructions::opted_out;
use std::path::{Path, PathBuf};

/// The variable that names the user's file.
pub const VARIABLE: &str = "ANNALS_CONFIG";

/// The project's file, below the project's folder.
pub const PROJECT_FILE: &str = ".annals/config.toml";

/// Where the user's configuration is, and where trust is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The user's file; there may be none.
    pub user_file: PathBuf,
    /// The folder with the user's other files: `AGENTS.md`, `skills`.
    pub user_dir: PathBuf,
    /// The folder where it is kept which projects are trusted.
    pub trust: PathBuf,
    /// The value of `~/`.
    pub home: Option<PathBuf>,
}

impl Places {
    /// The file with the prices of models that the user stored; there may be none.
    pub fn prices(&self) -> PathBuf {
        self.user_dir.join("prices.json")
    }
}

/// A project's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// The project's folder.
    pub root: PathBuf,
    /// The file itself; it exists.
    pub file: PathBuf,
}

impl Places {
    /// The user's file: the one that [`VARIABLE`] names, else `annals/config.toml` in the configuration folder of the
    /// XDG rules.
    ///
    /// # Errors
    /// When there is no home folder.
    pub fn of(variables: &Variables) -> Result<Self, ConfigError> {
        let home = variables.get("HOME").map(PathBuf::from).or_else(|| etcetera::home_dir().ok());
        let folder = |variable: &str, usual: &str| {
            let named = variables.get(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            named.or_else(|| home.as_ref().map(|home| home.join(usual))).ok_or(ConfigError::NoHome)
        };
        let trust = folder("XDG_DATA_HOME", ".local/share")?.join("annals-trust");
        let user_file = match variables.get(VARIABLE) {
            Some(file) => PathBuf::from(file),
            None => folder("XDG_CONFIG_HOME", ".config")?.join("annals").join("config.toml"),
        };
        let user_dir = user_file.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { user_file, user_dir, trust, home })
    }

    /// A path in the user's configuration: `~/` is the home folder, a relative path is below `base`.
    pub fn resolve(&self, path: &str, base: &Path) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(path),
        }
    }
}

impl ProjectFile {
    /// The project's file that counts in a directory: the nearest one, from there up to the folder with `.git`. Without
    /// such a folder only the directory itself is the project. None where [`opted_out`].
    pub fn find(directory: &Path, variables: &Variables) -> Option<Self> {
        if opted_out(|name| variables.get(name)) {
            return None;
        }
        let bound = directory.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(directory);
        let roots = directory.ancestors().take_while(|folder| folder.starts_with(bound));
        let mut files = roots.map(|root| Self { root: root.to_owned(), file: root.join(PROJECT_FILE) });
        files.find(|found| found.file.is_file())
    }
}
