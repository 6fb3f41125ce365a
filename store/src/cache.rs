//! Saved views: what a fold had built at a place, kept so that resuming and time travel are fast (DESIGN section 3).
//!
//! A cache: whatever is missing, damaged or old reads as absent, and no answer changes when all of it is deleted.
//! Nothing here is flushed to the device for the same reason. Views that grow with the log are paged: each page is
//! kept once under the hash of its content.

use annals_core::{Digest, Seq, SessionId};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How many views of one fold are kept for a Session: the oldest go first, except that places far apart stay.
const KEPT: usize = 16;

/// What a saved view is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fold<'a> {
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
    /// The digest of the Batch that ends there, as it was given: who reads compares it with the log.
    pub digest: Digest,
    /// The view, in the fold's own form.
    pub bytes: Vec<u8>,
}

/// Views and pages, in files or in memory.
#[derive(Debug)]
pub struct ViewCache {
    place: Place,
}

#[derive(Debug)]
enum Place {
    Files { dir: PathBuf, counter: AtomicU64, writes: bool },
    Memory(Mutex<Memory>),
}

/// Whose, of which fold, in which version, where.
type ViewPlace = (SessionId, String, u32, Seq);

#[derive(Debug, Default)]
struct Memory {
    views: BTreeMap<ViewPlace, (Digest, Vec<u8>)>,
    pages: BTreeMap<Digest, Vec<u8>>,
}

const MAGIC: [u8; 8] = *b"\xFFAnview1";

impl ViewCache {
    /// A cache in a folder, which is made when something is put.
    pub fn in_folder(dir: impl Into<PathBuf>) -> Self {
        Self { place: Place::Files { dir: dir.into(), counter: AtomicU64::new(0), writes: true } }
    }

    /// The cache in a folder, for reading alone: what is put is not kept.
    pub fn read_only(dir: impl Into<PathBuf>) -> Self {
        Self { place: Place::Files { dir: dir.into(), counter: AtomicU64::new(0), writes: false } }
    }

    /// A cache that goes with the process: for a log in memory.
    pub fn in_memory() -> Self {
        Self { place: Place::Memory(Mutex::default()) }
    }

    /// The saved view of a fold that is nearest to a place, at it or before.
    pub fn nearest(&self, session: SessionId, fold: Fold<'_>, at_most: Seq) -> Option<Saved> {
        match &self.place {
            Place::Memory(memory) => {
                let memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
                let name = fold.name.to_owned();
                let range = (session, name.clone(), fold.version, Seq::ZERO)..=(session, name, fold.version, at_most);
                let ((_, _, _, seq), (digest, bytes)) = memory.views.range(range).next_back()?;
                Some(Saved { seq: *seq, digest: *digest, bytes: bytes.clone() })
            }
            Place::Files { dir, .. } => {
                let folder = folder(dir, session, fold);
                let mut places = places(&folder);
                places.retain(|seq| *seq <= at_most);
                // A damaged one reads as absent: the one before it is as good, only slower.
                places.into_iter().rev().find_map(|seq| read_view(&folder, seq))
            }
        }
    }

    /// Saves a view. `digest` is that of the Batch that ends at `seq`.
    ///
    /// # Errors
    /// When the disk refuses: the view is then computed again when it is wanted.
    pub fn put(&self, session: SessionId, fold: Fold<'_>, view: &Saved) -> io::Result<()> {
        let Saved { seq, digest, bytes } = view;
        match &self.place {
            Place::Memory(memory) => {
                let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
                memory.views.insert((session, fold.name.to_owned(), fold.version, *seq), (*digest, bytes.clone()));
                let name = fold.name.to_owned();
                let range =
                    (session, name.clone(), fold.version, Seq::ZERO)..=(session, name, fold.version, Seq(u64::MAX));
                let places: Vec<Seq> = memory.views.range(range).map(|((_, _, _, seq), _)| *seq).collect();
                if let Some(seq) = superfluous(&places) {
                    memory.views.remove(&(session, fold.name.to_owned(), fold.version, seq));
                }
                Ok(())
            }
            Place::Files { writes: false, .. } => Ok(()),
            Place::Files { dir, counter, .. } => {
                let folder = folder(dir, session, fold);
                let mut file = MAGIC.to_vec();
                file.extend_from_slice(&seq.0.to_le_bytes());
                file.extend_from_slice(&digest.0);
                file.extend_from_slice(bytes);
                file.extend_from_slice(&Digest::of(&file).0);
                write(&folder, &view_name(*seq), &file, counter)?;
                let superfluous = superfluous(&places(&folder));
                superfluous.map_or(Ok(()), |seq| absent_is_fine(fs::remove_file(folder.join(view_name(seq)))))
            }
        }
    }

    /// A page by the hash of its content.
    pub fn get_page(&self, hash: &Digest) -> Option<Vec<u8>> {
        match &self.place {
            Place::Memory(memory) => memory.lock().unwrap_or_else(PoisonError::into_inner).pages.get(hash).cloned(),
            Place::Files { dir, .. } => {
                let bytes = read(&page_folder(dir, hash).join(hash.to_string()))?;
                (Digest::of(&bytes) == *hash).then_some(bytes)
            }
        }
    }

    /// Keeps a page; gives the hash that names it.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn put_page(&self, bytes: &[u8]) -> io::Result<Digest> {
        let hash = Digest::of(bytes);
        match &self.place {
            Place::Memory(memory) => {
                let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
                memory.pages.entry(hash).or_insert_with(|| bytes.to_vec());
            }
            Place::Files { writes: false, .. } => {}
            Place::Files { dir, counter, .. } => {
                if self.get_page(&hash).is_none() {
                    write(&page_folder(dir, &hash), &hash.to_string(), bytes, counter)?;
                }
            }
        }
        Ok(hash)
    }

    /// Deletes everything.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn clear(&self) -> io::Result<()> {
        match &self.place {
            Place::Memory(memory) => {
                *memory.lock().unwrap_or_else(PoisonError::into_inner) = Memory::default();
                Ok(())
            }
            Place::Files { writes: false, .. } => Ok(()),
            Place::Files { dir, .. } => absent_is_fine(fs::remove_dir_all(dir)),
        }
    }
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

/// A name from outside cannot leave the cache's folder: whatever is not plain is written as hex.
fn folder(dir: &Path, session: SessionId, fold: Fold<'_>) -> PathBuf {
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

/// The places of the views in a folder, in order.
fn places(folder: &Path) -> Vec<Seq> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut places: Vec<Seq> = names.filter_map(|name| name.strip_suffix(".view")?.parse().ok().map(Seq)).collect();
    places.sort_unstable();
    places
}

/// The content of a regular file: anything else might be waited for.
fn read(path: &Path) -> Option<Vec<u8>> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    fs::read(path).ok()
}

fn read_view(folder: &Path, place: Seq) -> Option<Saved> {
    let file = read(&folder.join(view_name(place)))?;
    let (body, hash) = file.split_last_chunk::<32>()?;
    let rest = body.strip_prefix(&MAGIC)?;
    let (seq, rest) = rest.split_first_chunk::<8>()?;
    let (digest, bytes) = rest.split_first_chunk::<32>()?;
    let seq = Seq(u64::from_le_bytes(*seq));
    (seq == place && Digest::of(body).0 == *hash).then(|| Saved { seq, digest: Digest(*digest), bytes: bytes.to_vec() })
}

/// Writes a file whole, so that no reader sees half of it; what a power cut leaves of it fails its check.
fn write(folder: &Path, name: &str, bytes: &[u8], counter: &AtomicU64) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let number = counter.fetch_add(1, Ordering::Relaxed);
    let beside = folder.join(format!("{name}.{}-{number}.tmp", std::process::id()));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    fs::rename(&beside, folder.join(name))
}

fn absent_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests;
