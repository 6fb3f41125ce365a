//! A hash in a tree.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// The SHA-256 hash of a leaf, of a node, or of a whole tree; base64 as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TreeHash(pub [u8; 32]);

/// A text is not a hash: 32 bytes in base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a hash of 32 bytes in base64")]
pub struct NotATreeHash;

impl TreeHash {
    /// The root of the tree without leaves.
    pub fn of_nothing() -> Self {
        Self(Sha256::digest([]).into())
    }

    /// The hash of a leaf with this content.
    pub fn of_leaf(entry: &[u8]) -> Self {
        Self(Sha256::new_with_prefix([0]).chain_update(entry).finalize().into())
    }

    /// The hash of a node with these children.
    pub fn of_children(left: Self, right: Self) -> Self {
        Self(Sha256::new_with_prefix([1]).chain_update(left.0).chain_update(right.0).finalize().into())
    }
}

impl fmt::Display for TreeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for TreeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TreeHash({self})")
    }
}

impl FromStr for TreeHash {
    type Err = NotATreeHash;

    fn from_str(text: &str) -> Result<Self, NotATreeHash> {
        // One text for each hash: the decoder refuses bits behind the last byte.
        let bytes = STANDARD.decode(text).map_err(|_| NotATreeHash)?;
        bytes.try_into().map(Self).map_err(|_| NotATreeHash)
    }
}
