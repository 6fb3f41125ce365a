//! Signing the heads of sessions.

use super::answers::SignedCheckpointFile;
use annals_store::signing::checkpoint::{SignedCheckpoint, TreeHead};
use annals_store::signing::continuity::{AdvanceError, advance};
use annals_store::signing::folder::{SignedTreeError, TreeFolder};
use annals_store::signing::note::{NoteSignature, SignedNote};
use annals_store::signing::signers::AllowedSigners;
use annals_store::signing::tree::root_of;
use annals_store::{EventLog, SessionHead};
use std::io;
use std::path::PathBuf;

/// What is signed, and where it is kept.
pub struct NewCheckpoint<'a> {
    /// The log.
    pub log: &'a dyn EventLog,
    /// The folder of the store's tree.
    pub folder: &'a TreeFolder,
    /// The name of the tree.
    pub origin: String,
    /// The sessions that are signed, as far as they have grown.
    pub sessions: Vec<SessionHead>,
    /// The public key that signs, as a line of allowed signers.
    pub signer: String,
}

/// Nothing was signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError<E> {
    /// There is no session.
    #[error("there is no session to sign")]
    NoSession,
    /// The files of the tree cannot be used.
    #[error(transparent)]
    Tree(#[from] SignedTreeError),
    /// The log contradicts what was signed, or cannot be read.
    #[error(transparent)]
    Advance(#[from] AdvanceError),
    /// The key cannot sign.
    #[error(transparent)]
    Key(E),
}

/// Signs: appends a head for each session that has grown, and writes a checkpoint over all heads. When nothing is new, the key
/// is added to the newest checkpoint unless it signed that already. Appends nothing to any session.
///
/// # Errors
/// When a session does not continue what was signed, or the key or the disk refuses.
pub async fn sign<E>(
    new: NewCheckpoint<'_>,
    random: &mut (dyn FnMut() -> io::Result<[u8; 32]> + Send),
    signature: impl FnOnce(&TreeHead) -> Result<NoteSignature, E>,
) -> Result<SignedCheckpointFile, SignError<E>> {
    let mut tree = new.folder.locked().await?;
    let mut heads = tree.tree.heads.clone();
    let new_heads = advance(&mut heads, new.log, &new.sessions, random).await?;
    let hashes = heads.hashes();
    if hashes.is_empty() {
        return Err(SignError::NoSession);
    }
    let head = TreeHead { origin: new.origin, size: hashes.len() as u64, root: root_of(&hashes) };
    let text = head.to_string();
    let newest = tree.tree.checkpoints.last().filter(|newest| newest.note.text == text);
    let signers = AllowedSigners::parse(&new.signer);
    // A key may ask for a passphrase or a touch, and not every type of key signs twice with the same bytes.
    let written = newest.is_none_or(|newest| signers.verify(newest).is_err());
    if written {
        let signatures = vec![signature(&head).map_err(SignError::Key)?];
        let is_new = new_heads > 0 || newest.is_none();
        let checkpoint = SignedCheckpoint { head: head.clone(), note: SignedNote { text, signatures } };
        match is_new {
            true => tree.write(heads, checkpoint)?,
            false => drop(tree.add(&checkpoint)?),
        }
    }
    tree.add_signer(&new.signer)?;
    Ok(SignedCheckpointFile {
        size: head.size,
        new_heads: new_heads as u64,
        root: head.root.to_string(),
        checkpoint: tree.path_of(head.size).display().to_string(),
        origin: head.origin,
        signer: new.signer,
        written,
    })
}

/// Adds the signatures of a note, such as a witness's, to the checkpoint of the store that it signs. Gives the file of that
/// checkpoint; `None` when the store has no such checkpoint.
pub async fn merge_signatures(
    folder: &TreeFolder,
    note: &SignedCheckpoint,
) -> Result<Option<PathBuf>, SignedTreeError> {
    folder.locked().await?.add(note)
}
