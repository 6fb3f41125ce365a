//! Questions about the past of a session: why, when, what differs, what a cache could keep, where something began, and
//! whether every recorded request can be rebuilt.
//!
//! Every answer is plain data (serde structs) computed from the log and its folds, for our own sessions and for imported
//! ones; drawing belongs to the caller. Provenance is what the folds carry: nothing is searched afterwards to guess it.
//! Where the log lacks a fact that an answer needs, the answer names it ([`Lack`]). Described in `docs/questions/`.
//!
//! ```text
//! EventLog ─► Reader ── a name, an event, a turn ──► SessionAt (log, saved views, session, until)
//!             reader, message_ref                       │
//!                                                       ├─► view, records, steps        folds of annals-projections
//!                                                       ├─► why, when, cache, bisect    provenance that the folds carry
//!                                                       ├─► diff, view_diff             two sessions, requests or cuts
//!                                                       ├─► prove, certify, goldens     digests and bodies compared
//!                                                       └─► timeline, statistics        what a person reads
//!                                     signing             heads signed, verified, proved, witnessed
//!                                                                  │
//!                              structs (serde; `schema`) ◄─────────┘   drawing and exit codes: annals-cli
//! ```
#![warn(missing_docs)]

pub mod bisect;
pub mod cache;
pub mod certify;
pub mod diff;
mod error;
pub mod format;
pub mod goldens;
pub mod message_ref;
pub mod prove;
mod questions;
pub mod reader;
mod request;
#[cfg(feature = "schema")]
pub mod schema;
mod session_at;
pub mod signing;
pub mod timeline;
pub mod view_diff;
pub mod views;
pub mod when;
pub mod why;

pub use annals_projections::{IndexedRequest, RequestEnd, RequestIndex, Statistics, StatisticsSummary};
pub use error::AskError;
pub use request::{Asked, Built, Lack, each_request};
pub use session_at::{Fact, SessionAt};
