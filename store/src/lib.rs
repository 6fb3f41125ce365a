//! The log of Annals: one trait, [`EventLog`], and what stands behind it.
//!
//! DESIGN sections 2 and 3.
#![warn(missing_docs)]

pub mod log;

pub use log::{
    AppendError, Boxed, Committed, Draft, EventLog, Followed, Following, Head, Position, ReadError, Scope, SessionHead,
    Slice,
};
