//! The right to run a session: one process at a time, over all processes of a store.
//!
//! Appends of several processes are safe without it. Runs are not: each would take the other's open calls for a crash's
//! leftover and settle them as interrupted.

use annals_core::SessionId;
use annals_store::disk::StorePath;
use annals_store::{EventLog, HeldLease, SessionLeases};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use tokio::sync::Mutex;

/// It is not known whether another process runs a session: the folder of a lease cannot be written, or the cluster does not answer.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct LeaseError {
    /// The file of the lease; in a cluster, the lease in words.
    pub path: PathBuf,
    /// What the system reported.
    #[source]
    pub source: io::Error,
}

/// The folder of a store that names the sessions that run.
const RUNNING: &str = "running";

/// The leases of one process, shared by everything in it that runs sessions of a store.
#[derive(Debug)]
pub struct Leases {
    given_by: LeaseSource,
    taken: Mutex<BTreeMap<SessionId, Weak<Lease>>>,
}

/// Who gives leases.
#[derive(Debug)]
enum LeaseSource {
    /// Locks on files in the folder of a store.
    Folder(StorePath),
    /// The log, which several machines share.
    Log(Arc<dyn SessionLeases>),
}

impl Leases {
    /// No lease yet, in the store at `store`.
    pub fn of_store(store: StorePath) -> Self {
        Self { given_by: LeaseSource::Folder(store), taken: Mutex::default() }
    }

    /// No lease yet: of the log, if it gives leases itself, else in the store at `store`.
    pub fn of(log: &dyn EventLog, store: StorePath) -> Self {
        match log.leases() {
            Some(leases) => Self { given_by: LeaseSource::Log(leases), taken: Mutex::default() },
            None => Self::of_store(store),
        }
    }

    /// The right to run a session, shared within this process; `None` while another process has it.
    ///
    /// # Errors
    /// When the store's folder cannot be written, or the cluster does not answer.
    pub async fn take(&self, session: SessionId) -> Result<Option<Arc<Lease>>, LeaseError> {
        let mut taken = self.taken.lock().await;
        if let Some(lease) = taken.get(&session).and_then(Weak::upgrade) {
            return Ok(Some(lease));
        }
        taken.retain(|_, lease| lease.strong_count() > 0);
        let lease = match &self.given_by {
            LeaseSource::Folder(store) => Lease::take(store, session)?,
            LeaseSource::Log(leases) => {
                let path = PathBuf::from(format!("the lease of session {session}"));
                let held = leases.take(session).await.map_err(|source| LeaseError { path, source })?;
                held.map(|held| Lease { _held: LeaseGuard::Log(held) })
            }
        };
        let lease = lease.map(Arc::new);
        taken.extend(lease.iter().map(|lease| (session, Arc::downgrade(lease))));
        Ok(lease)
    }
}

/// The right to run a session. Held until dropped, or until its process is gone.
#[derive(Debug)]
pub struct Lease {
    _held: LeaseGuard,
}

/// What is given back when a lease is dropped.
#[derive(Debug)]
enum LeaseGuard {
    File(#[expect(dead_code, reason = "dropped with the lease")] LeaseFile),
    Log(#[expect(dead_code, reason = "dropped with the lease")] Box<dyn HeldLease>),
}

/// A lock on a file in the folder of a store.
#[derive(Debug)]
struct LeaseFile {
    path: StorePath,
    /// Locked.
    file: File,
}

impl Lease {
    /// Takes the lease of `session` in the store at `store`; `None` while another process has it.
    ///
    /// # Errors
    /// When the store's folder cannot be written.
    pub fn take(store: &StorePath, session: SessionId) -> Result<Option<Self>, LeaseError> {
        let folder = store.join(RUNNING);
        let path = folder.join(session.to_string());
        let file = LeaseFile::take_at(&folder, &path).map_err(|source| LeaseError { path: path.shown(), source })?;
        Ok(file.map(|file| Self { _held: LeaseGuard::File(file) }))
    }
}

impl LeaseFile {
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
            // Its last holder removed the file: a lock on a removed file excludes no process.
            if is_at(&file, &there)? {
                return Ok(Some(Self { path: path.clone(), file }));
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

impl Drop for LeaseFile {
    fn drop(&mut self) {
        // Still locked: a process that opened the file meanwhile finds that it is gone. A leftover file is harmless.
        drop(self.path.reach().and_then(fs::remove_file));
        // Closing it is not enough while a process that was forked off meanwhile has a copy.
        drop(self.file.unlock());
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
        assert_eq!(fs::read_dir(folder.path().join(RUNNING))?.count(), 0);
        assert!(Lease::take(&folder.path().into(), session)?.is_some());
        Ok(())
    }

    #[tokio::test]
    async fn a_process_shares_its_lease_and_gives_it_up_with_the_last_holder() -> Result<(), Box<dyn std::error::Error>>
    {
        let folder = tempfile::tempdir()?;
        let session = SessionId::from_parts(1, 1);
        let leases = Leases::of_store(folder.path().into());
        let (one, two) = (leases.take(session).await?, leases.take(session).await?);
        assert!(one.is_some() && two.is_some(), "both of one process");
        assert!(Leases::of_store(folder.path().into()).take(session).await?.is_none(), "another process");
        drop(one);
        assert!(Lease::take(&folder.path().into(), session)?.is_none(), "the second holder keeps it");
        drop(two);
        assert!(Lease::take(&folder.path().into(), session)?.is_some());
        Ok(())
    }

    #[test]
    fn a_lock_on_a_file_that_is_gone_keeps_nobody_out() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let session = SessionId::from_parts(1, 1);
        let running = folder.path().join(RUNNING);
        fs::create_dir(&running)?;
        let path = running.join(session.to_string());
        let stale = File::create(&path)?;
        stale.lock()?;
        fs::remove_file(&path)?;
        assert!(!is_at(&stale, &path)?);
        assert!(Lease::take(&folder.path().into(), session)?.is_some());
        Ok(())
    }
}
