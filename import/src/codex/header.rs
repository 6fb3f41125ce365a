//! The header of a rollout.

use super::super::foreign::JsonObject;
use super::{AGENT, created};
use annals_core::event::{GitState, ProcessInfo};

/// The header of a rollout.
#[derive(Clone, Debug, Default)]
pub struct RolloutHeader {
    /// The thread's id.
    pub id: String,
    /// When it was created (ms).
    pub created: u64,
    /// The program of Codex, its version, and the git state of the directory.
    pub process: ProcessInfo,
    /// The directory that it works in.
    pub cwd: String,
    pub(super) provider: String,
    pub(super) instructions: Option<String>,
    pub(super) parent: Option<String>,
    /// What the agent is called in its family of threads: `/root/NAME`.
    pub(super) agent_path: Option<String>,
    pub(super) nickname: Option<String>,
    /// When its file was begun (ms).
    pub(super) begun: u64,
    /// The other thread whose header follows, with copies of its lines.
    pub(super) copied: Option<String>,
    /// The thread whose lines it begins with, copied.
    pub(super) forked_from: Option<String>,
    /// What it continues without a copy.
    pub(super) base: Option<HistoryBase>,
    /// The ordinal of its first line that is not copied.
    pub(super) own_from: Option<u64>,
}

/// The part of a thread that another file continues.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HistoryBase {
    /// The thread, or the id of a later part of it.
    pub segment: String,
    /// The ordinal of the first line that is not continued.
    pub end: u64,
}

impl RolloutHeader {
    /// Reads `session_meta`, recorded at a time (ms).
    pub fn read(payload: &JsonObject<'_>, at: u64) -> Self {
        let recorded = payload.moment("timestamp").unwrap_or(at);
        let id = payload.text("id").or_else(|| payload.text("session_id")).unwrap_or_default();
        let subagent = payload.object("source").and_then(|source| source.object("subagent"));
        let spawn = subagent.and_then(|subagent| {
            subagent.skip_all();
            subagent.object("thread_spawn")
        });
        spawn.iter().for_each(JsonObject::skip_all);
        let named = |name: &str| {
            let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
            filled(payload.text(name)).or_else(|| filled(spawn.as_ref()?.text(name)))
        };
        let base = payload.object("history_base").and_then(|base| {
            base.skip_all();
            Some(HistoryBase { segment: base.text("thread_id")?, end: base.number("end_ordinal_exclusive")? })
        });
        let instructions = payload.object("base_instructions").and_then(|base| base.text("text"));
        payload.skip(&[
            "session_id",
            "account_scoped",
            "runtime_workspace_roots",
            "source",
            "thread_source",
            "history_mode",
            "context_window",
            "multi_agent_version",
            "dynamic_tools",
            "memory_mode",
            "forked_from_ordinal_exclusive",
            "agent_role",
            "timestamp",
        ]);
        Self {
            created: created(&id, recorded),
            begun: if at > 0 { at } else { recorded },
            copied: None,
            id,
            process: ProcessInfo {
                program: payload.text("originator").filter(|name| !name.is_empty()).unwrap_or_else(|| AGENT.into()),
                version: payload.text("cli_version"),
                git: payload.object("git").map(|git| GitState {
                    branch: git.text("branch"),
                    commit: git.text("commit_hash"),
                    dirty: None,
                    repository: git.text("repository_url"),
                }),
                ..ProcessInfo::default()
            },
            cwd: payload.text("cwd").unwrap_or_default(),
            provider: payload.text("model_provider").unwrap_or_else(|| "openai".into()),
            instructions: instructions.or_else(|| payload.text("instructions")),
            parent: named("parent_thread_id"),
            agent_path: named("agent_path"),
            nickname: named("agent_nickname"),
            forked_from: named("forked_from_id"),
            base,
            own_from: payload.number("subagent_history_start_ordinal"),
        }
    }
    /// The title of a sub-agent: the name that its parent gave it.
    pub fn title(&self) -> Option<String> {
        let path = self.agent_path.as_deref().map(|path| path.trim_start_matches("/root").trim_start_matches('/'));
        path.filter(|path| !path.is_empty()).map(str::to_owned).or_else(|| self.nickname.clone())
    }
}
