//! For the tests of a host: a provider that follows a script, a clock that is advanced by hand, output files in memory.
//!
//! With `MemoryLog` of `annals-store`, `MemoryFilesystem`, `SeededIds`, `FixedApprover` and `FixedDefinitions`, which real hosts
//! use as well, a whole runtime runs in a test without a file, a network or a real clock, and twice the same way
//! (`runtime/examples/own_agent.rs`).

mod manual_clock;
mod memory_outputs;
mod scripted_provider;

pub use manual_clock::ManualClock;
pub use memory_outputs::MemoryOutputs;
pub use scripted_provider::{During, ScriptedAttempt, ScriptedCall, ScriptedEnd, ScriptedProvider};
