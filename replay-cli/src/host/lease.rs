//! The right to run a Session: one process at a time, over all processes of a store.
//!
//! Appends of several processes are safe without it. Runs are not: each would take the other's open calls for a crash's
//! leftover and settle them as interrupted.

use crate::error::CliError;
use annals_core::SessionId;
use annals_store::disk::StorePath;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Held until dropped, or until its process is gone.
#[derive(Debug)]
pub struct Lease {
    path: StorePath,
    /// Locked.
    _file: File,
}

impl Lease {
    /// Takes the right to run `session`, as told by a file in `folder`; `None` while somebody else has it.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn take(folder: &StorePath, session: SessionId) -> Result<Option<Self>, CliError> {
        let path = folder.join(session.to_string());
        Self::take_at(folder, &path).map_err(|source| CliError::File { path: path.shown(), source })
    }

    fn take_at(folder: &StorePath, path: &StorePath) -> io::Result<Option<Self>> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.reach()?)?;
        loop {
            let there = path.reach()?;
            let file = fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&there)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Its last holder removed the file: a lock on what is gone keeps nobody out.
            if is_at(&file, &there)? {
                return Ok(Some(Self { path: path.clone(), _file: file }));
            }
        }
    }
}

/// Whether the path still leads to this file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Still locked: whoever opened the file meanwhile finds out that it is gone. One that stays is harmless.
        drop(self.path.reach().and_then(fs::remove_file));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_nothing_is_left_behind() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let session = SessionId::from_parts(1, 1);
        let other = SessionId::from_parts(1, 2);
        let held = Lease::take(&folder.path().into(), session)?;
        assert!(held.is_some());
        assert!(Lease::take(&folder.path().into(), session)?.is_none(), "taken");
        assert!(Lease::take(&folder.path().into(), other)?.is_some(), "another Session");
        drop(held);
        assert_eq!(fs::read_dir(folder.path())?.count(), 0);
        assert!(Lease::take(&folder.path().into(), session)?.is_some());
        Ok(())
    }

    #[test]
    fn a_lock_on_a_file_that_is_gone_keeps_nobody_out() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let session = SessionId::from_parts(1, 1);
        let path = folder.path().join(session.to_string());
        let stale = File::create(&path)?;
        stale.lock()?;
        fs::remove_file(&path)?;
        assert!(!is_at(&stale, &path)?);
        assert!(Lease::take(&folder.path().into(), session)?.is_some());
        Ok(())
    }
}
