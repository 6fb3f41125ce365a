//! `annals history`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::Sheet;
use crate::message;
use crate::style::counted;
use annals_core::Blobs;
use annals_projections::{SessionView, ToJson};
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

/// Draws the messages that the next request would carry, and counts them.
///
/// # Errors
/// When the output fails.
pub fn draw(view: &SessionView, blobs: &dyn Blobs, sheet: &mut Sheet<'_>) -> Result<u64, CliError> {
    let mut count = 0;
    for message in view.history.selected() {
        let mark = if view.history.is_pinned(message.seq) { "pinned" } else { "" };
        message::draw(message, mark, sheet, blobs)?;
        count += 1;
    }
    Ok(count)
}
