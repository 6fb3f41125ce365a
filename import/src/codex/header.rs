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
}

impl RolloutHeader {
    /// Reads `session_meta`, recorded at a time (ms).
    pub fn read(payload: &JsonObject<'_>, at: u64) -> Self {
        let recorded = payload.text("timestamp").as_deref().and_then(super::moment).unwrap_or(at);
        let id = payload.text("id").or_else(|| payload.text("session_id")).unwrap_or_default();
        let spawn = payload.object("source").and_then(|source| source.object("subagent"));
        let spawn = spawn.and_then(|subagent| {
            subagent.skip_all();
            subagent.object("thread_spawn").and_then(|spawn| {
                spawn.skip_all();
                spawn.text("parent_thread_id")
            })
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
        ]);
        Self {
            created: created(&id, recorded),
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
            parent: payload.text("parent_thread_id").or(spawn),
        }
    }
}
