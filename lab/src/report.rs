//! What the crash laboratory found.

use annals_core::{Seq, SessionId};
use annals_store::crash_point::{CrashPlace, ReachedPoint};
use serde::Serialize;
use std::path::PathBuf;

/// What the crash laboratory found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabReport {
    /// How many points the command reached without a crash.
    pub points: u64,
    /// How many times it was killed.
    pub killed: u64,
    /// Number of these after which it resumed correctly.
    pub resumed: u64,
    /// Points that the command did not reach again: it is not the same in every run.
    pub not_reached: u64,
    /// The same by kind of place.
    pub places: Vec<PlaceResult>,
    /// Where it was not resumed as it should.
    pub failures: Vec<LabFailure>,
}

/// The crashes at one kind of place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceResult {
    /// Where.
    pub place: CrashPlace,
    /// How many times the command was killed there.
    pub killed: u64,
    /// Number of these after which it resumed correctly.
    pub resumed: u64,
}

/// A crash after which a law does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabFailure {
    /// The number of the point, for `--point`; 0 for the run without a crash.
    pub point: u64,
    /// Where the command was killed.
    pub place: Option<CrashPlace>,
    /// The session.
    pub session: Option<SessionId>,
    /// The first event of the batch.
    pub seq: Option<Seq>,
    /// What the batch contains, by kind.
    pub events: Vec<String>,
    /// The call.
    pub call: Option<String>,
    /// Its tool.
    pub tool: Option<String>,
    /// What does not hold, a sentence each.
    pub broken: Vec<String>,
    /// The folder with store, points and output of both runs, if it was kept.
    pub folder: Option<PathBuf>,
}

impl LabFailure {
    /// A failure after a crash; `None` for the run without one.
    pub(crate) fn at(point: Option<&ReachedPoint>, broken: Vec<String>, folder: Option<PathBuf>) -> Self {
        let at = point.cloned();
        Self {
            point: at.as_ref().map_or(0, |at| at.point),
            place: at.as_ref().map(|at| at.place),
            session: at.as_ref().and_then(|at| at.session),
            seq: at.as_ref().and_then(|at| at.seq),
            call: at.as_ref().and_then(|at| at.call.clone()),
            tool: at.as_ref().and_then(|at| at.tool.clone()),
            events: at.map(|at| at.events).unwrap_or_default(),
            broken,
            folder,
        }
    }
}

impl LabReport {
    /// Whether the command was killed, and each time resumed as it should.
    pub fn is_sound(&self) -> bool {
        self.failures.is_empty() && self.killed > 0
    }

    pub(crate) fn count(&mut self, place: CrashPlace, resumed: bool) {
        self.killed += 1;
        self.resumed += u64::from(resumed);
        if !self.places.iter().any(|result| result.place == place) {
            self.places.push(PlaceResult { place, killed: 0, resumed: 0 });
            self.places.sort_by_key(|result| result.place);
        }
        for result in self.places.iter_mut().filter(|result| result.place == place) {
            result.killed += 1;
            result.resumed += u64::from(resumed);
        }
    }
}
