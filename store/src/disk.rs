//! The log on disk: a journal that acknowledges, sled as a second copy, blobs in files (`docs/reference/store.md`).
//!
//! ```text
//! append ─► heads in memory decide ─► seal ─► queue ─► committer ─► journal ─► fdatasync ─► acknowledged
//!                                                           └─► sled writer ─► sled ─► checkpoint
//! read   ◄─ what sled lacks (memory), then long pages and single places of packed segments from the journal, other single
//!           places from sled, each frame checked; what one of them lacks or has damaged is looked up in the other
//! ```
//! Four threads belong to an open store: the **committer** writes groups of frames and acknowledges them (a writer that is alone
//! takes its place), the **sled writer** brings sled up to it, the **sealer** lists the heads after a rotation and packs what was
//! sealed, the fourth reads **ahead** for readers of long sessions. `docs/durability.md` states what is guaranteed.

mod appending;
mod blobs;
mod changing;
mod erasing;
pub(crate) mod filling;
mod folder;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod index;
mod journal;
mod maintenance;
mod opening;
mod read_only;
mod reading;
mod recovery;
mod rewriting;
mod sessions;
mod state;
mod threads;

pub use crate::displaced::Displaced;
pub use crate::store_id::{NoStoreId, StoreId};
pub use erasing::ErasedCopies;
pub use filling::FilledTexts;
pub use folder::folder_disk::FolderDisk;
pub use folder::identity::{FORMAT, Identity, Inode, NoIdentity};
pub use folder::layout::Layout;
pub use folder::relative::Unexpected;
pub use folder::store_path::StorePath;
pub use folder::{Folder, NotOwned, StoreLock, fault_injection, files};
pub use journal::frame::{Gap, GapCause};
pub use maintenance::doctor::{CollectError, Examination, Finding, UnusedBlobs};
pub use maintenance::open_error::{FormatFile, OpenError};
pub use maintenance::report::{Copy, OpeningReport, Remark};
pub use maintenance::summary::summary;
pub use maintenance::usage::{DiskUsage, StoreUsage};
pub use read_only::ReadOnlyLog;
pub(crate) use reading::FEW;
pub use recovery::restore::FormatRepair;
pub use state::Tuning;

use crate::following::following;
use crate::log::{
    AppendError, Appended, Boxed, Committed, Draft, EventLog, Following, Head, PageToken, Position, Promises,
    ReadError, Scope, SessionListPage, Slice,
};
use annals_core::{BlobHash, Blobs, Digest, Seq, SessionId};
use blobs::BlobFiles;
use files::{Disk, RealDisk};
use folder::acquire::{Acquired, Claim};
use opening::{Opened, Opening, Purpose};
use reading::following::{self, AllPages, SessionPages};
use state::{SessionTable, StoreState};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use threads::commit_queue::CommitQueue;
use threads::running::Threads;
use tokio::sync::watch;

/// Whether a missing store is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// It must be there: for commands that only look.
    Existing,
    /// It is made if need be: for commands that write.
    Create,
    /// It must be there, and is read without owning it: nothing is written. See [`ReadOnlyLog`]; who opens a [`DiskLog`] owns
    /// the store, and may not say so.
    ReadOnly,
}

/// An [`EventLog`] in a folder, owned by this process.
///
/// Dropping it shuts it down like [`DiskLog::close`], waiting for the disk where it is dropped.
#[derive(Debug)]
pub struct DiskLog {
    shared: Arc<StoreState>,
    running: Mutex<Option<Threads>>,
    /// The way to the committer; gone when the store is closed.
    orders: RwLock<Option<CommitQueue>>,
}

impl DiskLog {
    /// Opens the store in a folder, and repairs what can be repaired.
    ///
    /// # Errors
    /// See [`OpenError`]; nothing is touched then, except that a repair may have been begun.
    pub fn open(dir: &Path, mode: OpenMode) -> Result<(Self, OpeningReport), OpenError> {
        Self::open_with(dir, mode, Tuning::default(), Arc::new(RealDisk))
    }

    /// Like [`DiskLog::open`], with sizes and a file layer of one's own.
    ///
    /// # Errors
    /// As [`DiskLog::open`].
    pub fn open_with(
        dir: &Path,
        mode: OpenMode,
        tuning: Tuning,
        disk: Arc<dyn Disk>,
    ) -> Result<(Self, OpeningReport), OpenError> {
        Self::open_for(dir, mode, tuning, disk, Purpose::Use)
    }

    fn open_for(
        dir: &Path,
        mode: OpenMode,
        tuning: Tuning,
        disk: Arc<dyn Disk>,
        purpose: Purpose,
    ) -> Result<(Self, OpeningReport), OpenError> {
        Self::open_claim(Claim { dir, mode, id: None, purpose, progress: &|_, _| {} }, tuning, &disk)
    }

    /// Opens the store in a folder again, as long as it is the same one: neither another store nor a copy.
    ///
    /// # Errors
    /// See [`OpenError`]; [`Displaced`] when it is another one, or none. Nothing is touched then.
    pub fn reopen(dir: &Path, id: StoreId) -> Result<(Self, OpeningReport), OpenError> {
        let progress = &|_, _| {};
        let claim = Claim { dir, mode: OpenMode::Existing, id: Some(id), purpose: Purpose::Use, progress };
        Self::open_claim(claim, Tuning::default(), &(Arc::new(RealDisk) as Arc<dyn Disk>))
    }

    fn open_claim(claim: Claim<'_>, tuning: Tuning, disk: &Arc<dyn Disk>) -> Result<(Self, OpeningReport), OpenError> {
        let (purpose, dir, progress) = (claim.purpose, claim.dir.to_owned(), claim.progress);
        let at_dir = |source| OpenError::at(&dir, source);
        if claim.mode == OpenMode::ReadOnly {
            let source =
                io::Error::new(io::ErrorKind::InvalidInput, "a store that is opened for reading only is not owned");
            return Err(at_dir(source));
        }
        let Acquired { layout, folder, disk, lock, identity, report } = claim.acquire(disk)?;
        let opening = Opening { layout, folder, identity, disk, tuning, purpose, progress };
        // The owner before closed the original, not this copy.
        let in_order = lock.was_closed() && report.copied_from.is_none();
        Self::start(opening.run(report, in_order).map_err(at_dir)?, lock).map_err(at_dir)
    }

    fn start(opened: Opened, lock: StoreLock) -> io::Result<(Self, OpeningReport)> {
        let Opened { shared, writer, report, written, unread } = opened;
        let (threads, orders) = Threads::start(&shared, lock, writer, written, unread)?;
        Ok((Self { shared, running: Mutex::new(Some(threads)), orders: RwLock::new(Some(orders)) }, report))
    }

    /// Shuts the store down: everything appended is durable in both copies, sled is closed, opened and closed (which
    /// protects what it wrote last), and another process may own the store. Later calls answer `Closed`.
    ///
    /// # Errors
    /// When the list of heads cannot be written: nothing is lost, the next opening reads more of the journal.
    pub async fn close(&self) -> io::Result<()> {
        let Some((threads, orders)) = self.stop() else { return Ok(()) };
        let shared = self.shared.clone();
        appending::blocking(move || threads.shut_down(&shared, &orders)).await
    }

    /// How many bytes sled lacks still: closing waits until it has them. 0 once it is closed.
    pub fn lag(&self) -> u64 {
        *self.shared.lag.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Damage that was found since opening.
    pub fn remarks(&self) -> Vec<Remark> {
        let mut remarks = self.shared.remarks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        remarks.extend(self.shared.blobs.damaged());
        remarks
    }

    /// Where things lie.
    pub fn layout(&self) -> &Layout {
        &self.shared.layout
    }

    /// The id of the store.
    pub fn id(&self) -> StoreId {
        self.shared.id
    }

    /// The folder of the store, held open: it stays the same one after a move.
    pub fn folder(&self) -> &Arc<Folder> {
        &self.shared.folder
    }

    /// Stops appends and ends followers. Returns what to shut down, once.
    fn stop(&self) -> Option<(Threads, CommitQueue)> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let orders = self.orders.write().unwrap_or_else(PoisonError::into_inner).take()?;
        Some((running, orders))
    }

    fn orders(&self) -> Option<CommitQueue> {
        self.orders.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The blobs of the store in a folder, readable by every process: they are files that never change. They are also found
/// after the folder was moved.
pub(crate) fn blobs_in(dir: &Path) -> Arc<dyn Blobs + Send + Sync> {
    let disk: Arc<dyn Disk> = match Folder::open(dir) {
        Ok(folder) => Arc::new(FolderDisk::new(Arc::new(folder))),
        Err(error) => {
            tracing::debug!(%error, "the folder of the store could not be held open");
            Arc::new(RealDisk)
        }
    };
    Arc::new(BlobFiles::new(disk, Layout::new(dir).blobs()))
}

impl Drop for DiskLog {
    fn drop(&mut self) {
        if let Some((threads, orders)) = self.stop()
            && let Err(error) = threads.shut_down(&self.shared, &orders)
        {
            tracing::warn!(%error, "the store was not shut down cleanly; the next opening reads more of the journal");
        }
    }
}

impl EventLog for DiskLog {
    fn append(&self, draft: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async move {
            let orders = self.orders().ok_or(AppendError::Closed)?;
            self.shared.append(draft, orders).await
        })
    }

    fn append_all(&self, drafts: Vec<Draft>) -> Boxed<'_, Appended> {
        Box::pin(async move {
            match self.orders() {
                Some(orders) => self.shared.append_all(drafts, orders).await,
                None => Appended { committed: Vec::new(), refused: Some(AppendError::Closed) },
            }
        })
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        Box::pin(async move { self.open_state(|state| state.sessions.own.get(&session).map(|own| own.head)) })
    }

    fn promises(&self) -> Promises {
        Promises::ON_DEVICE
    }

    fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Boxed<'_, Result<SessionListPage, ReadError>> {
        Box::pin(async move { self.open_state(|state| state.sessions.page(from, limit)) })
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move {
            if limit <= reading::FEW || !self.shared.is_behind(session, from) {
                return self.shared.read(session, from, limit);
            }
            let shared = self.shared.clone();
            following::apart(move || shared.read(session, from, limit)).await
        })
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move {
            if limit <= reading::FEW {
                return self.shared.read_back(session, before, limit);
            }
            let shared = self.shared.clone();
            following::apart(move || shared.read_back(session, before, limit)).await
        })
    }

    fn follow(&self, scope: Scope) -> Following {
        let shared = self.shared.clone();
        let end = shared.end.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(watch::Sender::subscribe);
        // A closed store's followers read once, get `Closed`, and end.
        let end = end.unwrap_or_else(|| watch::channel(Position(0)).1);
        match scope {
            Scope::Session { session, from } => {
                let began_at = shared.own(session).map_or(Seq::ZERO, |own| own.head.next);
                following(SessionPages { shared, session, from, began_at }, end)
            }
            Scope::All { from } => {
                let began_at = Position(shared.lock().sessions.next);
                let from = from.dense();
                following(AllPages { shared, from, began_at, spare: following::Spare::new() }, end)
            }
        }
    }

    fn put_blob(&self, text: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        Box::pin(async move {
            if self.orders().is_none() {
                return Err(AppendError::Closed);
            }
            let hash = Digest::of(text.as_bytes());
            let shared = self.shared.clone();
            let put = appending::blocking(move || shared.check().and_then(|()| shared.blobs.put(&hash, &text))).await;
            put.map(|()| hash).map_err(|error| self.shared.refused(error))
        })
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        self.shared.blobs.clone()
    }
}

impl DiskLog {
    fn open_state<T>(&self, read: impl FnOnce(&SessionTable) -> T) -> Result<T, ReadError> {
        if self.shared.is_closed() {
            return Err(ReadError::Closed);
        }
        Ok(read(&self.shared.lock()))
    }
}

#[cfg(test)]
mod tests;
