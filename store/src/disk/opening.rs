//! Opening a store, step by step: the small files, sled, the journal, and what one has of the other.

use crate::disk::blobs::BlobFiles;
use crate::disk::erasing::{Eraser, PendingErasure};
use crate::disk::filling::{Filler, PendingFilling};
use crate::disk::folder::Folder;
use crate::disk::folder::files::{Disk, remove_unfinished};
use crate::disk::folder::identity::Identity;
use crate::disk::folder::layout::Layout;
use crate::disk::index::private_copy::PrivateCopy;
use crate::disk::index::rebuild;
use crate::disk::index::sled_tree::SledTree;
use crate::disk::journal::segment::{self, Segment};
use crate::disk::journal::{Journal, SegmentWriter};
use crate::disk::maintenance::report::{OpeningReport, Remark};
use crate::disk::recovery::{POSITION_MAX, Recovered, Recovery};
use crate::disk::rewriting::Rewriter;
use crate::disk::sessions::{Checkpoint, SessionHeads};
use crate::disk::state::{RecentBatches, SessionTable, StoreState, Tuning};
use crate::log::Position;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use tokio::sync::watch;

/// A store that is being opened by its owner.
pub struct Opening<'a> {
    /// Where things lie.
    pub layout: Layout,
    /// The folder, held open.
    pub folder: Arc<Folder>,
    /// Which store it is.
    pub identity: Identity,
    /// The file layer.
    pub disk: Arc<dyn Disk>,
    /// Sizes.
    pub tuning: Tuning,
    /// What for.
    pub purpose: Purpose,
    /// Hears how far a pending erasure is.
    pub progress: &'a dyn Fn(usize, usize),
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be used: only what came after the last checkpoint is compared.
    Use,
    /// To be repaired: everything is read and compared.
    Repair,
    /// To be made small: sled is written anew.
    Compact,
}

pub struct Opened {
    /// The store.
    pub shared: Arc<StoreState>,
    /// Where the journal continues.
    pub writer: Option<SegmentWriter>,
    /// What was found and done.
    pub report: OpeningReport,
    /// Whether sled was written to.
    pub written: bool,
    /// The first position that could not be read for sled.
    pub unread: Option<u64>,
}

impl Opening<'_> {
    /// Opens it; `report` says what was done before. `in_order`: the owner before closed it.
    pub fn run(self, mut report: OpeningReport, in_order: bool) -> io::Result<Opened> {
        let Self { layout, folder, identity, disk, tuning, purpose, .. } = &self;
        let purpose = *purpose;
        let pending = PendingWork::load(&**disk, layout)?;
        let (heads, checkpoint) = small_files(layout, &**disk, &mut report)?;
        let known = heads.is_some() && checkpoint.is_some();
        let (heads, mut checkpoint) = (heads.unwrap_or_default(), checkpoint.unwrap_or_default().next);
        rebuild::finish(layout, folder, &**disk)?;
        let mut existed = rebuild::is_there(folder, &layout.sled().join("db"))?;
        let open_sled = || SledTree::open_in(folder, &**disk, &layout.sled(), tuning.sled_cache, tuning.sled_segment);
        let sled = open_sled();
        if let (Ok(sled), false) = (&sled, existed) {
            sled.settle(&**disk).map_err(io::Error::other)?;
        }
        // Asking sled costs by the number of sessions; after a clean shutdown the list of heads says as much.
        let reaches = match in_order && known && purpose != Purpose::Repair && pending.is_none() {
            true => 0,
            false => sled.as_ref().map_or(0, SledTree::reaches),
        };
        let evidence = heads.next.max(checkpoint).max(reaches).min(POSITION_MAX);
        let in_sled = || sled.as_ref().ok().cloned();
        let recovery = Recovery {
            disk: &**disk,
            layout,
            identity,
            tuning,
            sled: &in_sled,
            evidence,
            sessions: heads,
            thorough: purpose == Purpose::Repair || pending.is_some(),
            writes: true,
        };
        let mut recovered = recovery.run()?;
        report.remarks.append(&mut recovered.remarks);
        let sled = match &pending {
            None => sled,
            Some(pending) => {
                // sled goes as a whole: it keeps what was replaced in it.
                drop(sled);
                self.finish(pending, &mut recovered, &mut report)?;
                existed = rebuild::is_there(folder, &layout.sled().join("db"))?;
                checkpoint = if existed { checkpoint } else { 0 };
                open_sled()
            }
        };
        let next = recovered.sessions.next;
        let mut shared = self.shared(recovered.segments, recovered.sessions);
        shared.checkpoint = AtomicU64::new(checkpoint.min(next));
        shared.filled = AtomicU64::new(next);
        shared.end = Mutex::new(Some(watch::Sender::new(Position(next))));
        let shared = Arc::new(shared);
        let mut compared = rebuild::compare(&shared, sled, existed, checkpoint, purpose);
        if report.erased.is_some() || report.filled.is_some() {
            compared.remarks.retain(|remark| !matches!(remark, Remark::SledRebuilt { .. }));
            let empty = compared.replaced.take().map(|empty| rebuild::remove_empty(&shared, &empty));
            if let Some(Err(error)) = empty {
                tracing::warn!(%error, "an empty index could not be removed");
            }
        }
        *shared.sled.write().unwrap_or_else(PoisonError::into_inner) = compared.sled;
        report.caught_up = compared.caught_up;
        report.remarks.append(&mut shared.remarks.lock().unwrap_or_else(PoisonError::into_inner));
        report.remarks.extend(compared.remarks);
        let (written, unread) = (compared.written, compared.unread);
        Ok(Opened { shared, writer: recovered.writer, report, written, unread })
    }

    /// Finishes an erasure, then a filling. What cannot be done now is reported, and tried again by the next opening.
    fn finish(&self, pending: &PendingWork, recovered: &mut Recovered, report: &mut OpeningReport) -> io::Result<()> {
        let Self { layout, folder, identity, disk, tuning, progress, .. } = self;
        let lost = report.lost_something();
        let blobs = BlobFiles::new(disk.clone(), layout.blobs());
        let rewriter = Rewriter { disk, layout, folder, identity, tuning, progress: *progress };
        let Recovered { segments, writer, .. } = recovered;
        let unfinished = |error: io::Error, remark: fn(String) -> Remark| match crate::disk::Displaced::of(&error) {
            Some(_) => Err(error),
            None => Ok(remark(error.to_string())),
        };
        if let Some(pending) = &pending.erasure {
            let mut erase = || {
                let erased = Eraser { rewriter: &rewriter, blobs: &blobs }.run(pending, segments, writer)?;
                PendingErasure::remove(&**disk, layout).map(|()| erased)
            };
            let last = "the store is damaged, and what erasing removes may be the last copy";
            match if lost { Err(io::Error::other(last)) } else { erase() } {
                Ok(erased) => report.erased = Some(erased),
                Err(error) => {
                    report.remarks.push(unfinished(error, |reason| Remark::EraseUnfinished { reason })?);
                    // What is filled in is never more important.
                    return Ok(());
                }
            }
        }
        if let Some(pending) = &pending.filling {
            let mut fill = || {
                let filled = Filler { rewriter: &rewriter, blobs: &blobs }.run(pending, segments, writer)?;
                PendingFilling::remove(&**disk, layout).map(|()| filled)
            };
            match if lost { Err(io::Error::other("the store is damaged")) } else { fill() } {
                Ok(filled) => report.filled = Some(filled),
                Err(error) => report.remarks.push(unfinished(error, |reason| Remark::FillUnfinished { reason })?),
            }
        }
        Ok(())
    }
}

/// What an earlier process began.
struct PendingWork {
    erasure: Option<PendingErasure>,
    filling: Option<PendingFilling>,
}

impl PendingWork {
    /// Reads it; `None` when there is nothing to finish.
    fn load(disk: &dyn Disk, layout: &Layout) -> io::Result<Option<Self>> {
        // It holds keys.
        remove_unfinished(disk, &layout.erasing())?;
        let (erasure, filling) = (PendingErasure::load(disk, layout)?, PendingFilling::load(disk, layout)?);
        Ok((erasure.is_some() || filling.is_some()).then_some(Self { erasure, filling }))
    }
}

/// A store that is only read.
pub struct OpenedReadOnly {
    /// The store.
    pub shared: Arc<StoreState>,
    /// What was found.
    pub report: OpeningReport,
    /// How far sled was durable, if that is known.
    pub checkpoint: Option<u64>,
}

impl Opening<'_> {
    /// Reads what opening reads, and changes nothing: what is damaged is restored in memory.
    pub fn open_read_only(self) -> io::Result<OpenedReadOnly> {
        let Self { layout, folder, identity, disk, tuning, .. } = &self;
        let mut report = OpeningReport::default();
        // In this order: the journal that is listed later has everything that the list of heads has.
        let (heads, checkpoint) = small_files(layout, &**disk, &mut report)?;
        // It holds keys, so that another user cannot read it.
        if !matches!(PendingErasure::load(&**disk, layout), Ok(None)) {
            report.remarks.push(Remark::EraseUnfinished { reason: "an erasure is not finished".into() });
        }
        let checkpoint = checkpoint.map(|checkpoint| checkpoint.next);
        let heads = heads.unwrap_or_default();
        let mut evidence = heads.next.max(checkpoint.unwrap_or(0)).min(POSITION_MAX);
        let copy = PrivateCopy::of(layout, folder.clone(), tuning);
        if evidence == 0 && copy.exists() && !has_segments(layout, &**disk)? {
            evidence = reach_of_sled(&copy)?.min(POSITION_MAX);
        }
        let in_sled = || copy.get();
        let recovery = Recovery {
            disk: &**disk,
            layout,
            identity,
            tuning,
            sled: &in_sled,
            evidence,
            sessions: heads,
            thorough: false,
            writes: false,
        };
        let recovered = recovery.run()?;
        report.remarks.extend(recovered.remarks);
        let mut shared = self.shared(recovered.segments, recovered.sessions);
        // Nothing was given to the copy of sled, so that nothing is ever restored there.
        shared.sled = RwLock::new(copy.opened());
        shared.copy = Some(copy);
        Ok(OpenedReadOnly { shared: Arc::new(shared), report, checkpoint })
    }

    /// The store for reading after recovery: nothing was written to sled, and there is no writer.
    fn shared(self, segments: Vec<Arc<Segment>>, sessions: SessionHeads) -> StoreState {
        let Self { layout, folder, identity, disk, tuning, purpose: _, progress: _ } = self;
        StoreState {
            journal: Journal::new(
                disk.clone(),
                layout.journal(),
                identity.id,
                segments,
                sessions.next,
                tuning.read_room,
            ),
            blobs: Arc::new(BlobFiles::new(disk.clone(), layout.blobs())),
            keys: Mutex::default(),
            layout,
            folder,
            id: identity.id,
            disk,
            tuning,
            sled: RwLock::new(None),
            checkpoint: AtomicU64::new(0),
            state: Mutex::new(SessionTable::of(sessions)),
            filled: AtomicU64::new(0),
            recent: RwLock::new(RecentBatches::default()),
            lag: Mutex::new(0),
            lag_fell: Condvar::new(),
            end: Mutex::default(),
            read_ahead: Mutex::default(),
            closed: AtomicBool::new(false),
            copy: None,
            remarks: Mutex::default(),
        }
    }
}

/// Whether the journal has a segment.
fn has_segments(layout: &Layout, disk: &dyn Disk) -> io::Result<bool> {
    match disk.list(&layout.journal()) {
        Ok(listed) => Ok(listed.iter().any(|listed| segment::read_name(&listed.name).is_some())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// How far sled reaches where nothing else of the log is left: a store that has lost its journal is not empty.
fn reach_of_sled(copy: &PrivateCopy) -> io::Result<u64> {
    match copy.get() {
        Some(sled) => Ok(sled.reaches()),
        None => {
            let reason = copy.failure().map_or_else(String::new, |(reason, _)| format!(": {reason}"));
            Err(io::Error::other(format!("the journal is gone, and the second copy (sled) cannot be read{reason}")))
        }
    }
}

/// The list of heads and the checkpoint; reports what is there and damaged.
fn small_files(
    layout: &Layout,
    disk: &dyn Disk,
    report: &mut OpeningReport,
) -> io::Result<(Option<SessionHeads>, Option<Checkpoint>)> {
    let mut names: Vec<String> = disk.list(&layout.dir)?.into_iter().map(|listed| listed.name).collect();
    names.extend(disk.irregular(&layout.dir)?);
    let exists = |name: &str| names.iter().any(|listed| listed == name);
    let heads = SessionHeads::load(disk, &layout.heads())?;
    let checkpoint = Checkpoint::load(disk, &layout.checkpoint())?;
    for (what, lost) in [
        ("the list of heads", heads.is_none() && exists("heads")),
        ("the checkpoint", checkpoint.is_none() && exists("checkpoint")),
    ] {
        report.remarks.extend(lost.then_some(Remark::Reread { what }));
    }
    Ok((heads, checkpoint))
}
