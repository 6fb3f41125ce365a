//! Sizes and places in a store's folder, read without opening the store.

use crate::disk::DiskLog;
use crate::disk::folder::files::{Disk, RealDisk};
use crate::disk::folder::layout::Layout;
use crate::disk::sessions::{Checkpoint, SessionHeads};
use crate::log::Position;
use std::io;
use std::path::{Path, PathBuf};

/// How much of the disk something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUsage {
    /// Files.
    pub files: u64,
    /// Bytes that they take on the device, reserved space included.
    pub bytes: u64,
}

/// A store as its folder shows it: no lock is needed, and nothing is read but names and two small files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreUsage {
    /// Segments that grow or wait to be packed.
    pub journal: DiskUsage,
    /// Packed segments and their summaries.
    pub sealed: DiskUsage,
    /// sled.
    pub sled: DiskUsage,
    /// Blobs.
    pub blobs: DiskUsage,
    /// Saved views.
    pub cache: DiskUsage,
    /// Full outputs of tools, which expire.
    pub outputs: DiskUsage,
    /// Captures of the files of projects.
    pub worktrees: DiskUsage,
    /// What was damaged and set aside.
    pub damaged: DiskUsage,
    /// The path of each file or folder that was set aside.
    pub set_aside: Vec<PathBuf>,
    /// Every batch below this is durable in sled, as far as was noted.
    pub checkpoint: Option<Position>,
    /// Opening reads the journal from here on.
    pub listed: Option<Position>,
    /// How many sessions there were then.
    pub sessions: Option<usize>,
}

impl DiskLog {
    /// The store in a folder as its files show it.
    pub fn usage(dir: &Path) -> io::Result<StoreUsage> {
        let layout = Layout::new(dir);
        let (mut journal, mut sealed) = (DiskUsage::default(), DiskUsage::default());
        for listed in RealDisk.list(&layout.journal())? {
            let packed = listed.name.ends_with(".pack") || listed.name.ends_with(".idx");
            add(if packed { &mut sealed } else { &mut journal }, &layout.journal().join(&listed.name))?;
        }
        let damaged = layout.damaged();
        let set_aside = match damaged.read_dir() {
            Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let listed = SessionHeads::load(&RealDisk, &layout.heads())?;
        Ok(StoreUsage {
            journal,
            sealed,
            sled: usage(&layout.sled())?,
            blobs: usage(&layout.blobs())?,
            cache: usage(&layout.cache())?,
            outputs: usage(&layout.dir.join("outputs"))?,
            worktrees: usage(&layout.dir.join("worktrees"))?,
            damaged: usage(&damaged)?,
            set_aside,
            checkpoint: Checkpoint::load(&RealDisk, &layout.checkpoint())?.map(|checkpoint| Position(checkpoint.next)),
            sessions: listed.as_ref().map(|listed| listed.own.len()),
            listed: listed.map(|listed| Position(listed.next)),
        })
    }
}

fn add(usage: &mut DiskUsage, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => {
            usage.files += 1;
            // The system counts in units of 512 bytes.
            usage.bytes += metadata.blocks() * 512;
            Ok(())
        }
        // It went while it was looked for.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// How much a folder takes with all that is in it.
pub(in crate::disk) fn usage(folder: &Path) -> io::Result<DiskUsage> {
    let mut total = DiskUsage::default();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match folder.read_dir() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                add(&mut total, &folder)?;
                continue;
            }
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                add(&mut total, &entry.path())?;
            }
        }
    }
    Ok(total)
}
