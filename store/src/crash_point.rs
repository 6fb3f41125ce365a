//! Places where the crash laboratory (`annals dev lab`, `docs/lab.md`) ends the process, as a power cut or SIGKILL would.
//!
//! Off unless the variable [`POINTS`] names a file. Then each place that is reached adds a line to it, and the process is killed
//! right after the line with the number in [`KILL`].

use annals_core::{Batch, Digest, Seq, SessionId};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The environment variable with the file of the points that were reached.
pub const POINTS: &str = "ANNALS_LAB_POINTS";
/// The environment variable with the number of the point, from 1, at which the process is killed.
pub const KILL: &str = "ANNALS_LAB_KILL";

/// A place where a crash matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CrashPlace {
    /// A batch is about to be appended.
    BeforeAppend,
    /// The frames of a batch are about to be written and flushed to the device.
    BeforeFlush,
    /// They are on the device; the append is not acknowledged.
    AfterFlush,
    /// The append was acknowledged.
    AfterAppend,
    /// A call is recorded; its tool is about to run.
    BeforeTool,
    /// The tool has run; its result is not recorded.
    AfterTool,
}

impl CrashPlace {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BeforeAppend => "before append",
            Self::BeforeFlush => "before flush",
            Self::AfterFlush => "after flush",
            Self::AfterAppend => "after append",
            Self::BeforeTool => "before tool",
            Self::AfterTool => "after tool",
        }
    }
}

/// A point that was reached: a line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachedPoint {
    /// Its number, from 1, over all processes that write to the file.
    pub point: u64,
    /// What kind of place it is.
    pub place: CrashPlace,
    /// The session, where it is known.
    pub session: Option<SessionId>,
    /// The first event of the batch, or the step of the call.
    pub seq: Option<Seq>,
    /// The event after the batch.
    pub next: Option<Seq>,
    /// The digest of the batch.
    pub digest: Option<Digest>,
    /// What is appended, by kind.
    pub events: Vec<String>,
    /// The call.
    pub call: Option<String>,
    /// Its tool.
    pub tool: Option<String>,
    /// Whether the process was killed here.
    pub killed: bool,
}

impl ReachedPoint {
    /// A point of which only the place is known.
    pub fn at(place: CrashPlace) -> Self {
        Self {
            point: 0,
            place,
            session: None,
            seq: None,
            next: None,
            digest: None,
            events: Vec::new(),
            call: None,
            tool: None,
            killed: false,
        }
    }

    /// A point of batches that are appended together.
    pub fn of<'a>(place: CrashPlace, batches: impl IntoIterator<Item = &'a Batch>) -> Self {
        let mut point = Self::at(place);
        for batch in batches {
            point.session = Some(batch.session);
            point.seq = point.seq.or(Some(batch.first));
            (point.next, point.digest) = (Some(batch.next()), Some(batch.digest));
            point.events.extend(batch.events.iter().map(|event| event.kind().name().to_owned()));
        }
        point
    }
}

struct Laboratory {
    /// The file, and how many lines it has.
    points: Mutex<(File, u64)>,
    kill: Option<u64>,
}

/// Notes that a point is reached, and kills the process if it is the chosen one. Costs one comparison where no laboratory runs.
pub fn reached(point: impl FnOnce() -> ReachedPoint) {
    static LABORATORY: OnceLock<Option<Laboratory>> = OnceLock::new();
    if let Some(laboratory) = LABORATORY.get_or_init(Laboratory::of_environment) {
        laboratory.reached(point());
    }
}

impl Laboratory {
    fn of_environment() -> Option<Self> {
        let path = PathBuf::from(std::env::var_os(POINTS)?);
        let kill = std::env::var(KILL).ok().and_then(|number| number.parse().ok());
        match Self::open(path.clone()) {
            Ok((file, lines)) => Some(Self { points: Mutex::new((file, lines)), kill }),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "the points of the crash laboratory cannot be written");
                None
            }
        }
    }

    fn open(path: PathBuf) -> io::Result<(File, u64)> {
        let file = File::options().create(true).read(true).append(true).open(path)?;
        let lines = BufReader::new(&file).lines().map_while(Result::ok).count();
        Ok((file, lines as u64))
    }

    fn reached(&self, mut point: ReachedPoint) {
        // Held to the end: nothing else of this process is noted after the line at which it dies.
        let mut points = self.points.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, lines) = &mut *points;
        *lines += 1;
        point.point = *lines;
        point.killed = self.kill == Some(*lines);
        let line = serde_json::to_string(&point).unwrap_or_default() + "\n";
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::warn!(%error, "a point of the crash laboratory cannot be written");
        }
        if point.killed {
            die();
        }
    }
}

/// Kills this process with SIGKILL: no destructor runs, nothing is flushed.
fn die() -> ! {
    // Where the system refuses, the process ends all the same.
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}
