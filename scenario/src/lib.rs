//! Scenarios: a whole Session told as data, and played through the real runtime (`docs/scenarios.md`).
//!
//! A scenario file says what the world looks like, what the user, the model and the tools do, and what must then be
//! true. [`Scenario::load`] reads one, strictly: whatever it does not know is an error that names file, JSON path and
//! reason, and nothing is run.

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
pub use pattern::{CapturedViews, Mismatch, ViewPattern, judge};
pub use player::{Backend, PlayError, play};
pub use record::{RecordError, record};
pub use report::{FailedExpectation, ScenarioOutcome, ScenarioReport};
pub use start::STARTER;
pub use template::Template;

use std::path::PathBuf;
use std::sync::Arc;

/// What is wrong inside a scenario, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct Invalid {
    /// JSON path, such as `$.script[3].prompt.text`.
    pub path: String,
    /// What is wrong there, and what would be right.
    pub reason: String,
}

/// A file is not a valid scenario. Nothing was run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LoadError {
    /// The file cannot be read: check its name and permissions.
    #[error("{}: {source}", file.display())]
    Read {
        /// Which file.
        file: PathBuf,
        /// What the system said.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// The file is not JSON: correct it at the line and column named.
    #[error("{}: $: not JSON: {source}", file.display())]
    Json {
        /// Which file.
        file: PathBuf,
        /// What the parser found.
        #[source]
        source: Arc<serde_json::Error>,
    },
    /// The JSON is not a scenario: correct what the path names.
    #[error("{}: {source}", file.display())]
    Invalid {
        /// Which file.
        file: PathBuf,
        /// What is wrong, and where.
        #[source]
        source: Invalid,
    },
}

#[cfg(test)]
mod tests;
