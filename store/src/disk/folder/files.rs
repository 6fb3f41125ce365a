//! The file layer: everything the store asks of a file system, so that fault injection can replace it.
//!
//! sled writes its own files past this layer; the store never trusts them alone (`docs/reference/store.md#sled`).

use super::Folder;
use super::folder_disk::FolderDisk;
use super::relative;
use rustix::fs::CWD;
use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;
use std::sync::Arc;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It exists and is only read.
    Read,
    /// It exists and is read and written.
    Write,
    /// It is made for the user alone, in the place of any that has its name.
    Create,
}

/// A file in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name without the folder.
    pub name: String,
    /// Its length in bytes.
    pub len: u64,
}

/// A file system.
pub trait Disk: Send + Sync + Debug {
    /// Opens a file.
    fn open(&self, path: &Path, how: Access) -> io::Result<Arc<dyn DiskFile>>;
    /// Makes a folder for the user alone; it may exist.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// The files (not folders) of a folder, by name; none when it does not exist.
    fn list(&self, path: &Path) -> io::Result<Vec<Listed>>;
    /// Gives a file another name, replacing what had it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// The names in a folder that are not regular files: folders, links, pipes, sockets, devices.
    fn irregular(&self, path: &Path) -> io::Result<Vec<String>> {
        irregular(path)
    }
    /// Sets the time when a file was last written to now.
    fn touch(&self, path: &Path) -> io::Result<()> {
        relative::open(CWD, path, Access::Write, path)?.set_modified(std::time::SystemTime::now())
    }
    /// The same disk, which looks up the paths of a store in its folder that is held open. `None`: by path only.
    fn within(&self, _folder: &Arc<Folder>) -> Option<Arc<dyn Disk>> {
        None
    }
}

/// An open file. All places are given: there is no cursor.
pub trait DiskFile: Send + Sync + Debug {
    /// Reads up to `buffer.len()` bytes from `offset`; fewer only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes the content durable on the device.
    fn sync_data(&self) -> io::Result<()>;
    /// Reserves space; the file reads as zeros there and is `len` bytes long.
    fn allocate(&self, len: u64) -> io::Result<()>;
    /// Gives room that reads as zeros back to the file system: it reads the same afterwards, and the file is as long.
    fn release(&self, _from: u64, _len: u64) -> io::Result<()> {
        Ok(())
    }
    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Where the last part ends that is not a hole, as far as the file system knows: only zeros follow.
    fn data_end(&self) -> io::Result<u64> {
        self.len()
    }
    /// Whether it still has a name: what is written to a file that was removed is lost with the process.
    fn is_linked(&self) -> io::Result<bool> {
        Ok(true)
    }
    /// Whether there is nothing in it.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

/// A file of the machine.
#[derive(Debug)]
pub(in crate::disk) struct RealFile(pub File);

impl Disk for RealDisk {
    fn open(&self, path: &Path, how: Access) -> io::Result<Arc<dyn DiskFile>> {
        Ok(Arc::new(RealFile(relative::open(CWD, path, how, path)?)))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Listed>> {
        let entries = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_file() {
                found.push(Listed { name: entry.file_name().to_string_lossy().into_owned(), len: metadata.len() });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn within(&self, folder: &Arc<Folder>) -> Option<Arc<dyn Disk>> {
        Some(Arc::new(FolderDisk::new(folder.clone())))
    }
}

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.0.read_at(rest, offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        match fallocate(&self.0, FallocateFlags::empty(), 0, len) {
            // A file system that cannot reserve still makes room when written to.
            Err(rustix::io::Errno::OPNOTSUPP) => self.0.set_len(len),
            done => Ok(done?),
        }
    }

    fn release(&self, from: u64, len: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        match fallocate(&self.0, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, from, len) {
            // A file system without holes keeps the room.
            Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            done => Ok(done?),
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn data_end(&self) -> io::Result<u64> {
        use rustix::fs::{SeekFrom, seek};
        use rustix::io::Errno;
        let mut end = 0;
        loop {
            let data = match seek(&self.0, SeekFrom::Data(end)) {
                Ok(data) => data,
                // No data from here on.
                Err(Errno::NXIO) => return Ok(end),
                // A file system that does not know its holes.
                Err(Errno::INVAL | Errno::OPNOTSUPP) => return self.len(),
                Err(error) => return Err(error.into()),
            };
            end = seek(&self.0, SeekFrom::Hole(data))?;
        }
    }

    // Asked after each flush, and so for nothing else: a file whose times were asked for gets exact ones with its next write, and a file
    // system without a journal then writes its inode with each flush.
    fn is_linked(&self) -> io::Result<bool> {
        #[cfg(target_os = "linux")]
        match rustix::fs::statx(&self.0, "", rustix::fs::AtFlags::EMPTY_PATH, rustix::fs::StatxFlags::NLINK) {
            // Old systems, and sandboxes that do not know it.
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {}
            found => return Ok(found?.stx_nlink > 0),
        }
        Ok(std::os::unix::fs::MetadataExt::nlink(&self.0.metadata()?) > 0)
    }
}

fn irregular(path: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The content of a file that is kept in memory alone.
#[derive(Debug)]
pub(in crate::disk) struct ReadOnlyBytes(Vec<u8>);

impl ReadOnlyBytes {
    /// A file of these bytes.
    pub fn of(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl DiskFile for ReadOnlyBytes {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.0.get(offset..)).unwrap_or_default();
        let read = rest.len().min(buffer.len());
        buffer.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        Ok(read)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn allocate(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }
}

/// The whole content of a file.
pub fn read_whole(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let file = disk.open(path, Access::Read)?;
    read_file(&*file)
}

/// The whole content of an open file.
pub fn read_file(file: &dyn DiskFile) -> io::Result<Vec<u8>> {
    read_until(file, file.len()?)
}

/// The beginning of a file, up to an offset or its end.
pub fn read_until(file: &dyn DiskFile, end: u64) -> io::Result<Vec<u8>> {
    let len = usize::try_from(end).map_err(io::Error::other)?;
    let mut bytes = vec![0; len];
    let read = file.read_at(&mut bytes, 0)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Removes what a process that was killed left of [`write_whole`].
pub fn remove_unfinished(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    disk.remove(&path.with_extension("tmp")).or_else(is_missing)
}

/// Nothing is wrong where a file is gone already.
fn is_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Makes a file durable whole or not at all: written to a temporary file, flushed, renamed, the folder flushed.
pub fn write_whole(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("tmp");
    let write = || {
        let file = disk.open(&beside, Access::Create)?;
        file.write_at(bytes, 0)?;
        file.sync_data()?;
        disk.rename(&beside, path)
    };
    if let Err(error) = write() {
        // On a full disk half of it may be there; it may hold keys.
        if let Err(left) = disk.remove(&beside).or_else(is_missing) {
            tracing::warn!(file = %beside.display(), error = %left, "an unfinished file could not be removed");
        }
        return Err(error);
    }
    match path.parent() {
        Some(folder) => disk.sync_dir(folder),
        None => Ok(()),
    }
}
