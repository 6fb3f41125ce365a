//! `annals transcript`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::Sheet;
use crate::message;
use annals_projections::{ToJson, Transcript};
use serde_json::Value;
use std::io::Write;

/// Show every message that the user was shown, undone ones included.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Leave out what a revert undid.
    #[arg(long)]
    without_undone: bool,
    /// Show the last COUNT messages only.
    #[arg(long, short = 'n', value_name = "COUNT")]
    last: Option<usize>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let found = cli.target(&args.target).await?;
    let reader = &found.reader;
    let mut index: Transcript = reader.fold(found.session, found.until).await?;
    if args.without_undone {
        let gone = |seq| index.is_reverted(seq);
        let without_undone = index.items.iter().filter(|item| !gone(item.seq)).copied().collect();
        index.items = without_undone;
    }
    if let Some(last) = args.last {
        index.items.drain(..index.items.len().saturating_sub(last));
    }
    let blobs = reader.blobs();
    if cli.style.json {
        let mut list = json::List::begin(out)?;
        reader
            .transcript(found.session, found.until, &index, |messages, wanted| -> Result<(), CliError> {
                for message in wanted.iter().filter_map(|seq| messages.get(*seq)) {
                    let mut value = index.marked(message).to_json(blobs);
                    if let (true, Value::Object(fields)) = (index.is_reverted(message.seq), &mut value) {
                        fields.insert("reverted".to_owned(), Value::Bool(true));
                    }
                    list.item(&value)?;
                }
                Ok(())
            })
            .await?;
        list.end()?;
        return Ok(Verdict::Fine);
    }
    let mut sheet = Sheet::for_names(out, &cli.style, ["exec_command"]);
    reader
        .transcript(found.session, found.until, &index, |messages, wanted| -> Result<(), CliError> {
            for message in wanted.iter().filter_map(|seq| messages.get(*seq)) {
                let mark = if index.is_reverted(message.seq) { "undone" } else { "" };
                message::draw(&index.marked(message), mark, &mut sheet, blobs)?;
            }
            Ok(())
        })
        .await?;
    Ok(Verdict::Fine)
}
