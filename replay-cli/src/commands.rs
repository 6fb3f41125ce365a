//! One file per command: its arguments, whose doc comment is the help text, and what it does.

pub mod context;
pub mod export;
pub mod history;
pub mod log;
pub mod replay;
pub mod sessions;
pub mod show;
pub mod transcript;
pub mod usage;
pub mod verify;
