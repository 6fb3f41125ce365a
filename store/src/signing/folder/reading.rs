//! Reading the files of a tree, and checking that they agree with each other.

use super::{SignedTree, SignedTreeError, at};
use crate::signing::checkpoint::{CheckpointError, SignedCheckpoint};
use crate::signing::files;
use crate::signing::heads::HeadList;
use crate::signing::ssh::signature_file;
use crate::signing::tree::Frontier;
use std::fs;
use std::io;
use std::path::Path;

/// Reads everything.
pub(super) fn read_in(dir: &Path) -> Result<SignedTree, SignedTreeError> {
    let sizes = sizes(dir).map_err(at(dir))?;
    let mut tree = SignedTree { signers: signers(dir)?, ..SignedTree::default() };
    for size in &sizes {
        let checkpoint = checkpoint(dir, *size)?;
        agree(dir, &checkpoint)?;
        tree.checkpoints.push(checkpoint);
    }
    tree.heads = heads(dir, sizes.last().copied().unwrap_or(0))?;
    roots(dir, &tree)?;
    Ok(tree)
}

/// Reads the newest checkpoint and its heads.
pub(super) fn read_newest(dir: &Path) -> Result<SignedTree, SignedTreeError> {
    let mut tree = SignedTree { signers: signers(dir)?, ..SignedTree::default() };
    if let Some(size) = sizes(dir).map_err(at(dir))?.last() {
        tree.checkpoints.push(checkpoint(dir, *size)?);
        tree.heads = heads(dir, *size)?;
        roots(dir, &tree)?;
    }
    Ok(tree)
}

/// The sizes of the checkpoints in a folder, in order.
pub(super) fn sizes(dir: &Path) -> io::Result<Vec<u64>> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut sizes = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let size = name.to_str().and_then(|name| name.strip_suffix(".checkpoint"));
        sizes.extend(size.and_then(|size| size.parse().ok().filter(|number: &u64| number.to_string() == size)));
    }
    sizes.sort_unstable();
    Ok(sizes)
}

/// Reads the checkpoint of a size.
pub(super) fn checkpoint(dir: &Path, size: u64) -> Result<SignedCheckpoint, SignedTreeError> {
    let path = dir.join(format!("{size}.checkpoint"));
    let text = fs::read_to_string(&path).map_err(at(&path))?;
    let parsed: Result<SignedCheckpoint, _> = text.parse();
    let wrong = |source| SignedTreeError::Checkpoint { path: path.clone(), source };
    match parsed.map_err(wrong)? {
        checkpoint if checkpoint.head.size == size && checkpoint.to_string() == text => Ok(checkpoint),
        _ => Err(wrong(CheckpointError("its size is not the one in its name"))),
    }
}

fn signers(dir: &Path) -> Result<String, SignedTreeError> {
    let path = dir.join("allowed_signers");
    files::read(&path).map_err(at(&path)).map(Option::unwrap_or_default)
}

fn heads(dir: &Path, size: u64) -> Result<HeadList, SignedTreeError> {
    let path = dir.join("heads");
    let text = files::read(&path).map_err(at(&path))?.unwrap_or_default();
    HeadList::parse(&text, size).map_err(|source| SignedTreeError::Heads { path, source })
}

/// Checks that each checkpoint has the root of its heads.
fn roots(dir: &Path, tree: &SignedTree) -> Result<(), SignedTreeError> {
    let (mut frontier, mut heads) = (Frontier::default(), tree.heads.heads().iter());
    for checkpoint in &tree.checkpoints {
        while frontier.size() < checkpoint.head.size {
            let Some(head) = heads.next() else { break };
            frontier.push(head.hash());
        }
        let (signed, found) = (checkpoint.head.root, frontier.root());
        if signed != found || frontier.size() != checkpoint.head.size {
            let path = dir.join(format!("{}.checkpoint", checkpoint.head.size));
            return Err(SignedTreeError::Root { path, signed, found });
        }
    }
    Ok(())
}

/// Checks that the files for `ssh-keygen`, where they are there, say what the checkpoint says.
fn agree(dir: &Path, checkpoint: &SignedCheckpoint) -> Result<(), SignedTreeError> {
    let size = checkpoint.head.size;
    let path = dir.join(format!("{size}.text"));
    if files::read(&path).map_err(at(&path))?.is_some_and(|text| text != checkpoint.note.text) {
        return Err(SignedTreeError::Differs { path });
    }
    let path = dir.join(format!("{size}.text.sig"));
    match files::read(&path).map_err(at(&path))? {
        Some(file) if !checkpoint.note.signatures.iter().any(|one| signature_file(one).as_ref() == Some(&file)) => {
            Err(SignedTreeError::Differs { path })
        }
        _ => Ok(()),
    }
}
