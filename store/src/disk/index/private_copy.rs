//! sled for a reader that must not write: opened on a copy in the temporary folder.
//!
//! The file with the texts has no name there, so that a process that is killed leaves none behind. sled opens files by name: what it
//! finds is a link to the open file, by way of `/proc`. Where there is no `/proc`, the copy loses its name once sled has opened it. The
//! folder goes when the copy is closed; one of a process that was killed goes when the next one is made, or texts are erased.

use super::rebuild;
use super::sled_tree::SledTree;
use crate::disk::folder::Folder;
use crate::disk::folder::layout::Layout;
use crate::disk::state::Tuning;
use rustix::process::Pid;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A copy of sled's folder that is made when it is first asked for.
#[derive(Debug)]
pub struct PrivateCopy {
    /// The store's folder, held open.
    store: Arc<Folder>,
    sled: PathBuf,
    cache: u64,
    segment: usize,
    state: Mutex<CopyState>,
}

#[derive(Debug)]
enum CopyState {
    Untried,
    /// The folder is removed after sled is closed.
    Open {
        tree: SledTree,
        _folder: TemporaryFolder,
    },
    /// Why, and whether sled itself is damaged.
    Failed(String, bool),
}

impl PrivateCopy {
    /// Of the store in a folder.
    pub fn of(layout: &Layout, store: Arc<Folder>, tuning: &Tuning) -> Self {
        let Tuning { sled_cache: cache, sled_segment: segment, .. } = *tuning;
        Self { store, sled: layout.sled(), cache, segment, state: Mutex::new(CopyState::Untried) }
    }

    fn lock(&self) -> MutexGuard<'_, CopyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// sled, if it can be copied and opened.
    pub fn get(&self) -> Option<SledTree> {
        let mut state = self.lock();
        if matches!(*state, CopyState::Untried) {
            *state = match self.open() {
                Ok((tree, folder)) => CopyState::Open { tree, _folder: folder },
                Err((reason, damaged)) => CopyState::Failed(reason, damaged),
            };
        }
        match &*state {
            CopyState::Open { tree, .. } => Some(tree.clone()),
            CopyState::Untried | CopyState::Failed(..) => None,
        }
    }

    /// sled, if it was asked for before.
    pub fn opened(&self) -> Option<SledTree> {
        match &*self.lock() {
            CopyState::Open { tree, .. } => Some(tree.clone()),
            CopyState::Untried | CopyState::Failed(..) => None,
        }
    }

    /// Why sled could not be read, if it was asked for, and whether it is damaged.
    pub fn failure(&self) -> Option<(String, bool)> {
        match &*self.lock() {
            CopyState::Failed(reason, damaged) => Some((reason.clone(), *damaged)),
            CopyState::Untried | CopyState::Open { .. } => None,
        }
    }

    /// Whether there is a sled to copy.
    pub fn exists(&self) -> bool {
        rebuild::is_there(&self.store, &self.sled.join("db")).unwrap_or(false)
    }

    fn open(&self) -> Result<(SledTree, TemporaryFolder), (String, bool)> {
        let refused = |reason: String| (reason, false);
        if !self.exists() {
            return Err(refused(format!("there is none in {}", self.sled.display())));
        }
        // A reader of the store follows no links either.
        self.store.has_no_links(&self.sled).map_err(|error| (error.to_string(), true))?;
        remove_abandoned();
        let folder =
            TemporaryFolder::make().map_err(|error| refused(format!("no temporary folder could be made: {error}")))?;
        let copied = self.store.reach_inside(&self.sled).and_then(|sled| copy(&sled, &folder.0));
        let unnamed =
            copied.map_err(|error| refused(format!("it could not be copied to {}: {error}", folder.0.display())))?;
        let opened = SledTree::open(&folder.0, self.cache, self.segment);
        drop(unnamed);
        if let Err(error) = fs::remove_file(folder.0.join(TEXTS)) {
            tracing::debug!(%error, "a temporary copy of sled keeps its name until it is closed");
        }
        Ok((opened.map_err(|error| (error.to_string(), true))?, folder))
    }
}

/// The file of sled that has the texts.
const TEXTS: &str = "db";

/// Copies the regular files of sled's folder: it has folders only for values larger than ours. Gives the open file that has no name.
fn copy(from: &Path, to: &Path) -> io::Result<Option<File>> {
    let mut unnamed = None;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let (name, to) = (entry.file_name(), to.join(entry.file_name()));
        let mut file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&to)?;
        let link = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let has_link = name == TEXTS && link.exists();
        if has_link {
            // Before there is anything in it.
            fs::remove_file(&to)?;
        }
        io::copy(&mut File::open(entry.path())?, &mut file)?;
        if has_link {
            symlink(link, &to)?;
            unnamed = Some(file);
        }
    }
    Ok(unnamed)
}

/// What the names of temporary folders begin with; the id of the process follows, and a number.
const PREFIX: &str = "annals-sled-";

/// Removes the temporary folders of processes of this user that are gone: they were killed.
pub fn remove_abandoned() {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok());
        let Some(process) = process.and_then(Pid::from_raw) else { continue };
        let is_own = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own);
        if !is_own || rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH) {
            continue;
        }
        if let Err(error) = fs::remove_dir_all(entry.path()) {
            let folder = entry.path();
            tracing::warn!(folder = %folder.display(), %error, "what a killed process left could not be removed");
        }
    }
}

/// A folder for this user alone that is removed when it is dropped.
#[derive(Debug)]
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn make() -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let base = std::env::temp_dir();
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 10_000 => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(folder = %self.0.display(), %error, "a temporary copy of sled could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_no_text_under_a_name_and_that_of_a_killed_process_goes() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(from.path().join(TEXTS), "texts").unwrap();
        fs::write(from.path().join("conf"), "settings").unwrap();
        let unnamed = copy(from.path(), to.path()).unwrap();
        assert_eq!(fs::read(to.path().join("conf")).unwrap(), b"settings");
        if Path::new("/proc/self/fd").exists() {
            assert!(unnamed.is_some() && fs::symlink_metadata(to.path().join(TEXTS)).unwrap().is_symlink());
            assert_eq!(fs::read(to.path().join(TEXTS)).unwrap(), b"texts", "it can be opened");
            drop(unnamed);
            // Another test may have opened a file under the number of the closed one.
            let found = fs::read(to.path().join(TEXTS));
            assert!(!found.is_ok_and(|found| found == b"texts"), "nothing is left of it");
        }
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let [left, running] =
            [gone.id(), std::process::id()].map(|id| std::env::temp_dir().join(format!("{PREFIX}{id}-of-a-test")));
        fs::create_dir(&left).unwrap();
        fs::create_dir(&running).unwrap();
        remove_abandoned();
        assert!(!left.exists() && running.exists());
        fs::remove_dir(running).unwrap();
    }
}
