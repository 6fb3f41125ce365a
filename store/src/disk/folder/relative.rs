//! File calls relative to an open folder. The last name of a path is never followed when it is a symbolic link, and only
//! regular files are opened.

use super::files::Access;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// How often a file is created again when another process creates one of the same name.
const TRIES: u32 = 16;

/// Something in the folder of a store is not what belongs there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unexpected {
    /// A symbolic link: it is neither read nor written through. Replace it by what it points to, or remove it.
    #[error("{} is a symbolic link, and a store follows no links inside its folder; remove it", .0.display())]
    Link(PathBuf),
    /// A pipe, a socket, a device or a folder where a file belongs.
    #[error("{} is not a regular file; remove it", .0.display())]
    NotAFile(PathBuf),
    /// A file where a folder belongs.
    #[error("{} is not a folder; remove it", .0.display())]
    NotAFolder(PathBuf),
}

impl Unexpected {
    /// As the error of a call. What is not a file reads as absent: every reader deals with that.
    fn error(self) -> io::Error {
        let kind = match self {
            Self::Link(_) | Self::NotAFile(_) => io::ErrorKind::NotFound,
            Self::NotAFolder(_) => io::ErrorKind::NotADirectory,
        };
        io::Error::new(kind, self)
    }
}

fn flags(more: OFlags) -> OFlags {
    // Without waiting: a named pipe may have no other end.
    OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | more
}

/// Opens a file; `shown` is its path for people.
pub fn open(folder: impl AsFd, name: &Path, how: Access, shown: &Path) -> io::Result<File> {
    let found = match how {
        Access::Read => rustix::fs::openat(&folder, name, flags(OFlags::RDONLY), Mode::empty()),
        Access::Write => rustix::fs::openat(&folder, name, flags(OFlags::RDWR), Mode::empty()),
        Access::Create => return create(folder, name),
    };
    let file = match found {
        Err(Errno::LOOP) => return Err(Unexpected::Link(shown.to_owned()).error()),
        Err(Errno::NXIO | Errno::ISDIR) => return Err(Unexpected::NotAFile(shown.to_owned()).error()),
        found => File::from(found?),
    };
    regular(&file, shown)?;
    Ok(file)
}

/// Fails for everything but a regular file.
pub fn regular(file: &File, shown: &Path) -> io::Result<()> {
    match file.metadata()?.is_file() {
        true => Ok(()),
        false => Err(Unexpected::NotAFile(shown.to_owned()).error()),
    }
}

/// Creates a file, or replaces the one of that name, readable by the user alone with every umask.
fn create(folder: impl AsFd, name: &Path) -> io::Result<File> {
    let mode = Mode::RUSR | Mode::WUSR;
    for _ in 0..TRIES {
        match rustix::fs::openat(&folder, name, flags(OFlags::RDWR | OFlags::CREATE | OFlags::EXCL), mode) {
            Err(Errno::EXIST) => match rustix::fs::unlinkat(&folder, name, AtFlags::empty()) {
                Err(Errno::NOENT) | Ok(()) => {}
                Err(error) => return Err(error.into()),
            },
            made => {
                let made = made?;
                if permissions(&rustix::fs::fstat(&made)?) != mode {
                    rustix::fs::fchmod(&made, mode)?;
                }
                return Ok(File::from(made));
            }
        }
    }
    Err(Errno::EXIST.into())
}

/// Creates a folder for the user alone with every umask; it may exist.
pub fn create_dir(folder: impl AsFd, name: &Path, shown: &Path) -> io::Result<()> {
    match rustix::fs::mkdirat(&folder, name, Mode::RWXU) {
        Err(Errno::EXIST) => is_folder(folder, name, shown),
        made => {
            made?;
            let there = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if permissions(&there) != Mode::RWXU {
                rustix::fs::chmodat(&folder, name, Mode::RWXU, AtFlags::empty())?;
            }
            Ok(())
        }
    }
}

/// Fails for everything but a folder, a link to one included.
pub fn is_folder(folder: impl AsFd, name: &Path, shown: &Path) -> io::Result<()> {
    let there = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(there.st_mode) {
        FileType::Directory => Ok(()),
        FileType::Symlink => Err(io::Error::new(io::ErrorKind::NotADirectory, Unexpected::Link(shown.to_owned()))),
        _ => Err(Unexpected::NotAFolder(shown.to_owned()).error()),
    }
}

fn permissions(stat: &Stat) -> Mode {
    Mode::from_raw_mode(stat.st_mode) & (Mode::RWXU | Mode::RWXG | Mode::RWXO)
}
