//! Sessions through the wire protocols of providers.

mod aimock;
mod answers;
mod opencode;
mod sessions;
mod windows;
mod world;
