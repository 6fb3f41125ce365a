//! The agent runtime of Annals: what observes the world, decides, and appends.
#![warn(missing_docs)]

pub mod context;
pub mod ports;
pub mod scenario;
pub mod tools;
pub mod views;
pub mod worktree;

pub use annals_store::Boxed;
