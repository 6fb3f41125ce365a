//! A store as any process opens it: as its owner, or as a guest of the owner.

use super::client::{ConnectError, Lost, RemoteLog};
use super::following::follow;
use super::server::{Server, serve};
use crate::disk::{
    DiskLog, Displaced, Examination, Folder, OpenError, OpenMode, OpeningReport, ReadOnlyLog, Remark, StoreId, blobs_in,
};
use crate::hung_owner::HungOwner;
use crate::log::{
    AppendError, Appended, Boxed, Committed, Draft, EventLog, Following, Head, ReadError, Scope, SessionHead, Slice,
    append_each,
};
use annals_core::{BlobHash, Blobs, Seq, SessionId};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How long a store may be locked by a process that does not answer: it is being opened, mended or shut down.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// An [`EventLog`] in a folder, whoever owns it. A clone is the same log.
///
/// Open it inside a tokio runtime with its timer and its I/O; the owner serves its guests on that runtime.
#[derive(Clone, Debug)]
pub struct SharedLog {
    shared: Arc<SharedState>,
}

/// What this process is to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// It owns the store; what opening it told.
    Owner(OpeningReport),
    /// Another process owns it.
    Guest,
    /// Nobody owned it when it was opened, and it is only read; what opening it found.
    Reader(OpeningReport),
    /// It has closed the store.
    Closed,
}

/// A store can be neither owned nor reached.
#[derive(Debug, thiserror::Error)]
pub enum SharedError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Its owner cannot be talked to.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A process holds the store and answers nobody: let it go on, or end it.
    #[error(transparent)]
    OwnerHung(HungOwner),
    /// The store was moved, removed or replaced since this process opened it: start again.
    #[error(transparent)]
    Displaced(Displaced),
    /// The owner answers, and again and again not what was asked: end it.
    #[error("cannot understand the owner of the store in {}: {told}", dir.display())]
    Garbled {
        /// The store's folder.
        dir: PathBuf,
        /// What was found.
        told: String,
    },
    /// This process has closed the store.
    #[error("the store is closed")]
    Closed,
}

/// How many owners may go while one call is under way. More than that go only because of the call.
pub(super) const OWNERS_MAX: u32 = 32;

pub(super) struct SharedState {
    dir: PathBuf,
    /// The id of the store, if an owner named one: no other store is used after it.
    id: Option<StoreId>,
    /// How the store is opened again when its owner goes.
    mode: OpenMode,
    /// Files that never change: owner and guests read them alike.
    blobs: Arc<dyn Blobs + Send + Sync>,
    role: RwLock<(u64, Role)>,
    /// Held by whoever looks for the next owner.
    renewing: tokio::sync::Mutex<()>,
}

/// What this process is, and through what it reaches the log.
#[derive(Clone, Debug)]
pub(super) enum Role {
    Owner(Arc<Owner>),
    Guest(RemoteLog),
    /// It reads the files without owning them.
    Reader(Arc<Reader>),
    Closed,
}

#[derive(Debug)]
pub(super) struct Reader {
    pub log: ReadOnlyLog,
    report: OpeningReport,
}

#[derive(Debug)]
pub(super) struct Owner {
    pub log: Arc<DiskLog>,
    /// Absent where no socket can be made: then this process has the store to itself.
    server: Mutex<Option<Server>>,
    report: OpeningReport,
}

impl SharedLog {
    /// Owns the store in a folder, or joins the process that does. With [`OpenMode::ReadOnly`] a store that nobody owns is
    /// read without owning it, as it is now: nothing is written, no lock taken, and no thread started.
    ///
    /// # Errors
    /// See [`SharedError`].
    pub async fn open(dir: &Path, mode: OpenMode) -> Result<Self, SharedError> {
        let dir = std::path::absolute(dir).map_err(|source| OpenError::Io { path: dir.to_owned(), source })?;
        let role = join_or_own(&dir, mode, None).await?;
        let id = match &role {
            Role::Owner(owned) => Some(owned.log.id()),
            Role::Guest(remote) => remote.store(),
            Role::Reader(looked) => Some(looked.log.id()),
            Role::Closed => None,
        };
        let blobs = match &role {
            Role::Owner(owned) => owned.log.blobs(),
            Role::Reader(looked) => looked.log.blobs(),
            Role::Guest(_) | Role::Closed => blobs_in(&dir),
        };
        let role = RwLock::new((0, role));
        let mode = if mode == OpenMode::Create { OpenMode::Existing } else { mode };
        Ok(Self {
            shared: Arc::new(SharedState { dir, id, mode, blobs, role, renewing: tokio::sync::Mutex::default() }),
        })
    }

    /// What this process is to the store now. A guest becomes the owner when the owner goes and it comes first.
    pub fn ownership(&self) -> Ownership {
        match self.shared.role().1 {
            Role::Owner(owned) => Ownership::Owner(owned.report.clone()),
            Role::Guest(_) => Ownership::Guest,
            Role::Reader(looked) => Ownership::Reader(looked.report.clone()),
            Role::Closed => Ownership::Closed,
        }
    }

    /// The log on disk, for its owner.
    pub fn disk(&self) -> Option<Arc<DiskLog>> {
        match self.shared.role().1 {
            Role::Owner(owned) => Some(owned.log.clone()),
            _ => None,
        }
    }

    /// The folder of the store, held open: it stays the same one wherever it is moved.
    ///
    /// # Errors
    /// When it cannot be opened; [`Displaced`] when another store is there now.
    pub fn folder(&self) -> io::Result<Arc<Folder>> {
        match self.shared.role().1 {
            Role::Owner(owned) => Ok(owned.log.folder().clone()),
            _ => Folder::open_store(&self.shared.dir, self.shared.id).map(Arc::new),
        }
    }

    /// Damage that was found since opening; a guest knows of none.
    pub fn remarks(&self) -> Vec<Remark> {
        match self.shared.role().1 {
            Role::Owner(owned) => owned.log.remarks(),
            Role::Reader(looked) => looked.log.remarks(),
            Role::Guest(_) | Role::Closed => Vec::new(),
        }
    }

    /// Reads both copies and compares them, for who only reads the store; `None` for anybody else.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn examine(&self) -> io::Result<Option<Examination>> {
        let Role::Reader(looked) = self.shared.role().1 else { return Ok(None) };
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
        let Role::Owner(owned) = self.shared.become_(Role::Closed) else { return Ok(()) };
        let server = owned.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(server) = server {
            server.stop().await;
        }
        owned.log.close().await
    }
}

impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("dir", &self.dir).field("role", &self.role).finish_non_exhaustive()
    }
}

impl SharedState {
    /// The role, and its number: it grows with each change.
    pub fn role(&self) -> (u64, Role) {
        self.role.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn become_(&self, role: Role) -> Role {
        let mut held = self.role.write().unwrap_or_else(PoisonError::into_inner);
        held.0 += 1;
        std::mem::replace(&mut held.1, role)
    }

    /// Finds the next owner, or becomes it, unless somebody did since `seen`. `gone` owners went since the last answer.
    pub async fn renew(&self, seen: u64, gone: u32, lost: &Lost) -> Result<(), SharedError> {
        let _turn = self.renewing.lock().await;
        match self.role() {
            (_, Role::Closed) => return Err(SharedError::Closed),
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
            return Err(SharedError::Garbled { dir: self.dir.clone(), told: lost.to_string() });
        }
        tracing::debug!(dir = %self.dir.display(), %lost, "the owner of the store ended");
        let role = join_or_own(&self.dir, self.mode, self.id).await?;
        self.become_(role);
        Ok(())
    }
}

/// Joins or becomes the owner; `id` is that of the store that was used before.
async fn join_or_own(dir: &Path, mode: OpenMode, id: Option<StoreId>) -> Result<Role, SharedError> {
    let (began, mut pause) = (Instant::now(), Duration::from_millis(1));
    loop {
        match RemoteLog::connect_expecting(dir, id).await {
            Ok(remote) => return Ok(Role::Guest(remote)),
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
                Ok((log, report)) => Ok(Role::Reader(Arc::new(Reader { log, report }))),
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
            Ok((log, report)) => return Ok(Role::Owner(Arc::new(own(log, report, dir)))),
            Err(OpenError::Locked { .. }) if began.elapsed() < PATIENCE => {}
            Err(OpenError::Locked { dir }) => return Err(SharedError::OwnerHung(HungOwner::of(&dir))),
            Err(OpenError::Displaced(displaced)) => return Err(SharedError::Displaced(displaced)),
            Err(other) => return Err(other.into()),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

fn own(log: DiskLog, report: OpeningReport, dir: &Path) -> Owner {
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
    Owner { log, server: Mutex::new(server), report }
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

/// Calls the log through whatever this process is, and again when the owner went meanwhile.
macro_rules! through {
    ($self:ident, $closed:path, $gone:path, |$log:ident| $own:expr, |$remote:ident| $ask:expr) => {
        Box::pin(async move {
            let mut gone = 0;
            loop {
                let (number, role) = $self.shared.role();
                let lost = match role {
                    Role::Closed => return Err($closed),
                    Role::Owner(owned) => {
                        let $log = &*owned.log;
                        return $own.await;
                    }
                    Role::Reader(looked) => {
                        let $log = &looked.log;
                        return $own.await;
                    }
                    Role::Guest($remote) => match $ask.await {
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
                (_, Role::Owner(owned)) => owned.log.append_all(drafts).await,
                // A guest asks for one at a time, each through whatever this process is by then.
                _ => append_each(drafts, |draft| self.append(draft)).await,
            }
        })
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        through!(self, ReadError::Closed, unreadable, |log| log.head(session), |remote| remote.head(session))
    }

    fn sessions(&self) -> Boxed<'_, Result<Vec<SessionHead>, ReadError>> {
        through!(self, ReadError::Closed, unreadable, |log| log.sessions(), |remote| remote.sessions())
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
