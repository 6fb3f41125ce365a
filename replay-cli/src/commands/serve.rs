//! `annals serve`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, ServingError, Verdict};
use crate::event_arg::EventArg;
use annals_host::Signals;
use annals_inspect::live_store::LiveStore;
use annals_runtime::ports::{Ids, SeededIds, SystemClock};
use annals_serve::{ApiServer, HostedSessions, ServerSettings, ServerToken};
use annals_store::OpenMode;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Show the sessions in a browser, at any moment.
///
/// Prints a link to a page on this machine; everyone who has the link can read the store. The page follows sessions that are
/// running. The same answers are given to programs as JSON (see docs/serve.md). Nothing is written without --write. Ctrl-C ends it.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Open the page at this session, or show this FILE instead of the store.
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Open it right after EVENT: its number, turn:N, -N from the end, a time.
    #[arg(long, value_name = "EVENT", allow_negative_numbers = true, requires = "session")]
    at: Option<EventArg>,
    /// Allow prompts, answers to permission questions, interruptions, forks, undos and pins: with the link, people can let
    /// agents work on this machine, with your configuration.
    #[arg(long)]
    write: bool,
    /// With --write, end a prompt after N steps (requests to the model); 0 for no limit (default: `max_steps`, 200).
    #[arg(long, value_name = "N", requires = "write")]
    max_steps: Option<u32>,
    /// Listen on this address; port 0 chooses a free one. Other machines are answered only with --token-file.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    listen: String,
    /// Take the token from FILE, which only you can read, instead of making one.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Also answer under this name (behind a proxy); may be repeated.
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// When there is no store, the address is taken, or the token cannot be used.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let _indexed = cli.keep_indexed();
    let token = match &args.token_file {
        Some(path) => ServerToken::in_file(path).map_err(ServingError::from)?,
        None => ServerToken::of_random(&SeededIds::from_entropy().map_err(std::io::Error::other)?.session_key().0),
    };
    let found = match &args.session {
        Some(session) => Some(cli.target(&Target { session: session.clone(), at: args.at }).await?),
        None => None,
    };
    let of_file = cli.file.is_some() || args.session.as_ref().is_some_and(|name| Path::new(name).exists());
    if args.write && of_file {
        return Err(ServingError::FileIsRead.into());
    }
    let hosted = match args.write {
        true => Some(Arc::new(hosted(args.max_steps, cli).await?)),
        false => None,
    };
    let store = match (&hosted, &found) {
        (Some(hosted), _) => LiveStore::written(hosted.reader()),
        (None, Some(found)) if of_file => LiveStore::of(&found.reader),
        (None, None) if of_file => LiveStore::of(&cli.reader().await?),
        // A cluster gives what is there now.
        _ if cli.place.is_in_cluster() => LiveStore::written(&cli.reader().await?),
        _ => LiveStore::open(cli.place.dir()).await?,
    };
    let store = if cli.place.is_in_cluster() && !of_file { store.named(cli.place.shown()) } else { store };
    let settings = ServerSettings {
        listen: args.listen.clone(),
        token,
        beyond_loopback: args.token_file.is_some(),
        names: args.host.clone(),
    };
    let server = ApiServer::bind(store, cli.pricing(), hosted.clone(), &settings).await.map_err(ServingError::from)?;
    let link = match &found {
        Some(found) => server.link_to(found.session, args.at.map(|_| found.until)),
        None => server.link(),
    };
    writeln!(out, "{link}")?;
    out.flush()?;
    cli.remark("open this link in a browser; Ctrl-C ends the server");
    let mut signals = Signals::listen()?;
    let ended = tokio::select! {
        ended = server.run() => ended,
        _ = signals.next() => Ok(()),
    };
    if let Some(hosted) = hosted {
        hosted.close().await;
    }
    ended?;
    Ok(Verdict::Fine)
}

/// The sessions of the store, which is created if there is none.
async fn hosted(max_steps: Option<u32>, cli: &CommandContext) -> Result<HostedSessions, CliError> {
    let reader = cli.store(OpenMode::Create).await?;
    // What is recorded has the time at which it happens.
    Ok(HostedSessions::new(cli.host.clone().at(Arc::new(SystemClock::local())), reader).with_max_steps(max_steps))
}
