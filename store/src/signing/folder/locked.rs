//! Writing the files of a tree.

use super::reading::{checkpoint, sizes};
use super::{SignedTree, SignedTreeError, TreeFolder, at};
use crate::signing::checkpoint::SignedCheckpoint;
use crate::signing::files;
use crate::signing::heads::{HeadList, SignedHead};
use crate::signing::ssh::signature_file;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The folder of a tree that no other process writes while the value lives.
#[derive(Debug)]
pub struct LockedTree {
    pub(super) folder: TreeFolder,
    /// Valid while `folder` lives.
    pub(super) dir: PathBuf,
    /// The tree as it is now; of the checkpoints only the newest.
    pub tree: SignedTree,
    pub(super) _lock: File,
}

impl LockedTree {
    fn shown<T>(&self, done: Result<T, SignedTreeError>) -> Result<T, SignedTreeError> {
        done.map_err(|error| error.shown_in(&self.dir, &self.folder.shown()))
    }

    /// Writes the heads behind the newest checkpoint, then a checkpoint over all.
    ///
    /// # Errors
    /// When the disk refuses: then nothing new is signed.
    pub fn write(&mut self, heads: HeadList, checkpoint: SignedCheckpoint) -> Result<(), SignedTreeError> {
        let path = self.dir.join("heads");
        self.shown(append(&path, self.tree.heads.heads(), heads.heads()).map_err(at(&path)))?;
        self.shown(write_checkpoint(&self.dir, &checkpoint))?;
        (self.tree.heads, self.tree.checkpoints) = (heads, vec![checkpoint]);
        Ok(())
    }

    /// Adds the signatures of a note to the checkpoint that has its text: of another key, or of a witness. Gives where that
    /// checkpoint is; `None` when there is none with this text.
    ///
    /// # Errors
    /// When the disk refuses, or the checkpoint is damaged.
    pub fn add(&mut self, note: &SignedCheckpoint) -> Result<Option<PathBuf>, SignedTreeError> {
        let size = note.head.size;
        if !self.shown(sizes(&self.dir).map_err(at(&self.dir)))?.contains(&size) {
            return Ok(None);
        }
        let mut checkpoint = self.shown(checkpoint(&self.dir, size))?;
        if checkpoint.note.text != note.note.text {
            return Ok(None);
        }
        note.note.signatures.iter().for_each(|signature| checkpoint.note.add(signature.clone()));
        self.shown(write_checkpoint(&self.dir, &checkpoint))?;
        if let Some(newest) = self.tree.checkpoints.last_mut().filter(|newest| newest.head.size == size) {
            *newest = checkpoint;
        }
        Ok(Some(self.path_of(size)))
    }

    /// Adds a public key to those that signed here.
    pub fn add_signer(&mut self, line: &str) -> Result<(), SignedTreeError> {
        if self.tree.signers.lines().any(|known| known == line) {
            return Ok(());
        }
        self.tree.signers.push_str(&format!("{line}\n"));
        let name = "allowed_signers";
        let written = files::replace(&self.dir, name, &self.tree.signers);
        self.shown(written.map_err(at(&self.dir.join(name))))
    }

    /// Where a person finds the checkpoint of this size.
    pub fn path_of(&self, size: u64) -> PathBuf {
        self.folder.shown().join(format!("{size}.checkpoint"))
    }
}

/// Writes a checkpoint, and for one with a signature by an SSH key the files for `ssh-keygen`.
fn write_checkpoint(dir: &Path, checkpoint: &SignedCheckpoint) -> Result<(), SignedTreeError> {
    let size = checkpoint.head.size;
    let write = |name: String, content: &str| files::replace(dir, &name, content).map_err(at(&dir.join(&name)));
    // First the checkpoint, which alone counts.
    write(format!("{size}.checkpoint"), &checkpoint.to_string())?;
    if let Some(file) = checkpoint.note.signatures.iter().rev().find_map(signature_file) {
        write(format!("{size}.text"), &checkpoint.note.text)?;
        write(format!("{size}.text.sig"), &file)?;
    }
    Ok(())
}

/// Appends the heads behind the known ones to the file, replacing what follows them.
fn append(path: &Path, known: &[SignedHead], all: &[SignedHead]) -> io::Result<()> {
    let lines = |heads: &[SignedHead]| heads.iter().map(|head| format!("{head}\n")).collect::<String>();
    let end = lines(known).len() as u64;
    let mut file = files::private().truncate(false).open(path)?;
    file.set_len(end)?;
    io::Seek::seek(&mut file, io::SeekFrom::Start(end))?;
    file.write_all(lines(all.get(known.len()..).unwrap_or_default()).as_bytes())?;
    file.sync_data()
}
