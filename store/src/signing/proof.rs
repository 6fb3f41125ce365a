//! Proofs that a batch was part of a session when its store was signed: files that are checked without the store.
//!
//! The form is that of <https://c2sp.org/tlog-proof>. What the leaf is computed from is in its line `extra`, base64 of
//!
//! ```text
//! annals-proof v1
//! batch FIRST LAST DIGEST       the batch: its first and last event
//! place INDEX BATCHES           its place among the batches of the session, and their number
//! HASH...                       the inclusion proof of the batch, one hash per line
//! session SESSION SEQ DIGEST    the session, its last event when it was signed, the digest of its last batch
//! salt SALT
//! ```

use super::checkpoint::{CheckpointError, SignedCheckpoint};
use super::continuity::{BatchRange, each_batch};
use super::heads::{HeadList, Salt, head_hash};
use super::tree::{TreeHash, inclusion_path, root_from_path};
use crate::log::{EventLog, ReadError};
use annals_core::{Digest, Seq, SessionId};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::str::FromStr;

/// The first line of a proof.
const FORMAT: &str = "c2sp.org/tlog-proof@v1";

/// The first line of what a proof adds.
const EXTRA: &str = "annals-proof v1";

/// A batch, a session that holds it, and a checkpoint that covers the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InclusionProof {
    /// The batch that is proved.
    pub batch: BatchRange,
    /// Its place among the batches of the session, from 0, and their number.
    pub place: (u64, u64),
    /// From the batch to the root over the session's batches.
    pub batch_path: Vec<TreeHash>,
    /// The session.
    pub session: SessionId,
    /// Its last event when it was signed.
    pub seq: Seq,
    /// The digest of its last batch.
    pub digest: Digest,
    /// The salt of the leaf.
    pub salt: Salt,
    /// The place of the leaf in the tree of the store.
    pub index: u64,
    /// From the leaf to the root in the checkpoint.
    pub path: Vec<TreeHash>,
    /// The checkpoint.
    pub checkpoint: SignedCheckpoint,
}

/// A file is not a proof, or proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The form is another one.
    #[error("not a proof: {0}")]
    Malformed(&'static str),
    /// The checkpoint in it cannot be read.
    #[error("the proof contains no checkpoint: {0}")]
    Checkpoint(#[from] CheckpointError),
    /// The hashes do not lead to the root of the checkpoint.
    #[error("the proof does not hold: it does not lead from the batch to the root that was signed; it was altered")]
    OtherRoot,
}

/// Nothing can be proved.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The event was not signed yet.
    #[error("session {session}: event {} was not signed yet{}; run `annals sign`, then prove it",
        seq.0, signed.map_or(String::new(), |last| format!(" (signed up to event {})", last.0)))]
    NotSigned {
        /// The session.
        session: SessionId,
        /// The event.
        seq: Seq,
        /// The last event that was signed.
        signed: Option<Seq>,
    },
    /// The log contradicts what was signed.
    #[error("session {session} does not continue what was signed: `annals verify --signed` says where")]
    Contradicted {
        /// The session.
        session: SessionId,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Proves that the batch with event `seq` of a session was signed; without `seq` the last batch that was. The heads are those
/// that the checkpoint covers. Reads the session up to its signed head.
///
/// # Errors
/// When the event was not signed, or the log contradicts what was.
pub async fn prove(
    log: &dyn EventLog,
    list: &HeadList,
    checkpoint: SignedCheckpoint,
    session: SessionId,
    seq: Option<Seq>,
) -> Result<InclusionProof, ProveError> {
    let (index, head) = match list.latest(session) {
        Some(found) if seq.is_none_or(|seq| seq <= found.1.seq) => found,
        found => {
            let signed = found.map(|(_, head)| head.seq);
            return Err(ProveError::NotSigned { session, seq: seq.unwrap_or(Seq::ZERO), signed });
        }
    };
    let seq = seq.unwrap_or(head.seq);
    let (mut hashes, mut wanted) = (Vec::new(), None);
    each_batch(log, session, (Seq::ZERO, head.seq.plus(1)), |batch| {
        if (batch.first..=batch.last).contains(&seq) {
            wanted = Some((hashes.len(), batch));
        }
        hashes.push(batch.hash());
    })
    .await?;
    let contradicted = || ProveError::Contradicted { session };
    let (place, batch) = wanted.ok_or_else(contradicted)?;
    let batch_path = inclusion_path(&hashes, place).ok_or_else(contradicted)?;
    let path = inclusion_path(&list.hashes(), index).ok_or_else(contradicted)?;
    let proof = InclusionProof {
        batch,
        place: (place as u64, hashes.len() as u64),
        batch_path,
        session,
        seq: head.seq,
        digest: head.digest,
        salt: head.salt,
        index: index as u64,
        path,
        checkpoint,
    };
    proof.check().map_err(|_| contradicted())?;
    Ok(proof)
}

impl InclusionProof {
    /// Verifies that the batch leads to the root of the checkpoint. Its signatures are verified by
    /// [`super::signers::AllowedSigners::verify`].
    ///
    /// # Errors
    /// When it does not.
    pub fn check(&self) -> Result<(), ProofError> {
        let (place, batches) = self.place;
        let root = root_from_path(self.batch.hash(), place, batches, &self.batch_path).ok_or(ProofError::OtherRoot)?;
        let is_last = place + 1 == batches;
        let is_signed_head = self.batch.last == self.seq && self.batch.digest == self.digest;
        if self.batch.first > self.batch.last || self.batch.last > self.seq || is_last != is_signed_head {
            return Err(ProofError::OtherRoot);
        }
        let leaf = head_hash(self.session, self.seq, self.digest, (batches, root), self.salt);
        let head = &self.checkpoint.head;
        match root_from_path(leaf, self.index, head.size, &self.path) {
            Some(root) if root == head.root => Ok(()),
            _ => Err(ProofError::OtherRoot),
        }
    }

    fn extra(&self) -> String {
        let Self { batch: BatchRange { first, last, digest: proved }, session, seq, digest, salt, .. } = self;
        let (place, batches) = self.place;
        let path: String = self.batch_path.iter().map(|hash| format!("{hash}\n")).collect();
        format!(
            "{EXTRA}\nbatch {} {} {proved}\nplace {place} {batches}\n{path}session {session} {} {digest}\nsalt {salt}\n",
            first.0, last.0, seq.0
        )
    }
}

impl fmt::Display for InclusionProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FORMAT}\nextra {}\nindex {}", STANDARD.encode(self.extra()), self.index)?;
        self.path.iter().try_for_each(|hash| writeln!(f, "{hash}"))?;
        write!(f, "\n{}", self.checkpoint)
    }
}

impl FromStr for InclusionProof {
    type Err = ProofError;

    fn from_str(text: &str) -> Result<Self, ProofError> {
        let (proof, checkpoint) =
            text.split_once("\n\n").ok_or(ProofError::Malformed("no empty line before a checkpoint"))?;
        let checkpoint: SignedCheckpoint = checkpoint.parse()?;
        let parsed =
            parsed(proof, checkpoint).ok_or(ProofError::Malformed("its lines are not those of a proof of annals"))?;
        // One text for each proof: other spellings of a number or an id are refused.
        if parsed.to_string() == text {
            Ok(parsed)
        } else {
            Err(ProofError::Malformed("a value is not written in its plain form"))
        }
    }
}

/// Reads what is before the checkpoint.
fn parsed(proof: &str, checkpoint: SignedCheckpoint) -> Option<InclusionProof> {
    let mut lines = proof.strip_prefix(FORMAT)?.strip_prefix('\n')?.split('\n');
    let extra = STANDARD.decode(lines.next()?.strip_prefix("extra ")?).ok()?;
    let index = lines.next()?.strip_prefix("index ")?.parse().ok()?;
    let path = lines.map(str::parse).collect::<Result<_, _>>().ok()?;
    let extra = String::from_utf8(extra).ok()?;
    let mut lines = extra.strip_prefix(EXTRA)?.strip_prefix('\n')?.strip_suffix('\n')?.split('\n').peekable();
    let batch = words::<3>(lines.next()?, "batch ")?;
    let batch = BatchRange { first: number(batch[0])?, last: number(batch[1])?, digest: batch[2].parse().ok()? };
    let place = words::<2>(lines.next()?, "place ")?;
    let place = (place[0].parse().ok()?, place[1].parse().ok()?);
    let mut batch_path = Vec::new();
    while let Some(hash) = lines.next_if(|line| !line.starts_with("session ")) {
        batch_path.push(hash.parse().ok()?);
    }
    let head = words::<3>(lines.next()?, "session ")?;
    let (session, seq, digest) = (head[0].parse().ok()?, number(head[1])?, head[2].parse().ok()?);
    let salt = lines.next()?.strip_prefix("salt ")?.parse().ok()?;
    let is_end = lines.next().is_none();
    is_end.then_some(InclusionProof { batch, place, batch_path, session, seq, digest, salt, index, path, checkpoint })
}

fn number(text: &str) -> Option<Seq> {
    text.parse().ok().map(Seq)
}

/// The words of a line with this start.
fn words<'a, const N: usize>(line: &'a str, start: &str) -> Option<[&'a str; N]> {
    let words: Vec<&str> = line.strip_prefix(start)?.split(' ').collect();
    words.try_into().ok()
}
