//! The `annals` command: shows logs, and runs agents that write them.
//!
//! One file per command in `commands`; answers go to stdout, remarks to stderr; exit status 0 fine, 1 bad news, 2 wrong
//! use. A command that looks never creates a store and never appends to one
//! (`docs/commands.md#common-to-all-commands`).
//!
//! The interface is [`app`]. The other modules are public for the tests of the workspace alone.
#![warn(missing_docs)]

pub mod app;
#[doc(hidden)]
pub mod command_context;
#[doc(hidden)]
pub mod commands;
#[doc(hidden)]
pub mod diagnostics;
#[doc(hidden)]
pub mod draw;
#[doc(hidden)]
pub mod editing;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod escape;
#[doc(hidden)]
pub mod host;
#[doc(hidden)]
pub mod host_error;
#[doc(hidden)]
pub mod import_into;
#[doc(hidden)]
pub mod import_secret;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod layout;
#[doc(hidden)]
pub mod message;
#[doc(hidden)]
pub mod pager;
mod passphrase;
#[doc(hidden)]
pub mod progress;
#[doc(hidden)]
pub mod remarks;
#[doc(hidden)]
pub mod signing_key;
#[doc(hidden)]
pub mod store_choice;
#[doc(hidden)]
pub mod style;
