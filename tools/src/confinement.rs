//! The sandbox of commands: how they are started in it, and what their results say of it (`docs/sandbox.md`).

use annals_core::{Json, NoBlobs};
use annals_guard::OBEYED_UNASKED;
use annals_runtime::tools::{ToolError, ToolOutput};
use annals_sandbox::{Launcher, ProtectedFiles, PutBack, Sandbox, SandboxError, SandboxPolicy};
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
    /// Further places that commands can never change: the configuration of this program.
    pub read_only: Vec<PathBuf>,
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
        let SandboxLimits { home, writable, network, write, hide, read_only } = &self.limits;
        let mut policy = SandboxPolicy::of_project(project, home.as_deref(), &OBEYED_UNASKED);
        policy.writable = *writable;
        policy.network = *network;
        policy.write.extend(write.iter().cloned());
        policy.hide.extend(hide.iter().cloned());
        policy.read_only.extend(read_only.iter().cloned());
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
    pub(super) fn keep(&self) -> Result<KeptFiles, ToolError> {
        Ok(KeptFiles(Some(ProtectedFiles::capture(self.sandbox()?.policy()))))
    }

    /// Folders in which commands cannot make files directly, since something in them stays closed. None where mounts keep it closed.
    pub(super) fn narrowed(&self) -> Vec<PathBuf> {
        let narrowed = |sandbox: &Sandbox| (!sandbox.enforced().bubblewrap).then(|| sandbox.policy().narrowed());
        self.0.as_ref().ok().and_then(narrowed).unwrap_or_default()
    }

    /// The words that start a command of a shell.
    pub(super) fn command(&self, shell: &str, command: &str) -> io::Result<Vec<OsString>> {
        let sandbox = self.sandbox().map_err(io::Error::other)?;
        Ok(sandbox.command(shell, &["-c".as_ref(), command.as_ref()]))
    }

    /// A result with what was enforced, and what the command seems to have been refused.
    pub(super) fn noted(&self, output: ToolOutput, put_back: &[PutBack]) -> ToolOutput {
        let Ok(sandbox) = &self.0 else { return output };
        let failed =
            output.structured.as_ref().and_then(|value| value.value(&NoBlobs).get("exit").and_then(Value::as_i64));
        let text = output.text.clone().unwrap_or_default().to_lowercase();
        let refused = failed.is_some_and(|exit| exit != 0) && REFUSALS.iter().any(|words| text.contains(words));
        let mut remark = remark_of(put_back);
        if refused {
            remark.push_str(
                " The command ran in a sandbox: it may change only the project and /tmp, and has no network unless the \
                 configuration says so. If it needs more, repeat the call with `outside: true`; the user is asked.",
            );
        }
        let enforced = sandbox.enforced();
        let mut note = json!({
            "landlock": enforced.landlock, "seccomp": enforced.seccomp, "bubblewrap": enforced.bubblewrap,
            "network": enforced.network, "writable": enforced.writable, "refused": refused,
        });
        note_put_back(&mut note, put_back);
        with(output, &note, &remark)
    }

    /// The result of a command that the user let out.
    pub(super) fn outside(output: ToolOutput) -> ToolOutput {
        with(output, &json!({ "outside": true }), "")
    }
}

/// The result of a command in the background that has ended, with what was put back since.
pub(super) fn noted_later(output: ToolOutput, put_back: &[PutBack]) -> ToolOutput {
    if put_back.is_empty() {
        return output;
    }
    let mut note = json!({});
    note_put_back(&mut note, put_back);
    with(output, &note, &remark_of(put_back))
}

/// Protected files as they were before a command. They are put back at the latest when this is dropped, as when a call is interrupted.
#[derive(Debug)]
pub(super) struct KeptFiles(Option<ProtectedFiles>);

impl KeptFiles {
    /// Puts back what the command changed.
    pub(super) fn restore(mut self) -> Vec<PutBack> {
        let put_back = self.0.take().map(|kept| kept.restore()).unwrap_or_default();
        log(&put_back);
        put_back
    }
}

impl Drop for KeptFiles {
    fn drop(&mut self) {
        if let Some(kept) = self.0.take() {
            log(&kept.restore());
        }
    }
}

fn log(put_back: &[PutBack]) {
    for (path, restored) in put_back {
        tracing::warn!(path = %path.display(), restored, "a command in the sandbox changed a protected file");
    }
}

/// What the model reads of protected files that a command changed.
fn remark_of(put_back: &[PutBack]) -> String {
    let remark = |(path, restored): &PutBack| {
        let what = if *restored { "was put back by" } else { "was changed in spite of" };
        format!(" {} {what} the sandbox.", path.display())
    };
    put_back.iter().map(remark).collect()
}

/// Names them for the readers of the session: all of them, and those that are not as they were.
fn note_put_back(note: &mut Value, put_back: &[PutBack]) {
    let names = |only_lost: bool| -> Vec<_> {
        let named = put_back.iter().filter(|(_, restored)| !only_lost || !restored);
        named.map(|(path, _)| path.to_string_lossy()).collect()
    };
    if let Some(fields) = note.as_object_mut() {
        fields.insert("put_back".into(), json!(names(false)));
        fields.insert("not_restored".into(), json!(names(true)));
    }
}

/// A result with a note on the sandbox, and with a remark for the model.
fn with(mut output: ToolOutput, note: &Value, remark: &str) -> ToolOutput {
    let mut structured = output.structured.as_ref().map(|value| value.value(&NoBlobs)).unwrap_or_default();
    if let Some(fields) = structured.as_object_mut() {
        fields.insert("sandbox".into(), note.clone());
    }
    output.structured = Some(Json::canonical(&structured));
    if !remark.is_empty() {
        output.text.get_or_insert_default().push_str(remark);
    }
    output
}
