//! One file per command: its arguments, whose doc comment is the help text, and what it does.

pub mod bisect;
pub mod cache;
pub mod certify;
pub mod compactions;
pub mod completions;
pub mod context;
pub mod diff;
pub mod doctor;
pub mod export;
pub mod fixture;
pub mod history;
pub mod import;
pub mod log;
pub mod pin;
pub mod replay;
pub mod requests;
pub mod scenario;
pub mod schema;
pub mod search;
pub mod sessions;
pub mod show;
pub mod transcript;
pub mod usage;
pub mod verify;
pub mod when;
pub mod why;
