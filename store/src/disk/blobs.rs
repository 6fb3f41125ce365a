//! Blobs: large texts in files named by the hash of their content (`docs/reference/store.md#blobs`).

use crate::disk::folder::files::{Access, Disk, read_whole};
use crate::disk::maintenance::report::Remark;
use annals_core::{BlobHash, Blobs};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The blobs of a store.
#[derive(Debug)]
pub struct BlobFiles {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    /// Makes the names of unfinished files distinct.
    counter: AtomicU64,
    /// What was found damaged since opening.
    damaged: Mutex<BTreeSet<BlobHash>>,
    /// Held while a blob is said to be there, or is removed: what a batch is about to name stays.
    gate: Mutex<()>,
}

/// What is in the folder of the blobs.
#[derive(Debug, Default)]
pub struct Listing {
    /// Every blob and its length.
    pub blobs: Vec<(BlobHash, u64)>,
    /// What a stopped writer left unfinished.
    pub unfinished: Vec<(PathBuf, u64)>,
}

impl BlobFiles {
    /// The blobs in a folder that may not exist yet.
    pub fn new(disk: Arc<dyn Disk>, dir: PathBuf) -> Self {
        Self { disk, dir, counter: AtomicU64::new(0), damaged: Mutex::default(), gate: Mutex::default() }
    }

    /// The path of a blob.
    pub fn path(&self, hash: &BlobHash) -> PathBuf {
        let name = hash.to_string();
        self.dir.join(name.get(..2).unwrap_or_default()).join(&name)
    }

    /// Makes a text durable under its hash. A damaged file of that name is replaced.
    pub fn put(&self, hash: &BlobHash, text: &str) -> io::Result<()> {
        if self.holds(hash) {
            return Ok(());
        }
        let path = self.path(hash);
        let folder = path.parent().unwrap_or(&self.dir);
        self.disk.create_dir(folder)?;
        self.disk.sync_dir(&self.dir)?;
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let beside = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
        let file = self.disk.open(&beside, Access::Create)?;
        file.write_at(text.as_bytes(), 0)?;
        file.sync_data()?;
        self.disk.rename(&beside, &path)?;
        self.disk.sync_dir(folder)?;
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner).remove(hash);
        Ok(())
    }

    /// Whether the blob is there and undamaged. If so, the collection of unused blobs takes it as new again.
    pub fn holds(&self, hash: &BlobHash) -> bool {
        let _gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if self.text(hash).is_none() {
            return false;
        }
        if let Err(error) = self.disk.touch(&self.path(hash)) {
            tracing::debug!(blob = %hash, %error, "a blob's time could not be set");
        }
        true
    }

    /// What was found damaged since opening.
    pub fn damaged(&self) -> Vec<Remark> {
        let damaged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        damaged.iter().map(|blob| Remark::Blob { blob: *blob }).collect()
    }

    /// Every blob there is, and its length; and the files that a stopped writer left unfinished.
    pub fn list(&self) -> io::Result<Listing> {
        let mut listing = Listing::default();
        for prefix in 0..=255u8 {
            let folder = self.dir.join(format!("{prefix:02x}"));
            for listed in self.disk.list(&folder)? {
                match listed.name.parse() {
                    Ok(hash) => listing.blobs.push((hash, listed.len)),
                    Err(_) => listing.unfinished.push((folder.join(&listed.name), listed.len)),
                }
            }
        }
        Ok(listing)
    }

    /// Removes a blob if it may go; says whether it went.
    pub fn remove_if(&self, hash: &BlobHash, may: impl FnOnce(&Path) -> io::Result<bool>) -> io::Result<bool> {
        let _gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path(hash);
        if !may(&path)? {
            return Ok(false);
        }
        self.disk.remove(&path).map(|()| true)
    }
}

impl Blobs for BlobFiles {
    fn text(&self, hash: &BlobHash) -> Option<String> {
        let bytes = match read_whole(&*self.disk, &self.path(hash)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(blob = %hash, %error, "a blob could not be read");
                return None;
            }
        };
        if BlobHash::of(&bytes) != *hash {
            tracing::warn!(blob = %hash, "a blob is damaged");
            self.damaged.lock().unwrap_or_else(PoisonError::into_inner).insert(*hash);
            return None;
        }
        String::from_utf8(bytes).ok()
    }
}
