//! What a witness checks before it counter-signs (<https://c2sp.org/tlog-witness>): that a log only grew.

use super::checkpoint::{CheckpointError, SignedCheckpoint, TreeHead};
use super::tree::{TreeHash, consistency_path, is_consistent};
use std::fmt;
use std::str::FromStr;

/// The longest consistency proof, in hashes.
const PATH_MAX: usize = 63;

/// A checkpoint, and the proof that it extends an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessRequest {
    /// The size of the earlier checkpoint and the proof; `None` for a checkpoint alone.
    pub growth: Option<(u64, Vec<TreeHash>)>,
    /// The new checkpoint.
    pub checkpoint: SignedCheckpoint,
}

/// A witness does not counter-sign.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WitnessRefusal {
    /// The proof starts elsewhere than at the last checkpoint seen.
    #[error("the last checkpoint seen from {origin} has size {seen}: ask for `annals prove --since {seen}`")]
    NeedsProof {
        /// The log.
        origin: String,
        /// The size of the last checkpoint seen.
        seen: u64,
    },
    /// The log is smaller than it was.
    #[error("{origin} had {seen} signed heads and now has {size}: heads that were signed are gone")]
    Shrunk {
        /// The log.
        origin: String,
        /// The size of the last checkpoint seen.
        seen: u64,
        /// The size now.
        size: u64,
    },
    /// The log does not extend the checkpoint that was seen.
    #[error("checkpoint {size} of {origin} does not extend checkpoint {seen}: what was signed was rewritten")]
    Inconsistent {
        /// The log.
        origin: String,
        /// The size of the last checkpoint seen.
        seen: u64,
        /// The size now.
        size: u64,
    },
}

impl WitnessRequest {
    /// The request for a witness that has seen the first `old` of these leaves; `None` when there were never so many.
    pub fn new(hashes: &[TreeHash], old: u64, checkpoint: SignedCheckpoint) -> Option<Self> {
        let path = consistency_path(hashes, usize::try_from(old).ok()?)?;
        Some(Self { growth: Some((old, path)), checkpoint })
    }

    /// Checks that the checkpoint extends the last one seen from its origin. The signatures are verified elsewhere.
    ///
    /// # Errors
    /// Why it must not be counter-signed.
    pub fn check(&self, seen: Option<&TreeHead>) -> Result<(), WitnessRefusal> {
        let head = &self.checkpoint.head;
        let (origin, size) = (head.origin.clone(), head.size);
        let Some(seen) = seen else {
            return match &self.growth {
                Some((old, path)) if *old > 0 || !path.is_empty() => {
                    Err(WitnessRefusal::NeedsProof { origin, seen: 0 })
                }
                _ => Ok(()),
            };
        };
        if size < seen.size {
            return Err(WitnessRefusal::Shrunk { origin, seen: seen.size, size });
        }
        let none = (seen.size, Vec::new());
        let (old, path) = match &self.growth {
            None if size == seen.size || seen.size == 0 => &none,
            Some(growth) if growth.0 == seen.size => growth,
            _ => return Err(WitnessRefusal::NeedsProof { origin, seen: seen.size }),
        };
        match is_consistent(*old, seen.root, size, head.root, path) {
            true => Ok(()),
            false => Err(WitnessRefusal::Inconsistent { origin, seen: seen.size, size }),
        }
    }
}

impl fmt::Display for WitnessRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((old, path)) = &self.growth {
            writeln!(f, "old {old}")?;
            path.iter().try_for_each(|hash| writeln!(f, "{hash}"))?;
            writeln!(f)?;
        }
        self.checkpoint.fmt(f)
    }
}

impl FromStr for WitnessRequest {
    type Err = CheckpointError;

    fn from_str(text: &str) -> Result<Self, CheckpointError> {
        // A checkpoint whose origin begins like this has no empty line behind a number.
        let Some((growth, checkpoint)) = text.strip_prefix("old ").and_then(|rest| rest.split_once("\n\n")) else {
            return Ok(Self { growth: None, checkpoint: text.parse()? });
        };
        let mut lines = growth.split('\n');
        let number = lines.next().unwrap_or_default();
        let old: u64 = number.parse().map_err(|_| CheckpointError("the old size is not a number"))?;
        let path: Result<Vec<TreeHash>, _> = lines.map(str::parse).collect();
        let path = path.map_err(|_| CheckpointError("a line of the proof is not a hash of 32 bytes in base64"))?;
        if old.to_string() != number || path.len() > PATH_MAX {
            return Err(CheckpointError("the old size is not a plain number, or the proof is too long"));
        }
        Ok(Self { growth: Some((old, path)), checkpoint: checkpoint.parse()? })
    }
}
