//! Where everything lies in a store's folder, and what says that it is one.

use super::files::{Disk, is_irregular, not_regular, read_whole, write_whole};
use super::report::OpenError;
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The number of the store's format.
pub const FORMAT: u32 = 3;

/// What is in the lock when the owner left the store in order.
pub const CLOSED: &str = "closed";

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

    /// What could not be read and was set aside.
    pub fn damaged(&self) -> PathBuf {
        self.dir.join("damaged")
    }

    /// Where each Session ended at the last rotation or shutdown.
    pub fn heads(&self) -> PathBuf {
        self.dir.join("heads")
    }

    /// How far sled is durable.
    pub fn checkpoint(&self) -> PathBuf {
        self.dir.join("checkpoint")
    }

    fn io(&self, path: PathBuf) -> impl FnOnce(io::Error) -> OpenError {
        move |source| OpenError::Io { path, source }
    }

    /// Whether the folder holds a store of this format.
    ///
    /// # Errors
    /// When it holds a store of another format, or other things.
    pub fn exists(&self, disk: &dyn Disk) -> Result<bool, OpenError> {
        match read_whole(disk, &self.format()) {
            Ok(bytes) if bytes == format_text().as_bytes() => Ok(true),
            Ok(bytes) => {
                let found = String::from_utf8_lossy(&bytes).trim_end().chars().take(80).collect();
                Err(OpenError::Format { dir: self.dir.clone(), found, supported: FORMAT })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // The lock and the folders stand before FORMAT does: a store whose making was interrupted is made again.
                let journal = disk.list(&self.journal()).map_err(self.io(self.journal()))?;
                let files = disk.list(&self.dir).map_err(self.io(self.dir.clone()))?;
                let foreign = files.iter().any(|file| !matches!(file.name.as_str(), "lock" | "FORMAT.tmp" | "socket"));
                if journal.iter().any(|file| super::segment::read_name(&file.name).is_some()) {
                    let found = "nothing (the file FORMAT is missing)".to_owned();
                    return Err(OpenError::Format { dir: self.dir.clone(), found, supported: FORMAT });
                }
                if journal.is_empty() && !foreign {
                    return Ok(false);
                }
                Err(OpenError::Foreign { dir: self.dir.clone() })
            }
            Err(source) => Err(OpenError::Io { path: self.format(), source }),
        }
    }

    /// Makes the store's own folder for the user alone, and what leads to it, durably.
    pub fn create_root(&self, disk: &dyn Disk) -> Result<(), OpenError> {
        let absent = self.dir.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let made: Vec<PathBuf> = absent.map(Path::to_owned).collect();
        disk.create_dir(&self.dir).map_err(self.io(self.dir.clone()))?;
        // A folder that stood already may be open to others.
        std::fs::set_permissions(&self.dir, Permissions::from_mode(0o700)).map_err(self.io(self.dir.clone()))?;
        for parent in made.iter().filter_map(|folder| folder.parent()) {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            disk.sync_dir(parent).map_err(self.io(parent.to_owned()))?;
        }
        Ok(())
    }

    /// Makes the folders that are not there: also those that somebody removed, which recovery then fills.
    pub fn create_folders(&self, disk: &dyn Disk) -> Result<(), OpenError> {
        for folder in [self.journal(), self.blobs()] {
            disk.create_dir(&folder).map_err(self.io(folder.clone()))?;
        }
        disk.sync_dir(&self.dir).map_err(self.io(self.dir.clone()))
    }

    /// Says that this is a store; its folders stand already.
    pub fn create(&self, disk: &dyn Disk) -> Result<(), OpenError> {
        write_whole(disk, &self.format(), format_text().as_bytes()).map_err(self.io(self.format()))
    }

    /// The process that took the lock last, if it could note that.
    pub fn owner(&self) -> Option<u32> {
        let lock = self.lock();
        // A pipe would be waited for.
        std::fs::symlink_metadata(&lock).ok().filter(std::fs::Metadata::is_file)?;
        std::fs::read_to_string(lock).ok()?.parse().ok()
    }

    /// Notes in the lock that the store was left in order.
    pub fn note_closed(lock: &File) -> io::Result<()> {
        lock.set_len(0).and_then(|()| lock.write_all_at(CLOSED.as_bytes(), 0))
    }

    /// Makes this process the owner until the file is dropped.
    ///
    /// Also says whether the owner before left the store in order: then [`CLOSED`] is in the file.
    ///
    /// # Errors
    /// [`OpenError::Locked`] when another one is.
    pub fn own(&self) -> Result<(File, bool), OpenError> {
        let path = self.lock();
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        let open = options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(&path);
        let open = open.map_err(|error| if is_irregular(&error) { not_regular() } else { error });
        let file = open.map_err(self.io(path.clone()))?;
        match file.try_lock() {
            Ok(()) => {
                let mut noted = [0; CLOSED.len()];
                let in_order = file.read_at(&mut noted, 0).is_ok_and(|read| noted[..read] == *CLOSED.as_bytes());
                // For who meets an owner that does not answer; the lock is what counts.
                let noted =
                    file.set_len(0).and_then(|()| file.write_all_at(std::process::id().to_string().as_bytes(), 0));
                // On the device before anything else is: else a power cut would look like a clean shutdown.
                let noted = noted.and_then(|()| file.sync_data());
                if let Err(error) = noted {
                    tracing::debug!(%error, "the owner of the store could not be noted");
                }
                Ok((file, in_order))
            }
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked { dir: self.dir.clone() }),
            Err(TryLockError::Error(source)) => Err(OpenError::Io { path, source }),
        }
    }
}

fn format_text() -> String {
    format!("annals store {FORMAT}\n")
}
