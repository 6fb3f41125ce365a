//! The report: what held, what did not, and every view that the file asked to keep.

use super::{CapturedViews, Mismatch};
use serde_json::{Value, json};
use std::fmt;

/// What came of playing some scenario files. Two runs of one file give the same bytes, on every backend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScenarioReport {
    /// In the order in which the files were named.
    pub scenarios: Vec<ScenarioOutcome>,
}

/// What came of one scenario file.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioOutcome {
    /// The file, as it was named.
    pub file: String,
    /// What it shows.
    pub name: String,
    /// Every `expect` that did not hold, in order.
    pub failures: Vec<FailedExpectation>,
    /// All views, by label.
    pub captures: CapturedViews,
    /// All views at the end.
    pub last: Value,
}

/// One place where a view was not what an `expect` says.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedExpectation {
    /// The index of the action in the script.
    pub action: usize,
    /// Where, and what.
    pub mismatch: Mismatch,
}

impl ScenarioReport {
    /// Whether every `expect` of every file held.
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
    /// Whether every `expect` held.
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
