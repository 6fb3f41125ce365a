//! How a command that runs a session ends without an answer.

use annals_runtime::rerun::RerunError;
use annals_tools::AttachError;
use std::io;
use std::path::PathBuf;

/// A command that runs a session was used wrongly, or its input cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RunCommandError {
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
    /// The input from the pipe is not UTF-8 text.
    #[error("stdin is not UTF-8 text; name the file in the prompt instead, and the model reads it")]
    NotText,
    /// Files without a prompt.
    #[error("--file needs a prompt: annals run --file PATH \"what does this show?\"")]
    FilesAlone,
    /// A system text or a choice of tools without a prompt.
    #[error("--system, --tools and --no-tools belong to a prompt: annals run --tools read,grep \"explain this\"")]
    SettingsAlone,
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
    /// No session works here yet.
    #[error("no session in {} yet; leave out -c to start one", directory.display())]
    NothingToContinue { directory: PathBuf },
    /// The terminal cannot be edited on.
    #[error("cannot use the terminal: {0}")]
    Editor(#[source] rustyline::error::ReadlineError),
    /// The recorded session cannot be run again.
    #[error(transparent)]
    Rerun(#[from] RerunError),
}

impl RunCommandError {
    /// The exit status: 2 when the command was used wrongly, 1 when the world is bad news.
    pub fn status(&self) -> u8 {
        match self {
            Self::NoPrompt
            | Self::NothingWaits
            | Self::FilesAlone
            | Self::SettingsAlone
            | Self::Attach(_)
            | Self::NotTaken { .. }
            | Self::NotText
            | Self::NothingToContinue { .. }
            | Self::Rerun(RerunError::NoUserMessage { .. }) => 2,
            Self::Stdin(_) | Self::Editor(_) | Self::Rerun(RerunError::Read(_)) => 1,
        }
    }
}
