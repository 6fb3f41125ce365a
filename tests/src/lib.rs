//! Annals.

pub mod crash;
pub mod lives;
