//! Why a store in a cluster cannot be opened or created.

use super::address::NatsAddress;

/// A store in a cluster cannot be opened or created. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// No server answers, or it refuses this client.
    #[error("{address}: {reason}")]
    Connect {
        /// Where.
        address: Box<NatsAddress>,
        /// What was tried and what came.
        reason: String,
    },
    /// A file of the login cannot be read.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// Which.
        path: std::path::PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The server is too old.
    #[error("{address}: the server has version {found}; Annals needs 2.12 or newer (https://nats.io/download)")]
    Version {
        /// Where.
        address: Box<NatsAddress>,
        /// What it says.
        found: String,
    },
    /// There is no such store.
    #[error(
        "{address}: there is no such store; to create it: annals store create {address} --replicas 3 --shards 8 --monitor http://HOST:8222"
    )]
    NoStore {
        /// Which.
        address: Box<NatsAddress>,
    },
    /// A stream is not configured as it must be.
    #[error("{address}: stream {stream} has {setting} = {found}, and must have {expected}; to mend it: {command}")]
    Setting {
        /// Which store.
        address: Box<NatsAddress>,
        /// Which stream.
        stream: String,
        /// What.
        setting: &'static str,
        /// Its value.
        found: String,
        /// What it must be.
        expected: String,
        /// The command that mends it.
        command: String,
    },
    /// A server acknowledges before it flushes, or it is not known whether it does.
    #[error(
        "{address}: {reason}; set `jetstream {{ sync_interval: always }}` on every server, or accept that a power failure may lose acknowledged events: annals store create {address} --accept-unsynced"
    )]
    Unsynced {
        /// Which store.
        address: Box<NatsAddress>,
        /// What was found.
        reason: String,
    },
    /// Numbers that no store can have.
    #[error("{address}: {reason}")]
    Numbers {
        /// Which store.
        address: Box<NatsAddress>,
        /// What is wrong.
        reason: &'static str,
    },
    /// The servers refused a request.
    #[error("{address}: {reason}")]
    Refused {
        /// Which store.
        address: Box<NatsAddress>,
        /// What they said.
        reason: String,
    },
}

impl NatsError {
    /// Whether a command was used wrongly, or a store is not as it must be: not only the world as it is now.
    pub const fn is_wrong_use(&self) -> bool {
        !matches!(self, Self::Connect { .. } | Self::Refused { .. })
    }
}
