//! The folder of a store, held open: it stays the same one when its path leads elsewhere.

use super::at::{self, Unexpected};
use super::displaced::Displaced;
use super::files::{Disk, DiskFile, How, Listed, RealFile};
use super::identity::{Identity, Inode, StoreId};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The longest file `FORMAT` that is read, in bytes.
const FORMAT_MAX: usize = 8 * 1024;

/// The folder of a store, open for as long as the value lives.
#[derive(Debug)]
pub struct Folder {
    /// As it was given.
    dir: PathBuf,
    /// The same, independent of the current directory.
    absolute: PathBuf,
    fd: OwnedFd,
    inode: Inode,
    marked: Mutex<Option<Marked>>,
}

/// The file `FORMAT` as the owner of the store read or wrote it.
#[derive(Debug)]
struct Marked {
    /// Open, so that no other file gets its inode.
    file: File,
    inode: Inode,
    id: StoreId,
}

/// Held by the process that owns a store.
#[derive(Debug)]
pub struct Ownership {
    /// The file `lock`.
    _file: File,
    /// The folder itself, for when `lock` is removed. Absent where folders cannot be locked.
    _folder: Option<File>,
}

/// A store is owned by another process, or cannot be locked.
#[derive(Debug)]
pub enum NotOwned {
    /// Another process owns it.
    Locked,
    /// The disk refused.
    Io(io::Error),
}

impl From<io::Error> for NotOwned {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Folder {
    /// Opens a folder that exists. The path may lead through links.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let absolute = std::path::absolute(dir)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, &absolute, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        let inode = Inode { device: stat.st_dev, inode: stat.st_ino };
        Ok(Self { dir: dir.to_owned(), absolute, fd, inode, marked: Mutex::default() })
    }

    /// Its device and inode.
    pub fn inode(&self) -> Inode {
        self.inode
    }

    /// A path that leads to it now, wherever it was moved: for what cannot work relative to a descriptor (sled, sockets).
    ///
    /// # Errors
    /// When there is no such path: the system has no `/proc`, and the folder is no longer where it was opened.
    pub fn reach(&self) -> io::Result<PathBuf> {
        let link = PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd()));
        if inode_of(&link)? == Some(self.inode) {
            return Ok(link);
        }
        match inode_of(&self.absolute)? == Some(self.inode) {
            true => Ok(self.absolute.clone()),
            false => Err(Displaced::Removed { dir: self.dir.clone() }.error()),
        }
    }

    /// The same for what is inside it.
    ///
    /// # Errors
    /// As [`Folder::reach`], and when the path is not inside.
    pub fn reach_inside(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(self.reach()?.join(self.within(path)?))
    }

    /// Where it was opened and where it is now, if that is another place. `None` for the latter when it cannot be found out.
    pub fn moved(&self) -> Option<(PathBuf, Option<PathBuf>)> {
        if inode_of(&self.absolute).is_ok_and(|there| there == Some(self.inode)) {
            return None;
        }
        let to = std::fs::read_link(format!("/proc/self/fd/{}", self.fd.as_raw_fd())).ok();
        let to = to.filter(|to| inode_of(to).is_ok_and(|there| there == Some(self.inode)));
        Some((self.absolute.clone(), to))
    }

    /// Remembers the file `FORMAT`, which says `identity`: see [`Folder::check`].
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn mark(&self, identity: &Identity) -> io::Result<()> {
        let file = at::open(&self.fd, Path::new("FORMAT"), How::Read, &self.dir.join("FORMAT"))?;
        let facts = file.metadata()?;
        let inode = Inode { device: facts.dev(), inode: facts.ino() };
        *self.marked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Marked { file, inode, id: identity.id });
        Ok(())
    }

    /// Whether the folder still holds the store that was opened: neither was it removed, nor did another one take its place
    /// in the same folder. Two system calls.
    ///
    /// # Errors
    /// What happened to it.
    pub fn check(&self) -> Result<(), Displaced> {
        let marked = self.marked.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Marked { file, inode, id }) = &*marked else { return Ok(()) };
        let replaced = |found| Displaced::Replaced { dir: self.dir.clone(), expected: *id, found };
        match rustix::fs::statat(&self.fd, "FORMAT", AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if (Inode { device: stat.st_dev, inode: stat.st_ino }) == *inode => match found_in(file) {
                // A damaged one is no other store.
                Some(found) if found != *id => Err(replaced(Some(found))),
                _ => Ok(()),
            },
            Ok(_) => {
                let file = at::open(&self.fd, Path::new("FORMAT"), How::Read, Path::new("FORMAT"));
                Err(replaced(file.ok().and_then(|file| found_in(&file)).filter(|found| found != id)))
            }
            Err(Errno::NOENT | Errno::NOTDIR) => Err(Displaced::Removed { dir: self.dir.clone() }),
            Err(error) => {
                tracing::debug!(%error, "the identity of the store could not be checked");
                Ok(())
            }
        }
    }

    /// Makes this process the owner of the store until what is given is dropped.
    ///
    /// # Errors
    /// When another process is, or the disk refuses.
    pub fn own(&self) -> Result<Ownership, NotOwned> {
        let path = self.dir.join("lock");
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(&self.fd, "lock", flags, Mode::RUSR | Mode::WUSR) {
            Err(Errno::LOOP) => return Err(io::Error::new(io::ErrorKind::InvalidInput, Unexpected::Link(path)).into()),
            opened => File::from(opened.map_err(io::Error::from)?),
        };
        at::regular(&file, &path)?;
        locked(&file)?;
        let folder = rustix::fs::openat(&self.fd, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let folder = File::from(folder.map_err(io::Error::from)?);
        let folder = match locked(&folder) {
            Err(NotOwned::Io(error)) => {
                tracing::debug!(%error, "the folder of the store itself could not be locked");
                None
            }
            done => Some(done.map(|()| folder)?),
        };
        // For who meets an owner that does not answer; the lock is what counts.
        let noted = file.set_len(0).and_then(|()| file.write_all_at(std::process::id().to_string().as_bytes(), 0));
        if let Err(error) = noted {
            tracing::debug!(%error, "the owner of the store could not be noted");
        }
        Ok(Ownership { _file: file, _folder: folder })
    }

    /// Fails when something in a folder inside this one is neither a file nor a folder.
    ///
    /// # Errors
    /// For the first such thing, or when the disk refuses; a folder that is not there holds nothing.
    pub fn has_no_links(&self, path: &Path) -> io::Result<()> {
        let fd = match self.descend(path)? {
            None => return Ok(()),
            Some(fd) => fd,
        };
        for entry in rustix::fs::Dir::read_from(&fd)? {
            let entry = entry?;
            let stat = match rustix::fs::statat(&fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                // It went while it was looked at.
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            let shown = || path.join(&*entry.file_name().to_string_lossy());
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile | FileType::Directory => {}
                FileType::Symlink => return Err(io::Error::other(Unexpected::Link(shown()))),
                _ => return Err(io::Error::other(Unexpected::NotAFile(shown()))),
            }
        }
        Ok(())
    }

    /// Opens a folder inside this one; `None` when it is not there.
    fn descend(&self, path: &Path) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut fd = rustix::fs::openat(&self.fd, ".", flags, Mode::empty())?;
        let mut shown = self.dir.clone();
        for name in self.within(path)?.components() {
            shown.push(name);
            fd = match rustix::fs::openat(&fd, name.as_os_str(), flags, Mode::empty()) {
                Err(Errno::NOENT) => return Ok(None),
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    at::is_folder(&fd, Path::new(name.as_os_str()), &shown)?;
                    return Ok(None);
                }
                opened => opened?,
            };
        }
        Ok(Some(fd))
    }

    /// The part of a path behind the folder.
    fn within<'a>(&self, path: &'a Path) -> io::Result<&'a Path> {
        let inside = path.strip_prefix(&self.dir).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        match inside.components().all(|part| matches!(part, Component::Normal(_))) {
            true => Ok(inside),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn locked(file: &File) -> Result<(), NotOwned> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(NotOwned::Locked),
        Err(TryLockError::Error(error)) => Err(NotOwned::Io(error)),
    }
}

/// What a path leads to; `None` when there is nothing.
fn inode_of(path: &Path) -> io::Result<Option<Inode>> {
    match std::fs::metadata(path) {
        Ok(facts) => Ok(Some(Inode { device: facts.dev(), inode: facts.ino() })),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The id that a file `FORMAT` says.
fn found_in(file: &File) -> Option<StoreId> {
    let mut bytes = [0; FORMAT_MAX];
    let read = file.read_at(&mut bytes, 0).ok()?;
    Identity::decode(bytes.get(..read)?).ok().map(|identity| identity.id)
}

/// The files of a store by their paths, looked up in the folder that is held open. No link inside it is followed.
#[derive(Clone, Debug)]
pub struct HeldDisk {
    folder: Arc<Folder>,
}

impl HeldDisk {
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

impl Disk for HeldDisk {
    fn open(&self, path: &Path, how: How) -> io::Result<Arc<dyn DiskFile>> {
        self.at(path, |folder, name| Ok(Arc::new(RealFile(at::open(folder, name, how, path)?)) as Arc<dyn DiskFile>))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut made = self.folder.dir.clone();
        for name in self.folder.within(path)?.components() {
            made.push(name);
            self.at(&made, |folder, name| at::create_dir(folder, name, &made))?;
        }
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Listed>> {
        let Some(fd) = self.folder.descend(path)? else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for entry in rustix::fs::Dir::read_from(&fd)? {
            let entry = entry?;
            let stat = match rustix::fs::statat(&fd, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                let name = entry.file_name().to_string_lossy().into_owned();
                found.push(Listed { name, len: u64::try_from(stat.st_size).unwrap_or(0) });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
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
        self.at(path, |folder, name| at::open(folder, name, How::Write, path))?
            .set_modified(std::time::SystemTime::now())
    }
}
