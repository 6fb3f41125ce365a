//! The `annals` command: shows logs, and runs agents that write them.
//!
//! One file per command in `commands`; answers go to stdout, remarks to stderr; exit status 0 fine, 1 bad news, 2 wrong
//! use. A command that looks never creates a store and never appends to one
//! (`docs/commands.md#common-to-all-commands`).
//!
//! The interface is [`app`]. What the tests of the workspace need of the rest is in `testing`, behind the feature of that name.

pub mod app;
mod command_context;
mod commands;
mod erasing;
mod error;
mod event_arg;
mod fold_arg;
mod import_into;
mod import_secret;
mod matching;
mod parent;
mod project_scope;
mod refresh;
mod session_choice;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod testing;
mod time_arg;

use annals_terminal::{
    ago, diagnostics, draw, escape, json, layout, live, message, pager, picker, progress, remarks, shown_title, style,
};
