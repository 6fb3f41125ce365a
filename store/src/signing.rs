//! Signed heads: checkpoints over where sessions end, and what they prove (`docs/reference/signing.md`).
//!
//! ```text
//! log ─► continuity (advance) ─► heads (one leaf per head) ─► tree ─► checkpoint ─► note + key or ssh ─► folder
//!                                                              └─► proof (of one batch), witness (of growth)
//! ```
//! All but `folder`, `key_file`, `records` and `ssh_keygen` is free of files, clock and randomness: those come as arguments.

pub mod checkpoint;
pub mod continuity;
mod files;
pub mod folder;
pub mod heads;
pub mod key;
pub mod key_file;
pub mod note;
pub mod proof;
pub mod records;
pub mod signers;
pub mod ssh;
pub mod ssh_keygen;
pub mod tree;
pub mod witness;

#[cfg(test)]
mod tests;
