//! One store, many processes: whoever opens it first owns it and serves it to the others
//! (`docs/reference/store.md#ownership`).
//!
//! A guest's call is one message over the Unix-domain socket in the store's folder, its answer another; a follower has
//! a connection to itself. When the owner goes, its guests race for the lock: one becomes the owner, the others its
//! guests, and calls that were under way are made again. That is safe, since appending the same Batch again is.

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
