//! A laboratory for agents that are built on Annals.
//!
//! [`CrashLab`] runs a command that keeps its log in a store, and kills it at every append, flush to the device and tool call, one after
//! the other. Each time it starts the command again, and holds what it finds to the laws of resumption: nothing acknowledged is missing,
//! no call ran twice, nothing is left open, and every request can be rebuilt.
//!
//! [`FaultyProvider`] is a server with the protocols of three providers that refuses, breaks off, stalls, or sends invalid answers.
//!
//! The command is `annals dev lab`; `docs/lab.md` describes both.

mod crash_lab;
mod error;
mod laws;
mod provider;
mod report;
#[cfg(feature = "schema")]
mod schema;
mod trial;

pub use crash_lab::CrashLab;
pub use error::LabError;
pub use provider::{FaultyProvider, NoProviderFault, ProviderFault, ServedCall, ServedRequest};
pub use report::{LabFailure, LabReport, PlaceResult};
#[cfg(feature = "schema")]
pub use schema::{LAB_ANSWERS, lab_schema};
