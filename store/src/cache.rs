//! Saved views: what a fold had built at a place, kept so that resuming and time travel are fast
//! (`docs/reference/store.md#saved-views`).
//!
//! A cache: a file that is missing, damaged or old counts as absent, and no answer changes when all of it is deleted.
//! Nothing here is flushed to the device for the same reason. Views that grow with the log are paged: each page is
//! kept once under the hash of its content.

mod form;
mod held;

use crate::disk::files::{Access, Disk, RealDisk, read_whole};
use crate::disk::{Folder, FolderDisk, Layout};
use annals_core::{Digest, Seq, SessionId};
pub(crate) use form::{decode, encode};
pub use held::Held;
use held::HeldViews;
use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many views of one fold are kept for a session: the oldest go first, except that places far apart stay.
const KEPT: usize = 32;
/// How many bytes a cache above another one keeps in memory at most, about.
const LAYER: usize = 256 << 20;

/// What a saved view is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoldVersion<'a> {
    /// The fold's name.
    pub name: &'a str,
    /// The number of its code: a view of another version is not read.
    pub version: u32,
}

/// A view that was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Everything before this Seq is in it.
    pub seq: Seq,
    /// The digest of the batch that ends there, as it was given: who reads compares it with the log.
    pub digest: Digest,
    /// The view, in the fold's own form.
    pub bytes: Vec<u8>,
}

/// Views and pages, in files or in memory.
#[derive(Debug)]
pub struct ViewCache {
    place: CacheStorage,
}

#[derive(Debug)]
enum CacheStorage {
    CacheFiles {
        files: CacheFiles,
        dir: PathBuf,
    },
    CachedViews(Mutex<CachedViews>),
    /// What is put is kept in memory; what is not there is read from a cache that is only read.
    Layered {
        above: Mutex<CachedViews>,
        below: Box<ViewCache>,
        /// Views as they are in memory.
        held: Mutex<HeldViews>,
    },
}

/// Whose, of which fold, in which version, where.
type ViewPlace = (SessionId, String, u32, Seq);

#[derive(Debug, Default)]
struct CachedViews {
    views: BTreeMap<ViewPlace, (Digest, Vec<u8>)>,
    pages: BTreeMap<Digest, Vec<u8>>,
    /// How many bytes were put since it was empty.
    size: usize,
}

impl CachedViews {
    fn nearest(&self, session: SessionId, fold: FoldVersion<'_>, at_most: Seq) -> Option<Saved> {
        let name = fold.name.to_owned();
        let range = (session, name.clone(), fold.version, Seq::ZERO)..=(session, name, fold.version, at_most);
        let ((_, _, _, seq), (digest, bytes)) = self.views.range(range).next_back()?;
        Some(Saved { seq: *seq, digest: *digest, bytes: bytes.clone() })
    }

    fn put(&mut self, session: SessionId, fold: FoldVersion<'_>, view: &Saved) {
        let Saved { seq, digest, bytes } = view;
        self.size = self.size.saturating_add(bytes.len());
        self.views.insert((session, fold.name.to_owned(), fold.version, *seq), (*digest, bytes.clone()));
        let name = fold.name.to_owned();
        let range = (session, name.clone(), fold.version, Seq::ZERO)..=(session, name, fold.version, Seq(u64::MAX));
        let places: Vec<Seq> = self.views.range(range).map(|((_, _, _, seq), _)| *seq).collect();
        if let Some(seq) = superfluous(&places) {
            self.views.remove(&(session, fold.name.to_owned(), fold.version, seq));
        }
    }

    fn put_page(&mut self, hash: Digest, bytes: &[u8]) {
        self.size = self.size.saturating_add(bytes.len());
        self.pages.entry(hash).or_insert_with(|| bytes.to_vec());
    }

    /// Makes room: everything goes at once, since pages belong to views.
    fn bound(&mut self) {
        if self.size > LAYER {
            *self = Self::default();
        }
    }
}

/// The files of a cache.
#[derive(Debug)]
struct CacheFiles {
    disk: Arc<dyn Disk>,
    /// The store's folder, for a cache in a store.
    folder: Option<Arc<Folder>>,
    /// Makes the names of unfinished files distinct.
    counter: AtomicU64,
    /// Whether anything may be written.
    writes: bool,
}

const MAGIC: [u8; 8] = *b"\xFFAnview2";

impl ViewCache {
    /// A cache in a folder, which is made when something is put.
    pub fn in_folder(dir: impl Into<PathBuf>) -> Self {
        let files = CacheFiles { disk: Arc::new(RealDisk), folder: None, counter: AtomicU64::new(0), writes: true };
        Self { place: CacheStorage::CacheFiles { files, dir: dir.into() } }
    }

    /// The cache in the folder of a store, also when the folder is moved while this process runs. Without such a folder views
    /// are kept in memory only: no folder is created.
    pub fn in_store(store: &Path) -> Self {
        Self::of_store(store, true)
    }

    /// The same for reading alone: what is put is not kept.
    pub fn read_only(store: &Path) -> Self {
        Self::of_store(store, false)
    }

    fn of_store(store: &Path, writes: bool) -> Self {
        match Folder::open(store).map(Arc::new) {
            Ok(folder) => {
                let disk = Arc::new(FolderDisk::new(folder.clone()));
                let files = CacheFiles { disk, folder: Some(folder), counter: AtomicU64::new(0), writes };
                Self { place: CacheStorage::CacheFiles { files, dir: Layout::new(store).cache() } }
            }
            Err(error) => {
                tracing::debug!(%error, "saved views are kept in memory");
                Self::in_memory()
            }
        }
    }

    /// A cache that goes with the process: for a log in memory.
    pub fn in_memory() -> Self {
        Self { place: CacheStorage::CachedViews(Mutex::default()) }
    }

    /// The cache in the folder of a store, which is only read; what is put is kept in memory, 256 MiB at most. For a process that
    /// answers many questions about a store that it does not write to.
    pub fn above(store: &Path) -> Self {
        let (above, below, held) = (Mutex::default(), Box::new(Self::read_only(store)), Mutex::default());
        Self { place: CacheStorage::Layered { above, below, held } }
    }

    /// Whether views are held as they are in memory: in a process that answers many questions.
    pub fn holds(&self) -> bool {
        matches!(self.place, CacheStorage::Layered { .. })
    }

    /// The view of a fold that is held nearest to a place, at it or before.
    pub fn held<V: Any + Send + Sync>(
        &self,
        session: SessionId,
        fold: FoldVersion<'static>,
        at_most: Seq,
    ) -> Option<Held<V>> {
        let CacheStorage::Layered { held, .. } = &self.place else { return None };
        held.lock().unwrap_or_else(PoisonError::into_inner).nearest(session, fold, at_most)
    }

    /// Holds a view, if this cache does so, until others were asked for more recently.
    pub fn hold<V: Any + Send + Sync>(&self, session: SessionId, fold: FoldVersion<'static>, view: Held<V>) {
        let CacheStorage::Layered { held, .. } = &self.place else { return };
        held.lock().unwrap_or_else(PoisonError::into_inner).put(session, fold, view);
    }

    /// Whether what is put is kept: not in a store that is only read.
    pub fn keeps(&self) -> bool {
        !matches!(&self.place, CacheStorage::CacheFiles { files: CacheFiles { writes: false, .. }, .. })
    }

    /// The saved view of a fold that is nearest to a place, at it or before.
    pub fn nearest(&self, session: SessionId, fold: FoldVersion<'_>, at_most: Seq) -> Option<Saved> {
        match &self.place {
            CacheStorage::CachedViews(memory) => locked(memory).nearest(session, fold, at_most),
            CacheStorage::Layered { above, below, .. } => {
                let (near, saved) =
                    (locked(above).nearest(session, fold, at_most), below.nearest(session, fold, at_most));
                near.into_iter().chain(saved).max_by_key(|found| found.seq)
            }
            CacheStorage::CacheFiles { files, dir } => {
                let folder = folder(dir, session, fold);
                let mut places = files.places(&folder);
                places.retain(|seq| *seq <= at_most);
                // A damaged one reads as absent: the one before it is as good, only slower.
                places.into_iter().rev().find_map(|seq| files.read_view(&folder, seq))
            }
        }
    }

    /// Saves a view. `digest` is that of the batch that ends at `seq`.
    ///
    /// # Errors
    /// When the disk refuses: the view is then computed again when it is wanted.
    pub fn put(&self, session: SessionId, fold: FoldVersion<'_>, view: &Saved) -> io::Result<()> {
        match &self.place {
            CacheStorage::CachedViews(memory) => {
                locked(memory).put(session, fold, view);
                Ok(())
            }
            CacheStorage::Layered { above, .. } => {
                let mut above = locked(above);
                above.bound();
                above.put(session, fold, view);
                Ok(())
            }
            CacheStorage::CacheFiles { files: CacheFiles { writes: false, .. }, .. } => Ok(()),
            CacheStorage::CacheFiles { files, dir } => {
                let Saved { seq, digest, bytes } = view;
                let folder = folder(dir, session, fold);
                let mut file = MAGIC.to_vec();
                file.extend_from_slice(&seq.0.to_le_bytes());
                file.extend_from_slice(&digest.0);
                file.extend_from_slice(bytes);
                file.extend_from_slice(&Digest::of(&file).0);
                files.write(&folder, &view_name(*seq), &file)?;
                let superfluous = superfluous(&files.places(&folder));
                superfluous.map_or(Ok(()), |seq| absent_is_fine(files.disk.remove(&folder.join(view_name(seq)))))
            }
        }
    }

    /// A page by the hash of its content.
    pub fn get_page(&self, hash: &Digest) -> Option<Vec<u8>> {
        match &self.place {
            CacheStorage::CachedViews(memory) => locked(memory).pages.get(hash).cloned(),
            CacheStorage::Layered { above, below, .. } => {
                let near = locked(above).pages.get(hash).cloned();
                near.or_else(|| below.get_page(hash))
            }
            CacheStorage::CacheFiles { files, dir } => {
                let bytes = read_whole(&*files.disk, &page_folder(dir, hash).join(hash.to_string())).ok()?;
                (Digest::of(&bytes) == *hash).then_some(bytes)
            }
        }
    }

    /// Keeps a page; gives the hash that names it.
    pub fn put_page(&self, bytes: &[u8]) -> io::Result<Digest> {
        let hash = Digest::of(bytes);
        match &self.place {
            CacheStorage::CachedViews(memory) => locked(memory).put_page(hash, bytes),
            CacheStorage::Layered { above, below, .. } => {
                if below.get_page(&hash).is_none() {
                    locked(above).put_page(hash, bytes);
                }
            }
            CacheStorage::CacheFiles { files: CacheFiles { writes: false, .. }, .. } => {}
            CacheStorage::CacheFiles { files, dir } => {
                if self.get_page(&hash).is_none() {
                    files.write(&page_folder(dir, &hash), &hash.to_string(), bytes)?;
                }
            }
        }
        Ok(hash)
    }

    /// Deletes everything.
    pub fn clear(&self) -> io::Result<()> {
        match &self.place {
            CacheStorage::CachedViews(memory) => {
                *locked(memory) = CachedViews::default();
                Ok(())
            }
            CacheStorage::Layered { above, held, .. } => {
                *locked(above) = CachedViews::default();
                *held.lock().unwrap_or_else(PoisonError::into_inner) = HeldViews::default();
                Ok(())
            }
            CacheStorage::CacheFiles { files: CacheFiles { writes: false, .. }, .. } => Ok(()),
            CacheStorage::CacheFiles { files: CacheFiles { folder: Some(folder), .. }, dir } => {
                absent_is_fine(folder.reach_inside(dir).and_then(fs::remove_dir_all))
            }
            CacheStorage::CacheFiles { dir, .. } => absent_is_fine(fs::remove_dir_all(dir)),
        }
    }
}

fn locked(views: &Mutex<CachedViews>) -> MutexGuard<'_, CachedViews> {
    views.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The place that is given up when there are too many: the one whose neighbours lie closest together. The newest stays.
fn superfluous(places: &[Seq]) -> Option<Seq> {
    if places.len() <= KEPT {
        return None;
    }
    let triples = places.windows(3).filter_map(|triple| match triple {
        [before, at, after] => Some((after.0 - before.0, *at)),
        _ => None,
    });
    triples.min().map(|(_, at)| at)
}

/// A name from outside cannot leave the cache's folder: other than plain characters are written as hex.
fn folder(dir: &Path, session: SessionId, fold: FoldVersion<'_>) -> PathBuf {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let name: String = match fold.name.chars().all(plain) && !fold.name.is_empty() {
        true => fold.name.to_owned(),
        false => format!("x{}", Digest::of(fold.name.as_bytes())),
    };
    dir.join(session.to_string()).join(format!("{name}.{}", fold.version))
}

fn page_folder(dir: &Path, hash: &Digest) -> PathBuf {
    dir.join("pages").join(hash.to_string().get(..2).unwrap_or_default())
}

fn view_name(seq: Seq) -> String {
    format!("{:020}.view", seq.0)
}

impl CacheFiles {
    /// The places of the views in a folder, in order.
    fn places(&self, folder: &Path) -> Vec<Seq> {
        let Ok(files) = self.disk.list(folder) else { return Vec::new() };
        let place = |name: &str| name.strip_suffix(".view")?.parse().ok().map(Seq);
        let mut places: Vec<Seq> = files.iter().filter_map(|file| place(&file.name)).collect();
        places.sort_unstable();
        places
    }

    fn read_view(&self, folder: &Path, place: Seq) -> Option<Saved> {
        let file = read_whole(&*self.disk, &folder.join(view_name(place))).ok()?;
        let (body, hash) = file.split_last_chunk::<32>()?;
        let rest = body.strip_prefix(&MAGIC)?;
        let (seq, rest) = rest.split_first_chunk::<8>()?;
        let (digest, bytes) = rest.split_first_chunk::<32>()?;
        let seq = Seq(u64::from_le_bytes(*seq));
        (seq == place && Digest::of(body).0 == *hash).then(|| Saved {
            seq,
            digest: Digest(*digest),
            bytes: bytes.to_vec(),
        })
    }

    /// Writes a file whole, so that no reader sees half of it; what a power cut leaves of it fails its check.
    fn write(&self, folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.disk.create_dir(folder)?;
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let unfinished = folder.join(format!("{name}.{}-{number}.tmp", std::process::id()));
        self.disk.open(&unfinished, Access::Create)?.write_at(bytes, 0)?;
        self.disk.rename(&unfinished, &folder.join(name))
    }
}

fn absent_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests;
