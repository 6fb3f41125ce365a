//! The report of scenarios: failed expectations, captures and final views.

use super::{CapturedViews, Mismatch};
use serde_json::{Value, json};
use std::fmt;

/// The outcomes of scenario files. Reports of one file are equal byte for byte on every backend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScenarioReport {
    /// In the order of the command line.
    pub scenarios: Vec<ScenarioOutcome>,
}

/// The outcome of one scenario file.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioOutcome {
    /// The file, as named on the command line.
    pub file: String,
    /// The name of the scenario.
    pub name: String,
    /// Failed expectations, in order.
    pub failures: Vec<FailedExpectation>,
    /// All views, by label.
    pub captures: CapturedViews,
    /// All views at the end.
    pub last: Value,
}

/// A place where a view does not match an `expect`.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedExpectation {
    /// The index of the action in the script.
    pub action: usize,
    /// The difference.
    pub mismatch: Mismatch,
}

impl ScenarioReport {
    /// Whether every expectation of every file holds.
    pub fn passed(&self) -> bool {
        self.scenarios.iter().all(ScenarioOutcome::passed)
    }

    /// The document of `fixtures/scenarios/FORMAT.md`:
    /// `{scenarios: [{file, name, passed, failures, captures, final}]}`.
    pub fn to_json(&self) -> Value {
        json!({ "scenarios": self.scenarios.iter().map(ScenarioOutcome::to_json).collect::<Vec<_>>() })
    }
}

impl ScenarioOutcome {
    /// Whether every expectation holds.
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    fn to_json(&self) -> Value {
        let failures: Vec<Value> = self.failures.iter().map(FailedExpectation::to_json).collect();
        json!({
            "file": self.file,
            "name": self.name,
            "passed": self.passed(),
            "failures": failures,
            "captures": self.captures,
            "final": self.last,
        })
    }
}

impl FailedExpectation {
    fn to_json(&self) -> Value {
        let Mismatch { path, expected, found } = &self.mismatch;
        json!({ "action": self.action, "path": path, "expected": expected, "found": found })
    }
}

/// `action 4, history.1.text: expected "Thu", found "Wed"`; long values are cut.
impl fmt::Display for FailedExpectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { path, expected, found } = &self.mismatch;
        write!(f, "action {}, {path}: expected {}, found {}", self.action, brief(expected), brief(found))
    }
}

fn brief(value: &Value) -> String {
    const LIMIT: usize = 400;
    let text = value.to_string();
    match text.char_indices().nth(LIMIT) {
        Some((at, _)) => format!("{}… ({} characters)", text.get(..at).unwrap_or_default(), text.chars().count()),
        None => text,
    }
}
