//! The proof that nothing was altered: every digest, every link of the chain, every blob, no Seq missing.
//!
//! Damage never ends a verification: each is reported once, with its place, and the rest is checked as well. The rules are
//! those of `fixtures/FORMAT.md`, for a file and for a log alike.

mod absent;
mod chain;
mod file;
mod flaw;
mod known_batches;
mod log;
mod proving;
mod report;

pub use file::verify_file;
pub use flaw::{Flaw, KeptPlace};
pub use log::{verify_session, verify_sessions, verify_store};
pub use report::{DAMAGE_MAX, Damage, DamagePlace, KeptDigest, Proven, VerifyReport, WithheldTexts};
