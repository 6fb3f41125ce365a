//! `annals fork`

mod edited;

use crate::command_context::CommandContext;
use crate::error::{CliError, EditTextError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use crate::layout::plain;
use crate::style::{Emphasis, counted};
use annals_core::SessionId;
use annals_core::event::Location;
use annals_host::{editing, short, working_directory};
use annals_inspect::reader::Reader;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Branch a session at any event (no copy).
///
/// The fork starts with the messages and the system prompt that the session had at that event. Waiting inputs,
/// unfinished calls, a staged revert, usage and permissions are not inherited. Works with imported sessions too.
///
/// With --edit a prompt, the result of a tool or a system text has another wording in the fork: the one that --text or --text-file
/// gives, or that you write in $EDITOR. Nothing runs: `annals run -s FORK` continues from there.
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
    /// Fork before the next request after EVENT, with another wording of its text: a prompt (also turn:N), a tool result, a
    /// system prompt or a context update.
    #[arg(long, value_name = "EVENT", conflicts_with_all = ["at", "before", "directory"], allow_negative_numbers = true)]
    edit: Option<EventArg>,
    /// The other wording.
    #[arg(long, value_name = "TEXT", requires = "edit", conflicts_with = "text_file", allow_hyphen_values = true)]
    text: Option<String>,
    /// A file with the other wording; - for stdin.
    #[arg(long, value_name = "FILE", requires = "edit")]
    text_file: Option<PathBuf>,
    /// Directory of the fork; may be another project.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let directory = args.directory.as_deref().map(|directory| working_directory(cli, Some(directory))).transpose()?;
    let (reader, parent) = cli.change(&args.session).await?;
    if let Some(edit) = args.edit {
        return edit_fork(args, edit, &reader, parent, cli, out).await;
    }
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

/// Forks with another wording of a text.
async fn edit_fork(
    args: &Args,
    edit: EventArg,
    reader: &Reader,
    parent: SessionId,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let event = edit.seq(reader, parent, &cli.style).await?;
    // Says where the session ends if it has no such event.
    reader.until(parent, Some(event)).await?;
    let editor = editing::editor(cli, reader, parent, editing::captured_files(reader.folder().clone())).await?;
    let fact = editor.editable(event).await.map_err(EditTextError::from)?;
    let text = edited::text(args, &fact.text, cli).await?;
    let fork = editor.fork_edited(&fact, &text).await.map_err(EditTextError::from)?;
    let (session, forked) = (fork.id(), fork.view().await?);
    let what = fact.what.name();
    let (before, after) = (fact.text.chars().count() as u64, text.chars().count() as u64);
    if cli.style.json {
        let edited = serde_json::json!({"event": fact.event, "what": what, "from_chars": before, "to_chars": after});
        json::object(
            out,
            &serde_json::json!({
                "id": session, "from": parent, "parent": forked.session.fork.map(|fork| fork.parent), "cut": fact.cut,
                "title": forked.session.title, "edited": edited,
                "directory": forked.session.location.as_ref().map(|location| &location.directory),
            }),
        )?;
        return Ok(Verdict::Fine);
    }
    let title = forked.session.title.as_deref().map(|title| format!("  {}", plain(title))).unwrap_or_default();
    writeln!(out, "{}{title}", cli.style.paint(Emphasis::Context, &session.to_string()))?;
    cli.remark(&format!(
        "forked {parent} after event {} with the {what} of event {} edited ({}, before {}); to continue: annals run -s {}",
        fact.cut.0.saturating_sub(1),
        fact.event,
        counted(after, "character"),
        before,
        short(session),
    ));
    Ok(Verdict::Fine)
}
