//! Opening a store, step by step: the small files, sled, the journal, and what one has of the other.

use super::blobs::BlobFiles;
use super::files::Disk;
use super::folder::Folder;
use super::identity::StoreId;
use super::journal::{Journal, Writer};
use super::layout::Layout;
use super::rebuild;
use super::recovery::Recovery;
use super::report::{OpeningReport, Remark};
use super::sessions::{Checkpoint, Sessions};
use super::shared::{Recent, Shared, State, Tuning};
use super::sled_tree::SledTree;
use crate::log::Position;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use tokio::sync::watch;

/// A store that is being opened by its owner.
pub struct Opening {
    /// Where things lie.
    pub layout: Layout,
    /// The folder, held open.
    pub folder: Arc<Folder>,
    /// Which store it is.
    pub id: StoreId,
    /// The file layer.
    pub disk: Arc<dyn Disk>,
    /// Sizes.
    pub tuning: Tuning,
    /// What for.
    pub aim: Aim,
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// To be used: only what came after the last checkpoint is compared.
    Use,
    /// To be mended: everything is read and compared.
    Repair,
    /// To be made small: sled is written anew.
    Compact,
}

pub struct Opened {
    /// The store.
    pub shared: Arc<Shared>,
    /// Where the journal goes on.
    pub writer: Option<Writer>,
    /// What was found and done.
    pub report: OpeningReport,
    /// Whether sled was written to.
    pub written: bool,
    /// The first position that could not be read for sled.
    pub unread: Option<u64>,
}

impl Opening {
    /// Opens it; `report` says what was done before.
    pub fn run(self, mut report: OpeningReport) -> io::Result<Opened> {
        let Self { layout, folder, id, disk, tuning, aim } = self;
        let names = disk.list(&layout.dir)?;
        let stands = |name: &str| names.iter().any(|listed| listed.name == name);
        let heads = Sessions::load(&*disk, &layout.heads())?;
        let checkpoint = Checkpoint::load(&*disk, &layout.checkpoint())?;
        for (what, lost) in [
            ("the list of heads", heads.is_none() && stands("heads")),
            ("the checkpoint", checkpoint.is_none() && stands("checkpoint")),
        ] {
            report.remarks.extend(lost.then_some(Remark::Reread { what }));
        }
        let (heads, checkpoint) = (heads.unwrap_or_default(), checkpoint.unwrap_or_default().next);
        rebuild::finish(&layout, &folder, &*disk)?;
        let existed = rebuild::is_there(&folder, &layout.sled().join("db"))?;
        let sled = SledTree::open_in(&folder, &*disk, &layout.sled(), tuning.sled_cache, tuning.sled_segment);
        if let (Ok(sled), false) = (&sled, existed) {
            sled.settle(&*disk).map_err(io::Error::other)?;
        }
        let reaches = sled.as_ref().map_or(0, SledTree::reaches);
        let evidence = heads.next.max(checkpoint).max(reaches);
        let recovery = Recovery {
            disk: &*disk,
            layout: &layout,
            store: id,
            tuning: &tuning,
            sled: sled.as_ref().ok(),
            evidence,
            sessions: heads,
            thorough: aim == Aim::Repair,
        };
        let recovered = recovery.run()?;
        report.remarks.extend(recovered.remarks);
        let next = recovered.sessions.next;
        let shared = Arc::new(Shared {
            journal: Journal::new(disk.clone(), layout.journal(), id, recovered.segments, next, tuning.read_room),
            blobs: Arc::new(BlobFiles::new(disk.clone(), layout.blobs())),
            layout,
            folder,
            id,
            disk,
            tuning,
            sled: RwLock::new(None),
            checkpoint: AtomicU64::new(checkpoint.min(next)),
            state: Mutex::new(State::of(recovered.sessions)),
            filled: AtomicU64::new(next),
            recent: RwLock::new(Recent::default()),
            lag: Mutex::new(0),
            lag_fell: Condvar::new(),
            length: Mutex::new(Some(watch::Sender::new(Position(next)))),
            ahead: Mutex::default(),
            closed: AtomicBool::new(false),
            remarks: Mutex::default(),
        });
        let compared = rebuild::compare(&shared, sled, existed, checkpoint, aim);
        *shared.sled.write().unwrap_or_else(PoisonError::into_inner) = compared.sled;
        report.caught_up = compared.caught_up;
        report.remarks.append(&mut shared.remarks.lock().unwrap_or_else(PoisonError::into_inner));
        report.remarks.extend(compared.remarks);
        let (written, unread) = (compared.written, compared.unread);
        Ok(Opened { shared, writer: recovered.writer, report, written, unread })
    }
}
