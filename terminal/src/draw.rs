//! Draws the answers of `annals-inspect` on a terminal.

pub mod audit;
pub mod cache;
pub mod changes;
pub mod compactions;
pub mod context;
pub mod diff;
pub mod doctor;
pub mod event;
pub mod events;
pub mod history;
pub mod import;
pub mod replay;
pub mod search;
pub mod sessions;
pub mod signatures;
pub mod spending;
pub mod spending_line;
pub mod timeline;
pub mod transcript_diff;
pub mod usage;
pub mod verify;
pub mod when;
pub mod why;
