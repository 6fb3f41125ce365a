//! One store, many processes: the first that opens it owns it and serves it to the others
//! (`docs/reference/store.md#ownership`).
//!
//! A guest's call is one message over the Unix-domain socket in the store's folder, its answer another; a follower has
//! its own connection. Long stretches of sealed segments it reads from the files itself. When the owner ends, its guests race for the lock: one becomes the owner, the others its
//! guests, and pending calls are repeated. That is safe, since appending the same batch twice has no effect.

mod client;
mod connections;
mod following;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod hung_owner;
mod log;
mod messages;
mod owner_connections;
mod role;
mod sealed_files;
mod server;
mod socket;
mod wire;

pub use client::RemoteLog;
pub use log::{Ownership, SharedLog};
pub use owner_connections::ConnectError;
pub use role::{PATIENCE, SharedError};
pub use server::{Server, serve};

pub use socket::SOCKET;
pub use wire::PROTOCOL;

#[cfg(test)]
mod tests;
