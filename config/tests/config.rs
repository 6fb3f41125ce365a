//! What configuration files and variables give, read as the command reads them.

#[path = "config/definitions.rs"]
mod definitions;
#[path = "config/documentation.rs"]
mod documentation;
#[path = "config/mcp.rs"]
mod mcp;
#[path = "config/projects.rs"]
mod projects;
#[path = "config/values.rs"]
mod values;

use annals_config::*;
use annals_core::AgentName;
use annals_core::NoBlobs;
use annals_core::Time;
use annals_core::bound::Limits;
use annals_core::event::{Effect, Policy, Switch};
use annals_core::permission::authorise;
use annals_providers::http::{EndpointError, Endpoints, KeySource};
use annals_runtime::ports::Clock;
use annals_runtime::settings::Definitions;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A home and a project in a folder of their own.
struct World {
    folder: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("project/.git")).expect("a project");
        let home = folder.path().join("home").to_string_lossy().into_owned();
        Self { folder, variables: vec![("HOME", home)] }
    }

    fn with(user: &str, project: &str) -> Self {
        let world = Self::new();
        world.write("home/.config/annals/config.toml", user);
        world.write("project/.annals/config.toml", project);
        world
    }

    fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn environment(&self) -> Environment {
        let variables = Variables::fixed(self.variables.iter().map(|(name, value)| (*name, value.clone())));
        Environment { variables, directory: self.folder.path().join("project") }
    }

    fn load(&self) -> Result<Config, ConfigError> {
        let environment = self.environment();
        environment.config(&environment.directory)
    }

    fn config(&self) -> Config {
        self.load().unwrap_or_else(|error| panic!("{}", self.stable(&error.to_string())))
    }

    /// Why there is none, with the folder's name taken out.
    fn refusal(&self) -> String {
        self.stable(&self.load().err().map(|error| error.to_string()).unwrap_or_default())
    }

    fn stable(&self, text: &str) -> String {
        text.replace(&*self.folder.path().to_string_lossy(), "")
    }

    fn trust(&self) {
        let environment = self.environment();
        let places = environment.places().expect("places");
        let project = ProjectFile::find(&environment.directory, &environment.variables).expect("a project");
        let text = fs::read_to_string(&project.file).expect("its file");
        Trust::kept_in(&places.trust).give(&project, &text).expect("trust");
    }
}

const USER: &str = "/home/.config/annals/config.toml";
const PROJECT: &str = "/project/.annals/config.toml";
