//! The log on disk for reading alone: no lock, no thread (but for a guest, which reads ahead), nothing written, sled left alone. Works on read-only media, and on
//! a store whose owner is another user.
//!
//! ```text
//! open ─► list of heads ─► what the journal has behind it ─► Sessions          a snapshot: what is appended later is not in it
//! read ─► journal ─ damaged ─► a private copy of sled
//! follow ─► the snapshot ─► marker ─► look for changes every quarter of a second ─► the next snapshot
//! ```

use crate::disk::folder::Folder;
use crate::disk::folder::files::{Disk, RealDisk};
use crate::disk::folder::identity::Identity;
use crate::disk::folder::layout::Layout;
use crate::disk::index::private_copy::PrivateCopy;
use crate::disk::maintenance::doctor::{CollectError, Examination, Finding, SledExpectation, UnusedBlobs};
use crate::disk::maintenance::open_error::OpenError;
use crate::disk::maintenance::report::{OpeningReport, Remark};
use crate::disk::opening::{OpenedReadOnly, Opening, Purpose};
use crate::disk::reading::FEW;
use crate::disk::reading::following::{AllPages, SessionPages, Spare, apart};
use crate::disk::state::{SessionTable, StoreState, Tuning};
use crate::disk::threads::read_ahead;
use crate::displaced::Displaced;
use crate::following::following;
use crate::log::{
    AppendError, Boxed, Committed, Draft, EventLog, Followed, Following, Head, PageToken, Position, Promises,
    ReadError, Scope, SessionListPage, Slice,
};
use crate::store_id::StoreId;
use annals_core::{BlobHash, Blobs, Seq, SessionId};
use futures_util::{StreamExt, stream};
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;

/// How often a follower looks for changes.
const POLL: Duration = Duration::from_millis(250);

/// A store as it was when it was opened, for reading alone.
#[derive(Debug)]
pub struct ReadOnlyLog {
    shared: Arc<StoreState>,
    identity: Identity,
    checkpoint: Option<u64>,
    /// What opening found.
    found: Vec<Remark>,
    /// The journal's files as they were just before.
    seen: Vec<JournalFile>,
}

impl ReadOnlyLog {
    /// Opens the store in a folder without owning it.
    ///
    /// # Errors
    /// See [`OpenError`]; never [`OpenError::Locked`].
    pub fn open(dir: &Path) -> Result<(Self, OpeningReport), OpenError> {
        Self::open_with(dir, Tuning::default(), Arc::new(RealDisk))
    }

    /// Like [`ReadOnlyLog::open`], with given sizes and a given file layer.
    ///
    /// # Errors
    /// As [`ReadOnlyLog::open`].
    pub fn open_with(dir: &Path, tuning: Tuning, disk: Arc<dyn Disk>) -> Result<(Self, OpeningReport), OpenError> {
        let layout = Layout::new(dir);
        let folder = match Folder::open(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(layout.absent()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(OpenError::Foreign { dir: dir.to_owned() });
            }
            opened => Arc::new(opened.map_err(|source| OpenError::at(dir, source))?),
        };
        let disk = disk.within(&folder).unwrap_or(disk);
        Self::open_in(&layout, &folder, tuning, &disk)
    }

    /// Opens the store in a folder again, as long as it is the same one: neither another store nor a copy.
    ///
    /// # Errors
    /// See [`OpenError`]; [`Displaced`] when it is another one, or none.
    pub fn reopen(dir: &Path, id: StoreId) -> Result<(Self, OpeningReport), OpenError> {
        let (log, report) = match Self::open(dir) {
            Err(OpenError::NoStore { .. } | OpenError::Dangling { .. }) => {
                return Err(Displaced::Gone { dir: dir.to_owned() }.into());
            }
            opened => opened?,
        };
        let found = log.identity.id;
        if found != id || log.identity.folder != log.shared.folder.inode() {
            let found = Some(found).filter(|found| *found != id);
            return Err(Displaced::Replaced { dir: dir.to_owned(), expected: id, found }.into());
        }
        Ok((log, report))
    }

    /// Opens the store in a folder that is held open. `disk` looks everything up there.
    fn open_in(
        layout: &Layout,
        folder: &Arc<Folder>,
        tuning: Tuning,
        disk: &Arc<dyn Disk>,
    ) -> Result<(Self, OpeningReport), OpenError> {
        let mut identity = layout.identity(&**disk)?.ok_or_else(|| layout.absent())?;
        loop {
            let seen = changes(folder, layout);
            let opening = Opening {
                layout: layout.clone(),
                folder: folder.clone(),
                identity: identity.clone(),
                disk: disk.clone(),
                tuning,
                purpose: Purpose::Use,
                progress: &|_, _| {},
            };
            let looked = opening.open_read_only().map_err(|source| OpenError::at(&layout.dir, source))?;
            // The first process that writes to a copy gives it an id, which it then writes into segments.
            let now = layout.identity(&**disk)?.ok_or_else(|| layout.absent())?;
            if now.id == identity.id {
                return Ok(Self::of(looked, identity, seen));
            }
            identity = now;
        }
    }

    fn of(looked: OpenedReadOnly, identity: Identity, seen: Vec<JournalFile>) -> (Self, OpeningReport) {
        let OpenedReadOnly { shared, mut report, checkpoint } = looked;
        let failed = shared.copy.as_ref().and_then(PrivateCopy::failure);
        report.remarks.extend(failed.map(|(reason, _)| Remark::CopyUnchecked { reason }));
        let found = report.remarks.clone();
        (Self { shared, identity, checkpoint, found, seen }, report)
    }

    /// Damage that was found since opening.
    pub fn remarks(&self) -> Vec<Remark> {
        let mut remarks = self.shared.remarks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        remarks.extend(self.shared.blobs.damaged());
        remarks
    }

    /// The id of the store.
    pub fn id(&self) -> StoreId {
        self.shared.id
    }

    /// Where things lie.
    pub fn layout(&self) -> &Layout {
        &self.shared.layout
    }

    /// Reads both copies whole and compares them; sled on a private copy. `progress` is given how many segments are done, of
    /// how many.
    ///
    /// # Errors
    /// When the journal's files cannot be read.
    pub fn examine(&self, progress: impl FnMut(usize, usize)) -> io::Result<Examination> {
        self.shared.open_copy();
        // sled need not have what came after the checkpoint.
        let due = SledExpectation { before: self.checkpoint.unwrap_or(u64::MAX), owned: false };
        let mut examination = self.shared.examine(due, progress)?;
        let exists = self.shared.copy.as_ref().is_some_and(PrivateCopy::exists);
        let next = self.shared.lock().sessions.next;
        let findings = &mut examination.findings;
        match self.shared.copy.as_ref().and_then(PrivateCopy::failure) {
            Some((reason, true)) => findings.push(Finding::SledBroken { reason }),
            Some(_) if !exists && next > 0 => findings.push(Finding::SledMissing),
            Some((reason, false)) if exists => examination.unchecked = Some(reason),
            Some(_) | None => {}
        }
        // What was restored in memory is still damaged on the disk.
        findings.extend(self.found.iter().filter_map(|remark| match remark.clone() {
            Remark::SegmentDamaged { segment, missing: 0, .. } => Some(Finding::Header { segment }),
            Remark::SegmentDamaged { segment, missing, in_sled } => {
                Some(Finding::Segment { segment, missing, in_sled })
            }
            remark @ (Remark::Stray { .. } | Remark::Reread { .. } | Remark::Unchained { .. }) => {
                Some(Finding::Noted { remark })
            }
            _ => None,
        }));
        Ok(examination)
    }

    /// What no batch names and is older than `age`. Nothing is removed.
    ///
    /// # Errors
    /// When the store is damaged or cannot be read.
    pub fn garbage(&self, age: Duration, progress: impl FnMut(usize, usize)) -> Result<UnusedBlobs, CollectError> {
        self.shared.open_copy();
        self.shared.garbage(age, progress)
    }

    /// Starts a thread that reads ahead until this is dropped, for a reader that stays: a guest.
    pub(crate) fn read_ahead(&self) {
        let (requests, queue) = read_ahead::channel();
        let state = Arc::downgrade(&self.shared);
        let thread = std::thread::Builder::new().name("annals-read-ahead".to_owned());
        match thread.spawn(move || read_ahead::run(&state, &queue)) {
            Ok(_) => *self.shared.read_ahead.lock().unwrap_or_else(PoisonError::into_inner) = Some(requests),
            Err(error) => tracing::debug!(%error, "nothing is read ahead"),
        }
    }

    /// Up to `limit` batches of a session from `from` on, as far as they are its own and in segments that grow no more: what is there was
    /// acknowledged.
    pub(crate) async fn read_sealed(
        &self,
        session: SessionId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<Slice>, ReadError> {
        let shared = self.shared.clone();
        let end = shared.journal.growing().map_or(u64::MAX, |growing| growing.first);
        apart(move || shared.read_before(session, from, limit, end)).await
    }

    fn state<T>(&self, read: impl FnOnce(&SessionTable) -> T) -> T {
        read(&self.shared.lock())
    }

    /// What was there when the store was opened, and the marker.
    fn follow_snapshot(&self, scope: Scope) -> Following {
        let shared = self.shared.clone();
        // There is no sender: the stream ends after the marker.
        let end = watch::channel(Position(0)).1;
        match scope {
            Scope::Session { session, from } => {
                let began_at = Seq(u64::MAX);
                following(SessionPages { shared, session, from, began_at }, end)
            }
            Scope::All { from } => {
                let (began_at, from) = (Position(u64::MAX), from.dense());
                following(AllPages { shared, from, began_at, spare: Spare::new() }, end)
            }
        }
    }
}

impl EventLog for ReadOnlyLog {
    fn append(&self, _: Draft) -> Boxed<'_, Result<Committed, AppendError>> {
        Box::pin(async { Err(AppendError::ReadOnly) })
    }

    fn head(&self, session: SessionId) -> Boxed<'_, Result<Option<Head>, ReadError>> {
        Box::pin(async move { Ok(self.state(|state| state.sessions.own.get(&session).map(|own| own.head))) })
    }

    fn promises(&self) -> Promises {
        Promises::READ_ONLY
    }

    fn sessions_page(&self, from: Option<PageToken>, limit: usize) -> Boxed<'_, Result<SessionListPage, ReadError>> {
        Box::pin(async move { Ok(self.state(|state| state.sessions.page(from, limit))) })
    }

    fn read(&self, session: SessionId, from: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move {
            if limit <= FEW || !self.shared.is_behind(session, from) {
                return self.shared.read(session, from, limit);
            }
            let shared = self.shared.clone();
            apart(move || shared.read(session, from, limit)).await
        })
    }

    fn read_back(&self, session: SessionId, before: Seq, limit: usize) -> Boxed<'_, Result<Vec<Slice>, ReadError>> {
        Box::pin(async move {
            if limit <= FEW {
                return self.shared.read_back(session, before, limit);
            }
            let shared = self.shared.clone();
            apart(move || shared.read_back(session, before, limit)).await
        })
    }

    fn follow(&self, scope: Scope) -> Following {
        let follower = ReopeningFollower {
            layout: self.shared.layout.clone(),
            folder: self.shared.folder.clone(),
            id: self.shared.id,
            tuning: self.shared.tuning,
            disk: self.shared.disk.clone(),
            seen: self.seen.clone(),
            again: false,
            source: Some(self.follow_snapshot(scope.clone())),
            scope,
            synced: false,
        };
        Box::pin(stream::unfold(follower, |mut follower| async move { follower.step().await.map(|it| (it, follower)) }))
    }

    fn put_blob(&self, _: String) -> Boxed<'_, Result<BlobHash, AppendError>> {
        Box::pin(async { Err(AppendError::ReadOnly) })
    }

    fn blobs(&self) -> Arc<dyn Blobs + Send + Sync> {
        self.shared.blobs.clone()
    }
}

/// A follower that opens the store again whenever its journal changed.
struct ReopeningFollower {
    layout: Layout,
    /// The folder, held open: it stays the same one after a move.
    folder: Arc<Folder>,
    id: StoreId,
    tuning: Tuning,
    disk: Arc<dyn Disk>,
    /// What is still to come.
    scope: Scope,
    synced: bool,
    seen: Vec<JournalFile>,
    /// Whether it changed when it was looked at last: times are coarse, and something may have come just afterwards.
    again: bool,
    source: Option<Following>,
}

impl ReopeningFollower {
    async fn step(&mut self) -> Option<Result<Followed, ReadError>> {
        loop {
            let Some(source) = &mut self.source else {
                tokio::time::sleep(POLL).await;
                let seen = changes(&self.folder, &self.layout);
                let changed = seen != self.seen;
                if !std::mem::replace(&mut self.again, changed) && !changed {
                    continue;
                }
                match self.open() {
                    Ok(log) => self.source = Some(log.follow_snapshot(self.scope.clone())),
                    Err(error) => return Some(Err(ReadError::Io { source: Arc::new(error) })),
                }
                self.seen = seen;
                continue;
            };
            match source.next().await {
                None => self.source = None,
                Some(Ok(Followed::Synced)) if self.synced => {}
                Some(item) => {
                    if let Ok(followed) = &item {
                        self.note(followed);
                    }
                    return Some(item);
                }
            }
        }
    }

    /// Opens the store again, as long as it is the same one.
    fn open(&self) -> io::Result<ReadOnlyLog> {
        let dir = || self.layout.dir.clone();
        let log = match ReadOnlyLog::open_in(&self.layout, &self.folder, self.tuning, &self.disk) {
            Ok((log, _)) => log,
            Err(OpenError::NoStore { .. } | OpenError::Dangling { .. }) => {
                return Err(Displaced::Removed { dir: dir() }.error());
            }
            Err(OpenError::Io { source, .. }) => return Err(source),
            Err(error) => return Err(io::Error::other(error)),
        };
        // A copy gets an id of its own from the first process that writes to it.
        match log.id() == self.id || log.identity.copied_from.contains(&self.id) {
            true => Ok(log),
            false => Err(Displaced::Replaced { dir: dir(), expected: self.id, found: Some(log.id()) }.error()),
        }
    }

    fn note(&mut self, followed: &Followed) {
        match (followed, &mut self.scope) {
            (Followed::Synced, _) => self.synced = true,
            (Followed::Batch { slice, .. }, Scope::Session { from, .. }) => *from = slice.until,
            (Followed::Batch { place, .. }, Scope::All { from }) => {
                if let Some(place) = place {
                    *from = place.cursor.clone();
                }
            }
        }
    }
}

/// A file of the journal as its folder shows it.
type JournalFile = (std::ffi::OsString, u64, Option<SystemTime>);

/// What changes whenever something is appended. Errors are left to the reader that meets them.
fn changes(folder: &Folder, layout: &Layout) -> Vec<JournalFile> {
    let Ok(entries) = folder.reach_inside(&layout.journal()).and_then(|journal| journal.read_dir()) else {
        return Vec::new();
    };
    let files = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let metadata = entry.metadata().ok()?;
        Some((entry.file_name(), metadata.len(), metadata.modified().ok()))
    });
    let mut files: Vec<JournalFile> = files.collect();
    files.sort_unstable();
    files
}
