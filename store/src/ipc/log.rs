//! A store as any process opens it: as its owner, or as a guest of the owner.

use super::following::follow;
use super::owner_connections::Lost;
use super::role::{SharedError, SharedState, StoreRole, join_or_own};
use crate::disk::{DiskLog, Examination, Folder, OpenError, OpenMode, OpeningReport, Remark, blobs_in};
use crate::log::{
    AppendError, Appended, Boxed, Committed, Draft, EventLog, Following, Head, PageToken, Promises, ReadError, Scope,
    SessionListPage, Slice, append_each,
};
use crate::store_id::StoreId;
use annals_core::{BlobHash, Blobs, Seq, SessionId};
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

/// An [`EventLog`] in a folder, independent of which process owns it. A clone is the same log.
///
/// Open it inside a tokio runtime with its timer and its I/O; the owner serves its guests on that runtime.
#[derive(Clone, Debug)]
pub struct SharedLog {
    shared: Arc<SharedState>,
}

/// What this process is to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// It owns the store; what opening it reported.
    Owner(OpeningReport),
    /// Another process owns it.
    Guest,
    /// The store had no owner when it was opened, and it is only read; what opening it found.
    Reader(OpeningReport),
    /// It has closed the store.
    Closed,
}

impl SharedLog {
    /// Owns the store in a folder, or joins the process that does. With [`OpenMode::ReadOnly`] a store without an owner is
    /// read without owning it, as it is now: nothing is written, no lock taken, and no thread started.
    pub async fn open(dir: &Path, mode: OpenMode) -> Result<Self, SharedError> {
        let dir = std::path::absolute(dir).map_err(|source| OpenError::Io { path: dir.to_owned(), source })?;
        let role = join_or_own(&dir, mode, None).await?;
        let id = match &role {
            StoreRole::Owner(owned) => Some(owned.log.id()),
            StoreRole::Guest(remote) => remote.store(),
            StoreRole::Reader(looked) => Some(looked.log.id()),
            StoreRole::Closed => None,
        };
        let blobs = match &role {
            StoreRole::Owner(owned) => owned.log.blobs(),
            StoreRole::Reader(looked) => looked.log.blobs(),
            StoreRole::Guest(_) | StoreRole::Closed => blobs_in(&dir),
        };
        let role = RwLock::new((0, role));
        let mode = if mode == OpenMode::Create { OpenMode::Existing } else { mode };
        Ok(Self {
            shared: Arc::new(SharedState { dir, id, mode, blobs, role, renewing: tokio::sync::Mutex::default() }),
        })
    }

    /// Which store it is; `None` when its owner does not say.
    pub fn store(&self) -> Option<StoreId> {
        self.shared.id
    }

    /// The relation of this process to the store now. When the owner ends, the first guest to notice becomes the owner.
    pub fn ownership(&self) -> Ownership {
        match self.shared.role().1 {
            StoreRole::Owner(owned) => Ownership::Owner(owned.report.clone()),
            StoreRole::Guest(_) => Ownership::Guest,
            StoreRole::Reader(looked) => Ownership::Reader(looked.report.clone()),
            StoreRole::Closed => Ownership::Closed,
        }
    }

    /// The log on disk, for its owner.
    pub fn disk(&self) -> Option<Arc<DiskLog>> {
        match self.shared.role().1 {
            StoreRole::Owner(owned) => Some(owned.log.clone()),
            _ => None,
        }
    }

    /// The folder of the store, held open: it stays the same one after a move.
    ///
    /// # Errors
    /// When it cannot be opened; `Displaced` when another store is there now.
    pub fn folder(&self) -> io::Result<Arc<Folder>> {
        match self.shared.role().1 {
            StoreRole::Owner(owned) => Ok(owned.log.folder().clone()),
            _ => Folder::open_store(&self.shared.dir, self.shared.id).map(Arc::new),
        }
    }

    /// Damage that was found since opening; a guest knows of none.
    pub fn remarks(&self) -> Vec<Remark> {
        match self.shared.role().1 {
            StoreRole::Owner(owned) => owned.log.remarks(),
            StoreRole::Reader(looked) => looked.log.remarks(),
            StoreRole::Guest(_) | StoreRole::Closed => Vec::new(),
        }
    }

    /// Reads both copies and compares them, in a process that only reads the store; `None` in any other.
    pub async fn examine(&self) -> io::Result<Option<Examination>> {
        let StoreRole::Reader(looked) = self.shared.role().1 else { return Ok(None) };
        let examined = tokio::task::spawn_blocking(move || looked.log.examine(|_, _| {})).await;
        examined.map_err(io::Error::other)?.map(Some)
    }

    /// Leaves the store: an owner ends its guests' connections, makes everything durable and gives up the lock, and one
    /// of them takes over. Later calls answer `Closed`.
    ///
    /// # Errors
    /// As [`DiskLog::close`]: nothing is lost, the next opening takes longer.
    pub async fn close(&self) -> io::Result<()> {
        let _turn = self.shared.renewing.lock().await;
        let StoreRole::Owner(owned) = self.shared.become_(StoreRole::Closed) else { return Ok(()) };
        let server = owned.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(server) = server {
            server.stop().await;
        }
        owned.log.close().await
    }
}

fn unavailable(error: SharedError) -> io::Error {
    match error {
        SharedError::Open(OpenError::Io { source, .. }) => source,
        other => io::Error::other(other),
    }
}

fn unreadable(error: SharedError) -> ReadError {
    match error {
        SharedError::Closed => ReadError::Closed,
        SharedError::OwnerHung(hung_owner) => ReadError::OwnerHung(hung_owner),
        other => ReadError::Io { source: Arc::new(unavailable(other)) },
    }
}

fn unwritable(error: SharedError) -> AppendError {
    match error {
        SharedError::Closed => AppendError::Closed,
        SharedError::OwnerHung(hung_owner) => AppendError::OwnerHung(hung_owner),
        SharedError::Displaced(displaced) => AppendError::Displaced(displaced),
        other => {
            tracing::warn!(error = %other, "the store has no owner; it is unknown what became of the last append");
            AppendError::Unknown
        }
    }
}

fn owner_closed() -> Lost {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the owner closed the store")
}

/// Calls the log through the current role, and again when the owner ended meanwhile.
macro_rules! through {
    ($self:ident, $closed:path, $gone:path, |$log:ident| $own:expr, |$remote:ident| $ask:expr) => {
        Box::pin(async move {
            let mut gone = 0;
            loop {
                let (number, role) = $self.shared.role();
                let lost = match role {
                    StoreRole::Closed => return Err($closed),
                    StoreRole::Owner(owned) => {
                        let $log = &*owned.log;
                        return $own.await;
                    }
                    StoreRole::Reader(looked) => {
                        let $log = &looked.log;
                        return $own.await;
                    }
                    StoreRole::Guest($remote) => match $ask.await {
                        Ok(Err($closed)) => owner_closed(),
                        Ok(answer) => return answer,
                        Err(lost) => lost,
                    },
                };
                gone += 1;
                $self.shared.renew(number, gone, &lost).await.map_err($gone)?;
            }
        })
    };
}

impl EventLog for SharedLog {
    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        through!(self, AppendError::Closed, unwritable, |log| log.append(draft), |remote| remote.append(&draft))
    }

    fn append_all(&self, drafts: Vec<Draft>) -> Boxed<'_, Appended> {
        Box::pin(async move {
            match self.shared.role() {
                (_, StoreRole::Owner(owned)) => owned.log.append_all(drafts).await,
                // A guest sends one at a time, each through its role at that time.
                _ => append_each(drafts, |draft| self.append(draft)).await,
            }
        })
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        through!(self, ReadError::Closed, unreadable, |log| log.head(session), |remote| remote.head(session))
    }

    fn promises(&self) -> Promises {
        match self.shared.role().1 {
            StoreRole::Reader(_) => Promises::READ_ONLY,
            StoreRole::Owner(_) | StoreRole::Guest(_) | StoreRole::Closed => Promises::ON_DEVICE,
        }
    }

    fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Boxed<'_, Result<SessionListPage, ReadError>> {
        through!(self, ReadError::Closed, unreadable, |log| log.sessions_page(from, limit), |remote| {
            remote.sessions_page(from, limit)
        })
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        through!(self, ReadError::Closed, unreadable, |log| log.read(session, from, limit), |remote| {
            remote.read(session, from, limit, false)
        })
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        through!(self, ReadError::Closed, unreadable, |log| log.read_back(session, before, limit), |remote| {
            remote.read(session, before, limit, true)
        })
    }

    fn follow(&self, scope: Scope) -> Following {
        follow(self.shared.clone(), scope)
    }

    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        through!(self, AppendError::Closed, unwritable, |log| log.put_blob(text), |remote| {
            remote.put_blob(text.clone())
        })
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        self.shared.blobs.clone()
    }
}
