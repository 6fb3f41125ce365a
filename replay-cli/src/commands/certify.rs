//! `annals dev certify`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::import_into::{import_into, sources};
use crate::json;
use crate::progress::Bar;
use crate::style::{Emphasis, Style, counted};
use annals_import::ImportOptions;
use annals_inspect::certify::{self, Difference, Report};
use annals_store::{EventLog, MemoryLog};
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Check that two versions compute the same views of an archive.
///
/// Reads every session of FILES (exports and files of other agents; folders are searched) and computes the digest of
/// each view at its end and after every turn. --report writes the digests; --against compares them with such a report
/// and lists every difference. Exit status 1 if anything differs.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Files and folders with sessions.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Compare with this report.
    #[arg(long, value_name = "REPORT")]
    against: Option<PathBuf>,
    /// Write a report to this file.
    #[arg(long, value_name = "REPORT")]
    report: Option<PathBuf>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let expected = args.against.as_deref().map(Report::read).transpose()?;
    let bar = Bar::new(cli.shows_progress(), "folding");
    let mut sessions = Vec::new();
    for path in &args.files {
        for source in sources(path, |remark| cli.remark(remark))? {
            // Each file has its own log: one session may be in two of them, in two forms.
            let log: Arc<dyn EventLog> = Arc::new(MemoryLog::new());
            import_into(&log, &source, &ImportOptions::default(), &bar).await?;
            sessions.extend(certify::certify(&log, &named(&source.path)).await?);
        }
    }
    bar.clear();
    let found = Report::new(sessions);
    if let Some(path) = &args.report {
        write(path, &found)?;
    }
    let Some(expected) = expected else {
        if cli.style.json {
            json::object(out, &found)?;
        } else if args.report.is_none() {
            list(&found, &cli.style, out)?;
        }
        cli.remark(&format!("{} folded", counted(found.sessions.len() as u64, "session")));
        return Ok(Verdict::Fine);
    };
    let differences = expected.differences(&found);
    if cli.style.json {
        json::object(out, &differences)?;
    } else {
        draw(&differences, &cli.style, out)?;
    }
    let count = counted(found.sessions.len() as u64, "session");
    match differences.len() {
        0 => cli.remark(&format!("{count} folded, all views match the report")),
        some => cli.remark(&format!("{count} folded, {}", counted(some as u64, "difference"))),
    }
    Ok(Verdict::bad_if(!differences.is_empty()))
}

/// The name of a file in a report: as it was given, without a leading `./`.
fn named(path: &Path) -> String {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.collect::<PathBuf>().display().to_string()
}

fn write(path: &Path, report: &Report) -> Result<(), CliError> {
    let failed = |source| CliError::File { path: path.to_owned(), source };
    let mut text = serde_json::to_string_pretty(report).map_err(|error| failed(error.into()))?;
    text.push('\n');
    std::fs::write(path, text).map_err(failed)
}

fn list(report: &Report, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    for session in &report.sessions {
        writeln!(out, "{} {}", style.paint(Emphasis::Strong, &session.file), session.session)?;
        for (view, digest) in &session.views {
            writeln!(out, "  {view:<10} {digest}")?;
        }
        writeln!(out, "  {:<10} {}", "turns", session.turns)?;
    }
    Ok(())
}

/// Draws differences, one a line.
pub fn draw(differences: &[Difference], style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    for difference in differences {
        let side =
            |digest: &Option<String>| digest.as_deref().map_or("nothing", |it| it.get(..12).unwrap_or(it)).to_owned();
        let line = format!("expected {}, found {}", side(&difference.expected), side(&difference.found));
        let place = format!("{} {}", difference.file, difference.session);
        let what = style.paint(Emphasis::Bad, &format!("{:<10}", difference.what));
        writeln!(out, "{what} {line}  {}", style.paint(Emphasis::Dim, &place))?;
    }
    Ok(())
}
