//! Fuzzing without a nightly compiler: every parser of bytes that others wrote, with inputs of a seeded mutator.
//!
//! The input of a round depends on the name of its target, the seed and the number of the round alone, so that a failure can
//! be repeated from what it prints. `fuzz` (in `fuzz_command.rs`) runs targets for a time, `tests/tests/crash/fuzz.rs` for some
//! rounds.

mod config;
mod corpus;
mod mutator;
mod run;
mod targets;

pub use corpus::corpus;
pub use mutator::{Mutator, SIZE_MAX};
pub use run::{Failure, Limits, Why, run, run_one};
pub use targets::{TARGETS, Target};
