//! Sealed segments that a guest reads by itself: they do not change while their owner lives, and every batch that goes over the
//! socket is copied four times.

use super::messages::Connection;
use super::owner_connections::{OwnerConnections, exchange};
use super::wire::{Answer, Ask};
use crate::disk::{ReadOnlyLog, StoreId};
use crate::log::{ReadError, Slice};
use annals_core::{Seq, SessionId};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Mutex;

/// Number of batches sent by the owner after which the files are opened: a guest that reads little never opens them.
const WORTH: u64 = 2_000;

/// Number of further batches after which they are opened again, since there are new ones.
const RENEWED: u64 = 50_000;

/// The files of a store for one guest.
#[derive(Debug, Default)]
pub(super) struct SealedFiles {
    /// Batches that the owner sent since the files were opened last.
    sent: AtomicU64,
    opened: Mutex<Option<Arc<OpenedFiles>>>,
}

#[derive(Debug)]
struct OpenedFiles {
    log: ReadOnlyLog,
    /// Made before the files were opened. It answers as long as the store has the owner that it had then: only without one are
    /// segments written again, as when texts are erased.
    owner: Mutex<Connection>,
}

impl SealedFiles {
    #[cfg(test)]
    pub(super) async fn are_open(&self) -> bool {
        self.opened.lock().await.is_some()
    }

    /// Counts batches that the owner sent.
    pub(super) fn sent(&self, batches: usize) {
        self.sent.fetch_add(batches as u64, Ordering::Relaxed);
    }

    /// Up to `limit` batches of a session from `from` on, as far as they are in sealed segments. Empty when they are not, when the files
    /// are not open, and when anything fails: then the owner is asked.
    pub(super) async fn read(
        &self,
        remote: &OwnerConnections,
        session: SessionId,
        from: Seq,
        limit: usize,
    ) -> Vec<Slice> {
        let Some(opened) = self.files(remote).await else { return Vec::new() };
        let read = match opened.has_its_owner(remote, session).await {
            true => opened.log.read_sealed(session, from, limit).await,
            false => Err(ReadError::Closed),
        };
        match read {
            Ok(slices) => slices,
            // Made after the files were opened.
            Err(ReadError::NoSession(_)) => Vec::new(),
            Err(error) => {
                tracing::debug!(%error, "sealed segments are read through the owner");
                *self.opened.lock().await = None;
                Vec::new()
            }
        }
    }

    async fn files(&self, remote: &OwnerConnections) -> Option<Arc<OpenedFiles>> {
        let mut opened = self.opened.lock().await;
        let enough = if opened.is_some() { RENEWED } else { WORTH };
        if self.sent.load(Ordering::Relaxed) >= enough {
            self.sent.store(0, Ordering::Relaxed);
            *opened = OpenedFiles::open(remote).await;
        }
        opened.clone()
    }
}

impl OpenedFiles {
    async fn open(remote: &OwnerConnections) -> Option<Arc<Self>> {
        let (dir, id): (PathBuf, StoreId) = (remote.dir.clone(), *remote.store.get()?);
        let owner = remote.connect().await.ok()?;
        let log = tokio::task::spawn_blocking(move || ReadOnlyLog::reopen(&dir, id)).await.ok()?;
        match log {
            Ok((log, _)) => {
                log.read_ahead();
                Some(Arc::new(Self { log, owner: Mutex::new(owner) }))
            }
            Err(error) => {
                tracing::debug!(%error, "a guest could not open the files of the store");
                None
            }
        }
    }

    async fn has_its_owner(&self, remote: &OwnerConnections, session: SessionId) -> bool {
        let Ok(message) = (Ask::Head { session }).write() else { return false };
        let mut owner = self.owner.lock().await;
        let answer = remote.unless_hung(exchange(&mut owner, message)).await;
        matches!(answer, Ok(Ok(Answer::Head { .. })))
    }
}
