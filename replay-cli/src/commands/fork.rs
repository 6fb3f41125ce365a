//! `annals fork`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::host::opening;
use crate::json;
use crate::layout::plain;
use crate::style::{Emphasis, counted};
use annals_core::event::{Location, SessionForked, SessionMoved};
use annals_core::{Seq, SessionId};
use annals_inspect::message_ref::MessageRef;
use annals_runtime::fork_title;
use annals_runtime::ports::{Ids, SeededIds};
use annals_store::{Draft, append_rules};
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
    #[arg(long, value_name = "EVENT", conflicts_with = "before")]
    at: Option<u64>,
    /// Fork before the message that contains EVENT, or before user message N (turn:N).
    #[arg(long, value_name = "EVENT|turn:N")]
    before: Option<MessageRef>,
    /// Directory of the fork; may be another project.
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// When there is no such Session or message, or the log refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let directory = args.directory.as_deref().map(|directory| opening::place(cli, Some(directory))).transpose()?;
    let (reader, parent) = cli.change(&args.session).await?;
    let head = reader.head(parent).await?;
    let view = reader.view(parent, head.next).await?;
    let cut = match args.before {
        Some(message) => message.find(&reader, parent, &view).await?,
        None => reader.until(parent, args.at.map(Seq)).await?,
    };
    let ids = SeededIds::from_entropy()?;
    let inherited = append_rules::fork_at(&**reader.log(), parent, cut, ids.session_key()).await?;
    let forked = SessionForked { title: view.session.title.as_deref().map(fork_title), ..inherited };
    let at = cli.style.now.max(head.at);
    let session: SessionId = ids.session(at);
    let there = reader.bounded(parent, cut).await?.session.location;
    let moved =
        directory.map(|directory| Location { directory, workspace: None }).filter(|to| Some(to) != there.as_ref());
    let location = moved.clone().or(there);
    let moved = moved.map(|location| SessionMoved { location }.into());
    let events = [forked.clone().into()].into_iter().chain(moved).collect();
    let draft = Draft { session, expected: cut, at, events, digest: None };
    reader.log().append(draft).await?;
    if cli.style.json {
        json::object(
            out,
            &serde_json::json!({
                "id": session, "from": parent, "parent": forked.parent, "cut": cut, "title": forked.title,
                "directory": location.map(|location| location.directory),
            }),
        )?;
        return Ok(Verdict::Fine);
    }
    let title = forked.title.as_deref().map(|title| format!("  {}", plain(title))).unwrap_or_default();
    writeln!(out, "{}{title}", cli.style.paint(Emphasis::Context, &session.to_string()))?;
    let until = reader.until(session, None).await?;
    let messages = reader.view(session, until).await?.history.selected().count() as u64;
    let messages = counted(messages, "message");
    cli.remark(&format!("forked {parent} after event {}; its history has {messages}", cut.0.saturating_sub(1)));
    if let Some(gone) = location.filter(|location| !Path::new(&location.directory).is_dir()) {
        cli.remark(&plain(&format!(
            "its directory {} does not exist here; to continue in another one: annals run -s {session} --directory DIR",
            gone.directory
        )));
    }
    Ok(Verdict::Fine)
}
