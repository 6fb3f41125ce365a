//! `annals history`

use crate::command_context::{CommandContext, Target};
use crate::draw::history::draw;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::Sheet;
use crate::style::counted;
use annals_projections::ToJson;
use std::io::Write;

/// Show the messages that the next request would carry.
///
/// Messages that a compaction replaced or a revert undid are left out (`annals transcript` shows them). The system
/// prompt, which precedes them in every request, is shown by `annals context`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let found = cli.target(&args.target).await?;
    let view = found.reader.bounded(found.session, found.until).await?;
    let blobs = found.reader.blobs();
    if cli.style.json {
        let mut list = json::List::begin(out)?;
        if let serde_json::Value::Array(messages) = view.history.to_json(blobs) {
            messages.iter().try_for_each(|message| list.item(message))?;
        }
        list.end()?;
        return Ok(Verdict::Fine);
    }
    let count = draw(&view, blobs, &mut Sheet::for_names(out, &cli.style, ["exec_command"]).priced(cli.pricing()))?;
    cli.remark(&format!("the next request would carry {}", counted(count, "message")));
    Ok(Verdict::Fine)
}
