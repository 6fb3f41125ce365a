//! The log of Annals: one trait, [`EventLog`], and what stands behind it.
//!
//! [`MemoryLog`] keeps it in memory. Every backend passes the public [`conformance`] suite, and shares what does not
//! depend on where Batches lie: [`placing`] (what may stand where), [`lineage`] (how a fork reads through to its
//! ancestors) and [`following`] (replay, one marker, then live).
//!
//! DESIGN sections 2 and 3.
#![warn(missing_docs)]

pub mod cache;
pub mod conformance;
pub mod disk;
pub mod exchange;
pub mod following;
pub mod lineage;
pub mod log;
pub mod memory;
pub mod placing;
pub mod shared;

pub use disk::{DiskLog, OpenError, OpenMode, OpeningReport};
pub use log::{
    AppendError, Boxed, Committed, Draft, EventLog, Followed, Following, Head, Position, ReadError, Scope, SessionHead,
    Slice,
};
pub use memory::MemoryLog;
