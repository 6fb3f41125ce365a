//! Draws the answers of `annals-inspect` on a terminal.

pub mod audit;
pub mod cache;
pub mod diff;
pub mod timeline;
pub mod transcript_diff;
pub mod when;
pub mod why;
