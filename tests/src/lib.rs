//! Annals.

pub mod aimock;
pub mod crash;
pub mod lives;
pub mod model;
pub mod scenarios;
