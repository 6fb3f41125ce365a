//! `annals session title`

use crate::command_context::CommandContext;
use crate::error::{CliError, EditError, Verdict};
use crate::layout::plain;
use annals_core::event::SessionTitled;
use annals_host::editing;
use annals_inspect::timeline::one_line;
use annals_store::OpenMode;
use std::io::Write;

/// Print the title of a session, or give it another one.
///
/// A title that a user gave is not replaced by one that a model writes. An imported session keeps its title: a fork of it
/// gets the new one.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    /// The new title.
    #[arg(value_name = "TITLE")]
    title: Vec<String>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if args.title.is_empty() {
        let (reader, session) = cli.find(&args.session).await?;
        let until = reader.until(session, None).await?;
        match reader.bounded(session, until).await?.session.title {
            Some(title) => writeln!(out, "{}", one_line(&plain(&title)))?,
            None => cli.remark(
                "no title is set, and lists show the first prompt; to set one: annals session title SESSION TITLE",
            ),
        }
        return Ok(Verdict::Fine);
    }
    let title = args.title.iter().flat_map(|words| words.split_whitespace()).collect::<Vec<_>>().join(" ");
    if title.is_empty() {
        return Err(EditError::EmptyTitle.into());
    }
    let reader = cli.store(OpenMode::Existing).await?;
    let named = cli.find_session(&reader, &args.session).await?;
    let (session, at) = editing::append(cli, &reader, named, SessionTitled::given(title).into()).await?;
    cli.remark(&format!("titled{} (event {at})", editing::in_fork(named, session)));
    Ok(Verdict::Fine)
}
