//! `annals show`

use crate::command_context::CommandContext;
use crate::draw::event;
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use annals_core::Batch;
use annals_inspect::reader::FindError;
use annals_projections::ToJson;
use serde_json::Value;
use std::io::Write;

/// Show one event in full: every field, every text, and its digest.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session (default: @last), then the event: its number, turn:N, -N from the end, or a time (14:05:21, "2h ago").
    #[arg(value_name = "[SESSION] EVENT", num_args = 1..=2, required = true, allow_negative_numbers = true)]
    session_and_seq: Vec<String>,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (name, seq) = match args.session_and_seq.as_slice() {
        [seq] if seq.parse::<EventArg>().is_ok() => ("@last", seq),
        [session] => return Err(CliError::EventMissing { session: session.clone() }),
        [name, seq, ..] => (name.as_str(), seq),
        [] => return Err(CliError::NotASeq { text: String::new() }),
    };
    let place: EventArg = seq.parse().map_err(|_| CliError::NotASeq { text: seq.clone() })?;
    let (reader, session) = cli.find(name).await?;
    let seq = place.seq(&reader, session, &cli.style).await?;
    reader.until(session, Some(seq)).await?;
    let slice = reader.log().batch_at(session, seq).await?;
    let Some((batch, record)) = slice.as_ref().and_then(|slice| {
        let record = slice.batch.records().find(|record| record.seq == seq)?;
        Some((slice.batch.clone(), record))
    }) else {
        return Err(FindError::PastTheEnd { session, seq, last: seq }.into());
    };
    let blobs = reader.blobs();
    if cli.style.json {
        let mut value = record.to_json(blobs);
        if let Value::Object(fields) = &mut value {
            fields.insert("batch".to_owned(), about(&batch));
        }
        json::object(out, &value)?;
        return Ok(Verdict::Fine);
    }
    event::draw(&record, &batch, session, &cli.style, blobs, out)?;
    Ok(Verdict::Fine)
}

fn about(batch: &Batch) -> Value {
    serde_json::json!({
        "session": batch.session, "first": batch.first, "count": batch.events.len(), "at": batch.at,
        "prev": batch.prev, "digest": batch.digest,
    })
}
