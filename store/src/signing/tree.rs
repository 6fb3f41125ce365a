//! The Merkle tree of RFC 6962 over SHA-256: roots, inclusion proofs and consistency proofs.
//!
//! Hashes of leaves and of inner nodes have different prefixes, so that a node is never mistaken for a leaf. A tree of n
//! leaves is split at the largest power of two below n. Proofs list hashes from the leaf's sibling upwards.

mod frontier;
mod hash;
mod proofs;

pub use frontier::Frontier;
pub use hash::{NotATreeHash, TreeHash};
pub use proofs::{consistency_path, inclusion_path, is_consistent, root_from_path};

/// The size of the left subtree of a tree of `size` leaves: the largest power of two below it. `size` is at least 2.
fn split(size: usize) -> usize {
    1 << (size - 1).ilog2()
}

/// The root of the tree with these hashes of leaves.
pub fn root_of(leaves: &[TreeHash]) -> TreeHash {
    let mut frontier = Frontier::default();
    leaves.iter().for_each(|leaf| frontier.push(*leaf));
    frontier.root()
}

#[cfg(test)]
mod tests;
