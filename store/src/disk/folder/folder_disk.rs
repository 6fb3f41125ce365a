//! The files of a store, looked up in its folder that is held open.

use super::Folder;
use super::files::{Access, Disk, DiskFile, Listed, RealFile};
use super::relative;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The files of a store by their paths, looked up in the folder that is held open. No link inside it is followed.
#[derive(Clone, Debug)]
pub struct FolderDisk {
    folder: Arc<Folder>,
}

impl FolderDisk {
    /// The files in a folder.
    pub fn new(folder: Arc<Folder>) -> Self {
        Self { folder }
    }

    /// Calls with the open folder that holds the last name of a path, and that name.
    fn at<T>(&self, path: &Path, call: impl FnOnce(BorrowedFd<'_>, &Path) -> io::Result<T>) -> io::Result<T> {
        let inside = self.folder.within(path)?;
        let name = inside.file_name().map(Path::new).ok_or(io::ErrorKind::InvalidInput)?;
        match path.parent().filter(|_| inside.components().nth(1).is_some()) {
            None => call(self.folder.as_fd(), name),
            Some(parent) => match self.folder.descend(parent)? {
                Some(fd) => call(fd.as_fd(), name),
                None => Err(io::Error::new(io::ErrorKind::NotFound, format!("there is no {}", parent.display()))),
            },
        }
    }
}

impl Disk for FolderDisk {
    fn open(&self, path: &Path, how: Access) -> io::Result<Arc<dyn DiskFile>> {
        self.at(path, |folder, name| {
            Ok(Arc::new(RealFile(relative::open(folder, name, how, path)?)) as Arc<dyn DiskFile>)
        })
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut made = self.folder.path().to_owned();
        for name in self.folder.within(path)?.components() {
            made.push(name);
            self.at(&made, |folder, name| relative::create_dir(folder, name, &made))?;
        }
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Listed>> {
        let Some(fd) = self.folder.descend(path)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (name, stat) in entries(&fd)? {
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                found.push(Listed { name, len: u64::try_from(stat.st_size).unwrap_or(0) });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn irregular(&self, path: &Path) -> io::Result<Vec<String>> {
        let Some(fd) = self.folder.descend(path)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (name, stat) in entries(&fd)? {
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                found.push(name);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.at(from, |old, from| self.at(to, |new, to| Ok(rustix::fs::renameat(old, from, new, to)?)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.at(path, |folder, name| Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        match self.folder.descend(path)? {
            Some(fd) => Ok(rustix::fs::fsync(&fd)?),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        self.at(path, |folder, name| relative::open(folder, name, Access::Write, path))?
            .set_modified(std::time::SystemTime::now())
    }
}

/// What is in a folder, except itself and the one above it; links are not followed.
fn entries(fd: &OwnedFd) -> io::Result<Vec<(String, Stat)>> {
    let mut found = Vec::new();
    for entry in rustix::fs::Dir::read_from(fd)? {
        let entry = entry?;
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        match rustix::fs::statat(fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            // It was removed meanwhile.
            Err(Errno::NOENT) => {}
            stat => found.push((entry.file_name().to_string_lossy().into_owned(), stat?)),
        }
    }
    Ok(found)
}
