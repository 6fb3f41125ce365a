//! `annals cache`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use annals_inspect::{SessionAt, cache};
use std::io::Write;

/// Shows what a provider's prompt cache could keep: the prefix that each request shares with the one before, and breaks.
///
/// A prefix is compared in the order in which providers keep it: tools, system texts, messages. Each break has its cause,
/// the event behind it, and its price by the recorded prices. With --deny-breaks a break is exit status 1: a gate for CI.
/// A request that a damaged log does not give back is shown in its place, and is exit status 1 as well.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Only the newest so many requests.
    #[arg(long, short = 'n', value_name = "COUNT")]
    last: Option<usize>,
    /// How long the provider keeps an unused prefix, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    ttl: u64,
    /// Exit status 1 when a request breaks the prefix.
    #[arg(long)]
    deny_breaks: bool,
}

/// Runs the command.
///
/// # Errors
/// When the Session cannot be read or the output refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let past = SessionAt::from(&cli.target(&args.target).await?);
    let asking = cache::Asking { last: args.last, ttl_ms: args.ttl.saturating_mul(1_000) };
    let answer = cache::ask(&past, asking).await?;
    if cli.style.json {
        json::object(out, &answer)?;
    } else {
        crate::draw::cache::draw(&answer, &cli.style, out)?;
    }
    Ok(Verdict::bad_if(answer.damaged > 0 || (args.deny_breaks && answer.breaks > 0)))
}
