//! Opening sled: compare it with the journal, write what it lacks, and rebuild it when it is damaged.

use super::record;
use super::sled_tree::{self, SledError, SledTree};
use super::sled_writer::{self, Refilled};
use crate::disk::Purpose;
use crate::disk::folder::Folder;
use crate::disk::folder::files::Disk;
use crate::disk::folder::layout::Layout;
use crate::disk::maintenance::report::Remark;
use crate::disk::sessions::Checkpoint;
use crate::disk::state::StoreState;
use annals_core::Seq;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The reason of a rebuild on request, for a smaller sled.
pub const COMPACTED: &str = "it was to be compacted";

/// How many names are tried for a sled that is set aside.
const NAMES: usize = 10_000;

/// How many of the records before the checkpoint are looked for: a sled that dropped its tail lacks one of them.
const LOOKED_FOR: u64 = 64;

/// Number of sessions whose ends are compared.
const HEADS_COMPARED: usize = 64;

/// Result of comparing sled with the journal.
#[derive(Debug, Default)]
pub struct Comparison {
    /// sled, unless it is out of order.
    pub sled: Option<SledTree>,
    /// How many batches sled lacked and got.
    pub caught_up: u64,
    /// Whether sled was written to.
    pub written: bool,
    /// The first position that could not be read: sled is complete only before it.
    pub unread: Option<u64>,
    /// Where the empty sled is that opening made and a rebuilt one replaced.
    pub replaced: Option<PathBuf>,
    /// Remarks for the user.
    pub remarks: Vec<Remark>,
}

/// Compares sled with the journal, whose end is `next`; `checkpoint` is how far sled was durable.
pub fn compare(
    shared: &StoreState,
    opened: Result<SledTree, SledError>,
    existed: bool,
    checkpoint: u64,
    purpose: Purpose,
) -> Comparison {
    let next = shared.lock().sessions.next;
    let mut compared = Comparison::default();
    let reason = match &opened {
        Ok(_) if !existed && next > 0 => Some("it was missing".to_owned()),
        Ok(_) if purpose == Purpose::Compact => Some(COMPACTED.to_owned()),
        Ok(sled) if purpose == Purpose::Repair => match sled_writer::refill(shared, sled, 0, next) {
            Ok(Refilled { lacked, unread }) => {
                (compared.caught_up, compared.unread) = (lacked, unread);
                sled.every(|_, _| {}).map(|error| error.to_string())
            }
            Err(error) => Some(error.to_string()),
        },
        Ok(sled) => match catch_up(shared, sled, checkpoint, next) {
            Ok(Refilled { lacked, unread }) => {
                (compared.caught_up, compared.unread) = (lacked, unread);
                None
            }
            Err(reason) => Some(reason),
        },
        Err(error) => Some(error.to_string()),
    };
    match (reason, opened) {
        (None, opened) => {
            compared.written = compared.caught_up > 0 || !existed;
            compared.sled = opened.ok();
        }
        (Some(reason), opened) => match rebuild(shared, opened.ok(), next) {
            Ok(Rebuilt { sled, batches, set_aside, unsaved, unread }) => {
                (compared.sled, compared.written, compared.unread) = (Some(sled), true, unread);
                let (set_aside, replaced) = if existed { (set_aside, None) } else { (None, set_aside) };
                compared.replaced = replaced;
                // An old sled that could not be read completely is kept aside.
                let reason = match unsaved {
                    Some(error) => format!("{reason}; not all of the old one could be read: {error}"),
                    None => reason,
                };
                compared.remarks.push(Remark::SledRebuilt { reason, batches, set_aside });
            }
            Err(error) => {
                let error = error.to_string();
                let reason = if reason == error { reason } else { format!("{reason}; {error}") };
                compared.remarks.push(Remark::SledOut { reason });
            }
        },
    }
    let blobs = shared.folder.reach_inside(&shared.layout.sled().join("blobs")).and_then(|blobs| blobs.read_dir());
    if blobs.is_ok_and(|mut blobs| blobs.next().is_some()) {
        compared.remarks.push(Remark::SledBlobs);
    }
    compared
}

/// Writes what came after sled's checkpoint. An error says why it must be rebuilt instead.
///
/// A checkpoint promises that sled has everything below it. sled can break that promise silently: one flipped byte makes it drop
/// the end of its own log. So the newest records below the checkpoint are looked up; a single missing one means that there may
/// be more, anywhere, and that filling in what was looked for is not enough.
fn catch_up(shared: &StoreState, sled: &SledTree, checkpoint: u64, next: u64) -> Result<Refilled, String> {
    let message = |error: SledError| error.to_string();
    let before = checkpoint.min(next);
    let behind = sled_writer::refill(shared, sled, before.saturating_sub(LOOKED_FOR), before).map_err(message)?;
    if behind.lacked > 0 {
        return Err("it had lost its newest records".to_owned());
    }
    let mut refilled = sled_writer::refill(shared, sled, before, next).map_err(message)?;
    refilled.unread = behind.unread.or(refilled.unread);
    let heads = shared.lock().sessions.page(None, usize::MAX).sessions;
    // Of a store of many sessions some, others each time: opening must not cost by their number. What sled lacks of the
    // others is read from the journal, and found by `doctor`.
    let step = heads.len().div_ceil(HEADS_COMPARED).max(1);
    let begin = usize::try_from(next).unwrap_or_default() % step;
    for claimed in heads.into_iter().skip(begin).step_by(step) {
        let (session, head) = (claimed.session, claimed.head);
        let found = sled.at_or_before(session, Seq(u64::MAX)).map_err(message)?;
        let matches = found.and_then(|(key, value)| {
            sled_tree::checked(&key, record::frame(&value, &mut Vec::new())).map(|(_, header)| header.digest)
        });
        // What the journal does not have either is not sled's fault, and a rebuilt sled would not have it.
        let journal_has = || shared.journal.find(session, Seq(head.next.0.saturating_sub(1)));
        // The same while the journal cannot be read.
        if matches != Some(head.digest) && journal_has().is_ok_and(|found| found.is_some()) {
            return Err(format!("it did not contain the end of session {session}"));
        }
    }
    Ok(refilled)
}

/// Where sled is rebuilt.
fn beside(layout: &Layout) -> PathBuf {
    layout.dir.join("sled.new")
}

/// Where the complete new one waits until the old one is moved away.
fn whole(layout: &Layout) -> PathBuf {
    layout.dir.join("sled.whole")
}

/// Every folder that sled is or was in.
pub fn folders(layout: &Layout) -> [PathBuf; 3] {
    [layout.sled(), whole(layout), beside(layout)]
}

/// Ends what a stopped rebuild left: a sled that was made whole takes its place when the old one went already, and may be
/// the only one that has what is damaged in the journal. Anything else of it goes.
///
/// # Errors
/// When the disk refuses to give it its place.
pub fn finish(layout: &Layout, folder: &Folder, disk: &dyn Disk) -> io::Result<()> {
    let (place, whole) = (layout.sled(), whole(layout));
    if is_there(folder, &whole)? && !is_there(folder, &place)? {
        disk.rename(&whole, &place)?;
        disk.sync_dir(&layout.dir)?;
    }
    for left in [whole, beside(layout)] {
        if let Err(error) = remove_folder(folder, &left) {
            tracing::warn!(folder = %left.display(), %error, "what a stopped rebuild left could not be removed");
        }
    }
    Ok(())
}

/// A sled that was made anew.
struct Rebuilt {
    sled: SledTree,
    /// How many batches it holds.
    batches: u64,
    /// The path of the old one.
    set_aside: Option<PathBuf>,
    /// Why something may be in the old one alone.
    unsaved: Option<SledError>,
    /// The first position that could not be read.
    unread: Option<u64>,
}

/// Rebuilds sled next to the old one: from the journal, then from the old one what the journal does not have. The journal first,
/// because its frames win; what only the old one has is kept, since it may be the last copy.
fn rebuild(shared: &StoreState, old: Option<SledTree>, next: u64) -> Result<Rebuilt, SledError> {
    let beside = beside(&shared.layout);
    remove_folder(&shared.folder, &beside).map_err(|error| SledError::Flush(error.into()))?;
    let rebuilt = rebuild_beside(shared, &beside, old, next);
    // On a full disk an unfinished copy would take the room that the journal needs.
    if rebuilt.is_err()
        && let Err(error) = remove_folder(&shared.folder, &beside)
    {
        tracing::warn!(%error, "what was begun of a new sled could not be removed");
    }
    rebuilt
}

fn rebuild_beside(shared: &StoreState, beside: &Path, old: Option<SledTree>, next: u64) -> Result<Rebuilt, SledError> {
    let failed = |error: io::Error| SledError::Flush(error.into());
    let (place, whole) = (shared.layout.sled(), whole(&shared.layout));
    let StoreState { folder, disk, tuning, .. } = shared;
    let new = SledTree::open_in(folder, &**disk, beside, tuning.sled_cache, tuning.sled_segment)?;
    sled_writer::each_batch(shared, 0..next, |session, first, _| new.reserve(session, first))?;
    let mut batches = 0;
    let unread = sled_writer::each_batch(shared, 0..next, |session, first, frame| {
        batches += 1;
        new.replace(session, first, frame)
    })?;
    let mut unsaved = None;
    if let Some(old) = old {
        let broken = old.every(|key, frame| {
            let Some((_, header)) = sled_tree::checked(key, frame) else { return };
            let within = shared.own(header.session).is_some_and(|own| header.next() <= own.head.next);
            match within.then(|| new.insert(header.session, header.first, frame)) {
                Some(Ok(true)) => batches += 1,
                Some(Ok(false) | Err(SledError::Taken { .. })) | None => {}
                Some(Err(error)) => unsaved = Some(error),
            }
        });
        unsaved = unsaved.or(broken);
        if let Some(error) = &unsaved {
            tracing::warn!(%error, "the old sled could not be read to its end");
        }
    }
    new.settle(&*shared.disk)?;
    drop(new);
    if let Some(unread) = unread {
        // The checkpoint was that of the old sled: this one is complete only before `unread`.
        let next = unread.min(shared.checkpoint.load(Ordering::Relaxed));
        (Checkpoint { next }).save(&*shared.disk, &shared.layout.checkpoint()).map_err(failed)?;
        shared.checkpoint.store(next, Ordering::Relaxed);
    }
    let swap = || {
        let mut set_aside = None;
        // `sled.whole` is complete. From here on `finish` completes the exchange if this process stops.
        remove_folder(&shared.folder, &whole)?;
        shared.disk.rename(beside, &whole)?;
        shared.disk.sync_dir(&shared.layout.dir)?;
        if is_there(&shared.folder, &place)? {
            let folder = shared.layout.damaged();
            shared.disk.create_dir(&folder)?;
            let names = std::iter::once("sled".to_owned()).chain((1u32..).map(|n| format!("sled.{n}")));
            let is_free = |path: &PathBuf| is_there(&shared.folder, path).is_ok_and(|is_there| !is_there);
            let free = names.map(|name| folder.join(name)).take(NAMES).find(is_free).unwrap_or(folder.join("sled"));
            shared.disk.rename(&place, &free)?;
            shared.disk.sync_dir(&folder)?;
            set_aside = Some(free);
        }
        shared.disk.rename(&whole, &place)?;
        shared.disk.sync_dir(&shared.layout.dir)?;
        Ok(set_aside)
    };
    let set_aside = swap().map_err(failed)?;
    Ok(Rebuilt { sled: sled_writer::open(shared)?, batches, set_aside, unsaved, unread })
}

/// Whether there is anything at a path in the store, a link to nothing included.
pub(in crate::disk) fn is_there(folder: &Folder, path: &Path) -> io::Result<bool> {
    match folder.reach_inside(path)?.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a folder that a stopped rebuild left.
pub fn remove_folder(folder: &Folder, path: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder.reach_inside(path)?) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Removes a sled without a batch that was set aside, and the folder of what is set aside if nothing else is in it.
pub fn remove_empty(shared: &StoreState, sled: &Path) -> io::Result<()> {
    remove_folder(&shared.folder, sled)?;
    match std::fs::remove_dir(shared.folder.reach_inside(&shared.layout.damaged())?) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => Err(error),
        _ => Ok(()),
    }
}
