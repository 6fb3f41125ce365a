//! `annals context`

use crate::command_context::{CommandContext, FoundSession, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{Sheet, plain};
use crate::message;
use crate::style::{Emphasis, Style, counted};
use annals_core::event::ContextEvent;
use annals_core::{Blobs, Event, Seq, Snapshot};
use annals_projections::{Epoch, Epochs, SessionView, ToJson};
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
        let told: Vec<serde_json::Value> = told(&view.history).map(|message| message.to_json(blobs)).collect();
        let value = serde_json::json!({
            "baseline": epochs.baseline_json(blobs), "snapshot": epochs.snapshot_json(blobs), "messages": told,
            "due": epochs.due(),
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

/// Why no system prompt is in force.
pub fn absent(view: &SessionView) -> String {
    let recorder = view.session.origin.as_ref().map(|origin| product(&origin.agent));
    match (recorder, view.epochs.marks.is_empty()) {
        (Some(recorder), true) => format!("{recorder} does not record its system prompt"),
        (None, true) => "no system prompt yet: the first turn renders it".to_owned(),
        (_, false) => "no system prompt is in force: the next turn renders a new one".to_owned(),
    }
}

/// Draws a context epoch: its system prompt, the snapshot, the updates since.
///
/// # Errors
/// When the output fails.
pub fn draw(
    epoch: &Epoch,
    view: &SessionView,
    blobs: &dyn Blobs,
    style: &Style,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let mut sheet = Sheet::for_names(out, style, ["exec_command"]);
    baseline(epoch, &mut sheet, blobs)?;
    snapshot(&epoch.snapshot, &mut sheet, blobs)?;
    let messages: Vec<_> = told(&view.history).collect();
    if !messages.is_empty() {
        writeln!(sheet.out)?;
        sheet.rule("context updates", &counted(messages.len() as u64, "message"), Emphasis::Strong)?;
        messages.iter().try_for_each(|message| message::draw(message, "", &mut sheet, blobs))?;
    }
    if let Some(blocked) = &epoch.blocked {
        let keys: Vec<&str> = blocked.keys.iter().map(|key| key.as_str()).collect();
        let line = format!("a new system prompt is due ({}), but {} cannot be read", blocked.cause, keys.join(", "));
        sheet.row(Some(blocked.seq), ("blocked", Emphasis::Warn), (&line, Emphasis::Plain), ("", Emphasis::Dim))?;
    } else if let Some(cause) = view.epochs.due() {
        let line = format!("the next turn renders a new system prompt ({cause})");
        sheet.row(None, ("due", Emphasis::Warn), (&line, Emphasis::Plain), ("", Emphasis::Dim))?;
    }
    Ok(())
}

/// What people call an agent that sessions are imported from.
fn product(agent: &str) -> &str {
    match agent {
        "claude-code" => "Claude Code",
        "codex" => "Codex",
        "opencode" => "OpenCode",
        other => other,
    }
}

/// The context messages that the model still sees.
fn told(history: &annals_projections::History) -> impl Iterator<Item = &annals_projections::Message> {
    history.selected().filter(|message| matches!(message.body, annals_projections::Body::System { .. }))
}

fn baseline(epoch: &Epoch, sheet: &mut Sheet<'_>, blobs: &dyn Blobs) -> Result<(), CliError> {
    let left = format!("epoch {} · {}", epoch.mark.epoch, epoch.mark.cause);
    let right = format!("event {} · {}", epoch.mark.seq, epoch.location.directory);
    sheet.rule(&left, &right, Emphasis::Strong)?;
    if !epoch.known {
        let line = "this system prompt was not recorded by the agent that the session was imported from";
        sheet.row(
            Some(epoch.mark.seq),
            ("baseline", Emphasis::Context),
            (line, Emphasis::Warn),
            ("", Emphasis::Dim),
        )?;
        return Ok(());
    }
    for part in &epoch.parts {
        let text = plain(&part.text.resolve(blobs));
        let size = counted(part.text.chars(), "character");
        let key = part.key.as_str();
        sheet.row(
            Some(epoch.mark.seq),
            ("baseline", Emphasis::Context),
            (key, Emphasis::Context),
            (&size, Emphasis::Dim),
        )?;
        sheet.quote(&text, Emphasis::Plain)?;
    }
    if epoch.parts.is_empty() {
        sheet.row(
            Some(epoch.mark.seq),
            ("baseline", Emphasis::Context),
            ("empty", Emphasis::Dim),
            ("", Emphasis::Dim),
        )?;
    }
    Ok(())
}

fn snapshot(snapshot: &Snapshot, sheet: &mut Sheet<'_>, blobs: &dyn Blobs) -> Result<(), CliError> {
    if snapshot.0.is_empty() {
        return Ok(());
    }
    writeln!(sheet.out)?;
    sheet.rule("snapshot", &counted(snapshot.0.len() as u64, "source"), Emphasis::Strong)?;
    for (key, entry) in &snapshot.0 {
        sheet.row(None, ("source", Emphasis::Context), (key.as_str(), Emphasis::Context), ("", Emphasis::Dim))?;
        sheet.quote(&plain(&entry.value.0.resolve(blobs)), Emphasis::Plain)?;
        if let Some(removed) = &entry.removed {
            let line = format!("if removed: {}", plain(&removed.resolve(blobs)));
            sheet.quote(&line, Emphasis::Dim)?;
        }
    }
    Ok(())
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
