//! An editor: the client of the Agent Client Protocol's TypeScript SDK, which checks each line against the published schema.
//!
//! `tests/acp/install` installs it into `target/acp`, or the folder in `ANNALS_ACP`. Without Node or the package, tests print why
//! they are skipped; when `ANNALS_ACP` or `CI` is set they fail.

use crate::deadline::WithDeadline;
use crate::needed::{in_ci, skipped};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What an editor does, in order.
#[derive(Default)]
pub struct EditorScript {
    steps: Vec<Value>,
    permissions: Vec<&'static str>,
}

/// What an editor saw.
#[derive(Debug)]
pub struct Seen {
    /// The answers to its requests, in order; `{"error": ...}` for a refusal.
    pub answers: Vec<Value>,
    /// The parameters of `session/update`.
    pub updates: Vec<Value>,
    /// The parameters of `session/request_permission`.
    pub permissions: Vec<Value>,
    /// Lines that the schema does not allow, with what is wrong.
    pub problems: Vec<Value>,
}

impl EditorScript {
    /// Sends a request. `"$session"` in it is the newest session.
    #[must_use]
    pub fn asks(mut self, method: &str, params: Value) -> Self {
        self.steps.push(json!({"method": method, "params": params}));
        self
    }

    /// Sends a prompt, and cancels the turn after an update of a kind.
    #[must_use]
    pub fn cancels(mut self, prompt: &str, on: &str) -> Self {
        let params = json!({"sessionId": "$session", "prompt": [{"type": "text", "text": prompt}]});
        self.steps.push(json!({"method": "session/prompt", "params": params, "cancelOn": on}));
        self
    }

    /// Sends a prompt of text.
    #[must_use]
    pub fn prompts(self, text: &str) -> Self {
        let prompt = json!([{"type": "text", "text": text}]);
        self.asks("session/prompt", json!({"sessionId": "$session", "prompt": prompt}))
    }

    /// Chooses an option in the next permission question; after the last one, questions are cancelled.
    #[must_use]
    pub fn chooses(mut self, option: &'static str) -> Self {
        self.permissions.push(option);
        self
    }

    /// Plays it with an agent; `None`, with the reason printed, when the editor is not there.
    ///
    /// # Errors
    /// When it is there and does not work, or has to be there and is not.
    pub fn play(&self, agent: &Command) -> io::Result<Option<Seen>> {
        let Some(client) = client()? else { return Ok(None) };
        let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
        let environment: BTreeMap<String, String> =
            agent.get_envs().filter_map(|(name, value)| Some((text(name), text(value?)))).collect();
        let input = json!({
            "program": text(agent.get_program()),
            "arguments": agent.get_args().map(text).collect::<Vec<_>>(),
            "environment": environment,
            "directory": agent.get_current_dir(),
            "permissions": self.permissions,
            "steps": self.steps,
        });
        let mut node = Command::new("node");
        let node = node.arg(client).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = node.spawn_watched()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.to_string().as_bytes())?;
        }
        let ended = child.wait_with_output()?;
        let seen: Value = serde_json::from_slice(&ended.stdout)
            .map_err(|error| io::Error::other(format!("{error}: {}", String::from_utf8_lossy(&ended.stderr))))?;
        let list = |name: &str| seen.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        Ok(Some(Seen {
            answers: list("answers"),
            updates: list("updates"),
            permissions: list("permissions"),
            problems: list("problems"),
        }))
    }
}

impl Seen {
    /// The updates of a kind, without what surrounds them.
    pub fn kind(&self, kind: &str) -> Vec<&Value> {
        let updates = self.updates.iter().filter_map(|update| update.get("update"));
        updates.filter(|update| update.get("sessionUpdate").is_some_and(|of| of == kind)).collect()
    }

    /// The text of all chunks of a kind.
    pub fn text(&self, kind: &str) -> String {
        self.kind(kind).iter().filter_map(|update| update.pointer("/content/text")?.as_str()).collect()
    }
}

fn client() -> io::Result<Option<PathBuf>> {
    let given = env::var_os("ANNALS_ACP").map(PathBuf::from);
    let target = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"));
    let folder = given.clone().unwrap_or_else(|| target.join("acp"));
    let client = folder.join("client.mjs");
    if client.is_file() && folder.join("installed").is_file() {
        return Ok(Some(client));
    }
    if given.is_some() || in_ci() {
        let message = format!("CI or ANNALS_ACP is set, but {} is not there: run tests/acp/install", client.display());
        return Err(io::Error::other(message));
    }
    skipped("node", "the ACP client is not installed (tests/acp/install installs it)");
    Ok(None)
}
