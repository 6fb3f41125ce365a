//! Annals.

pub mod crash;
