//! `annals why`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::Sheet;
use annals_inspect::{SessionAt, why};
use std::io::Write;

/// Show where each part of a request came from: every span, and the event that put it there.
///
/// Each span (of system text, messages, tools) is shown with its event and time, its Context Source, the turn, who acted,
/// and since which request it stands there. The request of an imported Session, which was not recorded, is rebuilt from
/// the views before its answer. Exit status 1 when a TEXT was named and the request does not hold it.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Only the spans that hold this text, exactly.
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// The request, from 1, as `annals cache` numbers them; the newest of a turn otherwise.
    #[arg(long, value_name = "N")]
    step: Option<u64>,
    /// Shows every text whole.
    #[arg(long)]
    full: bool,
}

/// Runs the command.
///
/// # Errors
/// When there is no such request, the Session cannot be read or the output refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let past = SessionAt::from(&cli.target(&args.target).await?);
    let answer = why::ask(&past, args.step, args.text.as_deref()).await?;
    if cli.style.json {
        json::object(out, &answer)?;
    } else {
        crate::draw::why::draw(&answer, args.full, &mut Sheet::new(out, &cli.style))?;
    }
    let absent = answer.spans.is_empty() && args.text.is_some();
    if absent {
        cli.remark(&format!(
            "request {} does not hold this text; `annals when` tells when one did",
            answer.step.number
        ));
    }
    Ok(Verdict::bad_if(absent))
}
