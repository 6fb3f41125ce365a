//! `annals session move`

use crate::command_context::CommandContext;
use crate::error::{CliError, EditError, Verdict};
use crate::json;
use crate::layout::plain;
use crate::style::{Emphasis, counted};
use annals_core::SessionId;
use annals_core::event::Location;
use annals_host::{HostError, editing, short, working_directory};
use annals_runtime::host::Leases;
use annals_runtime::worktree::Plan;
use annals_runtime::{MoveChoice, MovePlan, Refusal};
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

/// Move a session to another directory.
///
/// Between two worktrees of one git repository the uncommitted changes below the session's directory move too: they
/// are applied in DIR, then discarded in the old directory. Otherwise no file changes. The next request gets a new
/// system prompt for DIR. The old directory may be gone. DIR must not be another project; to continue in one, use
/// `annals fork --directory`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    /// The new directory.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Do not move uncommitted changes.
    #[arg(long)]
    without_changes: bool,
    /// Show what would move; change nothing.
    #[arg(long)]
    dry_run: bool,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let directory = working_directory(cli, Some(&args.directory))?;
    let (reader, id) = match args.dry_run {
        true => cli.stored(&args.session).await?,
        false => cli.change(&args.session).await?,
    };
    // What a dry run captures is gone with it.
    let scratch = args.dry_run.then(tempfile::tempdir).transpose()?;
    let folder = scratch.as_ref().map_or_else(|| reader.folder().clone(), |scratch| scratch.path().into());
    let _lease = match args.dry_run {
        true => None,
        false => {
            let leases = Leases::of(&**reader.log(), reader.folder().clone());
            Some(leases.take(id).await?.ok_or(HostError::Runs { session: id })?)
        }
    };
    let session = editing::editor(cli, &reader, id, editing::files_captured_in(folder)).await?;
    let location = Location { directory: directory.clone(), workspace: None };
    let planned = session.choose_move(&location, !args.without_changes).await.map_err(refused(id, &directory))?;
    if !cli.style.json {
        draw(&planned, cli, out)?;
    }
    let kept = match (&planned, args.dry_run) {
        (MoveChoice::There, _) | (_, true) => None,
        (MoveChoice::Alone(_), false) => {
            session.move_to(location).await.map_err(refused(id, &directory))?;
            None
        }
        (MoveChoice::WithChanges(plan), false) => {
            session.move_with_changes(plan).await.map_err(refused(id, &directory))?
        }
    };
    let kept = kept.map(|kept| kept.to_string());
    if cli.style.json {
        json::object(out, &in_json(id, &directory, &planned, kept.as_deref(), args.dry_run))?;
        return Ok(Verdict::bad_if(kept.is_some()));
    }
    let short = short(id);
    match (&planned, args.dry_run) {
        (MoveChoice::There, _) => cli.remark(&plain(&format!("session {short} already works in {directory}"))),
        (_, true) => cli.remark("nothing was changed (--dry-run)"),
        (_, false) => cli.remark(&plain(&format!("moved to {directory}; to continue: annals run -s {short} \"...\""))),
    }
    if let Some(kept) = &kept {
        let text =
            format!("the changes could not be removed from the old directory: {kept}; the next run there tries again");
        cli.remarks.say(Emphasis::Warn, &plain(&text));
    }
    Ok(Verdict::bad_if(kept.is_some()))
}

fn refused(session: SessionId, directory: &str) -> impl Fn(Refusal) -> CliError {
    move |refusal| match refusal {
        Refusal::OtherProject => {
            HostError::OtherProject { session: short(session), directory: directory.to_owned() }.into()
        }
        refusal => EditError::Refused { session, refusal }.into(),
    }
}

fn draw(planned: &MoveChoice, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<(), CliError> {
    match planned {
        MoveChoice::There => {}
        MoveChoice::Alone(why) => writeln!(out, "no files move: {}", plain(&why.to_string()))?,
        MoveChoice::WithChanges(plan) => {
            let count = counted(plan.transfer.changes.files.len() as u64, "changed file");
            writeln!(out, "moves with {count}")?;
            arrival(&plan.arrival, cli, out)?;
            for skipped in &plan.transfer.left_behind {
                let line = format!("{} is not moved: {}", plain(&skipped.path), skipped.why);
                writeln!(out, "  {}", cli.style.paint(Emphasis::Warn, &line))?;
            }
        }
    }
    Ok(())
}

/// What changes at the destination.
fn arrival(plan: &Plan, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<(), CliError> {
    for file in &plan.now.files {
        let path = plain(&file.path);
        writeln!(out, "  {:<8} {path}  +{} -{}", file.status, file.additions, file.deletions)?;
    }
    for left in &plan.left {
        let line = format!("{} is left as it is: {}", plain(&left.path), left.why);
        writeln!(out, "  {}", cli.style.paint(Emphasis::Warn, &line))?;
    }
    Ok(())
}

fn in_json(session: SessionId, directory: &str, planned: &MoveChoice, kept: Option<&str>, dry_run: bool) -> Value {
    let (what, why, plan) = match planned {
        MoveChoice::There => ("there", None, None),
        MoveChoice::Alone(why) => ("alone", Some(why.to_string()), None),
        MoveChoice::WithChanges(plan) => ("with-changes", None, Some(plan)),
    };
    let skipped = |plan: &MovePlan| {
        let left = plan.transfer.left_behind.iter();
        left.map(|skipped| json!({"path": skipped.path, "why": skipped.why.to_string()})).collect::<Vec<_>>()
    };
    json!({
        "session": session, "directory": directory, "move": what, "why": why, "dry_run": dry_run,
        "files": plan.map(|plan| &plan.arrival.now.files), "left_behind": plan.map(|plan| skipped(plan)),
        "kept_at_source": kept,
    })
}
