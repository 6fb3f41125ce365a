//! What the log costs, against two rivals in the same run: (a) a preallocated file with `fdatasync`, which is the limit,
//! and (b) SQLite in WAL mode with `synchronous=FULL` and a rowid table. Prints ratios: higher is better for us.
//!
//! ```text
//! cargo bench -p annals-store --bench log -- [append] [group] [sustained] [replay] [point] [verify] [screen] [guest] [disk] [--appends N] [--megabytes N] [--events N] [--dir PATH] [--cache MIB]
//! ```
//! Nothing named means everything. `docs/benchmarks.md` has results and what they do not say.

mod material;
mod reading;
mod rivals;
mod writing;

use annals_store::disk::Tuning;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Where everything is written: the folder where the bench runs, unless `--dir` names another.
static PLACE: OnceLock<PathBuf> = OnceLock::new();

/// A folder that goes when the bench is done with it.
fn folder() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in(PLACE.get().map_or(Path::new("."), PathBuf::as_path))
}

/// What was asked for.
struct Wanted {
    names: Vec<String>,
    appends: usize,
    sustained: usize,
    events: u64,
    tuning: Tuning,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut wanted =
        Wanted { names: Vec::new(), appends: 400, sustained: 400_000_000, events: 100_000, tuning: Tuning::default() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--appends" => wanted.appends = arguments.next().ok_or("--appends needs a number")?.parse()?,
            "--megabytes" => {
                wanted.sustained = arguments.next().ok_or("--megabytes needs a number")?.parse::<usize>()? * 1_000_000;
            }
            "--events" => wanted.events = arguments.next().ok_or("--events needs a number")?.parse()?,
            "--dir" => {
                let dir = arguments.next().ok_or("--dir needs a path")?;
                PLACE.set(dir.into()).map_err(|_| "--dir may stand once")?;
            }
            "--cache" => {
                wanted.tuning.sled_cache = arguments.next().ok_or("--cache needs a number")?.parse::<u64>()? << 20;
            }
            // Cargo says this to every bench.
            "--bench" => {}
            name => wanted.names.push(name.to_owned()),
        }
    }
    let asked = |name: &str| wanted.names.is_empty() || wanted.names.iter().any(|wanted| wanted == name);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        for size in [600, 8 << 10] {
            if asked("append") {
                writing::one_writer(size, wanted.appends).await?;
            }
            if asked("group") {
                writing::many_writers(size, wanted.appends * 8).await?;
            }
        }
        if asked("sustained") {
            writing::sustained(600, wanted.sustained).await?;
        }
        if ["replay", "point", "verify", "screen", "guest", "disk"].iter().any(|name| asked(name)) {
            reading::all(wanted.events, wanted.tuning, &asked).await?;
        }
        Ok(())
    })
}

/// The median of some durations.
fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

/// How long something takes.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    let done = work();
    (done, begin.elapsed())
}

/// How many a second.
fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64().max(f64::MIN_POSITIVE)
}
