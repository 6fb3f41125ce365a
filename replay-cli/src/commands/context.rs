//! `annals context`

use crate::command_context::{CommandContext, FoundSession, Target};
use crate::draw::context::{absent, context_messages, draw};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::style::{Emphasis, Style};
use annals_core::event::ContextEvent;
use annals_core::{Event, Seq};
use annals_projections::{Epochs, ToJson};
use std::io::Write;

/// Show the system prompt and the context updates since.
///
/// The system prompt (baseline) opens every request and stays the same for a context epoch. When a source changes,
/// the model gets an update in the conversation instead. The snapshot is the last value of each source that the model
/// was given; it is not part of a request.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Print the exact text of the system prompt, and nothing else.
    #[arg(long)]
    text: bool,
    /// List the context epochs: when and why each system prompt began.
    #[arg(long, conflicts_with = "text")]
    epochs: bool,
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let found = cli.target(&args.target).await?;
    let view = found.reader.bounded(found.session, found.until).await?;
    let blobs = found.reader.blobs();
    let epochs = &view.epochs;
    if args.epochs {
        return marks(epochs, &found, cli, out).await;
    }
    if cli.style.json && !args.text {
        let messages: Vec<serde_json::Value> =
            context_messages(&view.history).map(|message| message.to_json(blobs)).collect();
        let is_foreign = view.session.origin.is_some();
        let is_recorded = epochs.current.as_ref().map_or(!is_foreign, |epoch| epoch.known);
        let value = serde_json::json!({
            "baseline": epochs.baseline_json(blobs), "snapshot": epochs.snapshot_json(blobs), "messages": messages,
            "due": epochs.due(), "recorded": is_recorded,
        });
        json::object(out, &value)?;
        return Ok(Verdict::Fine);
    }
    let Some(epoch) = &epochs.current else {
        cli.remark(&absent(&view));
        return Ok(Verdict::Fine);
    };
    if args.text {
        write!(out, "{}", epoch.text(blobs))?;
        return Ok(Verdict::Fine);
    }
    draw(epoch, &view, blobs, &cli.style, out)?;
    Ok(Verdict::Fine)
}

async fn marks(
    epochs: &Epochs,
    found: &FoundSession,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    if cli.style.json {
        json::object(out, &epochs.marks_json())?;
        return Ok(Verdict::Fine);
    }
    for (at, mark) in epochs.marks.iter().enumerate() {
        let until = epochs.marks.get(at + 1).map_or(found.until, |next| next.seq);
        let slice = found.reader.log().batch_at(found.session, mark.seq).await?;
        let record = slice.as_ref().and_then(|slice| slice.records().find(|record| record.seq == mark.seq));
        let facts = record.as_ref().map(|record| facts(record.event, record.at, &cli.style)).unwrap_or_default();
        writeln!(
            out,
            "{}  {:<14}  {}  {facts}",
            cli.style.paint(Emphasis::Strong, &format!("{:>3}", mark.epoch)),
            mark.cause.as_str(),
            cli.style.paint(Emphasis::Dim, &format!("events {:>5} to {:<5}", mark.seq, Seq(until.0.saturating_sub(1)))),
        )?;
    }
    Ok(Verdict::Fine)
}

fn facts(event: &Event, at: annals_core::Time, style: &Style) -> String {
    let Event::Context(ContextEvent::EpochStarted(started)) = event else { return String::new() };
    let keys: Vec<&str> = started.parts.iter().map(|part| part.key.as_str()).collect();
    let what = if started.known { keys.join(", ") } else { "not recorded".to_owned() };
    format!("{}  {what}", style.clock(at))
}
