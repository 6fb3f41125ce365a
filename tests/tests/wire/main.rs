//! Sessions through the wire protocols of providers.

mod aimock;
mod answers;
#[allow(dead_code, reason = "shared with the tests of the command")]
#[path = "../cli/command.rs"]
mod command;
mod opencode;
mod sessions;
mod windows;
mod world;
