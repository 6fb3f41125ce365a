//! `annals cache`

use crate::command_context::{CommandContext, Target};
use crate::draw::cache::CacheTable;
use crate::error::{CliError, Verdict};
use crate::json;
use annals_inspect::{SessionAt, cache};
use std::io::Write;

/// Show how much of each request a prompt cache can reuse.
///
/// A provider can reuse the prefix that a request shares with the one before it: tools, system prompt, messages, in
/// this order. Each break is shown with its cause, event and price. Exit status 1 if a request cannot be rebuilt
/// from a damaged log, and with --deny-breaks if there is any break.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Show the last COUNT requests only.
    #[arg(long, short = 'n', value_name = "COUNT")]
    last: Option<usize>,
    /// Seconds that the provider keeps an unused prefix.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    ttl: u64,
    /// Exit with status 1 if a request breaks the prefix (for CI).
    #[arg(long)]
    deny_breaks: bool,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let past = SessionAt::from(&cli.target(&args.target).await?);
    let asking = cache::Asking { last: args.last, ttl_ms: args.ttl.saturating_mul(1_000) };
    let totals = if cli.style.json {
        let answer = cache::ask(&past, asking).await?;
        json::object(out, &answer)?;
        answer.totals()
    } else {
        let mut table = CacheTable::new(&cli.style, out);
        let totals = cache::each(&past, asking, |shared| table.row(shared).map_err(CliError::from)).await?;
        table.end(&totals)?;
        totals
    };
    Ok(Verdict::bad_if(totals.damaged > 0 || (args.deny_breaks && totals.breaks > 0)))
}
