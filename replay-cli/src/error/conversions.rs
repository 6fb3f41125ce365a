//! Which error of a library is which error of a command.

use super::{CliError, ImportCommandError, ScenarioError};
use annals_host::HostError;
use annals_import::{OpenFileError, RecogniseError, SourceImportError};
use annals_inspect::compactions::UndoCompactionError;
use annals_inspect::pins::PinError;
use annals_inspect::reader::FindError;
use annals_inspect::requests::RebuildError;
use annals_runtime::host::{LeaseError, LeasedRunError};
use annals_runtime::rerun::RerunError;
use annals_runtime::{LogError, Refusal};
use annals_scenario::{LoadError, PlayError, RecordError};
use annals_store::{OpenError, SharedError};
use annals_terminal::error::TerminalError;

impl From<FindError> for CliError {
    fn from(error: FindError) -> Self {
        match error {
            FindError::Read(source) => Self::Read(source),
            error => Self::Find(error),
        }
    }
}

impl From<OpenFileError> for CliError {
    fn from(error: OpenFileError) -> Self {
        match error {
            OpenFileError::Recognise(error) => error.into(),
            OpenFileError::Nothing { path } => ImportCommandError::NothingThere { path }.into(),
            OpenFileError::Import(error) => error.into(),
            OpenFileError::File { path, source } => Self::File { path, source },
            error @ OpenFileError::Contradiction { .. } => ImportCommandError::Contradiction(Box::new(error)).into(),
        }
    }
}

impl From<RebuildError> for CliError {
    fn from(error: RebuildError) -> Self {
        match error {
            RebuildError::Read(source) => Self::Read(source),
            error => Self::Rebuild(error),
        }
    }
}

impl From<UndoCompactionError> for CliError {
    fn from(error: UndoCompactionError) -> Self {
        match error {
            UndoCompactionError::Read(source) => Self::Read(source),
            error => Self::Edit(error.into()),
        }
    }
}

impl From<SharedError> for CliError {
    fn from(error: SharedError) -> Self {
        match error {
            SharedError::Open(OpenError::NoStore { dir }) => Self::NoStore { dir },
            error => Self::Open(Box::new(error)),
        }
    }
}

impl From<LeaseError> for CliError {
    fn from(error: LeaseError) -> Self {
        Self::File { path: error.path, source: error.source }
    }
}

impl From<LeasedRunError> for CliError {
    fn from(error: LeasedRunError) -> Self {
        match error {
            LeasedRunError::Lease(error) => error.into(),
            LeasedRunError::Log(error) => error.into(),
        }
    }
}

impl From<ScenarioError> for CliError {
    fn from(error: ScenarioError) -> Self {
        Self::Scenario(Box::new(error))
    }
}

impl From<LogError> for CliError {
    fn from(error: LogError) -> Self {
        Self::Host(Box::new(error.into()))
    }
}

impl From<Refusal> for CliError {
    fn from(refusal: Refusal) -> Self {
        Self::Host(Box::new(refusal.into()))
    }
}

impl From<HostError> for CliError {
    fn from(error: HostError) -> Self {
        match error {
            HostError::NoPlace => Self::NoPlace,
            HostError::File { path, source } => Self::File { path, source },
            HostError::NoStore { dir } => Self::NoStore { dir },
            HostError::OpenStore(error) => Self::Open(error),
            HostError::Collect(error) => error.into(),
            HostError::RecordErasure(error) => error.into(),
            HostError::NoEntropy(error) => error.into(),
            HostError::Find(error) => error.into(),
            HostError::Read(error) => error.into(),
            HostError::Lease(error) => error.into(),
            HostError::Config(error) => error.into(),
            HostError::Edit(error) => error.into(),
            HostError::Signing(error) => error.into(),
            error => Self::Host(Box::new(error)),
        }
    }
}

impl From<TerminalError> for CliError {
    fn from(error: TerminalError) -> Self {
        match error {
            TerminalError::Host(error) => (*error).into(),
            TerminalError::Ask(error) => error.into(),
            TerminalError::Open(error) => (*error).into(),
            TerminalError::Output(error) => Self::Output(error),
        }
    }
}

impl From<RerunError> for CliError {
    fn from(error: RerunError) -> Self {
        Self::Run(error.into())
    }
}

impl From<PinError> for CliError {
    fn from(error: PinError) -> Self {
        Self::Edit(error.into())
    }
}

impl From<SourceImportError> for CliError {
    fn from(error: SourceImportError) -> Self {
        Self::Import(error.into())
    }
}

impl From<RecogniseError> for CliError {
    fn from(error: RecogniseError) -> Self {
        Self::Import(error.into())
    }
}

impl From<LoadError> for CliError {
    fn from(error: LoadError) -> Self {
        ScenarioError::from(error).into()
    }
}

impl From<PlayError> for CliError {
    fn from(error: PlayError) -> Self {
        ScenarioError::from(error).into()
    }
}

impl From<RecordError> for CliError {
    fn from(error: RecordError) -> Self {
        ScenarioError::from(error).into()
    }
}
