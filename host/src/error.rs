//! Why a host cannot start, or continue.

mod edit;
mod signing;

pub use edit::EditError;
pub use signing::SigningError;

use annals_config::ConfigError;
use annals_inspect::reader::FindError;
use annals_providers::cassette::CassetteError;
use annals_providers::http::NoLocalServer;
use annals_runtime::host::{LeaseError, LeasedRunError, OpenHostError};
use annals_runtime::ports::NoEntropy;
use annals_runtime::{LogError, Refusal};
use annals_store::disk::CollectError;
use annals_store::erasure::RecordErasureError;
use annals_store::{OpenError, ReadError, SharedError};
use std::io;
use std::path::PathBuf;

/// A host cannot start or continue. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// No model is chosen.
    #[error("no model is chosen: {advice}")]
    NoModel {
        /// How to choose one.
        advice: String,
    },
    /// The model is not configured.
    #[error("no model named {name:?} is configured{}", meant_by(.meant))]
    UnknownModel {
        /// The name as it was given.
        name: String,
        /// Names that are like it.
        meant: Vec<String>,
    },
    /// The model of a session is not configured here.
    #[error(
        "the model of the session, {name:?}, is not configured here; choose another one with --model (see annals models), \
         or describe this one as `models.{name:?}` in your configuration"
    )]
    RecordedModel {
        /// The name as it was given.
        name: String,
    },
    /// The agent is not configured.
    #[error("no agent named {name:?}; known agents: {}", known.join(", "))]
    UnknownAgent {
        /// The name as it was given.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The model cannot be asked: its key is missing, or its provider unknown.
    #[error("cannot use {model}: {why}")]
    NoEndpoint {
        /// Which model.
        model: String,
        /// Why not.
        why: String,
    },
    /// The cassette cannot be played.
    #[error(transparent)]
    Cassette(#[from] CassetteError),
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
         annals session move {session} DIR; to branch it: annals fork {session} --directory DIR"
    )]
    NoDirectory {
        /// Which session, in short.
        session: String,
        /// Which directory.
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
        /// Which directory.
        directory: String,
    },
    /// A directory cannot be worked in.
    #[error("{} cannot be the directory of a session: {why}", directory.display())]
    BadDirectory {
        /// Which directory.
        directory: PathBuf,
        /// Why not.
        why: String,
    },
    /// No server answers where a local model should be.
    #[error("{source} for {model}; start it, or correct `providers.{provider}.base_url` in your configuration")]
    NoServer {
        /// Which model.
        model: String,
        /// Which provider.
        provider: String,
        /// The address without a server, and what the system reported.
        #[source]
        source: NoLocalServer,
    },
    /// Another process runs the session.
    #[error("another process runs session {session}; wait until it ends, or interrupt it there")]
    Runs {
        /// Which session.
        session: annals_core::SessionId,
    },
    /// The runtime cannot be opened over the store.
    #[error(transparent)]
    Open(#[from] OpenHostError),
    /// What was asked for is refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The log refused.
    #[error(transparent)]
    Log(#[from] LogError),
    /// There is no place to keep a store.
    #[error("no home folder for the store; name a folder with --store DIR or ANNALS_STORE")]
    NoPlace,
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// There is no store yet.
    #[error("there is no store in {}", dir.display())]
    NoStore {
        /// The folder.
        dir: PathBuf,
    },
    /// What works on files of a store was asked of one that has none.
    #[error(
        "{what} works on a store in a folder, not on {store}; to work on a copy: annals copy --from {store} --to DIR \
         [SESSION...], then the same with --store DIR"
    )]
    OnlyInAFolder {
        /// What was asked for.
        what: &'static str,
        /// The address of the store.
        store: String,
    },
    /// The address of a store in a cluster was given to a build without clusters.
    #[cfg(not(feature = "nats"))]
    #[error("this build has no support for stores in a cluster (the feature nats); name a folder")]
    NoClusters,
    /// The address of a store in a cluster is none.
    #[cfg(feature = "nats")]
    #[error(transparent)]
    Address(#[from] annals_store::nats::AddressError),
    /// A store in a cluster cannot be opened.
    #[cfg(feature = "nats")]
    #[error(transparent)]
    Cluster(#[from] annals_store::nats::NatsError),
    /// Texts could not be erased in a cluster.
    #[cfg(feature = "nats")]
    #[error(transparent)]
    ClusterErasure(#[from] annals_store::nats::NatsEraseError),
    /// The store cannot be opened.
    #[error("{0}")]
    OpenStore(#[source] Box<SharedError>),
    /// Blobs cannot be collected.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// An erasure could not be recorded.
    #[error(transparent)]
    RecordErasure(#[from] RecordErasureError),
    /// No new id can be made.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
    /// No session is meant.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The right to run a session cannot be taken.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The configuration cannot be worked with.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A session was not changed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// Something cannot be signed.
    #[error(transparent)]
    Signing(#[from] SigningError),
}

impl HostError {
    /// The exit status of a command: 2 when it was used wrongly, 1 when the world is bad news.
    pub fn status(&self) -> u8 {
        match self {
            Self::NoModel { .. }
            | Self::UnknownModel { .. }
            | Self::RecordedModel { .. }
            | Self::UnknownAgent { .. }
            | Self::NoDirectory { .. }
            | Self::NoKey { .. }
            | Self::OtherProject { .. }
            | Self::BadDirectory { .. }
            | Self::NoPlace
            | Self::NoStore { .. }
            | Self::OnlyInAFolder { .. }
            | Self::Find(_)
            | Self::Config(_)
            | Self::Lease(_)
            | Self::Read(ReadError::NoSession(_))
            | Self::Cassette(CassetteError::NoFolder(_))
            | Self::Refused(Refusal::NotFound(_)) => 2,
            #[cfg(not(feature = "nats"))]
            Self::NoClusters => 2,
            #[cfg(feature = "nats")]
            Self::Address(_) => 2,
            #[cfg(feature = "nats")]
            Self::Cluster(error) => 1 + u8::from(error.is_wrong_use()),
            #[cfg(feature = "nats")]
            Self::ClusterErasure(error) => 1 + u8::from(error.is_wrong_use()),
            Self::OpenStore(error) if matches!(**error, SharedError::Open(OpenError::Foreign { .. })) => 2,
            Self::File { source, .. } => status_of_file(source),
            Self::Edit(error) => error.status(),
            Self::Signing(error) => error.status(),
            Self::Cassette(_)
            | Self::NoEndpoint { .. }
            | Self::NoServer { .. }
            | Self::Runs { .. }
            | Self::Open(_)
            | Self::OpenStore(_)
            | Self::Collect(_)
            | Self::RecordErasure(_)
            | Self::NoEntropy(_)
            | Self::Read(_)
            | Self::Refused(_)
            | Self::Log(_) => 1,
        }
    }
}

impl From<SharedError> for HostError {
    fn from(error: SharedError) -> Self {
        match error {
            SharedError::Open(OpenError::NoStore { dir }) => Self::NoStore { dir },
            error => Self::OpenStore(Box::new(error)),
        }
    }
}

impl From<LeasedRunError> for HostError {
    fn from(error: LeasedRunError) -> Self {
        match error {
            LeasedRunError::Lease(error) => error.into(),
            LeasedRunError::Log(error) => error.into(),
        }
    }
}

fn meant_by(meant: &[String]) -> String {
    match meant {
        [] => " (see annals models)".to_owned(),
        meant => format!("; did you mean {}? (see annals models)", meant.join(", ")),
    }
}

/// The exit status for a file that could not be read or written: 1 where the disk refused, else 2, since another file was meant.
pub fn status_of_file(error: &io::Error) -> u8 {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge | ReadOnlyFilesystem => 1,
        // An I/O error of the device has no kind of its own.
        _ if error.raw_os_error() == Some(5) => 1,
        _ => 2,
    }
}
