//! Starts commands in a sandbox, and the launcher that each of them begins as.

use crate::{EnforceError, Enforced, SandboxPolicy, bubblewrap, enforce};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// The exit code of a launcher that could not start the command.
pub const LAUNCH_FAILED: u8 = 125;

/// The words that ask a launcher to say what it enforces, and to start a command.
const PROBE: &str = "probe";
const RUN: &str = "run";

/// The program that restricts itself and becomes the command: it passes its arguments to [`launch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The program.
    pub program: PathBuf,
    /// Its arguments before those of [`launch`], such as the name of a hidden command.
    pub arguments: Vec<String>,
}

/// A sandbox that was tried on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    launcher: Launcher,
    policy: SandboxPolicy,
    enforced: Enforced,
    bubblewrap: Option<PathBuf>,
}

/// There is no sandbox on this machine.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The launcher could not be started.
    #[error("the launcher {0} could not be started: {1}")]
    Start(PathBuf, #[source] io::Error),
    /// The launcher failed.
    #[error("the launcher failed: {0}")]
    Failed(String),
    /// The system confines nothing.
    #[error("this system offers neither Landlock nor a usable bubblewrap")]
    Unsupported,
}

/// What a launcher is to enforce.
#[derive(Serialize, Deserialize)]
struct LaunchRequest {
    policy: SandboxPolicy,
    /// The version of Landlock's interface that it must find.
    landlock: u32,
    /// Whether it runs within bubblewrap.
    mounted: bool,
}

impl Sandbox {
    /// Tries what this machine enforces of a policy, with bubblewrap where that can be used.
    ///
    /// # Errors
    /// When nothing is enforced: no command may be taken for confined.
    pub fn probe(launcher: Launcher, policy: SandboxPolicy) -> Result<Self, SandboxError> {
        let plain = Self { launcher, policy, enforced: Enforced::default(), bubblewrap: None };
        let wrapped = bubblewrap::program().map(|program| Self { bubblewrap: Some(program), ..plain.clone() });
        if let Some(Ok(sandbox)) = wrapped.map(Self::tried) {
            return Ok(sandbox);
        }
        plain.tried()
    }

    /// Like `probe`, without bubblewrap (for tests).
    ///
    /// # Errors
    /// As [`probe`](Self::probe).
    pub fn probe_plain(launcher: Launcher, policy: SandboxPolicy) -> Result<Self, SandboxError> {
        Self { launcher, policy, enforced: Enforced::default(), bubblewrap: None }.tried()
    }

    fn tried(mut self) -> Result<Self, SandboxError> {
        let words = self.words(PROBE, None);
        let (program, arguments) = words.split_first().ok_or(SandboxError::Unsupported)?;
        let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
        let output = output.map_err(|error| SandboxError::Start(program.into(), error))?;
        let failed = || SandboxError::Failed(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        let enforced: Enforced = serde_json::from_slice(&output.stdout).map_err(|_| failed())?;
        self.enforced = Enforced { bubblewrap: self.bubblewrap.is_some(), ..enforced };
        if self.enforced.confines() { Ok(self) } else { Err(SandboxError::Unsupported) }
    }

    /// What is enforced of every command.
    pub fn enforced(&self) -> &Enforced {
        &self.enforced
    }

    /// The policy.
    pub fn policy(&self) -> &SandboxPolicy {
        &self.policy
    }

    /// The words that start a command in this sandbox, the program first.
    pub fn command(&self, program: impl AsRef<OsStr>, arguments: &[&OsStr]) -> Vec<OsString> {
        let command = [vec![program.as_ref()], arguments.to_vec()].concat();
        self.words(RUN, Some(&command))
    }

    fn words(&self, verb: &str, command: Option<&[&OsStr]>) -> Vec<OsString> {
        let request = LaunchRequest {
            policy: self.policy.clone(),
            landlock: self.enforced.landlock,
            mounted: self.bubblewrap.is_some(),
        };
        // Paths that are not UTF-8 have no JSON; then nothing is started.
        let request = serde_json::to_string(&request).unwrap_or_default();
        let mut words: Vec<OsString> = Vec::new();
        if let Some(program) = &self.bubblewrap {
            words.push(program.into());
            words.extend(bubblewrap::arguments(&self.policy));
        }
        words.push(self.launcher.program.clone().into());
        words.extend(self.launcher.arguments.iter().map(OsString::from));
        words.extend([verb.into(), request.into()]);
        words.extend(command.unwrap_or_default().iter().map(|word| (*word).to_owned()));
        words
    }
}

/// Is the launcher: restricts this process and becomes the command, or says what it enforces. Gives the exit code when
/// there is no command any more to become.
pub fn launch(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    match start(&arguments.into_iter().collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the sandbox did not start the command: {error}");
            ExitCode::from(LAUNCH_FAILED)
        }
    }
}

fn start(arguments: &[OsString]) -> Result<(), LauncherError> {
    let [verb, request, command @ ..] = arguments else { return Err(LauncherError::Arguments) };
    let request: LaunchRequest = serde_json::from_slice(request.as_encoded_bytes())?;
    let enforced = enforce::enforce(&request.policy, request.mounted)?;
    match (verb.to_str(), command) {
        (Some(PROBE), []) => {
            println!("{}", serde_json::to_string(&enforced)?);
            Ok(())
        }
        (Some(RUN), [program, arguments @ ..]) => {
            if enforced.landlock < request.landlock {
                return Err(LauncherError::Weaker { found: enforced.landlock, wanted: request.landlock });
            }
            Err(LauncherError::Start(Command::new(program).args(arguments).exec()))
        }
        _ => Err(LauncherError::Arguments),
    }
}

/// Why a launcher did not start the command.
#[derive(Debug, thiserror::Error)]
enum LauncherError {
    #[error("the launcher was called with other arguments than those of `Sandbox::command`")]
    Arguments,
    #[error("the policy cannot be read: {0}")]
    Policy(#[from] serde_json::Error),
    #[error(transparent)]
    Enforce(#[from] EnforceError),
    #[error("Landlock has version {found} here, and {wanted} was promised")]
    Weaker { found: u32, wanted: u32 },
    #[error("{0}")]
    Start(#[source] io::Error),
}
