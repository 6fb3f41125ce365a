//! Scenarios: sessions described as data and played by the real runtime (`docs/scenarios.md`).
//!
//! ```text
//!  FILE.json   load, check     Scenario { session, agents, models, script: [Action] }
//!                                   |
//!  player.rs   for each action      |     `restart` and `crash` end the process and start another one
//!                                   v
//!  +- Process -----------------+   +- ScriptedWorld -----------------------------+
//!  | annals-runtime over a     |   | clock, ids, files, captures                 |
//!  | CrashingLog over          |<->| declared sources, tools, skills             |
//!  | MemoryLog or DiskLog      |   | queued answers of the provider and the user |
//!  +---------------------------+   +---------------------------------------------+
//!                | fold                      | requests, runs, files
//!                +-----------+   +-----------+
//!                            v   v
//!  views.rs    every view by name ---> ViewPattern (`expect`), captures ---> ScenarioReport
//!
//!  record/     a recorded log ---> script and expectation of a new FILE.json
//! ```
//!
//! A file describes the world, what the user, the model and the tools do, and what must then be true. [`Scenario::load`] reads
//! it strictly: anything unknown is an error with file, JSON path and reason, and nothing is run.

pub mod action;
mod check;
mod crash;
mod crashing_log;
pub mod file;
mod json;
mod load;
mod names;
pub mod pattern;
pub mod player;
mod process;
mod reader;
pub mod record;
pub mod report;
mod start;
pub mod template;
mod views;
mod world;

pub use action::Action;
pub use file::Scenario;
pub use pattern::{CapturedViews, Mismatch, ViewPattern, judge, value_judge};
pub use player::{Backend, PlayError, play};
pub use record::{RecordError, record};
pub use report::{FailedExpectation, ScenarioOutcome, ScenarioReport};
pub use start::STARTER;
pub use template::Template;

use std::path::PathBuf;
use std::sync::Arc;

/// An error in a scenario file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct Invalid {
    /// JSON path, such as `$.script[3].prompt.text`.
    pub path: String,
    /// What is wrong, and what is expected.
    pub reason: String,
}

/// A file is not a valid scenario. Nothing was run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read: check its name and permissions.
    #[error("{}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// The file is not JSON: correct it at the line and column named.
    #[error("{}: $: not JSON: {source}", file.display())]
    Json {
        /// The file.
        file: PathBuf,
        /// The error of the parser.
        #[source]
        source: Arc<serde_json::Error>,
    },
    /// The JSON is not a scenario: correct what the path names.
    #[error("{}: {source}", file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// The error and its path.
        #[source]
        source: Invalid,
    },
}

#[cfg(test)]
mod tests;
