//! Which sessions a command means: those of the project that it is started in, unless it says otherwise.

use crate::command_context::CommandContext;
use crate::error::CliError;
use crate::style::Emphasis;
use annals_core::SessionId;
use annals_host::project::{ProjectFolder, ProjectScope, newest};
use annals_inspect::reader::{FindError, Reader};
use annals_projections::Catalogue;
use std::path::Path;

/// The name of the session that changed last.
const LAST: &str = "@last";

impl CommandContext {
    /// The project that was named (`--project`); everything if none was.
    pub fn named_project(&self, named: Option<&str>) -> ProjectScope {
        named.map_or(ProjectScope::All, |named| {
            ProjectScope::In(ProjectFolder::named(named, &self.environment.directory))
        })
    }

    /// The session that a name means; `@last` is the last one of the project.
    ///
    /// # Errors
    /// When none or several match.
    pub async fn find_session(&self, reader: &Reader, name: &str) -> Result<SessionId, CliError> {
        match name.trim() {
            LAST => self.last_session(reader).await,
            name => Ok(reader.find(name).await?),
        }
    }

    /// The session that changed last of those that a command over sessions means.
    ///
    /// # Errors
    /// When there is none, or the log cannot be read.
    async fn last_session(&self, reader: &Reader) -> Result<SessionId, CliError> {
        let catalogue = reader.catalogue().await?;
        match self.project_scope(&catalogue, None) {
            // Also a session that was damaged so early that no list has it.
            ProjectScope::All => Ok(reader.find(LAST).await?),
            ProjectScope::In(project) => {
                let here = newest(&catalogue, |entry| project.contains(&entry.directory) && !entry.forgotten);
                Ok(here.ok_or_else(|| FindError::NoSessions { store: reader.store().clone() })?)
            }
        }
    }

    /// What a command over sessions means: the project that was named, else the one that the command is started in. If no
    /// session belongs to that, everything, which is remarked. Everything with `--all` and in a file.
    pub fn project_scope(&self, catalogue: &Catalogue, named: Option<&str>) -> ProjectScope {
        match named {
            Some(_) => self.named_project(named),
            None => self.scope_around(catalogue, &self.environment.directory),
        }
    }

    /// The same for a command that works in a directory.
    pub fn scope_around(&self, catalogue: &Catalogue, directory: &Path) -> ProjectScope {
        if self.all_projects || self.file.is_some() || catalogue.sessions.is_empty() {
            return ProjectScope::All;
        }
        let here = ProjectFolder::around(directory);
        if catalogue.sessions.values().any(|entry| !entry.forgotten && here.contains(&entry.directory)) {
            return ProjectScope::In(here);
        }
        self.remarks.say_once(Emphasis::Dim, "no session of this project; showing all projects");
        ProjectScope::All
    }
}
