//! sled for a reader that must not write: opened on a copy in the temporary folder, which is removed when it is closed.

use super::rebuild;
use super::sled_tree::SledTree;
use crate::disk::folder::Folder;
use crate::disk::folder::layout::Layout;
use crate::disk::state::Tuning;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
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
        let folder =
            TemporaryFolder::make().map_err(|error| refused(format!("no temporary folder could be made: {error}")))?;
        let copied = self.store.reach_inside(&self.sled).and_then(|sled| copy(&sled, &folder.0));
        copied.map_err(|error| refused(format!("it could not be copied to {}: {error}", folder.0.display())))?;
        let tree = SledTree::open(&folder.0, self.cache, self.segment).map_err(|error| (error.to_string(), true))?;
        Ok((tree, folder))
    }
}

/// Copies the regular files of sled's folder: it has folders only for values larger than ours.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let to = to.join(entry.file_name());
            io::copy(&mut fs::File::open(entry.path())?, &mut fs::File::create(to)?)?;
        }
    }
    Ok(())
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
            let path = base.join(format!("annals-sled-{}-{number}", std::process::id()));
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
