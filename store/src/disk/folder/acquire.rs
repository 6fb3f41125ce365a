//! Acquiring a store: the folder, the lock, and which store it is.

use super::files::Disk;
use super::identity::Identity;
use super::layout::Layout;
use super::{Folder, NotOwned, StoreLock};
use crate::disk::OpenMode;
use crate::disk::maintenance::open_error::OpenError;
use crate::disk::maintenance::report::OpeningReport;
use crate::disk::opening::Purpose;
use crate::disk::recovery::restore::FormatRepair;
use crate::displaced::Displaced;
use crate::store_id::StoreId;
use std::path::Path;
use std::sync::Arc;

/// A store that this process wants to own.
pub struct Claim<'a> {
    /// The folder.
    pub dir: &'a Path,
    /// Whether a missing store is created.
    pub mode: OpenMode,
    /// The id, when this process used the store before.
    pub id: Option<StoreId>,
    /// What for.
    pub purpose: Purpose,
    /// Hears how far a pending erasure is: segments done, of how many.
    pub progress: &'a dyn Fn(usize, usize),
}

/// A folder whose store this process owns.
pub struct Acquired {
    /// Where things lie.
    pub layout: Layout,
    /// The folder, held open.
    pub folder: Arc<Folder>,
    /// The file layer, which looks everything up in the folder.
    pub disk: Arc<dyn Disk>,
    /// Held while the store is owned.
    pub lock: StoreLock,
    /// Which store it is.
    pub identity: Identity,
    /// What was found and done so far.
    pub report: OpeningReport,
}

impl Claim<'_> {
    /// Acquires the store: makes the folder if need be, locks it, and finds out or writes which store it is.
    pub fn acquire(self, disk: &Arc<dyn Disk>) -> Result<Acquired, OpenError> {
        let layout = Layout::new(self.dir);
        let found = layout.identity(&**disk);
        match (&found, self.mode) {
            (Ok(None), _) if self.id.is_some() => return Err(Displaced::Gone { dir: self.dir.to_owned() }.into()),
            (Ok(None), OpenMode::Existing | OpenMode::ReadOnly) => return Err(layout.absent()),
            (Ok(None), OpenMode::Create) => layout.create_root(&**disk)?,
            (Ok(Some(_)), _) => {}
            (Err(OpenError::FormatFile { .. }), _) if self.purpose == Purpose::Repair => {}
            (Err(_), _) => return Err(found.err().unwrap_or_else(|| layout.absent())),
        }
        let at_dir = |source| OpenError::at(self.dir, source);
        let folder = Arc::new(Folder::open(self.dir).map_err(at_dir)?);
        let disk = disk.within(&folder).unwrap_or_else(|| disk.clone());
        let lock = folder.own().map_err(|error| match error {
            NotOwned::Locked => OpenError::Locked { dir: self.dir.to_owned() },
            NotOwned::Io(source) => OpenError::at(&layout.lock(), source),
        })?;
        // Under the lock, so that it cannot change.
        let found = layout.identity(&*disk);
        match (&found, self.mode) {
            (Ok(None), _) if self.id.is_some() => return Err(Displaced::Gone { dir: self.dir.to_owned() }.into()),
            (Ok(None), OpenMode::Existing | OpenMode::ReadOnly) => return Err(layout.absent()),
            _ => {}
        }
        if let (Some(expected), Ok(Some(identity))) = (self.id, &found) {
            let same_folder = identity.folder == folder.inode();
            if identity.id != expected || !same_folder {
                let found = Some(identity.id).filter(|found| *found != expected);
                return Err(Displaced::Replaced { dir: self.dir.to_owned(), expected, found }.into());
            }
        }
        layout.create_folders(&*disk)?;
        lock.note_owner();
        let (identity, report) = self.identify(&layout, &*disk, &folder, found)?;
        folder.mark(&identity).map_err(|source| OpenError::at(&layout.format(), source))?;
        Ok(Acquired { layout, folder, disk, lock, identity, report })
    }

    /// Which store it is; writes that for a new store, a copied one and one to be repaired.
    fn identify(
        &self,
        layout: &Layout,
        disk: &dyn Disk,
        folder: &Folder,
        found: Result<Option<Identity>, OpenError>,
    ) -> Result<(Identity, OpeningReport), OpenError> {
        let random = |source| OpenError::at(&layout.format(), source);
        let mut report = OpeningReport::default();
        let identity = match found {
            Ok(Some(identity)) if identity.folder == folder.inode() => return Ok((identity, report)),
            Ok(Some(former)) => {
                report.copied_from = Some(former.id);
                former.copied_to(folder.inode()).map_err(random)?
            }
            Ok(None) => {
                report.created = true;
                Identity::new(folder.inode()).map_err(random)?
            }
            Err(OpenError::FormatFile { state, .. }) if self.purpose == Purpose::Repair => {
                let restoring = FormatRepair::plan(layout, disk, folder, state)?;
                report.remarks.push(restoring.write(layout, disk)?);
                return Ok((restoring.identity, report));
            }
            Err(error) => return Err(error),
        };
        layout.write_identity(disk, &identity)?;
        Ok((identity, report))
    }
}
