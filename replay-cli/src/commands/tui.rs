//! `annals tui`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use annals_host::project::ProjectScope;
use annals_inspect::reader::{Reader, short_ids};
use annals_inspect::sessions::{SessionFilter, SessionOrder, list};
use annals_terminal::tui::{TuiEnd, TuiList, TuiSource, show};
use std::io::{self, IsTerminal};
use std::path::Path;

/// The exit status of a process that SIGTERM ended.
const TERMINATED: u8 = 143;

/// Walk through sessions in the terminal.
///
/// Without SESSION, lists the sessions. In a session: its timeline, and what the model saw, what changed, messages, system
/// prompt, usage, cache, compactions, events and files at any event. The key ? lists the keys.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last; or a FILE with one.
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Begin at EVENT: its number, turn:N, -N from the end, a time.
    #[arg(long, value_name = "EVENT", allow_negative_numbers = true, requires = "session")]
    at: Option<EventArg>,
}

pub async fn run(args: &Args, cli: &CommandContext) -> Result<Verdict, CliError> {
    if cli.style.json || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(CliError::NoTerminal { what: "tui" });
    }
    let (reader, open) = match &args.session {
        Some(name) => {
            let (reader, session) = cli.find(name).await?;
            let at = match args.at {
                Some(at) => Some(at.seq(&reader, session, &cli.style).await?),
                None => None,
            };
            reader.until(session, at).await?;
            (reader, Some((session, at)))
        }
        None => (cli.reader().await?, None),
    };
    let sessions = sessions(&reader, cli).await?;
    let of_file = cli.file.is_some() || args.session.as_ref().is_some_and(|name| Path::new(name).exists());
    // What is read of a cluster is what is there now.
    let source = match of_file || cli.place.is_in_cluster() {
        true => TuiSource::Fixed(reader),
        false => TuiSource::store(cli.place.dir()).await?,
    };
    Ok(match show(source, sessions, open, cli.pricing(), &cli.style).await? {
        TuiEnd::Left => Verdict::Fine,
        TuiEnd::Failed => Verdict::BadNews,
        TuiEnd::Terminated => Verdict::Exit(TERMINATED),
    })
}

/// The sessions in the order of `annals sessions`.
async fn sessions(reader: &Reader, cli: &CommandContext) -> Result<TuiList, CliError> {
    let catalogue = reader.catalogue().await?;
    let ids = short_ids(&catalogue.sessions.keys().copied().collect::<Vec<_>>());
    let scope = match cli.file.is_some() || cli.all_projects {
        true => ProjectScope::All,
        false => cli.project_scope(&catalogue, None),
    };
    let sessions = list(catalogue, &SessionFilter::default(), SessionOrder::default(), &cli.pricing());
    Ok(TuiList::new(sessions, &ids, |session| match scope {
        ProjectScope::All => false,
        ref scope => scope.takes(&session.directory),
    }))
}
