//! Fault injection: a file layer that records which writes were flushed to the device, and fails on request.
//!
//! [`FaultyDisk`] works on real files, so a store runs on it as on any disk. It records the calls on every file it created
//! in order; [`FaultyDisk::image`] then builds a state that a power cut at any call could have left: what was flushed, and
//! of the rest what the caller chooses, whole or torn. [`FaultyDisk::fail`] makes the n-th call fail. sled bypasses it.

use super::Folder;
use super::files::{Access, Disk, DiskFile, Listed, RealDisk};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A disk to experiment with.
#[derive(Clone, Debug)]
pub struct FaultyDisk {
    state: Arc<Mutex<FaultyState>>,
    /// The files that it works on.
    real: Arc<dyn Disk>,
}

impl Default for FaultyDisk {
    fn default() -> Self {
        Self { state: Arc::default(), real: Arc::new(RealDisk) }
    }
}

#[derive(Debug, Default)]
struct FaultyState {
    calls: Vec<FileCall>,
    /// Which file has a name now.
    names: BTreeMap<PathBuf, usize>,
    files: usize,
    /// How many calls that can fail were made.
    count: u64,
    failure: Option<Failure>,
}

/// A call that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FileCall {
    Create { path: PathBuf, file: usize },
    Write { file: usize, offset: u64, bytes: Vec<u8> },
    Allocate { file: usize, len: u64 },
    Sync { file: usize },
    Rename { from: PathBuf, to: PathBuf },
    Remove { path: PathBuf },
    SyncDir { dir: PathBuf },
    Mark { number: u64 },
}

/// How calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The first call that fails, counted from 0.
    pub from: u64,
    /// How many fail, this one included.
    pub calls: u64,
    /// The system's error number, such as 28 (no space) or 5 (input/output error).
    pub errno: i32,
}

/// What is left of a write that was not flushed before the power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFate {
    /// Nothing of it is there.
    Lost,
    /// All of it is there.
    Kept,
    /// Its first bytes are there.
    Torn(usize),
    /// All but its first bytes are there: pages reach the device in any order.
    Hole(usize),
}

impl FaultyDisk {
    /// A disk that does not fail yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, FaultyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes calls fail; `None` heals the disk.
    pub fn fail(&self, failure: Option<Failure>) {
        self.lock().failure = failure;
    }

    /// How many calls that can fail were made so far.
    pub fn count(&self) -> u64 {
        self.lock().count
    }

    /// Notes a number among the calls: what was acknowledged before a cut.
    pub fn mark(&self, number: u64) {
        self.lock().calls.push(FileCall::Mark { number });
    }

    /// How many calls were noted: a cut may come after any of them.
    pub fn cuts(&self) -> usize {
        self.lock().calls.len()
    }

    /// The last number that was noted before a cut.
    pub fn marked(&self, cut: usize) -> Option<u64> {
        let state = self.lock();
        let before = state.calls.iter().take(cut).rev();
        before.into_iter().find_map(|call| if let FileCall::Mark { number } = call { Some(*number) } else { None })
    }

    /// How many writes before a cut were not flushed.
    pub fn unflushed(&self, cut: usize) -> usize {
        let state = self.lock();
        let calls = &state.calls[..cut.min(state.calls.len())];
        (0..calls.len()).filter(|at| matches!(calls[*at], FileCall::Write { .. }) && !flushed(calls, *at)).count()
    }

    /// What a power cut after `cut` calls leaves, by path. `fate` is asked for each write that was not flushed, with
    /// its number and length; of the names that were not flushed the first `names` survive (a file system's own journal
    /// keeps their order).
    pub fn image(
        &self,
        cut: usize,
        names: usize,
        mut fate: impl FnMut(usize, usize) -> WriteFate,
    ) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.lock();
        let calls = &state.calls[..cut.min(state.calls.len())];
        let mut contents: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        let mut folder: BTreeMap<PathBuf, usize> = BTreeMap::new();
        let (mut writes, mut renames) = (0, 0);
        for (at, call) in calls.iter().enumerate() {
            let is_flushed = flushed(calls, at);
            match call {
                FileCall::Write { file, offset, bytes } => {
                    let kept = if is_flushed {
                        0..bytes.len()
                    } else {
                        writes += 1;
                        match fate(writes - 1, bytes.len()) {
                            WriteFate::Lost => continue,
                            WriteFate::Kept => 0..bytes.len(),
                            WriteFate::Torn(kept) => 0..kept.min(bytes.len()),
                            WriteFate::Hole(gone) => gone.min(bytes.len())..bytes.len(),
                        }
                    };
                    let start = usize::try_from(*offset).unwrap_or(usize::MAX);
                    let content = contents.entry(*file).or_default();
                    content.resize(content.len().max(start + kept.end), 0);
                    content[start + kept.start..start + kept.end].copy_from_slice(&bytes[kept]);
                }
                FileCall::Allocate { file, len } => {
                    let content = contents.entry(*file).or_default();
                    content.resize(content.len().max(usize::try_from(*len).unwrap_or(usize::MAX)), 0);
                }
                FileCall::Create { .. } | FileCall::Rename { .. } | FileCall::Remove { .. } => {
                    if !is_flushed {
                        renames += 1;
                        if renames > names {
                            continue;
                        }
                    }
                    match call {
                        FileCall::Create { path, file } => drop(folder.insert(path.clone(), *file)),
                        FileCall::Rename { from, to } => {
                            if let Some(file) = folder.remove(from) {
                                folder.insert(to.clone(), file);
                            }
                        }
                        FileCall::Remove { path } => drop(folder.remove(path)),
                        _ => {}
                    }
                }
                FileCall::Sync { .. } | FileCall::SyncDir { .. } | FileCall::Mark { .. } => {}
            }
        }
        folder.into_iter().map(|(path, file)| (path, contents.get(&file).cloned().unwrap_or_default())).collect()
    }

    fn call(&self) -> io::Result<()> {
        let mut state = self.lock();
        let number = state.count;
        state.count += 1;
        match state.failure {
            Some(Failure { from, calls, errno }) if number >= from && number - from < calls => {
                Err(io::Error::from_raw_os_error(errno))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a later call before the cut made this one durable.
fn flushed(calls: &[FileCall], at: usize) -> bool {
    let later = &calls[at + 1..];
    match &calls[at] {
        FileCall::Write { file, .. } | FileCall::Allocate { file, .. } => {
            later.iter().any(|call| matches!(call, FileCall::Sync { file: synced } if synced == file))
        }
        FileCall::Create { path, .. } | FileCall::Rename { to: path, .. } | FileCall::Remove { path } => {
            later.iter().any(|call| matches!(call, FileCall::SyncDir { dir } if Some(dir.as_path()) == path.parent()))
        }
        FileCall::Sync { .. } | FileCall::SyncDir { .. } | FileCall::Mark { .. } => true,
    }
}

#[derive(Debug)]
struct FaultyFile {
    disk: FaultyDisk,
    real: Arc<dyn DiskFile>,
    /// `None` for a file that was not created through this disk.
    file: Option<usize>,
}

impl FaultyFile {
    fn note(&self, call: impl FnOnce(usize) -> FileCall) {
        if let Some(file) = self.file {
            self.disk.lock().calls.push(call(file));
        }
    }
}

impl Disk for FaultyDisk {
    fn open(&self, path: &Path, how: Access) -> io::Result<Arc<dyn DiskFile>> {
        self.call()?;
        let real = self.real.open(path, how)?;
        let mut state = self.lock();
        if how == Access::Create {
            let file = state.files;
            state.files += 1;
            state.names.insert(path.to_owned(), file);
            state.calls.push(FileCall::Create { path: path.to_owned(), file });
        }
        let file = state.names.get(path).copied();
        drop(state);
        Ok(Arc::new(FaultyFile { disk: self.clone(), real, file }))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.call()?;
        self.real.create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Listed>> {
        self.real.list(path)
    }

    fn irregular(&self, path: &Path) -> io::Result<Vec<String>> {
        self.real.irregular(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call()?;
        self.real.rename(from, to)?;
        let mut state = self.lock();
        if let Some(file) = state.names.remove(from) {
            state.names.insert(to.to_owned(), file);
        }
        state.calls.push(FileCall::Rename { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call()?;
        self.real.remove(path)?;
        let mut state = self.lock();
        state.names.remove(path);
        state.calls.push(FileCall::Remove { path: path.to_owned() });
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.call()?;
        self.lock().calls.push(FileCall::SyncDir { dir: path.to_owned() });
        Ok(())
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        self.real.touch(path)
    }

    fn within(&self, folder: &Arc<Folder>) -> Option<Arc<dyn Disk>> {
        let real = self.real.within(folder)?;
        Some(Arc::new(Self { state: self.state.clone(), real }))
    }
}

impl DiskFile for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.real.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let allowed = self.disk.call();
        // A write that fails may have reached the file in part.
        let bytes = if allowed.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        self.real.write_at(bytes, offset)?;
        self.note(|file| FileCall::Write { file, offset, bytes: bytes.to_vec() });
        allowed
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.call()?;
        self.note(|file| FileCall::Sync { file });
        Ok(())
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.disk.call()?;
        self.real.allocate(len)?;
        self.note(|file| FileCall::Allocate { file, len });
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.real.len()
    }

    fn data_end(&self) -> io::Result<u64> {
        self.real.data_end()
    }

    fn is_linked(&self) -> io::Result<bool> {
        self.real.is_linked()
    }
}
