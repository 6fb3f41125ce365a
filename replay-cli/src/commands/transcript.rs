//! `annals transcript`

use crate::command_context::{CommandContext, FoundSession, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::Sheet;
use crate::message;
use annals_core::Seq;
use annals_projections::{Message, Messages, ToJson, Transcript, TranscriptItem};
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
    let (blobs, style) = (found.reader.blobs(), &cli.style);
    if style.json {
        let mut list = json::List::begin(out)?;
        each(args, &found, |message, undone| {
            let mut value = message.to_json(blobs);
            if let (true, Value::Object(fields)) = (undone, &mut value) {
                fields.insert("reverted".to_owned(), Value::Bool(true));
            }
            Ok(list.item(&value)?)
        })
        .await?;
        list.end()?;
        return Ok(Verdict::Fine);
    }
    let mut sheet = Sheet::for_names(out, style, ["exec_command"]).priced(cli.pricing());
    each(args, &found, |message, undone| {
        Ok(message::draw(message, if undone { "undone" } else { "" }, &mut sheet, blobs)?)
    })
    .await?;
    Ok(Verdict::Fine)
}

/// Visits the messages that are wanted, oldest first, and whether each was undone.
async fn each(
    args: &Args,
    found: &FoundSession,
    mut visit: impl FnMut(&Message, bool) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let (reader, session, until) = (&found.reader, found.session, found.until);
    let mut index = reader.bounded(session, until).await?.transcript;
    let Some(last) = args.last else {
        // All of them: nothing but what reverts undid has to be known before the first one.
        let message = |message: &Message| match index.is_reverted(message.seq) {
            true if args.without_undone => Ok(()),
            undone => visit(&index.marked(message), undone),
        };
        return reader.each_message(session, until, message).await;
    };
    let wanted = |index: &Transcript| -> Vec<TranscriptItem> {
        let is_shown = |item: &&TranscriptItem| !(args.without_undone && index.is_reverted(item.seq));
        let items: Vec<TranscriptItem> = index.items.iter().filter(is_shown).copied().collect();
        items.get(items.len().saturating_sub(last)..).unwrap_or_default().to_vec()
    };
    let mut items = wanted(&index);
    if items.len() < last && index.dropped > 0 {
        index = reader.fold(session, until).await?;
        items = wanted(&index);
    }
    index.items = items.into();
    let page = |messages: &Messages, wanted: &[Seq]| {
        let messages = wanted.iter().filter_map(|seq| messages.get(*seq));
        messages.into_iter().try_for_each(|message| visit(&index.marked(message), index.is_reverted(message.seq)))
    };
    reader.transcript(session, until, &index, page).await
}
