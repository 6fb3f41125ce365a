//! The `annals` command: shows logs, and runs agents that write them.
//!
//! One file per command in [`commands`]; answers go to stdout, remarks to stderr; exit status 0 fine, 1 bad news, 2 wrong
//! use. A command that looks never creates a store and never appends to one
//! (`docs/commands.md#common-to-all-commands`).
#![warn(missing_docs)]

pub mod app;
pub mod command_context;
pub mod commands;
pub mod config;
pub mod diagnostics;
pub mod draw;
pub mod editing;
pub mod error;
pub mod escape;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod host;
mod host_error;
pub mod import_into;
pub mod import_secret;
pub mod json;
pub mod layout;
pub mod message;
pub mod pager;
mod passphrase;
pub mod progress;
pub mod remarks;
pub mod signing_key;
pub mod store_choice;
pub mod style;
