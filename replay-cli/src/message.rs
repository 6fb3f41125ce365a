//! Draws messages whole, as `history` and `transcript` show them: nothing is cut.

use crate::layout::{Sheet, name, plain};
use crate::look::{Tone, duration, money, size, thousands};
use annals_core::event::{Attachment, Finish};
use annals_core::{Blobs, Seq};
use annals_inspect::timeline::{failed_exit, input_in_brief};
use annals_projections::{Assistant, Body, Content, Message, Status, ToolCall};
use std::io;

/// Draws a message; `mark` stands at its right end (`reverted`, `pinned`).
///
/// # Errors
/// When the output refuses.
pub fn draw(message: &Message, mark: &str, sheet: &mut Sheet<'_>, blobs: &dyn Blobs) -> io::Result<()> {
    let seq = Some(message.seq);
    let time = sheet.look.clock(message.at);
    let right = if mark.is_empty() { time } else { format!("{mark} {time}") };
    let right = (right.as_str(), Tone::Dim);
    match &message.body {
        Body::User { text, attachments, .. } => {
            sheet.row(seq, ("user", Tone::User), (&plain(&text.resolve(blobs)), Tone::Plain), right)?;
            attachments.iter().try_for_each(|attachment| attached(attachment, sheet))
        }
        Body::Assistant(assistant) => answer(message.seq, assistant, right.0, sheet, blobs),
        Body::System { keys, text } => {
            let keys: Vec<&str> = keys.iter().map(|key| key.as_str()).collect();
            sheet.row(seq, ("system", Tone::Context), (&keys.join(", "), Tone::Context), right)?;
            sheet.quote(&plain(&text.resolve(blobs)), Tone::Plain)
        }
        Body::Synthetic { text } => {
            sheet.row(seq, ("runtime", Tone::Warn), (&plain(&text.resolve(blobs)), Tone::Plain), right)
        }
        Body::Shell { command, output, exit } => {
            let exit = exit.filter(|exit| *exit != 0).map(|exit| format!("  (exit {exit})")).unwrap_or_default();
            let line = format!("$ {}{exit}", plain(&command.resolve(blobs)));
            sheet.row(seq, ("shell", Tone::User), (&line, Tone::Plain), right)?;
            sheet.quote(&plain(output.resolve(blobs).trim_end()), Tone::Plain)
        }
        Body::Compaction { reason, summary, recent } => {
            let line = format!("{reason} compaction: what came before is summarised");
            sheet.row(seq, ("compact", Tone::Context), (&line, Tone::Plain), right)?;
            sheet.quote(&plain(&summary.resolve(blobs)), Tone::Plain)?;
            if recent.is_empty() {
                return Ok(());
            }
            sheet.row(None, ("", Tone::Dim), ("kept as it was:", Tone::Dim), ("", Tone::Dim))?;
            sheet.quote(&plain(&recent.resolve(blobs)), Tone::Dim)
        }
        Body::AgentSwitched { agent } => sheet.row(seq, ("agent", Tone::Strong), (agent.as_str(), Tone::Plain), right),
        Body::ModelSwitched { model } => sheet.row(seq, ("model", Tone::Strong), (model.as_str(), Tone::Plain), right),
    }
}

fn attached(attachment: &Attachment, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let called = attachment.name.as_deref().unwrap_or("a file");
    let line = format!("attached {} ({}, {})", name(called), attachment.mime, size(attachment.uri.bytes()));
    sheet.row(None, ("", Tone::Dim), (&line, Tone::Dim), ("", Tone::Dim))
}

fn answer(seq: Seq, answer: &Assistant, right: &str, sheet: &mut Sheet<'_>, blobs: &dyn Blobs) -> io::Result<()> {
    let head = name(&format!("{} on {}", answer.agent, answer.model));
    sheet.row(Some(seq), ("assistant", Tone::Model), (&head, Tone::Dim), (right, Tone::Dim))?;
    for content in &answer.content {
        match content {
            Content::Text { seq, text, .. } => {
                let text = plain(text.resolve(blobs).trim_end());
                sheet.row(Some(*seq), ("", Tone::Plain), (&text, Tone::Plain), ("", Tone::Dim))?;
            }
            Content::Reasoning { seq, text, .. } if !text.is_empty() => {
                sheet.row(Some(*seq), ("reasoning", Tone::Dim), ("", Tone::Dim), ("", Tone::Dim))?;
                sheet.quote(&plain(text.resolve(blobs).trim_end()), Tone::Dim)?;
            }
            Content::Reasoning { .. } => {}
            Content::Tool(call) => tool(call, sheet, blobs)?,
        }
    }
    if let Some(error) = &answer.error {
        let line = format!("{}: {}", error.kind, plain(&error.message.resolve(blobs)));
        sheet.row(None, ("failed", Tone::Bad), (&line, Tone::Bad), ("", Tone::Dim))?;
    }
    let mut facts = Vec::new();
    match answer.finish {
        None => facts.push("open".to_owned()),
        Some(Finish::Stop | Finish::ToolCalls | Finish::Error) => {}
        Some(finish) => facts.push(format!("ended with {finish}")),
    }
    if let Some(usage) = &answer.usage {
        let input = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let output = usage.output.saturating_add(usage.reasoning);
        facts.push(format!("{} in, {} out", thousands(input), thousands(output)));
    }
    if answer.cost > 0 {
        facts.push(money(answer.cost));
    }
    if facts.is_empty() {
        return Ok(());
    }
    sheet.row(None, ("", Tone::Dim), (&facts.join(" · "), Tone::Dim), ("", Tone::Dim))
}

fn tool(call: &ToolCall, sheet: &mut Sheet<'_>, blobs: &dyn Blobs) -> io::Result<()> {
    let took = call.settled.map(|(_, at)| duration(at.millis().saturating_sub(call.at.millis())));
    let took = took.unwrap_or_default();
    let text = call.error.as_ref().unwrap_or(&call.output).resolve(blobs);
    let (right, tone) = match call.status {
        Status::Completed | Status::Error if let Some(exit) = failed_exit(call.structured.as_ref(), &text, blobs) => {
            (format!("✗ exit {exit}  {took:>6}"), Tone::Bad)
        }
        Status::Completed => (format!("✓ {took:>6}"), Tone::Good),
        Status::Error => (format!("✗ {took:>6}"), Tone::Bad),
        Status::Pending | Status::Running => (call.status.as_str().to_owned(), Tone::Warn),
    };
    let label = plain(&call.name);
    let brief = plain(&input_in_brief(&call.input, "", blobs));
    sheet.row(Some(call.seq), (&label, Tone::Tool), (&brief, Tone::Plain), (&right, tone))?;
    sheet.quote(&plain(&call.input.0.resolve(blobs)), Tone::Tool)?;
    if call.pruned.is_some() {
        let line = format!("the model reads {}", annals_projections::PRUNED);
        sheet.row(None, ("", Tone::Dim), (&line, Tone::Warn), ("", Tone::Dim))?;
    }
    if !call.output.is_empty() {
        sheet.quote(&plain(call.output.resolve(blobs).trim_end()), Tone::Plain)?;
    }
    if let Some(error) = &call.error {
        sheet.quote(&plain(&error.resolve(blobs)), Tone::Bad)?;
    }
    if call.truncated {
        let whole = call.paths.last().map(|path| format!("; the whole output was in {path}")).unwrap_or_default();
        sheet.row(None, ("", Tone::Dim), (&plain(&format!("a preview{whole}")), Tone::Warn), ("", Tone::Dim))?;
    }
    call.attachments.iter().try_for_each(|attachment| attached(attachment, sheet))
}
