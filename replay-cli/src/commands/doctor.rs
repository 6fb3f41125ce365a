//! `annals doctor`

use crate::command_context::CommandContext;
use crate::draw::doctor::draw;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::progress::Bar;
use crate::style::{counted, size};
use annals_store::disk::{Examination, FormatRepair, Remark, Tuning, UnusedBlobs, summary};
use annals_store::ipc::RemoteLog;
use annals_store::{DiskLog, OpenError, OpenMode, OpeningReport, ReadOnlyLog, SharedError};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// Check both copies of the store, and repair or compact it.
///
/// Shows the space that the store takes and compares both copies of the log. --repair, --gc and --compact show what
/// they would do; with --yes they do it. `annals verify` checks the digests of the log.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Repair damage in one copy from the other; damaged files are set aside.
    #[arg(long)]
    repair: bool,
    /// Remove blobs that no event refers to and that are older than a day.
    #[arg(long)]
    gc: bool,
    /// Rebuild the index without unused space.
    #[arg(long)]
    compact: bool,
    /// Apply what the other options show.
    #[arg(long, short = 'y')]
    yes: bool,
}

/// Blobs younger than this may belong to a batch that is being written.
const AGE: Duration = Duration::from_secs(24 * 3_600);

/// Runs the command.
///
/// # Errors
/// When there is no store, another process owns it, or the disk refuses. Damage is an answer, not an error.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let dir = cli.place.folder("annals doctor")?.to_owned();
    if args.repair && !restore_format(&dir, args.yes, cli)? {
        return Ok(Verdict::bad_if(true));
    }
    let facts = DiskLog::usage(&dir).map_err(|source| CliError::File { path: dir.clone(), source });
    let bar = Bar::new(cli.shows_progress(), "examining");
    // What an owner is writing cannot be compared with its second copy.
    if RemoteLog::connect(&dir).await.is_ok() {
        return Err(SharedError::from(OpenError::Locked { dir }).into());
    }
    let (examination, garbage) = examine(&dir, args, &bar, cli)?;
    bar.clear();
    let facts = facts?;
    if cli.style.json {
        json::object(out, &examination.to_json(&facts, garbage.as_ref()))?;
    } else {
        draw(cli.place.dir(), &facts, &examination, &cli.style, out)?;
    }
    let sound = examination.findings.is_empty();
    let mended = args.repair && repair(&dir, &examination, args.yes, cli, out)?;
    if let Some(garbage) = &garbage {
        collect(&dir, garbage, args.yes, cli, out)?;
    }
    if args.compact {
        compact(&dir, args.yes, cli, out)?;
    }
    if !sound && !args.repair {
        cli.remark("to repair it: annals doctor --repair");
    }
    Ok(Verdict::bad_if(!(sound || mended)))
}

/// Writes the file `FORMAT` again when it is damaged or missing: nothing else can be examined before. False when it is still to
/// be written.
fn restore_format(dir: &Path, yes: bool, cli: &CommandContext) -> Result<bool, CliError> {
    let Some(restoring) = DiskLog::lost_format(dir).map_err(annals_store::SharedError::from)? else { return Ok(true) };
    let FormatRepair { identity, state, segments } = restoring;
    let from = match segments {
        0 => "with a new id, as no segment contains one".to_owned(),
        _ => format!("with the id {} of {}", identity.id, counted(segments as u64, "segment")),
    };
    if !announce(&format!("rewrite the file FORMAT, which is {state}, {from}"), yes, cli) {
        return Ok(false);
    }
    let report = DiskLog::repair(dir, Tuning::default()).map_err(annals_store::SharedError::from)?;
    cli.report_opening(&report);
    Ok(true)
}

fn examine(
    dir: &Path,
    args: &Args,
    bar: &Bar,
    cli: &CommandContext,
) -> Result<(Examination, Option<UnusedBlobs>), CliError> {
    let at = |source| CliError::File { path: dir.to_owned(), source };
    let progress = |done: usize, total: usize| bar.update(done as u64, Some(total as u64));
    let (disk, report) = ReadOnlyLog::open(dir).map_err(SharedError::from)?;
    let examination = disk.examine(progress).map_err(at)?;
    // Damage is in the examination.
    let other = |remark: &Remark| matches!(remark, Remark::TailIgnored { .. } | Remark::EraseUnfinished { .. });
    let remarks = report.remarks.into_iter().filter(other).collect();
    cli.report_opening(&OpeningReport { remarks, ..OpeningReport::default() });
    let garbage = if args.gc { Some(disk.garbage(AGE, progress)?) } else { None };
    Ok((examination, garbage))
}

/// Says what will be done; whether to do it.
fn announce(what: &str, yes: bool, cli: &CommandContext) -> bool {
    cli.remark(&if yes { format!("to do: {what}") } else { format!("would {what}; to do it, add --yes") });
    yes
}

/// Repairs the store. Gives whether everything that was found is mended.
fn repair(
    dir: &Path,
    examination: &Examination,
    yes: bool,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<bool, CliError> {
    let mendable = examination.findings.iter().filter(|finding| finding.copy().is_some()).count() as u64;
    if mendable == 0 {
        cli.remark("nothing to repair");
        return Ok(false);
    }
    if announce(&format!("repair {} from the other copy", counted(mendable, "damaged place")), yes, cli) {
        let report = DiskLog::repair(dir, Tuning::default()).map_err(annals_store::SharedError::from)?;
        for line in summary(&report.remarks) {
            writeln!(out, "{line}")?;
        }
        return Ok(mendable == examination.findings.len() as u64 && !report.lost_something());
    }
    Ok(false)
}

fn collect(
    dir: &Path,
    garbage: &UnusedBlobs,
    yes: bool,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<(), CliError> {
    let bytes: u64 =
        garbage.blobs.iter().map(|(_, bytes)| bytes).chain(garbage.unfinished.iter().map(|(_, bytes)| bytes)).sum();
    let count = (garbage.blobs.len() + garbage.unfinished.len()) as u64;
    if count == 0 {
        cli.remark("no unused blobs");
        return Ok(());
    }
    if announce(&format!("remove {} that no event refers to, {}", counted(count, "file"), size(bytes)), yes, cli) {
        let (disk, _) = DiskLog::open(dir, OpenMode::Existing).map_err(annals_store::SharedError::from)?;
        let removed = disk.collect(garbage, AGE)?;
        writeln!(out, "removed {}, {}", counted(removed.files, "file"), size(removed.bytes))?;
    }
    Ok(())
}

fn compact(dir: &Path, yes: bool, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<(), CliError> {
    if announce("rebuild the index from the journal, and compress sealed segments", yes, cli) {
        let (before, after) = DiskLog::compact(dir, Tuning::default()).map_err(annals_store::SharedError::from)?;
        writeln!(out, "{} before, {} now", size(before.bytes), size(after.bytes))?;
    }
    Ok(())
}
