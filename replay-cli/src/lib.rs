//! The `annals` command.

pub mod import;
