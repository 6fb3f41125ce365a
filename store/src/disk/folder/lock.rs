//! The lock of a store: who owns it.

use super::{Folder, relative};
use relative::Unexpected;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// What is in the file `lock` when the owner closed the store in order.
const CLOSED: &[u8] = b"closed";

/// How long a lock whose owner has ended is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(2);

/// Held by the process that owns a store.
#[derive(Debug)]
pub struct StoreLock {
    /// The file `lock`.
    file: File,
    /// The folder itself, for when `lock` is removed. Absent where folders cannot be locked.
    folder: Option<File>,
    in_order: bool,
}

impl StoreLock {
    /// Whether the owner before closed the store in order.
    pub(in crate::disk) fn was_closed(&self) -> bool {
        self.in_order
    }

    /// Notes the owner, for processes that find it silent; the lock itself is what counts. On the device before anything of the
    /// log is written: else a power cut would look like a clean shutdown.
    pub(in crate::disk) fn note_owner(&self) {
        let owner = std::process::id().to_string();
        let noted = self.file.set_len(0).and_then(|()| self.file.write_all_at(owner.as_bytes(), 0));
        if let Err(error) = noted.and_then(|()| self.file.sync_data()) {
            tracing::debug!(%error, "the owner of the store could not be noted");
        }
    }

    /// Notes for the next owner that the store was closed in order.
    pub(in crate::disk) fn note_closed(&self) -> io::Result<()> {
        self.file.set_len(0).and_then(|()| self.file.write_all_at(CLOSED, 0))
    }
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

impl Drop for StoreLock {
    /// Releases the lock itself: closing the file does not while a process that was forked off meanwhile has a copy of it.
    fn drop(&mut self) {
        for file in self.folder.iter().chain([&self.file]) {
            if let Err(error) = file.unlock() {
                tracing::debug!(%error, "the lock of the store could not be released");
            }
        }
    }
}

impl Folder {
    /// Makes this process the owner of the store until what is given is dropped. Waits a moment for a lock whose owner has ended: a
    /// process that was forked off the owner holds it until it starts its own program.
    ///
    /// # Errors
    /// When another process is, or the disk refuses.
    pub fn own(&self) -> Result<StoreLock, NotOwned> {
        let began = Instant::now();
        loop {
            match self.try_own() {
                Err(NotOwned::Locked) if began.elapsed() < PATIENCE && self.owner_has_ended() => {
                    std::thread::sleep(PAUSE);
                }
                owned => return owned,
            }
        }
    }

    /// Whether `lock` names a process that is not there, or says that the store was closed.
    fn owner_has_ended(&self) -> bool {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let Ok(file) = rustix::fs::openat(self, "lock", flags, Mode::empty()).map(File::from) else { return false };
        let mut noted = [0; 16];
        let noted = file.read_at(&mut noted, 0).ok().and_then(|read| noted.get(..read)).unwrap_or_default();
        let owner = str::from_utf8(noted).ok().and_then(|noted| noted.parse().ok()).and_then(Pid::from_raw);
        noted == CLOSED || owner.is_some_and(|owner| test_kill_process(owner) == Err(Errno::SRCH))
    }

    fn try_own(&self) -> Result<StoreLock, NotOwned> {
        let path = self.dir.join("lock");
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = match rustix::fs::openat(self, "lock", flags, Mode::RUSR | Mode::WUSR) {
            Err(Errno::LOOP) => return Err(io::Error::new(io::ErrorKind::InvalidInput, Unexpected::Link(path)).into()),
            opened => File::from(opened.map_err(io::Error::from)?),
        };
        relative::regular(&file, &path)?;
        locked(&file)?;
        let folder = rustix::fs::openat(self, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let folder = File::from(folder.map_err(io::Error::from)?);
        let folder = match locked(&folder) {
            Err(NotOwned::Io(error)) => {
                tracing::debug!(%error, "the folder of the store itself could not be locked");
                None
            }
            done => Some(done.map(|()| folder)?),
        };
        let mut found = [0; CLOSED.len()];
        let in_order = file.read_at(&mut found, 0).is_ok_and(|read| found.get(..read) == Some(CLOSED));
        Ok(StoreLock { file, folder, in_order })
    }
}

fn locked(file: &File) -> Result<(), NotOwned> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(NotOwned::Locked),
        Err(TryLockError::Error(error)) => Err(NotOwned::Io(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, Folder) {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        (dir, folder)
    }

    #[test]
    fn a_store_is_free_when_its_owner_closes_it_whoever_has_a_copy_of_the_lock() {
        let (_dir, folder) = store();
        let lock = folder.own().unwrap();
        // What a process has between its fork and the start of its own program.
        let copies: Vec<File> = lock.folder.iter().chain([&lock.file]).map(|file| file.try_clone().unwrap()).collect();
        assert!(matches!(folder.own(), Err(NotOwned::Locked)));
        drop(lock);
        folder.try_own().unwrap();
        assert_eq!(copies.len(), 2);
    }

    #[test]
    fn a_lock_that_an_ended_owner_left_to_a_process_is_waited_for() {
        let (_dir, folder) = store();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        for noted in [CLOSED.to_vec(), ended.id().to_string().into_bytes()] {
            let lock = folder.own().unwrap();
            lock.file.set_len(0).unwrap();
            lock.file.write_all_at(&noted, 0).unwrap();
            assert!(folder.owner_has_ended());
            let holds = std::thread::spawn(move || {
                std::thread::sleep(PAUSE * 10);
                drop(lock);
            });
            folder.own().unwrap();
            holds.join().unwrap();
        }
        let lock = folder.own().unwrap();
        lock.note_owner();
        assert!(!folder.owner_has_ended(), "it is this process");
    }
}
