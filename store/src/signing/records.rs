//! What a witness has seen: the last checkpoint of each log.

use super::checkpoint::SignedCheckpoint;
use super::files;
use super::tree::TreeHash;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The folder in which a witness keeps the last checkpoint of each log.
#[derive(Debug)]
pub struct WitnessRecords {
    dir: PathBuf,
    /// Locked: what was checked against the last checkpoint is recorded before another is checked.
    _lock: File,
}

impl WitnessRecords {
    /// Opens the folder, makes it if need be, and keeps other processes out while the value lives.
    pub fn open(dir: &Path) -> io::Result<Self> {
        files::make_folder(dir)?;
        Ok(Self { dir: dir.to_owned(), _lock: files::lock(dir)? })
    }

    /// The file of a log: any text can be an origin, so the file is named by its hash.
    fn name(origin: &str) -> String {
        let TreeHash(hash) = TreeHash::of_leaf(origin.as_bytes());
        let hex: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("{hex}.checkpoint")
    }

    /// The last checkpoint seen from a log.
    pub fn last(&self, origin: &str) -> io::Result<Option<SignedCheckpoint>> {
        let path = self.dir.join(Self::name(origin));
        let Some(text) = files::read(&path)? else { return Ok(None) };
        let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()));
        let checkpoint: SignedCheckpoint =
            text.parse().map_err(|error: super::checkpoint::CheckpointError| invalid(error.0))?;
        if checkpoint.head.origin == origin { Ok(Some(checkpoint)) } else { Err(invalid("it is of another log")) }
    }

    /// Keeps a checkpoint as the last one of its log.
    pub fn keep(&self, checkpoint: &SignedCheckpoint) -> io::Result<()> {
        files::replace(&self.dir, &Self::name(&checkpoint.head.origin), &checkpoint.to_string())
    }
}
