//! What keeps a session from saying or allowing too much: secrets are replaced in texts ([`redaction`], `docs/redaction.md`), and an
//! `always` covers what resembles the call that was asked for, never the files that other programs obey ([`Coverage`],
//! `docs/reference/permissions.md`).
#![warn(missing_docs)]

mod coverage;
mod obeyed;
pub mod redaction;

pub use coverage::{Coverage, command_prefix, exact_rules};
pub use obeyed::{OBEYED_IN_USE, OBEYED_UNASKED, guarded_patterns, guarded_resource, is_obeyed_unasked};
