//! Annals.
pub mod scenario;
