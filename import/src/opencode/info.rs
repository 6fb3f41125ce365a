//! The description of a session in OpenCode: the `info` record of both generations, and the `session` row.

use super::super::foreign::JsonObject;
use super::super::identity::{Editions, IMPORTER, opencode_created};
use super::AGENT;
use annals_core::event::{Location, Origin, Parent, Policy, ProcessInfo, SessionCreated};
use annals_core::{AgentName, ModelName, SessionId, StoredKey};

/// A session as OpenCode describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenCodeSession {
    /// `ses_...`.
    pub id: String,
    /// Its working directory.
    pub directory: String,
    /// Its workspace, if any.
    pub workspace: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// The selected agent, once one is selected.
    pub agent: Option<String>,
    /// The selected model as `provider/id`, once one is selected.
    pub model: Option<String>,
    /// OpenCode's version.
    pub version: Option<String>,
    /// The parent session, of a child.
    pub parent: Option<String>,
    /// Its creation time (ms).
    pub created: u64,
    /// The program whose session it is; empty for OpenCode itself.
    pub program: &'static str,
}

/// A model reference as `provider/id`. The variant `default` means none; any other is noted.
pub fn model(object: &JsonObject<'_>) -> Option<String> {
    let provider = object.text("providerID")?;
    let id = object.text("modelID").or_else(|| object.text("id"))?;
    if object.text("variant").is_some_and(|variant| variant == "default") {
        object.skip(&["variant"]);
    }
    Some(format!("{provider}/{id}"))
}

/// Whether a title is the placeholder of OpenCode: `New session - 2026-11-21T20:11:17.493Z`.
pub(super) fn is_placeholder(title: &str) -> bool {
    let began = ["New session - ", "Child session - "].iter().find_map(|words| title.strip_prefix(words));
    began.is_some_and(|time| {
        time.len() == 24 && time.ends_with('Z') && time.bytes().all(|b| b.is_ascii_digit() || b"-T:.Z".contains(&b))
    })
}

impl OpenCodeSession {
    /// Reads an `info` record. The revert in it is read by its user.
    pub fn read(info: &JsonObject<'_>) -> Self {
        // Totals and display data that follow from the log.
        info.skip(&["slug", "projectID", "path", "cost", "tokens", "summary", "share", "revert", "metadata"]);
        let time = info.object("time");
        if let Some(time) = &time {
            time.skip_all();
        }
        Self {
            id: info.text("id").unwrap_or_default(),
            directory: info.text("directory").unwrap_or_default(),
            workspace: info.text("workspaceID"),
            title: info.text("title").filter(|title| !is_placeholder(title)),
            agent: info.text("agent"),
            model: info.object("model").and_then(|object| model(&object)),
            version: info.text("version"),
            parent: info.text("parentID"),
            created: time.and_then(|time| time.number("created")).unwrap_or_default(),
            program: "",
        }
    }

    /// Reads a `session` row with the names of the database's columns.
    pub fn of_row(row: &JsonObject<'_>) -> Self {
        Self {
            id: row.text("id").unwrap_or_default(),
            directory: row.text("directory").unwrap_or_default(),
            workspace: row.text("workspace_id"),
            title: row.text("title").filter(|title| !is_placeholder(title)),
            agent: row.text("agent"),
            model: row.object("model").and_then(|object| model(&object)),
            version: row.text("version"),
            parent: row.text("parent_id"),
            created: row.number("time_created").unwrap_or_default(),
            program: "",
        }
    }

    /// The name of its agent in `origin`.
    pub fn agent_name(&self) -> &'static str {
        if self.program.is_empty() { AGENT } else { self.program }
    }

    /// Its session id in the log.
    pub fn session(&self, editions: &Editions) -> SessionId {
        self.other(editions, &self.id, self.created)
    }

    /// The id in the log of a session of the same program that existed around a time (ms).
    pub fn other(&self, editions: &Editions, foreign: &str, near: u64) -> SessionId {
        editions.session(self.agent_name(), foreign, opencode_created(foreign, near).unwrap_or(near))
    }

    /// Its location.
    pub fn location(&self) -> Location {
        Location { directory: self.directory.clone(), workspace: self.workspace.clone() }
    }

    /// The origin that its log records.
    pub fn origin(&self, form: &str) -> Origin {
        Origin {
            agent: self.agent_name().into(),
            version: self.version.clone(),
            id: self.id.clone(),
            form: form.into(),
            importer: IMPORTER,
        }
    }

    /// The first event of its log. The policy is that of OpenCode: a switch keeps the context epoch.
    pub fn creation(&self, editions: &Editions, form: &str) -> SessionCreated {
        SessionCreated {
            location: self.location(),
            agent: AgentName(self.agent.clone().unwrap_or_else(|| "build".into())),
            model: ModelName(self.model.clone().unwrap_or_else(|| "unknown/unknown".into())),
            policy: Policy::default(),
            title: self.title.clone(),
            parent: self
                .parent
                .as_deref()
                .map(|parent| Parent { session: self.other(editions, parent, self.created), call: None }),
            origin: Some(self.origin(form)),
            process: Some(ProcessInfo {
                program: self.agent_name().into(),
                version: self.version.clone(),
                ..ProcessInfo::default()
            }),
            key: StoredKey::NONE,
        }
    }
}
