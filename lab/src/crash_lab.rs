//! Kills a command at every point where a crash matters, starts it again, and asks the laws.

use crate::error::LabError;
use crate::laws::{self, Evidence};
use crate::report::{LabFailure, LabReport};
use crate::trial::{Ran, TrialFolder, TrialRun};
use annals_store::crash_point::CrashPlace;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The crash laboratory: what is run, and how.
#[derive(Clone, Debug)]
pub struct CrashLab {
    /// The program with its arguments. `{store}` in them is the store's folder, as is the variable `ANNALS_STORE`.
    pub command: Vec<OsString>,
    /// What continues the session after a crash, as a line for the shell; without it the command itself, started again.
    pub resume: Option<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// A project of which each run gets a fresh copy to work in; without one all runs work in `directory`.
    pub project: Option<PathBuf>,
    /// Where the folders of failed trials are kept.
    pub keep: Option<PathBuf>,
    /// Kill at this point alone.
    pub only: Option<u64>,
    /// How long a run may take.
    pub limit: Duration,
}

impl CrashLab {
    /// Runs the command once without a crash, then once for each point. `progress` is called with the number of the point and
    /// how many there are.
    ///
    /// # Errors
    /// When the command fails without a crash, or appends nothing. What does not hold after a crash is in the report.
    pub async fn run(&self, mut progress: impl FnMut(u64, u64)) -> Result<LabReport, LabError> {
        let trials = Trials::make(self.keep.as_deref())?;
        let mut report = LabReport::default();
        let folder = trials.folder("whole", self)?;
        let whole = folder.run(&Ran::Command(&self.command), "run", None, self.limit)?;
        if !whole.status.is_some_and(|status| status.success()) {
            return Err(LabError::Fails { status: shown(&whole), output: whole.output });
        }
        let points = whole.points;
        report.points = points.len() as u64;
        if !points.iter().any(|point| point.place == CrashPlace::AfterAppend) {
            return Err(LabError::NoPoints);
        }
        let broken = laws::broken(&folder.store(), &Evidence { first: &points, second: &[], ended_well: true }).await?;
        trials.done(&folder, broken.is_empty())?;
        if !broken.is_empty() {
            let kept = self.keep.as_ref().map(|_| folder.root.clone());
            report.failures.push(LabFailure::at(None, broken, kept));
            return Ok(report);
        }
        if let Some(point) = self.only.filter(|only| !(1..=report.points).contains(only)) {
            return Err(LabError::NoPoint { point, points: report.points });
        }
        for point in 1..=report.points {
            if self.only.is_some_and(|only| only != point) {
                continue;
            }
            progress(point, report.points);
            self.crash(point, &trials, &mut report).await?;
        }
        Ok(report)
    }

    /// Kills the command at a point, starts it again, and asks the laws.
    async fn crash(&self, number: u64, trials: &Trials, report: &mut LabReport) -> Result<(), LabError> {
        let folder = trials.folder(&format!("point-{number}"), self)?;
        let crashed = folder.run(&Ran::Command(&self.command), "crashed", Some(number), self.limit)?;
        let Some(point) = crashed.points.iter().find(|point| point.killed).cloned() else {
            report.not_reached += 1;
            return trials.done(&folder, true);
        };
        // Where nothing reached the device there is nothing to continue.
        let is_begun = crashed.points.iter().any(|point| point.place > CrashPlace::BeforeFlush);
        let again = match &self.resume {
            Some(line) if is_begun => Ran::Line(line),
            _ => Ran::Command(&self.command),
        };
        let resumed = folder.run(&again, "resumed", None, self.limit)?;
        let ended_well = resumed.status.is_some_and(|status| status.success());
        let evidence = Evidence { first: &crashed.points, second: &resumed.points, ended_well };
        let mut broken = laws::broken(&folder.store(), &evidence).await?;
        // A session that was complete may refuse to be continued.
        let appended = resumed.points.iter().any(|point| point.place == CrashPlace::AfterAppend);
        if !ended_well && (appended || !broken.is_empty() || resumed.status.is_none()) {
            broken.insert(0, format!("started again, it failed ({}): {}", shown(&resumed), resumed.output));
        }
        report.count(point.place, broken.is_empty());
        trials.done(&folder, broken.is_empty())?;
        if !broken.is_empty() {
            report.failures.push(LabFailure::at(Some(&point), broken, self.keep.as_ref().map(|_| folder.root)));
        }
        Ok(())
    }
}

fn shown(run: &TrialRun) -> String {
    run.status.map_or_else(|| "it did not end in time".to_owned(), |status| status.to_string())
}

/// Where the folders of trials are. Those of failed ones are kept, if that was asked for.
struct Trials {
    root: PathBuf,
    /// Removed at the end; `None` where failed trials are kept.
    _temporary: Option<tempfile::TempDir>,
}

impl Trials {
    fn make(keep: Option<&Path>) -> Result<Self, LabError> {
        match keep {
            Some(keep) => {
                let file = |source| LabError::File { path: keep.to_owned(), source };
                std::fs::create_dir_all(keep).map_err(file)?;
                Ok(Self { root: keep.canonicalize().map_err(file)?, _temporary: None })
            }
            None => {
                let file = |source| LabError::File { path: std::env::temp_dir(), source };
                let temporary = tempfile::Builder::new().prefix("annals-lab-").tempdir().map_err(file)?;
                Ok(Self { root: temporary.path().to_owned(), _temporary: Some(temporary) })
            }
        }
    }

    fn folder(&self, name: &str, lab: &CrashLab) -> Result<TrialFolder, LabError> {
        let root = self.root.join(name);
        let file = |source| LabError::File { path: root.clone(), source };
        // What an earlier laboratory kept there would be continued.
        if root.exists() {
            std::fs::remove_dir_all(&root).map_err(file)?;
        }
        TrialFolder::make(root.clone(), lab.project.as_deref(), &lab.directory).map_err(file)
    }

    /// Removes what is not needed any more.
    fn done(&self, folder: &TrialFolder, held: bool) -> Result<(), LabError> {
        if !held {
            return Ok(());
        }
        std::fs::remove_dir_all(&folder.root).map_err(|source| LabError::File { path: folder.root.clone(), source })
    }
}
