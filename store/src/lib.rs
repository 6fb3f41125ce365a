//! The log of Annals: one trait, [`EventLog`], and its implementations.
//!
//! [`SharedLog`] is the store in a folder as every process uses it: one of them owns the [`DiskLog`] and serves the
//! others. [`MemoryLog`] keeps a log in memory. [`exchange`] writes sessions to files, reads them back, and proves that
//! nothing was altered. A [`LogLayer`] wraps a log and implements only what differs. Every backend passes the
//! public [`conformance`] suite, and shares what does not depend on where batches lie: [`append_rules`] (what may follow what),
//! [`lineage`] (how a fork reads through to its ancestors) and [`following`] (replay, one marker, then live).
//!
//! `docs/reference/store.md` has the exact rules.

pub mod append_rules;
pub mod cache;
pub mod conformance;
pub mod crash_point;
pub mod disk;
mod displaced;
pub mod erasure;
pub mod exchange;
pub mod filling;
pub mod following;
mod hung_owner;
pub mod ipc;
mod layer;
pub mod lineage;
pub mod log;
pub mod memory;
#[cfg(feature = "nats")]
pub mod nats;
pub mod signing;
mod store_id;
mod text_removal;
pub mod views;

/// Programs that tests need: the list of `annals_tests::needed`.
#[cfg(test)]
#[allow(dead_code, unused_macros, unused_imports)]
#[path = "../../tests/src/needed.rs"]
mod needed;

pub use disk::{DiskLog, OpenError, OpenMode, OpeningReport, ReadOnlyLog};
pub use hung_owner::HungOwner;
pub use ipc::{Ownership, SharedError, SharedLog};
pub use layer::LogLayer;
pub use log::{
    Acknowledged, AppendError, Appended, Boxed, Committed, Draft, EventLog, Followed, Following, Head, HeldLease,
    NoCursor, PageToken, Pages, PagesBack, Position, Promises, ReadError, Scope, SessionHead, SessionLeases,
    SessionList, SessionListPage, Slice, StoreCursor, StorePlace, Stray,
};
pub use memory::MemoryLog;
