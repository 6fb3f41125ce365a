//! `annals fork`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use crate::layout::plain;
use crate::style::{Emphasis, counted};
use annals_core::event::Location;
use annals_host::editing;
use annals_host::working_directory;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Branch a session at any event (no copy).
///
/// The fork starts with the messages and the system prompt that the session had at that event. Waiting inputs,
/// unfinished calls, a staged revert, usage and permissions are not inherited. Works with imported sessions too.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    /// Fork right after EVENT (and the events written with it); default: at the end.
    #[arg(long, value_name = "EVENT", conflicts_with = "before", allow_negative_numbers = true)]
    at: Option<EventArg>,
    /// Fork before the message that contains EVENT, or before user message N (turn:N).
    #[arg(long, value_name = "EVENT|turn:N", allow_negative_numbers = true)]
    before: Option<EventArg>,
    /// Directory of the fork; may be another project.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let directory = args.directory.as_deref().map(|directory| working_directory(cli, Some(directory))).transpose()?;
    let (reader, parent) = cli.change(&args.session).await?;
    let head = reader.head(parent).await?;
    let view = reader.view(parent, head.next).await?;
    let cut = match args.before {
        Some(message) => message.message(&reader, parent, &view, &cli.style).await?,
        None => {
            let at = match args.at {
                Some(at) => Some(at.seq(&reader, parent, &cli.style).await?),
                None => None,
            };
            reader.until(parent, at).await?
        }
    };
    let editor = editing::editor(cli, &reader, parent, editing::captured_files(reader.folder().clone())).await?;
    let there = reader.bounded(parent, cut).await?.session.location;
    let moved = directory.map(|directory| Location { directory, workspace: None });
    let fork = editor.fork_into(cut, moved.filter(|to| Some(to) != there.as_ref())).await;
    let fork = fork.map_err(editing::refused(parent))?;
    let (session, forked) = (fork.id(), fork.view().await?);
    let (title, location) = (&forked.session.title, &forked.session.location);
    if cli.style.json {
        json::object(
            out,
            &serde_json::json!({
                "id": session, "from": parent, "parent": forked.session.fork.map(|fork| fork.parent), "cut": cut,
                "title": title, "directory": location.as_ref().map(|location| &location.directory),
            }),
        )?;
        return Ok(Verdict::Fine);
    }
    let title = title.as_deref().map(|title| format!("  {}", plain(title))).unwrap_or_default();
    writeln!(out, "{}{title}", cli.style.paint(Emphasis::Context, &session.to_string()))?;
    let messages = counted(forked.history.selected().count() as u64, "message");
    cli.remark(&format!("forked {parent} after event {}; its history has {messages}", cut.0.saturating_sub(1)));
    if let Some(gone) = location.as_ref().filter(|location| !Path::new(&location.directory).is_dir()) {
        cli.remark(&plain(&format!(
            "its directory {} does not exist here; to continue in another one: annals run -s {session} --directory DIR",
            gone.directory
        )));
    }
    Ok(Verdict::Fine)
}
