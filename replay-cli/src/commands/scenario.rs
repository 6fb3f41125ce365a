//! `annals dev scenario`

#[cfg(feature = "nats")]
mod clusters;

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::plain;
use crate::style::{Emphasis, counted};
use annals_scenario::{Backend, STARTER, Scenario, ScenarioOutcome, ScenarioReport, play, record};
use clap::{Subcommand, ValueEnum};
#[cfg(feature = "nats")]
use clusters::ScenarioCluster;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Run, create or record scenario files.
///
/// A scenario is a session as a JSON file: the environment, what the user, the model and the tools do, and what must
/// be true afterwards. It runs through the real runtime and store. fixtures/scenarios/FORMAT.md describes the format.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: ScenarioCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum ScenarioCommand {
    /// Run scenario files.
    ///
    /// Each file gets a new store: a temporary one, or --store DIR (with several files, one folder in DIR for each). In a cluster it is
    /// removed afterwards, unless --keep is given.
    /// Exit status 1 if an expectation fails, 2 if a file is not a scenario (then nothing runs).
    Run {
        /// Scenario files.
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// Write all results to FILE, as JSON.
        #[arg(long, value_name = "FILE")]
        report: Option<PathBuf>,
        /// Where to store the log.
        #[arg(long, value_enum, default_value = "sled")]
        backend: BackendKind,
        /// Keep the temporary stores and show where they are.
        #[arg(long)]
        keep: bool,
    },
    /// Create a scenario: a commented example that passes.
    New {
        /// The file to create (default: stdout).
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Record a session as a scenario that repeats its events and expects its views.
    Record {
        /// The session: its id, the start or end of the id, words of its title, or @last.
        #[arg(value_name = "SESSION", default_value = "@last")]
        session: String,
        /// The file to create (default: stdout).
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BackendKind {
    /// On disk.
    Sled,
    /// In memory.
    Memory,
    /// In the cluster that --store nats://HOST:PORT/NAME names, else on a nats-server that is started for the run.
    #[cfg(feature = "nats")]
    Nats,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    match &args.what {
        ScenarioCommand::Run { files, report, backend, keep } => {
            let played = run_all(files, *backend, *keep, cli, out)?;
            if let Some(path) = report {
                let at = |source| CliError::File { path: path.clone(), source };
                let mut file = std::fs::File::create(path).map_err(at)?;
                json::object(&mut file, &played.to_json()).map_err(at)?;
            }
            if cli.style.json {
                json::object(out, &played.to_json())?;
            }
            Ok(Verdict::bad_if(!played.passed()))
        }
        ScenarioCommand::New { file } => give(STARTER, file.as_deref(), cli, out),
        ScenarioCommand::Record { session, file } => {
            let (reader, session) = cli.find(session).await?;
            let text = record(&**reader.log(), session).await?;
            give(&text, file.as_deref(), cli, out)
        }
    }
}

/// Writes a text to a new file, or to stdout.
fn give(
    text: &str,
    file: Option<&Path>,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let Some(path) = file else {
        out.write_all(text.as_bytes())?;
        return Ok(Verdict::Fine);
    };
    let at = |source| CliError::File { path: path.to_owned(), source };
    // A file that is there may hold work: it is never written over.
    std::fs::File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes())).map_err(at)?;
    cli.remark(&format!("wrote {}; to run it: annals dev scenario run {0}", path.display()));
    Ok(Verdict::Fine)
}

fn run_all(
    files: &[PathBuf],
    backend: BackendKind,
    keep: bool,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<ScenarioReport, CliError> {
    // All of them first: if one is invalid, nothing is run.
    let scenarios = files.iter().map(|file| Scenario::load(file)).collect::<Result<Vec<_>, _>>()?;
    let named = cli.named.clone().filter(|_| !cli.place.is_in_cluster());
    let stores = Stores::new(named, files.len(), keep)?;
    #[cfg(feature = "nats")]
    let cluster = match backend {
        BackendKind::Nats => Some(ScenarioCluster::begin(cli, stores.temporary.path())?),
        BackendKind::Sled | BackendKind::Memory => None,
    };
    let mut report = ScenarioReport::default();
    for (at, (file, scenario)) in files.iter().zip(&scenarios).enumerate() {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = stores.folder(at, &name);
        let backend = match backend {
            BackendKind::Sled => Backend::Sled(folder.clone()),
            BackendKind::Memory => Backend::Memory,
            #[cfg(feature = "nats")]
            BackendKind::Nats => match &cluster {
                Some(cluster) => Backend::Nats(Box::new(cluster.store(at)?)),
                None => Backend::Memory,
            },
        };
        let outcome = play(&file.to_string_lossy(), scenario, &backend)?;
        stores.remove(&folder)?;
        #[cfg(feature = "nats")]
        if let (Some(cluster), Backend::Nats(address)) = (&cluster, &backend) {
            match keep && cluster.stays() {
                true => cli.remark(&format!("{name}: {address}")),
                false => cluster.remove(address)?,
            }
        }
        if !cli.style.json {
            draw(&outcome, cli, out)?;
        }
        report.scenarios.push(outcome);
    }
    let failed = report.scenarios.iter().filter(|outcome| !outcome.passed()).count() as u64;
    let count = counted(report.scenarios.len() as u64, "scenario");
    cli.remark(&match failed {
        0 => format!("{count} passed"),
        failed => format!("{failed} of {count} failed"),
    });
    if keep && backend == BackendKind::Sled && cli.named.is_none() {
        cli.remark(&format!("the stores are in {}", stores.temporary.keep().display()));
    }
    Ok(report)
}

/// Where the stores of a run are. Temporary ones are removed one by one: each takes some 17 MB.
struct Stores {
    named: Option<PathBuf>,
    single: bool,
    keep: bool,
    temporary: TempDir,
}

impl Stores {
    fn new(named: Option<PathBuf>, files: usize, keep: bool) -> std::io::Result<Self> {
        let temporary = tempfile::Builder::new().prefix("annals-scenario-").tempdir()?;
        Ok(Self { named, single: files == 1, keep, temporary })
    }

    /// The folder of the store of scenario `at`, counted from 0.
    fn folder(&self, at: usize, name: &str) -> PathBuf {
        match &self.named {
            Some(dir) if self.single => dir.clone(),
            Some(dir) => dir.join(format!("{:03}-{name}", at + 1)),
            None => self.temporary.path().join(format!("{:03}-{name}", at + 1)),
        }
    }

    /// Removes a temporary store unless it is to be kept.
    fn remove(&self, folder: &Path) -> std::io::Result<()> {
        if self.keep || self.named.is_some() {
            return Ok(());
        }
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

fn draw(outcome: &ScenarioOutcome, cli: &CommandContext, out: &mut dyn Write) -> Result<(), CliError> {
    let style = &cli.style;
    let mark = if outcome.passed() { style.paint(Emphasis::Good, "✓") } else { style.paint(Emphasis::Bad, "✗") };
    writeln!(out, "{mark} {}", plain(&outcome.name))?;
    for failure in &outcome.failures {
        writeln!(out, "  {}: {}", outcome.file, style.paint(Emphasis::Bad, &plain(&failure.to_string())))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_store_is_removed_after_its_scenario_and_others_stay() -> std::io::Result<()> {
        let place = tempfile::tempdir()?;
        let named = Some(place.path().to_owned());
        for (named, keep, stays) in [(None, false, false), (None, true, true), (named, false, true)] {
            let stores = Stores::new(named, 2, keep)?;
            let folder = stores.folder(0, "one");
            stores.remove(&folder)?;
            std::fs::create_dir(&folder)?;
            stores.remove(&folder)?;
            assert_eq!(folder.exists(), stays);
        }
        Ok(())
    }
}
