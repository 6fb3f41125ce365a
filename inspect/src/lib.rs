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
//!             │                                         ├─► view, records, steps, walk  folds of annals-projections
//!             ├─► search, tree, sessions                ├─► why, when, cache, bisect    provenance that the folds carry
//!             │   over all sessions of the store        ├─► diff, view_diff             two sessions, requests or cuts
//!             │                                         ├─► requests, prove, certify    digests and bodies compared
//!             │                                         ├─► compactions, usage          what left the view, tokens and cost
//!             │                                         ├─► pins, reverts               what an edit may change, before it does
//!             │                                         └─► timeline, statistics, audit what a person reads
//!             ├─► safety                              what was allowed by whom, and how far
//!             ├─► signing                               heads signed, verified, proved, witnessed
//!             │                                                    │
//!             └──────────────── structs (serde; `schema`) ◄────────┘   drawing and exit codes: annals-cli
//! ```

pub mod audit;
pub mod bisect;
pub mod blame;
mod body_proof;
mod body_text;
mod body_view;
pub mod cache;
pub mod certify;
pub mod compactions;
pub mod diff;
mod error;
pub mod file_history;
mod fold_command;
pub mod format;
pub mod goldens;
mod joined;
pub mod live_store;
pub mod message_ref;
pub mod pins;
pub mod pricing;
pub mod prove;
mod questions;
pub mod reader;
mod recorded_body;
pub mod recorded_path;
pub mod recordings;
pub mod report;
mod request;
mod request_fold;
pub mod requests;
pub mod reruns;
pub mod resume;
pub mod reverts;
pub mod safety;
mod saved;
mod saving;
#[cfg(feature = "schema")]
pub mod schema;
pub mod search;
mod session_at;
pub mod sessions;
pub mod signing;
pub mod spending;
pub mod timeline;
pub mod touched_files;
pub mod tree;
pub mod verified;
pub mod view_diff;
pub mod views;
pub mod walk;
pub mod what_if;
pub mod when;
pub mod why;
mod withheld;

pub use annals_projections::{IndexedRequest, RequestEnd, RequestIndex, Statistics, StatisticsSummary};
pub use error::AskError;
pub use fold_command::{FoldCommand, FoldEvery, ProgramView, ProgramViewJson};
pub use request::{Asked, Built, Lack, each_request};
pub use session_at::{Fact, SessionAt};
pub use withheld::WithheldParts;
