//! The vocabulary of Annals: ids, events, batches, digests, and the pure decisions about them.
//!
//! A [`Record`] is a fact ([`Event`]) with its place in a session's log. Events that are appended together or not at all
//! are a [`Batch`]; each batch carries a [`Digest`] that chains it to the one before. Every view is a fold of
//! records (crate `annals-projections`); every change is a batch appended at an expected [`Seq`] (crate
//! `annals-store`).
//!
//! ```text
//! id, seq, time, text ─► event (groups, catalogue) ─► batch ─► seal (texts to blobs, digest chain) ─► codec
//!                          │         │                                └─► canonical ─► digest
//!                          │         └─► legal: which events may follow which
//!                          └─► context: Observation ─► reconcile ─► events       permission, bound: decisions
//! ```
//!
//! **Invariant**: nothing here does I/O, reads a clock, draws a random number or iterates a hash map. `no_std` makes
//! that a compile error.
#![no_std]

extern crate alloc;

pub mod absent;
pub mod batch;
pub mod bound;
pub mod canonical;
pub mod codec;
pub mod commitment;
pub mod context;
pub mod digest;
pub mod disclose;
mod erase;
pub mod event;
pub mod exported;
mod fill;
pub mod id;
mod left_out;
pub mod legal;
mod payload;
pub mod permission;
#[cfg(feature = "schema")]
pub mod schema;
pub mod seal;
pub mod seq;
pub mod text;
pub mod time;

pub use absent::{AbsentText, KnownText, TextState, TextStates};
pub use batch::{Batch, Cut, Record};
pub use commitment::{Commitment, ImportSecret, SessionKey, StoredKey, TextKey};
pub use context::{Entry, Key, Snapshot};
pub use digest::{BlobHash, Digest, Digester};
pub use disclose::{DiscloseError, Disclosure, TextAt};
pub use event::{Event, Kind};
pub use fill::{FillError, FillKeys, FilledBatch};
pub use id::{AgentName, CallId, InputId, ModelName, PermissionId, RequestId, SessionId};
pub use legal::{Illegal, Legality};
pub use seal::{SealError, Sealed};
pub use seq::Seq;
pub use text::{BlobRef, Blobs, Json, NoBlobs, Text};
pub use time::Time;
