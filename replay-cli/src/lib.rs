//! The `annals` command: shows logs, and runs agents that write them.
//!
//! One file per command in `commands`; answers go to stdout, remarks to stderr; exit status 0 fine, 1 bad news, 2 wrong
//! use. A command that looks never creates a store and never appends to one
//! (`docs/commands.md#common-to-all-commands`).
//!
//! The interface is [`app`]. What the tests of the workspace need of the rest is in `testing`, behind the feature of that name.
#![warn(missing_docs)]

mod acp;
mod ago;
pub mod app;
mod command_context;
mod commands;
mod diagnostics;
mod draw;
mod erasing;
mod error;
mod escape;
mod event_arg;
mod fold_arg;
mod host;
mod import_into;
mod import_secret;
mod json;
mod layout;
mod markdown;
mod message;
mod pager;
mod passphrase;
mod picker;
mod progress;
mod project_scope;
mod remarks;
mod resume;
mod session_choice;
mod shown_title;
mod style;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod testing;
mod time_arg;
