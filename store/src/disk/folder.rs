//! The folder of a store, held open: it stays the same one when its path leads elsewhere.
//!
//! ```text
//! no folder ──► folder ──► locked ──► owner noted ──► FORMAT of this folder ──► marked (the store may be opened)
//!                 │           │          in `lock`      ├─ there, same inode: kept
//!                 │           └─ another process: Locked├─ there, other inode: this is a copy, it gets an id of its own
//!                 └─ holds other things: refused        └─ none: a new store
//! while open: check() before anything is written that is not an append to an open segment
//!             FORMAT gone ──► Removed;  another FORMAT ──► Replaced;  the path leads elsewhere ──► the folder was moved: work continues
//! closed: `lock` says `closed`, then the lock is released
//! ```
//!
//! A crash before FORMAT is written leaves an empty folder, which the next opening takes for a new store; FORMAT itself is
//! written to a temporary file, flushed and renamed. A crash later leaves the process id in `lock`, which says that the store
//! was not closed in order: the next opening compares sled with every session.

pub(in crate::disk) mod acquire;
pub mod fault_injection;
pub mod files;
pub(in crate::disk) mod folder_disk;
pub(in crate::disk) mod identity;
pub(in crate::disk) mod layout;
pub(in crate::disk) mod lock;
pub(in crate::disk) mod relative;
pub(in crate::disk) mod store_path;

pub use lock::{NotOwned, StoreLock};

use crate::displaced::Displaced;
use crate::store_id::StoreId;
use files::Access;
use identity::{Identity, Inode};
use relative::Unexpected;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

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
    marked: Mutex<Option<FormatMark>>,
}

/// The file `FORMAT` as the owner of the store read or wrote it.
#[derive(Debug)]
struct FormatMark {
    /// Open, so that no other file gets its inode.
    file: File,
    inode: Inode,
    id: StoreId,
}

impl Folder {
    /// Opens a folder that exists. The path may lead through links.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let absolute = std::path::absolute(dir)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(CWD, &absolute, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&fd)?;
        let inode = Inode { device: stat.st_dev, inode: stat.st_ino };
        Ok(Self { dir: dir.to_owned(), absolute, fd, inode, marked: Mutex::default() })
    }

    /// Opens the folder of a store and remembers which store that is: see [`Folder::check`].
    ///
    /// # Errors
    /// When it cannot be opened; [`Displaced`] when it holds another store than `expected`.
    pub fn open_store(dir: &Path, expected: Option<StoreId>) -> io::Result<Self> {
        let folder = Self::open(dir)?;
        let file = relative::open(&folder.fd, Path::new("FORMAT"), Access::Read, &dir.join("FORMAT"))?;
        let found = found_in(&file);
        if let Some(expected) = expected.filter(|expected| found != Some(*expected)) {
            return Err(Displaced::Replaced { dir: dir.to_owned(), expected, found }.error());
        }
        if let Some(id) = found {
            folder.remember(file, id)?;
        }
        Ok(folder)
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Its device and inode.
    pub fn inode(&self) -> Inode {
        self.inode
    }

    /// Its current path, also after a move. For code that cannot work relative to a descriptor (sled, sockets).
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
        // Without access, assume that it was not moved.
        if inode_of(&self.absolute).ok()? == Some(self.inode) {
            return None;
        }
        let to = std::fs::read_link(format!("/proc/self/fd/{}", self.fd.as_raw_fd())).ok();
        let to = to.filter(|to| inode_of(to).is_ok_and(|there| there == Some(self.inode)));
        Some((self.absolute.clone(), to))
    }

    /// Remembers the file `FORMAT`, which says `identity`: see [`Folder::check`].
    pub fn mark(&self, identity: &Identity) -> io::Result<()> {
        let file = relative::open(&self.fd, Path::new("FORMAT"), Access::Read, &self.dir.join("FORMAT"))?;
        self.remember(file, identity.id)
    }

    fn remember(&self, file: File, id: StoreId) -> io::Result<()> {
        let metadata = file.metadata()?;
        let inode = Inode { device: metadata.dev(), inode: metadata.ino() };
        *self.marked.lock().unwrap_or_else(PoisonError::into_inner) = Some(FormatMark { file, inode, id });
        Ok(())
    }

    /// Whether the folder still holds the store that was opened: neither was it removed, nor did another one take its place
    /// in the same folder. Three system calls.
    ///
    /// # Errors
    /// What happened to it.
    pub fn check(&self) -> Result<(), Displaced> {
        let marked = self.marked.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(FormatMark { file, inode, id }) = &*marked else { return Ok(()) };
        let replaced = |found| Displaced::Replaced { dir: self.dir.clone(), expected: *id, found };
        let removed = || Displaced::Removed { dir: self.dir.clone() };
        // A store that is being removed may still contain FORMAT.
        if let Err(Errno::NOENT) = rustix::fs::statat(&self.fd, "journal", AtFlags::SYMLINK_NOFOLLOW) {
            return Err(removed());
        }
        match rustix::fs::statat(&self.fd, "FORMAT", AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if (Inode { device: stat.st_dev, inode: stat.st_ino }) == *inode => match found_in(file) {
                // A damaged id does not mean another store.
                Some(found) if found != *id => Err(replaced(Some(found))),
                _ => Ok(()),
            },
            Ok(_) => {
                let file = relative::open(&self.fd, Path::new("FORMAT"), Access::Read, Path::new("FORMAT"));
                Err(replaced(file.ok().and_then(|file| found_in(&file)).filter(|found| found != id)))
            }
            Err(Errno::NOENT | Errno::NOTDIR) => Err(removed()),
            Err(error) => {
                tracing::debug!(%error, "the identity of the store could not be checked");
                Ok(())
            }
        }
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
    pub(super) fn descend(&self, path: &Path) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut fd = rustix::fs::openat(&self.fd, ".", flags, Mode::empty())?;
        let mut shown = self.dir.clone();
        for name in self.within(path)?.components() {
            shown.push(name);
            fd = match rustix::fs::openat(&fd, name.as_os_str(), flags, Mode::empty()) {
                Err(Errno::NOENT) => return Ok(None),
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    relative::is_folder(&fd, Path::new(name.as_os_str()), &shown)?;
                    return Ok(None);
                }
                opened => opened?,
            };
        }
        Ok(Some(fd))
    }

    /// The part of a path behind the folder.
    pub(super) fn within<'a>(&self, path: &'a Path) -> io::Result<&'a Path> {
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

/// What a path leads to; `None` when there is nothing.
fn inode_of(path: &Path) -> io::Result<Option<Inode>> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(Inode { device: metadata.dev(), inode: metadata.ino() })),
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
