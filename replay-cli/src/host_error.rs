//! Why a host cannot start, or continue.

use annals_providers::cassette::CassetteError;
use annals_providers::http::NoLocalServer;
use annals_runtime::host::OpenHostError;
use annals_runtime::rerun::RerunError;
use annals_runtime::{LogError, Refusal};
use annals_tools::AttachError;
use std::io;
use std::path::PathBuf;

/// A host cannot start or continue. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// There is no prompt.
    #[error(
        "no prompt: annals run \"explain this project\"; stdin works too, and `-c` alone resumes what was interrupted"
    )]
    NoPrompt,
    /// The session is idle: there is nothing to continue.
    #[error(
        "nothing to resume: the last turn is finished and no input is waiting; give a prompt: annals run -c \"...\""
    )]
    NothingWaits,
    /// What came through the pipe is no text.
    #[error("stdin is not UTF-8 text; name the file in the prompt instead, and the model reads it")]
    NotText,
    /// Files without a prompt.
    #[error("--file needs a prompt: annals run --file PATH \"what does this show?\"")]
    FilesAlone,
    /// A file cannot be given with a prompt.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// The model takes no media of this type.
    #[error(
        "{}: {model} does not accept {mime}; choose another model with --model, or set `models.\"{model}\".media` in your \
         configuration if it does", file.display()
    )]
    NotTaken { file: PathBuf, mime: String, model: String },
    /// stdin cannot be read.
    #[error("cannot read stdin: {0}")]
    Stdin(#[source] io::Error),
    /// No model is chosen.
    #[error("no model is chosen: {advice}")]
    NoModel { advice: String },
    /// The model is not configured.
    #[error("no model named {name:?} is configured{}", meant_by(.meant))]
    UnknownModel { name: String, meant: Vec<String> },
    /// The model of a session is not configured here.
    #[error(
        "the model of the session, {name:?}, is not configured here; choose another one with --model (see annals models), \
         or describe this one as `models.{name:?}` in your configuration"
    )]
    RecordedModel { name: String },
    /// The agent is not configured.
    #[error("no agent named {name:?}; known agents: {}", known.join(", "))]
    UnknownAgent { name: String, known: Vec<String> },
    /// The model cannot be asked: its key is missing, or its provider unknown.
    #[error("cannot use {model}: {why}")]
    NoEndpoint { model: String, why: String },
    /// The cassette cannot be played.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
    /// No session works here yet.
    #[error("no session in {} yet; leave out -c to start one", directory.display())]
    NothingToContinue { directory: PathBuf },
    /// A session that was imported with texts withheld, without its key.
    #[error(
        "the key of session {session} is not in this store (it was imported with texts withheld); to continue in a fork: \
         annals fork {session}, then annals run -s FORK \"...\""
    )]
    NoKey {
        /// Which session, in short.
        session: String,
    },
    /// The directory of a session is not on this machine.
    #[error(
        "the directory of session {session}, {directory}, does not exist here; to continue in another one: \
         annals run -s {session} --directory DIR \"...\" (or annals chat -s {session} --directory DIR); to move it: \
         annals move {session} DIR; to branch it: annals fork {session} --directory DIR"
    )]
    NoDirectory {
        /// Which session, in short.
        session: String,
        directory: String,
    },
    /// The session works in another project.
    #[error(
        "{directory} is not a checkout of the project of session {session}; to continue there, branch it: \
         annals fork {session} --directory {directory}"
    )]
    OtherProject {
        /// Which session, in short.
        session: String,
        directory: String,
    },
    /// A directory cannot be worked in.
    #[error("{} cannot be the directory of a session: {why}", directory.display())]
    BadDirectory { directory: PathBuf, why: String },
    /// No server answers where a local model should be.
    #[error("{source} for {model}; start it, or correct `providers.{provider}.base_url` in your configuration")]
    NoServer {
        model: String,
        provider: String,
        /// The address without a server, and what the system reported.
        #[source]
        source: NoLocalServer,
    },
    /// The terminal cannot be edited on.
    #[error("cannot use the terminal: {0}")]
    Editor(#[source] rustyline::error::ReadlineError),
    /// Another process runs the session.
    #[error("another process runs session {session}; wait until it ends, or interrupt it there")]
    Runs { session: annals_core::SessionId },
    /// The recorded session cannot be run again.
    #[error(transparent)]
    Rerun(#[from] RerunError),
    /// The runtime cannot be opened over the store.
    #[error(transparent)]
    Open(#[from] OpenHostError),
    /// What was asked for is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The log refused.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl HostError {
    /// The exit status: 2 when the command was used wrongly, 1 when the world is bad news.
    pub fn status(&self) -> u8 {
        match self {
            Self::NoPrompt
            | Self::NothingWaits
            | Self::FilesAlone
            | Self::Attach(_)
            | Self::NotTaken { .. }
            | Self::NotText
            | Self::NoModel { .. }
            | Self::UnknownModel { .. }
            | Self::RecordedModel { .. }
            | Self::UnknownAgent { .. }
            | Self::NothingToContinue { .. }
            | Self::NoDirectory { .. }
            | Self::NoKey { .. }
            | Self::OtherProject { .. }
            | Self::BadDirectory { .. }
            | Self::Rerun(RerunError::NoUserMessage { .. })
            | Self::Cassette(CassetteError::NoFolder(_))
            | Self::Refused(Refusal::NotFound(_)) => 2,
            Self::Stdin(_)
            | Self::Cassette(_)
            | Self::Editor(_)
            | Self::NoEndpoint { .. }
            | Self::NoServer { .. }
            | Self::Runs { .. }
            | Self::Open(_)
            | Self::Rerun(RerunError::Read(_))
            | Self::Refused(_)
            | Self::Log(_) => 1,
        }
    }
}

fn meant_by(meant: &[String]) -> String {
    match meant {
        [] => " (see annals models)".to_owned(),
        meant => format!("; did you mean {}? (see annals models)", meant.join(", ")),
    }
}
