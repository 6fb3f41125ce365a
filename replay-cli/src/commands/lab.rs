//! `annals dev lab`

mod provider;

use crate::command_context::CommandContext;
use crate::error::{CliError, LabCommandError, Verdict};
use crate::json;
use crate::layout::{pad, plain};
use crate::progress::Bar;
use crate::style::{Emphasis, Style, counted};
use annals_host::short;
use annals_lab::{CrashLab, LabFailure, LabReport};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Kill an agent at every append, and verify that it resumes.
///
/// Runs CMD in a store of its own (ANNALS_STORE, or {store} in its arguments), then once for each point at which a crash matters:
/// kills it there with SIGKILL, starts it again, and verifies that nothing acknowledged is missing, no call ran twice, nothing is left
/// open, and every request can be rebuilt. CMD is any program that keeps its log by annals-store: your agent, or `annals run`. Prints a
/// table and explains each failure. Exit status 1 if there is one.
#[derive(Clone, Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    lab: Option<Lab>,
    /// The command, after `--`.
    #[arg(value_name = "CMD", last = true, required = true)]
    command: Vec<OsString>,
    /// What continues the session after a crash, as a line for the shell (default: CMD again).
    #[arg(long, value_name = "LINE")]
    resume: Option<String>,
    /// Run in a fresh copy of DIR each time, so that each run meets the same files.
    #[arg(long, value_name = "DIR")]
    copy: Option<PathBuf>,
    /// Kill only at point NUMBER.
    #[arg(long, value_name = "NUMBER")]
    point: Option<u64>,
    /// Keep store, points and output of failed runs in DIR.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// End a run that takes longer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Lab {
    Provider(provider::Args),
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if let Some(Lab::Provider(args)) = &args.lab {
        return provider::run(args, cli, out).await;
    }
    let here = &cli.environment.directory;
    let lab = CrashLab {
        command: args.command.clone(),
        resume: args.resume.clone(),
        directory: here.clone(),
        project: args.copy.as_ref().map(|project| here.join(project)),
        keep: args.keep.as_ref().map(|keep| here.join(keep)),
        only: args.point,
        limit: Duration::from_secs(args.timeout),
    };
    let bar = Bar::new(cli.shows_progress(), "killing and resuming");
    let report = lab.run(|point, points| bar.update(point, Some(points))).await.map_err(LabCommandError::from)?;
    drop(bar);
    if cli.style.json {
        json::object(out, &report)?;
    } else {
        draw(&report, &cli.style, out)?;
    }
    if !report.is_sound() && args.resume.is_none() {
        cli.remark(
            "after each crash CMD was run again; if another command continues the session, name it with --resume (of annals run: \
             --resume 'annals run -c --yes')",
        );
    }
    Ok(Verdict::bad_if(!report.is_sound()))
}

fn draw(report: &LabReport, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let width = 16;
    writeln!(out, "{}", style.paint(Emphasis::Dim, &format!("{}killed  resumed", pad("", width))))?;
    for place in &report.places {
        let emphasis = if place.resumed == place.killed { Emphasis::Plain } else { Emphasis::Bad };
        let line = format!("{}{:>6}  {:>7}", pad(place.place.name(), width), place.killed, place.resumed);
        writeln!(out, "{}", style.paint(emphasis, &line))?;
    }
    for failure in &report.failures {
        writeln!(out, "\n{}", style.paint(Emphasis::Bad, &plain(&place(failure))))?;
        for broken in &failure.broken {
            writeln!(out, "  {}", plain(broken))?;
        }
        if let Some(folder) = &failure.folder {
            writeln!(out, "  {}", style.paint(Emphasis::Dim, &plain(&format!("kept in {}", folder.display()))))?;
        }
    }
    let sum = format!("{} of {} crashes resumed", report.resumed, report.killed);
    let (mark, emphasis) = if report.is_sound() { ("✓", Emphasis::Good) } else { ("✗", Emphasis::Bad) };
    writeln!(out, "\n{} {}", style.paint(emphasis, mark), sum)?;
    if report.not_reached > 0 {
        let line = format!(
            "{} not reached again: the command is not the same in every run",
            counted(report.not_reached, "point")
        );
        writeln!(out, "{}", style.paint(Emphasis::Dim, &line))?;
    }
    Ok(())
}

/// Where it was killed: `point 12, before tool: bash (call_1) in session 01M8...`.
fn place(failure: &LabFailure) -> String {
    let Some(place) = failure.place else { return "without a crash".to_owned() };
    let what = match (&failure.tool, &failure.call) {
        (Some(tool), Some(call)) => format!(": {tool} ({call})"),
        _ => {
            let events = failure.events.join(", ");
            let at = failure.seq.map(|seq| format!(" from event {seq} on")).unwrap_or_default();
            if events.is_empty() { at } else { format!(": {events}{at}") }
        }
    };
    let session = failure.session.map(|session| format!(", session {}", short(session))).unwrap_or_default();
    format!("point {}, {}{what}{session}", failure.point, place.name())
}
