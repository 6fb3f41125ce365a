//! Proofs of batches, and of growth for a witness.

use super::SignedError;
use super::answers::ProvedBatch;
use annals_core::{Seq, SessionId};
use annals_store::EventLog;
use annals_store::disk::StorePath;
use annals_store::exchange::verify_session;
use annals_store::signing::checkpoint::SignedCheckpoint;
use annals_store::signing::folder::{SignedTree, TreeFolder};
use annals_store::signing::proof::{InclusionProof, ProveError};
use annals_store::signing::signers::{AllowedSigners, named_keys};
use annals_store::signing::witness::WitnessRequest;
use serde::Serialize;

/// The trees of a store, each with its newest checkpoint; the one of this name first.
fn trees(store: &StorePath, own: &str) -> Result<Vec<(SignedTree, SignedCheckpoint)>, SignedError> {
    let mut trees = Vec::new();
    for folder in TreeFolder::all(store)? {
        let tree = folder.read()?;
        trees.extend(tree.checkpoints.last().cloned().map(|newest| (tree, newest)));
    }
    trees.sort_by_key(|(_, newest)| newest.head.origin != own);
    Ok(trees)
}

/// Proves that the batch with event `seq` of a session was signed; without `seq`, the last batch that was. `own` is the name of
/// the store's own tree: those of stores that it was copied from come after it.
///
/// # Errors
/// When the event was not signed, or the log contradicts what was.
pub async fn prove(
    log: &dyn EventLog,
    store: &StorePath,
    own: &str,
    (session, seq): (SessionId, Option<Seq>),
) -> Result<InclusionProof, SignedError> {
    let mut refused = None;
    for (tree, newest) in trees(store, own)? {
        match annals_store::signing::proof::prove(log, &tree.heads, newest, session, seq).await {
            Err(error @ ProveError::NotSigned { .. }) => refused = refused.or(Some(error)),
            proved => return Ok(proved?),
        }
    }
    Err(refused.map_or(SignedError::NothingSigned, SignedError::Prove))
}

/// What a witness needs that has seen the first `since` heads of a store.
///
/// # Errors
/// When nothing was signed, or never so many heads.
pub fn witness_request(store: &StorePath, own: &str, since: u64) -> Result<WitnessRequest, SignedError> {
    let (tree, newest) = trees(store, own)?.into_iter().next().ok_or(SignedError::NothingSigned)?;
    let size = newest.head.size;
    WitnessRequest::new(&tree.heads.hashes(), since, newest).ok_or(SignedError::NeverSoLarge { since, size })
}

/// Verifies a proof without a store. Without allowed signers no signature is verified: the answer then names the keys that
/// the checkpoint claims.
///
/// # Errors
/// When it does not hold.
pub fn check_proof(proof: &InclusionProof, signers: Option<&AllowedSigners>) -> Result<ProvedBatch, SignedError> {
    proof.check()?;
    let valid = signers.map(|signers| signers.verify(&proof.checkpoint)).transpose()?;
    let head = &proof.checkpoint.head;
    Ok(ProvedBatch {
        session: proof.session,
        first: proof.batch.first,
        last: proof.batch.last,
        digest: proof.batch.digest,
        signed_seq: proof.seq,
        signed_digest: proof.digest,
        origin: head.origin.clone(),
        size: head.size,
        signatures: valid.unwrap_or_default().into_iter().map(Into::into).collect(),
        named: named_keys(&proof.checkpoint),
    })
}

/// Why a session does not contain the batch that was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingBatch {
    /// The proof is about another session.
    OtherSession,
    /// The log is damaged, ends before the batch, or has another one in its place.
    OtherBatch,
}

/// Verifies that a session of a log contains the batch that was proved; gives the reason when it does not.
pub async fn find_proved(
    log: &dyn EventLog,
    session: SessionId,
    proved: &ProvedBatch,
) -> Result<Option<MissingBatch>, SignedError> {
    if session != proved.session {
        return Ok(Some(MissingBatch::OtherSession));
    }
    let found = log.batch_at(session, proved.last).await?;
    let report = verify_session(log, session, Some(proved.digest), &mut |_| {}).await?;
    let is_there = report.is_sound() && found.is_some_and(|slice| slice.batch.digest == proved.digest);
    Ok((!is_there).then_some(MissingBatch::OtherBatch))
}
