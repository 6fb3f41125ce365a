//! The role of a process for a store (owner, guest or reader), and how it changes when the owner ends.

use super::client::RemoteLog;
use super::owner_connections::{ConnectError, Lost};
use super::server::{Server, serve};
use crate::disk::{DiskLog, Displaced, OpenError, OpenMode, OpeningReport, ReadOnlyLog, StoreId};
use crate::hung_owner::HungOwner;
use annals_core::Blobs;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How long a store may be locked by a process that does not answer: it is being opened, repaired or shut down.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Why a store can be neither owned nor reached.
#[derive(Debug, thiserror::Error)]
pub enum SharedError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its owner cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A process owns the store and does not answer: resume it, or end it.
    #[error(transparent)]
    OwnerHung(HungOwner),
    /// The store was moved, removed or replaced since this process opened it: start again.
    #[error(transparent)]
    Displaced(Displaced),
    /// The owner answers, but not what was asked, again and again: end it.
    #[error("the owner of the store in {} sent an invalid answer: {reason}", dir.display())]
    Garbled {
        /// The store's folder.
        dir: PathBuf,
        /// What was found.
        reason: String,
    },
    /// This process has closed the store.
    #[error("the store is closed")]
    Closed,
}

/// Retries of one call after its owner ended; beyond this the call itself is taken to end owners.
pub(super) const OWNERS_MAX: u32 = 32;

pub(super) struct SharedState {
    pub(super) dir: PathBuf,
    /// The id of the store, if an owner named one: no other store is used after it.
    pub(super) id: Option<StoreId>,
    /// How the store is opened again when its owner goes.
    pub(super) mode: OpenMode,
    /// Files that never change: owner and guests read them alike.
    pub(super) blobs: Arc<dyn Blobs + Send + Sync>,
    pub(super) role: RwLock<(u64, StoreRole)>,
    /// Held by the call that looks for the next owner: the others wait, and find it.
    pub(super) renewing: tokio::sync::Mutex<()>,
}

/// What this process is to the store, with the handle that reaches the log.
#[derive(Clone, Debug)]
pub(super) enum StoreRole {
    Owner(Arc<OwnerRole>),
    Guest(RemoteLog),
    /// It reads the files without owning them.
    Reader(Arc<ReaderRole>),
    Closed,
}

#[derive(Debug)]
pub(super) struct ReaderRole {
    pub(super) log: ReadOnlyLog,
    pub(super) report: OpeningReport,
}

#[derive(Debug)]
pub(super) struct OwnerRole {
    pub(super) log: Arc<DiskLog>,
    /// Absent where no socket can be made: then this process has the store to itself.
    pub(super) server: Mutex<Option<Server>>,
    pub(super) report: OpeningReport,
}

impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("dir", &self.dir).field("role", &self.role).finish_non_exhaustive()
    }
}

impl SharedState {
    /// The role, and its number: it grows with each change.
    pub fn role(&self) -> (u64, StoreRole) {
        self.role.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn become_(&self, role: StoreRole) -> StoreRole {
        let mut held = self.role.write().unwrap_or_else(PoisonError::into_inner);
        held.0 += 1;
        std::mem::replace(&mut held.1, role)
    }

    /// Finds the next owner, or becomes it, unless that happened since `seen`. `gone` owners ended since the last answer.
    pub async fn renew(&self, seen: u64, gone: u32, lost: &Lost) -> Result<(), SharedError> {
        let _turn = self.renewing.lock().await;
        match self.role() {
            (_, StoreRole::Closed) => return Err(SharedError::Closed),
            (number, _) if number != seen => return Ok(()),
            _ => {}
        }
        if let Some(displaced) = Displaced::of(lost) {
            return Err(SharedError::Displaced(displaced));
        }
        if let Some(hung_owner) = HungOwner::in_error(lost) {
            return Err(SharedError::OwnerHung(hung_owner));
        }
        if gone > OWNERS_MAX || matches!(lost.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) {
            return Err(SharedError::Garbled { dir: self.dir.clone(), reason: lost.to_string() });
        }
        tracing::debug!(dir = %self.dir.display(), %lost, "the owner of the store ended");
        let role = join_or_own(&self.dir, self.mode, self.id).await?;
        self.become_(role);
        Ok(())
    }
}

/// Connects to the owner, or becomes it. `id`: the store that was used before; no other one is used.
pub(super) async fn join_or_own(dir: &Path, mode: OpenMode, id: Option<StoreId>) -> Result<StoreRole, SharedError> {
    let (began, mut pause) = (Instant::now(), Duration::from_millis(1));
    loop {
        match RemoteLog::connect_expecting(dir, id).await {
            Ok(remote) => return Ok(StoreRole::Guest(remote)),
            Err(ConnectError::Absent { .. }) => {}
            Err(ConnectError::OwnerHung(hung_owner)) => return Err(SharedError::OwnerHung(hung_owner)),
            Err(ConnectError::Displaced(displaced)) => return Err(SharedError::Displaced(displaced)),
            Err(other) => return Err(other.into()),
        }
        let (folder, path) = (dir.to_owned(), dir.to_owned());
        if mode == OpenMode::ReadOnly {
            let opened = tokio::task::spawn_blocking(move || match id {
                Some(id) => ReadOnlyLog::reopen(&folder, id),
                None => ReadOnlyLog::open(&folder),
            });
            let failed = |error| OpenError::Io { path, source: io::Error::other(error) };
            return match opened.await.map_err(failed)? {
                Ok((log, report)) => Ok(StoreRole::Reader(Arc::new(ReaderRole { log, report }))),
                Err(OpenError::Displaced(displaced)) => Err(SharedError::Displaced(displaced)),
                Err(other) => Err(other.into()),
            };
        }
        let opened = tokio::task::spawn_blocking(move || match id {
            Some(id) => DiskLog::reopen(&folder, id),
            None => DiskLog::open(&folder, mode),
        });
        let opened = opened.await;
        let failed = |error| OpenError::Io { path, source: io::Error::other(error) };
        match opened.map_err(failed)? {
            Ok((log, report)) => return Ok(StoreRole::Owner(Arc::new(own(log, report, dir)))),
            Err(OpenError::Locked { .. }) if began.elapsed() < PATIENCE => {}
            Err(OpenError::Locked { dir }) => return Err(SharedError::OwnerHung(HungOwner::of(&dir))),
            Err(OpenError::Displaced(displaced)) => return Err(SharedError::Displaced(displaced)),
            Err(other) => return Err(other.into()),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

fn own(log: DiskLog, report: OpeningReport, dir: &Path) -> OwnerRole {
    for remark in &report.remarks {
        tracing::warn!(dir = %dir.display(), "{remark}");
    }
    let log = Arc::new(log);
    // Through the folder that is held open: its path may lead elsewhere by now.
    let server = log
        .folder()
        .reach()
        .and_then(|dir| serve(log.clone(), &dir))
        .inspect_err(
            |error| tracing::warn!(dir = %dir.display(), %error, "other processes cannot use the store meanwhile"),
        )
        .ok();
    OwnerRole { log, server: Mutex::new(server), report }
}
