//! `annals session pin` and `annals session unpin`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use annals_host::editing;
use annals_inspect::pins::pin_event;
use annals_store::OpenMode;

/// Pin a message: compactions keep it word for word.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last.
    #[arg(value_name = "SESSION")]
    session: String,
    /// An event of the message (see annals replay), turn:N for user message N, -N from the end, or a time.
    #[arg(value_name = "EVENT", allow_negative_numbers = true)]
    message: EventArg,
}

/// Unpin a message: compactions may summarise it.
#[derive(Clone, Debug, clap::Args)]
pub struct UnpinArgs {
    #[command(flatten)]
    args: Args,
}

/// Runs `pin`.
///
/// # Errors
/// When there is no such message, or it is pinned already.
pub async fn run(args: &Args, cli: &CommandContext) -> Result<Verdict, CliError> {
    record(args, cli, true).await
}

/// Runs `unpin`.
///
/// # Errors
/// When there is no such message, or it is not pinned.
pub async fn run_unpin(args: &UnpinArgs, cli: &CommandContext) -> Result<Verdict, CliError> {
    record(&args.args, cli, false).await
}

async fn record(args: &Args, cli: &CommandContext, pin: bool) -> Result<Verdict, CliError> {
    let reader = cli.store(OpenMode::Existing).await?;
    let named = cli.find_session(&reader, &args.session).await?;
    let session = editing::local_fork(&reader, named).await?.unwrap_or(named);
    let head = reader.head(session).await?;
    let view = reader.view(session, head.next).await?;
    let seq = args.message.message(&reader, session, &view, &cli.style).await?;
    let event = pin_event(&view, seq, pin)?;
    let (session, at) = editing::append(cli, &reader, session, event).await?;
    let done = if pin { "pinned" } else { "unpinned" };
    cli.remark(&format!("{done} the message at event {seq}{} (event {at})", editing::in_fork(named, session)));
    Ok(Verdict::Fine)
}
