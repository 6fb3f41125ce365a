//! A store that was opened: in a folder, or in a cluster.

use crate::error::HostError;
use annals_core::SessionId;
use annals_store::disk::{Examination, Remark};
#[cfg(feature = "nats")]
use annals_store::nats::NatsLog;
use annals_store::{DiskLog, EventLog, OpeningReport, Ownership, SharedLog};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// A store that was opened. A clone is the same store.
#[derive(Clone, Debug)]
pub enum OpenedLog {
    /// In a folder of this machine.
    Folder(SharedLog),
    /// In a cluster of NATS JetStream.
    #[cfg(feature = "nats")]
    Cluster(NatsLog),
}

/// An erasure in a cluster that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterErasure {
    /// The sessions that it concerns.
    pub sessions: BTreeSet<SessionId>,
    /// Those whose texts are still in the cluster.
    pub unfinished: BTreeSet<SessionId>,
    /// The servers that have not confirmed yet.
    pub unconfirmed: BTreeSet<String>,
}

/// From this many batches on, the index and the lists of a cluster's store are kept on this machine only once they exist.
#[cfg(feature = "nats")]
const LARGE: u64 = 100_000;

impl OpenedLog {
    /// Its log.
    pub fn log(&self) -> Arc<dyn EventLog> {
        match self {
            Self::Folder(log) => Arc::new(log.clone()),
            #[cfg(feature = "nats")]
            Self::Cluster(log) => Arc::new(log.clone()),
        }
    }

    /// The store in a folder.
    pub const fn folder(&self) -> Option<&SharedLog> {
        match self {
            Self::Folder(log) => Some(log),
            #[cfg(feature = "nats")]
            Self::Cluster(_) => None,
        }
    }

    /// What opening it reported.
    pub fn report(&self) -> Option<OpeningReport> {
        match self.folder()?.ownership() {
            Ownership::Owner(report) | Ownership::Reader(report) => Some(report),
            Ownership::Guest | Ownership::Closed => None,
        }
    }

    /// The log on disk, in the process that owns it.
    pub fn disk(&self) -> Option<Arc<DiskLog>> {
        self.folder()?.disk()
    }

    /// Damage that was found since opening.
    pub fn remarks(&self) -> Vec<Remark> {
        self.folder().map(SharedLog::remarks).unwrap_or_default()
    }

    /// Compares both copies of a store in a folder that is only read.
    pub async fn examine(&self) -> io::Result<Option<Examination>> {
        match self.folder() {
            Some(log) => log.examine().await,
            None => Ok(None),
        }
    }

    /// The erasure that is pending in a cluster.
    pub async fn pending_erasure(&self) -> Result<Option<ClusterErasure>, HostError> {
        match self {
            Self::Folder(_) => Ok(None),
            #[cfg(feature = "nats")]
            Self::Cluster(log) => Ok(log.pending_erasure().await?.map(|pending| ClusterErasure {
                sessions: pending.sessions,
                unfinished: pending.unfinished,
                unconfirmed: pending.unconfirmed,
            })),
        }
    }

    /// Whether nothing can be appended any more, or never could.
    pub fn is_read_only(&self) -> bool {
        let ownership = self.folder().map(SharedLog::ownership);
        matches!(ownership, Some(Ownership::Reader(_) | Ownership::Closed))
    }

    /// Whether this process keeps the lists over all sessions: the owner of a folder does, and every process of a cluster while the
    /// store is small or the index is there already.
    #[cfg_attr(not(feature = "nats"), expect(unused_variables, reason = "it is about clusters"))]
    pub async fn keeps_lists(&self, is_indexed: bool) -> bool {
        match self {
            Self::Folder(log) => matches!(log.ownership(), Ownership::Owner(_)),
            #[cfg(feature = "nats")]
            Self::Cluster(log) => is_indexed || log.count().await.is_ok_and(|count| count < LARGE),
        }
    }

    /// Whether this process adds to the index.
    #[cfg_attr(not(feature = "nats"), expect(unused_variables, reason = "it is about clusters"))]
    pub async fn keeps_index(&self, is_indexed: bool) -> bool {
        match self {
            Self::Folder(_) => !self.is_read_only(),
            #[cfg(feature = "nats")]
            Self::Cluster(_) => self.keeps_lists(is_indexed).await,
        }
    }

    /// Leaves the store.
    ///
    /// # Errors
    /// When a store in a folder cannot be left in order; nothing is lost by that.
    pub async fn close(&self) -> io::Result<()> {
        match self {
            Self::Folder(log) => log.close().await,
            #[cfg(feature = "nats")]
            Self::Cluster(log) => {
                log.close().await;
                Ok(())
            }
        }
    }
}
