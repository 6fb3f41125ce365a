//! Draws the answers of `annals-inspect` on a terminal.

pub mod audit;
pub mod cache;
pub mod diff;
pub mod timeline;
pub mod when;
pub mod why;
