//! What is answered, as a program reads it.

use annals_core::{Digest, Seq, SessionId};
use annals_store::signing::signers::ValidSignature;
use serde::Serialize;

/// A signature that was verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KnownSignature {
    /// Who signed: the principals of an SSH key, or the name of a key of notes.
    pub signer: String,
    /// The fingerprint of an SSH key, or the public key of a note.
    pub key: String,
    /// When a witness counter-signed, in seconds since 1970; `None` for the signature of the store's owner.
    pub witnessed_at: Option<u64>,
}

impl From<ValidSignature> for KnownSignature {
    fn from(ValidSignature { signer, key, witnessed_at }: ValidSignature) -> Self {
        Self { signer, key, witnessed_at }
    }
}

/// What `sign` did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignedCheckpointFile {
    /// The name of the store's tree.
    pub origin: String,
    /// The number of heads that the checkpoint covers.
    pub size: u64,
    /// How many of them are new.
    pub new_heads: u64,
    /// The root of the tree, in base64.
    pub root: String,
    /// The file of the checkpoint.
    pub checkpoint: String,
    /// The public key, as a line of allowed signers.
    pub signer: String,
    /// Whether anything was written.
    pub written: bool,
}

/// The tree of a store, or of the one that it was copied from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifiedTree {
    /// Its name.
    pub origin: String,
    /// How many checkpoints there are.
    pub checkpoints: u64,
    /// How many heads the newest covers.
    pub heads: u64,
    /// The signatures of the newest.
    pub signatures: Vec<KnownSignature>,
}

/// What `verify --signed` found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SignedStore {
    /// Each tree.
    pub trees: Vec<VerifiedTree>,
    /// Whether the keys were compared with allowed signers that the user named; else with those that the store itself names.
    pub trusted: bool,
    /// How many sessions continue what was signed.
    pub sessions: u64,
    /// How many sessions were never signed.
    pub unsigned_sessions: u64,
    /// How many sessions have grown since they were signed.
    pub grown_sessions: u64,
    /// How many events are not signed yet.
    pub unsigned_events: u64,
    /// What does not hold, one sentence each.
    pub problems: Vec<String>,
}

/// What a proof proves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProvedBatch {
    /// The session.
    pub session: SessionId,
    /// The first event of the batch.
    pub first: Seq,
    /// Its last event.
    pub last: Seq,
    /// Its digest.
    pub digest: Digest,
    /// The last event of the session when it was signed.
    pub signed_seq: Seq,
    /// The digest of the session's last batch then.
    pub signed_digest: Digest,
    /// The name of the store's tree.
    pub origin: String,
    /// The number of heads that the checkpoint covers.
    pub size: u64,
    /// The signatures of the checkpoint; empty when no allowed signers were named.
    pub signatures: Vec<KnownSignature>,
    /// The keys that the checkpoint itself names.
    pub named: Vec<String>,
}

/// What `witness` did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WitnessedCheckpoint {
    /// The name of the tree.
    pub origin: String,
    /// The number of heads that the checkpoint covers.
    pub size: u64,
    /// The size of the last checkpoint seen before; `None` when this is the first.
    pub seen: Option<u64>,
    /// Whose signatures were verified.
    pub signatures: Vec<KnownSignature>,
    /// The line that was added to the checkpoint.
    pub cosignature: String,
    /// The public key of the witness.
    pub witness: String,
}
