//! The log of Annals: one trait, [`EventLog`], and what stands behind it.
//!
//! [`SharedLog`] is the store in a folder as every process uses it: one of them owns the [`DiskLog`] and serves the
//! others. [`MemoryLog`] keeps a log in memory. [`exchange`] writes Sessions to files, reads them back, and proves that
//! nothing was altered. A [`LogLayer`] stands before a log and says only where it differs. Every backend passes the
//! public [`conformance`] suite, and shares what does not depend on where Batches lie: [`append_rules`] (what may stand where),
//! [`lineage`] (how a fork reads through to its ancestors) and [`following`] (replay, one marker, then live).
//!
//! `docs/reference/store.md` has the exact rules.
#![warn(missing_docs)]

pub mod append_rules;
pub mod cache;
pub mod conformance;
pub mod disk;
mod displaced;
pub mod exchange;
pub mod following;
mod hung_owner;
pub mod ipc;
mod layer;
pub mod lineage;
pub mod log;
pub mod memory;
mod store_id;
pub mod views;

pub use disk::{DiskLog, OpenError, OpenMode, OpeningReport, ReadOnlyLog};
pub use hung_owner::HungOwner;
pub use ipc::{Ownership, SharedError, SharedLog};
pub use layer::LogLayer;
pub use log::{
    AppendError, Appended, Boxed, Committed, Draft, EventLog, Followed, Following, Head, Position, ReadError, Scope,
    SessionHead, Slice,
};
pub use memory::MemoryLog;
