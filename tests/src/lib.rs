//! Annals.

pub mod aimock;
pub mod crash;
pub mod fuzz;
pub mod lives;
pub mod model;
pub mod needed;
pub mod scenarios;
