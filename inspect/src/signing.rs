//! Signing where sessions end, and verifying, proving and witnessing what was signed (`docs/reference/signing.md`).

mod answers;
mod continuity;
mod proving;
mod sign;
mod witnessing;

pub use answers::{KnownSignature, ProvedBatch, SignedCheckpointFile, SignedStore, VerifiedTree, WitnessedCheckpoint};
pub use continuity::{SignedCheck, verify_signed};
pub use proving::{MissingBatch, check_proof, find_proved, prove, witness_request};
pub use sign::{NewCheckpoint, SignError, merge_signatures, sign};
pub use witnessing::{WitnessError, witness};

use annals_store::ReadError;
use annals_store::signing::folder::SignedTreeError;
use annals_store::signing::proof::{ProofError, ProveError};
use annals_store::signing::signers::SignatureError;

/// A question about what was signed has no answer.
#[derive(Debug, thiserror::Error)]
pub enum SignedError {
    /// The files of the tree cannot be used.
    #[error(transparent)]
    Tree(#[from] SignedTreeError),
    /// Nothing was signed.
    #[error("nothing was signed in this store; run `annals sign`")]
    NothingSigned,
    /// The tree never had this size.
    #[error(
        "the store was signed with {size} heads, fewer than {since}: what the witness has seen is not of this store"
    )]
    NeverSoLarge {
        /// The size that the witness has seen.
        since: u64,
        /// The size of the newest checkpoint.
        size: u64,
    },
    /// The event cannot be proved.
    #[error(transparent)]
    Prove(#[from] ProveError),
    /// A proof proves nothing.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The checkpoint in a proof is not signed as it should be.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
