//! The log on NATS JetStream: the same sessions, folds and digests on several servers (`docs/cluster.md`).
//!
//! ```text
//! append ─► known head (session, token) ─► seal ─► publish if the subject's last message is `token` ─► ack: flushed by a majority
//!                        lost answer ─► read the head again ─► is this batch there? ─► committed, conflict, or the same publish again
//! read   ◄─ head from the leader ◄─ pages from any replica, each contiguous up to that head ◄─ the rest from the leader
//! ```
//! A store is a number of streams: each session is one subject of one of them, each batch one message. What servers answer is checked:
//! event numbers are dense, each payload has a checksum, each batch is of the session that it was asked for.

pub mod address;
mod api;
mod appending;
mod blobs;
mod connection;
mod create;
mod erasing;
mod error;
mod followed_shard;
mod following;
mod generation;
mod layout;
mod leases;
mod lineages;
mod log;
mod message;
mod monitor;
mod named_texts;
mod places;
mod reading;
mod sessions;
mod strays;

pub use address::{AddressError, NatsAddress, NatsLogin};
pub use create::{NatsCreate, NatsCreated, create, remove};
pub use erasing::{ErasureLeases, NatsEraseError, NatsErased, PendingNatsErasure};
pub use error::NatsError;
pub use leases::{NatsLease, NatsLeases};
pub use log::{NatsLog, NatsOptions};
