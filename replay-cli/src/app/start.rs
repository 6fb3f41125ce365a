//! `annals` alone: offers an import on a new machine, then lets the user pick a session.

use super::command::Command;
use super::help;
use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::escape::{Escaping, EscapingWriter};
use crate::pager::PagedOutput;
use crate::picker::{Picker, PickerAction};
use crate::style::counted;
use annals_core::SessionId;
use annals_host::project::root;
use annals_import::ListedSession;
use annals_inspect::resume;
use annals_inspect::sessions::{SessionFilter, SessionOrder, list};
use clap::FromArgMatches;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Runs until the user leaves.
///
/// # Errors
/// When the terminal, the store or a source of the import refuses.
pub(super) async fn run(cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if has_no_session(cli).await? && !import(cli, out).await? {
        return Ok(Verdict::Fine);
    }
    let mut picker = None;
    loop {
        let reader = cli.reader().await?;
        if picker.is_none() {
            let catalogue = reader.catalogue().await?;
            let sessions = list(catalogue, &SessionFilter::default(), SessionOrder::default(), &cli.pricing());
            let here = root(&cli.environment.directory);
            picker = Some(Picker::new(sessions, &here, &cli.style));
        }
        let Some(picker) = &mut picker else { continue };
        let action = picker.pick(&reader).await?;
        cli.close().await?;
        match action {
            PickerAction::Stay => {}
            PickerAction::Quit => return Ok(Verdict::Fine),
            PickerAction::Replay(session) => shown(&["replay", &session.to_string()], cli).await?,
            PickerAction::Usage(session) => shown(&["usage", &session.to_string()], cli).await?,
            PickerAction::Search(text) => {
                // The keys promise all sessions, also while the list shows those of the project only.
                let mut everywhere = cli.clone();
                everywhere.all_projects = true;
                shown(&["search", "--", &text], &everywhere).await?;
            }
            PickerAction::Continue(session) => {
                writeln!(out, "{}", continued(session, cli).await?)?;
                return Ok(Verdict::Fine);
            }
        }
    }
}

/// Whether there is no store, or nothing in it.
async fn has_no_session(cli: &CommandContext) -> Result<bool, CliError> {
    let reader = match cli.reader().await {
        Ok(reader) => reader,
        Err(CliError::NoStore { .. }) => return Ok(true),
        Err(error) => return Err(error),
    };
    let empty = reader.catalogue().await?.sessions.is_empty();
    cli.close().await?;
    Ok(empty)
}

/// Offers to import what the agents on this machine keep. Returns whether something was imported.
async fn import(cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<bool, CliError> {
    let (listed, _) = annals_import::discover(&cli.homes());
    if listed.is_empty() {
        writeln!(
            out,
            "No session of OpenCode, Codex CLI or Claude Code was found on this machine, and the store is empty."
        )?;
        writeln!(out, "Import a file:  annals import FILE")?;
        writeln!(out, "Start your own: annals run \"...\"  (annals models lists the models)")?;
        writeln!(out, "All commands:   annals --help")?;
        return Ok(false);
    }
    write!(out, "{}; import them? [Y/n] ", found(&listed))?;
    out.flush()?;
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line)?;
    if read == 0 || !matches!(line.trim(), "" | "y" | "Y" | "yes") {
        writeln!(
            out,
            "Nothing was imported. `annals import` imports them later, `annals import --dry-run` lists them."
        )?;
        return Ok(false);
    }
    parsed(&["import"])?.run(cli, out).await?;
    out.flush()?;
    cli.close().await?;
    Ok(!has_no_session(cli).await?)
}

/// `found 34 sessions of 3 agents (12 projects)`.
fn found(listed: &[ListedSession]) -> String {
    let agents: BTreeSet<&str> = listed.iter().map(|one| one.agent).collect();
    let projects: BTreeSet<&str> =
        listed.iter().map(|one| one.directory.as_str()).filter(|it| !it.is_empty()).collect();
    let count = |number: usize, what: &str| counted(number as u64, what);
    format!(
        "found {} of {} ({})",
        count(listed.len(), "session"),
        count(agents.len(), "agent"),
        count(projects.len(), "project")
    )
}

/// The command that continues a session: its agent's own, or ours.
async fn continued(session: SessionId, cli: &CommandContext) -> Result<String, CliError> {
    let created = cli.reader().await?.created(session).await?;
    let origin = created.and_then(|created| created.origin);
    Ok(origin.as_ref().and_then(resume::command).unwrap_or_else(|| resume::own(session)))
}

/// Runs a command whose answer stays on the screen until the user leaves it.
async fn shown(words: &[&str], cli: &CommandContext) -> Result<(), CliError> {
    let mut paged = PagedOutput::staying();
    cli.remarks.hold();
    let answer = {
        let mut out = EscapingWriter::new(&mut paged, Escaping::Text);
        let answer = Box::pin(parsed(words)?.run(cli, &mut out)).await;
        answer.and_then(|_| Ok(out.finish()?))
    };
    let stays = paged.is_paging();
    let finished = paged.finish();
    cli.remarks.release();
    cli.close().await?;
    match answer.and(finished.map_err(CliError::from)) {
        // The pager was left before the end.
        Err(error) if error.is_closed_pipe() => return Ok(()),
        Err(error) => cli.remark(&error.to_string()),
        Ok(()) if stays => return Ok(()),
        Ok(()) => {}
    }
    cli.remark("press Enter to return to the sessions");
    io::stdin().read_line(&mut String::new())?;
    Ok(())
}

/// A command from its words.
fn parsed(words: &[&str]) -> Result<Command, CliError> {
    let args = std::iter::once("annals").chain(words.iter().copied());
    let command = help::grouped(true).try_get_matches_from(args).and_then(|found| Command::from_arg_matches(&found));
    command.map_err(|error| CliError::from(io::Error::other(error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_picker_is_one() {
        for words in [&["replay", "01ABC"][..], &["usage", "01ABC"], &["search", "--", "-e $(x)"], &["import"]] {
            assert!(parsed(words).is_ok(), "{words:?}");
        }
    }
}
