//! The paths in a store's folder, and what identifies it as one.

use super::files::{Disk, read_whole, write_whole};
use super::identity::{FORMAT, Identity, NoIdentity};
use crate::disk::maintenance::open_error::{FormatFile, OpenError};
use crate::disk::sessions::{Checkpoint, SessionHeads};
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The paths of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The folder itself.
    pub dir: PathBuf,
}

impl Layout {
    /// The store in a folder.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// Says that this is a store, and of which format.
    pub fn format(&self) -> PathBuf {
        self.dir.join("FORMAT")
    }

    /// Locked by the process that owns the store.
    pub fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// The segments.
    pub fn journal(&self) -> PathBuf {
        self.dir.join("journal")
    }

    /// sled's folder.
    pub fn sled(&self) -> PathBuf {
        self.dir.join("sled")
    }

    /// The blobs.
    pub fn blobs(&self) -> PathBuf {
        self.dir.join("blobs")
    }

    /// Saved views: a cache.
    pub fn cache(&self) -> PathBuf {
        self.dir.join("cache")
    }

    /// Present while texts are being erased.
    pub fn erasing(&self) -> PathBuf {
        self.dir.join("erasing")
    }

    /// Present while withheld texts are being filled in: which ones.
    pub fn filling(&self) -> PathBuf {
        self.dir.join("filling")
    }

    /// What could not be read and was set aside.
    pub fn damaged(&self) -> PathBuf {
        self.dir.join("damaged")
    }

    /// Where each session ended at the last rotation or shutdown.
    pub fn heads(&self) -> PathBuf {
        self.dir.join("heads")
    }

    /// How far sled is durable.
    pub fn checkpoint(&self) -> PathBuf {
        self.dir.join("checkpoint")
    }

    fn io(&self, path: PathBuf) -> impl FnOnce(io::Error) -> OpenError {
        move |source| OpenError::at(&path, source)
    }

    /// Whether the folder holds a store of this format.
    ///
    /// # Errors
    /// As [`Layout::identity`].
    pub fn exists(&self, disk: &dyn Disk) -> Result<bool, OpenError> {
        Ok(self.identity(disk)?.is_some())
    }

    /// Which store the folder holds; `None` when it is empty, or the making of a store was interrupted there.
    ///
    /// # Errors
    /// When it holds a store of another format, one whose file `FORMAT` is damaged or missing, or other things.
    pub fn identity(&self, disk: &dyn Disk) -> Result<Option<Identity>, OpenError> {
        let dir = self.dir.clone();
        match read_whole(disk, &self.format()) {
            Ok(bytes) => match Identity::decode(&bytes) {
                Ok(identity) => Ok(Some(identity)),
                Err(NoIdentity::Other(found)) => Err(OpenError::Format { dir, found, supported: FORMAT }),
                Err(NoIdentity::Damaged) => Err(OpenError::FormatFile { dir, state: FormatFile::Damaged }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.holds_a_log(disk)? => {
                Err(OpenError::FormatFile { dir, state: FormatFile::Missing })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // The lock and the folders are there before FORMAT is: a store whose making was interrupted is made again.
                let journal = disk.list(&self.journal()).map_err(self.io(self.journal()))?;
                let files = disk.list(&self.dir).map_err(self.io(self.dir.clone()))?;
                let foreign = files.iter().any(|file| !matches!(file.name.as_str(), "lock" | "FORMAT.tmp" | "socket"));
                if journal.is_empty() && !foreign { Ok(None) } else { Err(OpenError::Foreign { dir }) }
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(OpenError::Foreign { dir }),
            Err(source) => Err(OpenError::at(&self.format(), source)),
        }
    }

    /// Whether the folder contains any part of a log, independent of `FORMAT`: a segment, sled, the list of heads, a checkpoint.
    fn holds_a_log(&self, disk: &dyn Disk) -> Result<bool, OpenError> {
        let journal = disk.list(&self.journal()).map_err(self.io(self.journal()))?;
        let sled = disk.list(&self.sled()).map_err(self.io(self.sled()))?;
        let heads = SessionHeads::load(disk, &self.heads()).map_err(self.io(self.heads()))?;
        let checkpoint = Checkpoint::load(disk, &self.checkpoint()).map_err(self.io(self.checkpoint()))?;
        Ok(journal.iter().any(|file| crate::disk::journal::segment::read_name(&file.name).is_some())
            || sled.iter().any(|file| file.name == "db")
            || heads.is_some()
            || checkpoint.is_some())
    }

    /// Makes the store's own folder for the user alone, and what leads to it, durably.
    pub fn create_root(&self, disk: &dyn Disk) -> Result<(), OpenError> {
        if let Some(to) = self.dangling() {
            return Err(OpenError::Dangling { dir: self.dir.clone(), to });
        }
        let absent = self.dir.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let made: Vec<PathBuf> = absent.map(Path::to_owned).collect();
        disk.create_dir(&self.dir).map_err(self.io(self.dir.clone()))?;
        // A folder that existed before may be open to others.
        std::fs::set_permissions(&self.dir, Permissions::from_mode(0o700)).map_err(self.io(self.dir.clone()))?;
        for parent in made.iter().filter_map(|folder| folder.parent()) {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            disk.sync_dir(parent).map_err(self.io(parent.to_owned()))?;
        }
        Ok(())
    }

    /// Creates the folders that are missing, including removed ones, which recovery then fills.
    pub fn create_folders(&self, disk: &dyn Disk) -> Result<(), OpenError> {
        for folder in [self.journal(), self.blobs()] {
            disk.create_dir(&folder).map_err(self.io(folder.clone()))?;
        }
        disk.sync_dir(&self.dir).map_err(self.io(self.dir.clone()))
    }

    /// Writes which store this is; its folders are there already.
    pub fn write_identity(&self, disk: &dyn Disk, identity: &Identity) -> Result<(), OpenError> {
        write_whole(disk, &self.format(), identity.encode().as_bytes()).map_err(self.io(self.format()))
    }

    /// Why there is no store to look at.
    pub fn absent(&self) -> OpenError {
        let dir = self.dir.clone();
        match self.dangling() {
            Some(to) => OpenError::Dangling { dir, to },
            None => OpenError::NoStore { dir },
        }
    }

    /// Where the path of the folder leads, when it is a link to nothing.
    pub fn dangling(&self) -> Option<PathBuf> {
        if self.dir.exists() {
            return None;
        }
        std::fs::read_link(&self.dir).ok()
    }

    /// The process that took the lock last, if it could note that.
    pub fn owner(&self) -> Option<u32> {
        let lock = self.lock();
        // A pipe would be waited for.
        std::fs::symlink_metadata(&lock).ok().filter(std::fs::Metadata::is_file)?;
        std::fs::read_to_string(lock).ok()?.parse().ok()
    }
}
