//! `annals why`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::Sheet;
use annals_inspect::{SessionAt, why};
use std::io::Write;

/// Show which event each part of a request came from.
///
/// Each part (of system prompt, messages, tools) is shown with its event, time, context source, turn and author, and
/// the first request that contained it. The requests of imported sessions were not recorded; they are rebuilt from
/// the views before each answer. Exit status 1 if the request does not contain TEXT.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Only the parts that contain exactly this text.
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// The request, numbered as in `annals cache` (default: the newest).
    #[arg(long, value_name = "N")]
    step: Option<u64>,
    /// Show every text in full.
    #[arg(long)]
    full: bool,
}

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
            "request {} does not contain this text; `annals when` shows which requests did",
            answer.step.number
        ));
    }
    Ok(Verdict::bad_if(absent))
}
