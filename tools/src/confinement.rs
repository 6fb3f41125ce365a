//! The sandbox of commands: how they are started in it, and what their results say of it (`docs/sandbox.md`).

use annals_core::{Json, NoBlobs};
use annals_runtime::tools::{ToolError, ToolOutput};
use annals_sandbox::{Launcher, ProtectedFiles, Sandbox, SandboxError, SandboxPolicy};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// The permission action that a command outside the sandbox is judged by, after `bash`.
pub const OUTSIDE: &str = "outside_sandbox";

/// What programs say when the system refuses them something.
const REFUSALS: [&str; 12] = [
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "network is unreachable",
    "could not resolve",
    "couldn't resolve",
    "temporary failure in name resolution",
    "failed to lookup address",
    "getaddrinfo",
    "eacces",
    "eperm",
    "can't connect",
];

/// What commands of a location may do, as the configuration says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxLimits {
    /// The home folder, whose keys are hidden.
    pub home: Option<PathBuf>,
    /// Whether commands may change the project.
    pub writable: bool,
    /// Whether commands have a network.
    pub network: bool,
    /// Further places that commands may change.
    pub write: Vec<PathBuf>,
    /// Further places that commands cannot read.
    pub hide: Vec<PathBuf>,
}

/// How commands of a location are confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    /// The program that confines itself and becomes the command.
    pub launcher: Launcher,
    /// What commands may do.
    pub limits: SandboxLimits,
}

impl SandboxSettings {
    /// The policy for a project.
    pub fn policy(&self, project: PathBuf) -> SandboxPolicy {
        let SandboxLimits { home, writable, network, write, hide } = &self.limits;
        let mut policy = SandboxPolicy::of_project(project, home.as_deref());
        policy.writable = *writable;
        policy.network = *network;
        policy.write.extend(write.iter().cloned());
        policy.hide.extend(hide.iter().cloned());
        policy
    }
}

/// The sandbox of a location, or why there is none although there should be: then no command is started.
#[derive(Clone, Debug)]
pub struct Confinement(Result<Sandbox, String>);

impl Confinement {
    /// Tries what this machine enforces of a policy.
    pub fn probe(launcher: Launcher, policy: SandboxPolicy) -> Self {
        Self(Sandbox::probe(launcher, policy).map_err(|error: SandboxError| error.to_string()))
    }

    /// Why no command can be started; `None` when they can.
    pub fn trouble(&self) -> Option<&str> {
        self.0.as_ref().err().map(String::as_str)
    }

    fn sandbox(&self) -> Result<&Sandbox, String> {
        let advice = "`sandbox.mode = \"off\"` in the configuration runs commands without it";
        self.0.as_ref().map_err(|trouble| format!("The sandbox cannot be used: {trouble}. {advice}."))
    }

    /// The protected files as they are before a command.
    pub(super) fn keep(&self) -> Result<ProtectedFiles, ToolError> {
        Ok(ProtectedFiles::capture(&self.sandbox()?.policy().protect))
    }

    /// The words that start a command of a shell.
    pub(super) fn command(&self, shell: &str, command: &str) -> io::Result<Vec<OsString>> {
        let sandbox = self.sandbox().map_err(io::Error::other)?;
        Ok(sandbox.command(shell, &["-c".as_ref(), command.as_ref()]))
    }

    /// A result with what was enforced, and what the command seems to have been refused.
    pub(super) fn noted(&self, told: ToolOutput, put_back: &[(PathBuf, bool)]) -> ToolOutput {
        let Ok(sandbox) = &self.0 else { return told };
        let failed =
            told.structured.as_ref().and_then(|value| value.value(&NoBlobs).get("exit").and_then(Value::as_i64));
        let text = told.text.clone().unwrap_or_default().to_lowercase();
        let refused = failed.is_some_and(|exit| exit != 0) && REFUSALS.iter().any(|words| text.contains(words));
        let mut remark = String::new();
        for (path, restored) in put_back {
            let what = if *restored { "was put back by" } else { "was changed in spite of" };
            remark.push_str(&format!(" {} {what} the sandbox.", path.display()));
        }
        if refused {
            remark.push_str(
                " The command ran in a sandbox: it may change only the project and /tmp, and has no network unless the \
                 configuration says so. If it needs more, repeat the call with `outside: true`; the user is asked.",
            );
        }
        let enforced = sandbox.enforced();
        let names: Vec<_> = put_back.iter().map(|(path, _)| path.to_string_lossy()).collect();
        let note = json!({
            "landlock": enforced.landlock, "seccomp": enforced.seccomp, "bubblewrap": enforced.bubblewrap,
            "network": enforced.network, "writable": enforced.writable, "refused": refused, "put_back": names,
        });
        with(told, &note, &remark)
    }

    /// The result of a command that the user let out.
    pub(super) fn outside(told: ToolOutput) -> ToolOutput {
        with(told, &json!({ "outside": true }), "")
    }
}

/// A result with a note on the sandbox, and with a remark for the model.
fn with(mut told: ToolOutput, note: &Value, remark: &str) -> ToolOutput {
    let mut structured = told.structured.as_ref().map(|value| value.value(&NoBlobs)).unwrap_or_default();
    if let Some(fields) = structured.as_object_mut() {
        fields.insert("sandbox".into(), note.clone());
    }
    told.structured = Some(Json::canonical(&structured));
    if !remark.is_empty() {
        told.text.get_or_insert_default().push_str(remark);
    }
    told
}
