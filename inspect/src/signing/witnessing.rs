//! Counter-signing the checkpoints of others.

use super::answers::WitnessedCheckpoint;
use annals_store::signing::checkpoint::SignedCheckpoint;
use annals_store::signing::key::{NoteKey, NoteKeyKind};
use annals_store::signing::records::WitnessRecords;
use annals_store::signing::signers::{AllowedSigners, SignatureError};
use annals_store::signing::witness::{WitnessRefusal, WitnessRequest};
use std::io;
use std::path::Path;

/// A checkpoint is not counter-signed.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    /// The key is not one of a witness.
    #[error("the key {name} is not one of a witness: create one with `annals witness --new-key FILE`")]
    OtherKey {
        /// The name of the key.
        name: String,
    },
    /// The checkpoint is not signed as it should be.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// It does not extend what was seen.
    #[error(transparent)]
    Refusal(#[from] WitnessRefusal),
    /// The records cannot be read or written.
    #[error("the records of the witness: {0}")]
    Records(#[source] io::Error),
}

/// Counter-signs a checkpoint that extends the last one seen from its origin. What was seen is kept in `records` before the
/// signature is given. `time` in seconds since 1970 is signed with it. Gives the checkpoint with the line added.
///
/// # Errors
/// When it is not signed by an allowed signer, or does not extend what was seen.
pub fn witness(
    request: &WitnessRequest,
    signers: &AllowedSigners,
    key: &NoteKey,
    records: &Path,
    time: u64,
) -> Result<(WitnessedCheckpoint, SignedCheckpoint), WitnessError> {
    if key.public().kind() != NoteKeyKind::Cosignature {
        return Err(WitnessError::OtherKey { name: key.public().name().to_owned() });
    }
    let valid = signers.verify(&request.checkpoint)?;
    let records = WitnessRecords::open(records).map_err(WitnessError::Records)?;
    let seen = records.last(&request.checkpoint.head.origin).map_err(WitnessError::Records)?;
    request.check(seen.as_ref().map(|seen| &seen.head))?;
    let mut checkpoint = request.checkpoint.clone();
    let cosignature = key.sign(&checkpoint.note.text, time);
    checkpoint.note.add(cosignature.clone());
    records.keep(&checkpoint).map_err(WitnessError::Records)?;
    let answer = WitnessedCheckpoint {
        origin: checkpoint.head.origin.clone(),
        size: checkpoint.head.size,
        seen: seen.map(|seen| seen.head.size),
        signatures: valid.into_iter().map(Into::into).collect(),
        cosignature: cosignature.to_string(),
        witness: key.public().to_string(),
    };
    Ok((answer, checkpoint))
}
