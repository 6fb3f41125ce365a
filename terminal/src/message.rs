//! Draws messages whole, as `history` and `transcript` show them: nothing is cut.

use crate::layout::{Sheet, name, plain};
use crate::markdown::draw_row;
use crate::style::{Emphasis, duration, size, thousands};
use annals_core::event::{Attachment, Finish};
use annals_core::{Blobs, Seq};
use annals_inspect::timeline::{command_failure, input_in_brief};
use annals_projections::{Assistant, Body, Content, Message, Status, ToolCall};
use std::io;

/// Draws a message; `mark` is at its right end (`reverted`, `pinned`).
pub fn draw(message: &Message, mark: &str, sheet: &mut Sheet<'_>, blobs: &dyn Blobs) -> io::Result<()> {
    let seq = Some(message.seq);
    let time = sheet.style.clock(message.at);
    let right = if mark.is_empty() { time } else { format!("{mark} {time}") };
    let right = (right.as_str(), Emphasis::Dim);
    match &message.body {
        Body::User { text, attachments, .. } => {
            sheet.row(seq, ("user", Emphasis::User), (&plain(&text.resolve(blobs)), Emphasis::Plain), right)?;
            attachments.iter().try_for_each(|attachment| attached(attachment, sheet))
        }
        Body::Assistant(assistant) => answer(message.seq, assistant, right.0, sheet, blobs),
        Body::System { keys, text } => {
            let keys: Vec<&str> = keys.iter().map(|key| key.as_str()).collect();
            sheet.row(seq, ("system", Emphasis::Context), (&keys.join(", "), Emphasis::Context), right)?;
            sheet.quote(&plain(&text.resolve(blobs)), Emphasis::Plain)
        }
        Body::Synthetic { text } => {
            sheet.row(seq, ("runtime", Emphasis::Warn), (&plain(&text.resolve(blobs)), Emphasis::Plain), right)
        }
        Body::Shell { command, output, exit } => {
            let exit = exit.filter(|exit| *exit != 0).map(|exit| format!("  (exit {exit})")).unwrap_or_default();
            let line = format!("$ {}{exit}", plain(&command.resolve(blobs)));
            sheet.row(seq, ("shell", Emphasis::User), (&line, Emphasis::Plain), right)?;
            sheet.quote(&plain(output.resolve(blobs).trim_end()), Emphasis::Plain)
        }
        Body::Compaction { reason, ends, recent, .. } => {
            let line = format!("{reason} compaction: summary of the messages before it");
            sheet.row(seq, ("compact", Emphasis::Context), (&line, Emphasis::Plain), right)?;
            sheet.quote(&plain(&message.summary_as_sent(blobs).unwrap_or_default()), Emphasis::Plain)?;
            if ends.is_some() {
                let line = "the summary was longer than asked for; its middle is left out";
                sheet.row(None, ("", Emphasis::Dim), (line, Emphasis::Warn), ("", Emphasis::Dim))?;
            }
            let Some(recent) = recent.as_ref().filter(|recent| !recent.is_empty()) else { return Ok(()) };
            sheet.row(None, ("", Emphasis::Dim), ("kept verbatim:", Emphasis::Dim), ("", Emphasis::Dim))?;
            sheet.quote(&plain(&recent.resolve(blobs)), Emphasis::Dim)
        }
        Body::AgentSwitched { agent } => {
            sheet.row(seq, ("agent", Emphasis::Strong), (agent.as_str(), Emphasis::Plain), right)
        }
        Body::ModelSwitched { model } => {
            sheet.row(seq, ("model", Emphasis::Strong), (model.as_str(), Emphasis::Plain), right)
        }
    }
}

fn attached(attachment: &Attachment, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let called = attachment.name.as_deref().unwrap_or("a file");
    let line = format!("attached {} ({}, {})", name(called), attachment.mime, size(attachment.uri.bytes()));
    sheet.row(None, ("", Emphasis::Dim), (&line, Emphasis::Dim), ("", Emphasis::Dim))
}

fn answer(seq: Seq, answer: &Assistant, right: &str, sheet: &mut Sheet<'_>, blobs: &dyn Blobs) -> io::Result<()> {
    let head = name(&format!("{} on {}", answer.agent, answer.model));
    sheet.row(Some(seq), ("assistant", Emphasis::Model), (&head, Emphasis::Dim), (right, Emphasis::Dim))?;
    for content in &answer.content {
        match content {
            Content::Text { seq, text, .. } => {
                draw_row(sheet, Some(*seq), ("", Emphasis::Plain), &text.resolve(blobs))?;
            }
            Content::Reasoning { seq, text, .. } if !text.is_empty() => {
                sheet.row(Some(*seq), ("reasoning", Emphasis::Dim), ("", Emphasis::Dim), ("", Emphasis::Dim))?;
                sheet.quote(&plain(text.resolve(blobs).trim_end()), Emphasis::Dim)?;
            }
            Content::Reasoning { .. } => {}
            Content::Tool(call) => tool(call, sheet, blobs)?,
        }
    }
    if let Some(error) = &answer.error {
        let line = format!("{}: {}", error.kind, plain(&error.message.resolve(blobs)));
        sheet.row(None, ("failed", Emphasis::Bad), (&line, Emphasis::Bad), ("", Emphasis::Dim))?;
    }
    let mut facts = Vec::new();
    match answer.finish {
        None => facts.push("open".to_owned()),
        Some(Finish::Stop | Finish::ToolCalls | Finish::Error) => {}
        Some(finish) => facts.push(format!("ended with {finish}")),
    }
    if let Some(usage) = &answer.usage {
        let input = usage.input_tokens();
        let output = usage.output.saturating_add(usage.reasoning);
        facts.push(format!("{} in, {} out", thousands(input), thousands(output)));
    }
    facts.extend(sheet.cost(answer.cost, &answer.model, answer.usage.unwrap_or_default()));
    if facts.is_empty() {
        return Ok(());
    }
    sheet.row(None, ("", Emphasis::Dim), (&facts.join(" · "), Emphasis::Dim), ("", Emphasis::Dim))
}

fn tool(call: &ToolCall, sheet: &mut Sheet<'_>, blobs: &dyn Blobs) -> io::Result<()> {
    let took = call.settled.map(|(_, at)| duration(at.millis().saturating_sub(call.at.millis())));
    let took = took.unwrap_or_default();
    let text = call.error.as_ref().unwrap_or(&call.output).resolve(blobs);
    let (right, emphasis) = match call.status {
        Status::Completed | Status::Error
            if let Some(failure) = command_failure(call.structured.as_ref(), &text, blobs) =>
        {
            (format!("✗ {failure}  {took:>6}"), Emphasis::Bad)
        }
        Status::Completed => (format!("✓ {took:>6}"), Emphasis::Good),
        Status::Error => (format!("✗ {took:>6}"), Emphasis::Bad),
        Status::Pending | Status::Running => (call.status.as_str().to_owned(), Emphasis::Warn),
    };
    let label = plain(&call.name);
    let brief = plain(&input_in_brief(&call.input, "", blobs));
    sheet.row(Some(call.seq), (&label, Emphasis::Tool), (&brief, Emphasis::Plain), (&right, emphasis))?;
    sheet.quote(&plain(&call.input.0.resolve(blobs)), Emphasis::Tool)?;
    if call.pruned.is_some() {
        let line = format!("the model reads {}", annals_projections::PRUNED);
        sheet.row(None, ("", Emphasis::Dim), (&line, Emphasis::Warn), ("", Emphasis::Dim))?;
    } else if call.is_shortened() {
        let line = format!("the model reads the first and the last {} characters", annals_projections::SHORTENED_ENDS);
        sheet.row(None, ("", Emphasis::Dim), (&line, Emphasis::Warn), ("", Emphasis::Dim))?;
    }
    if !call.output.is_empty() {
        sheet.quote(&plain(call.output.resolve(blobs).trim_end()), Emphasis::Plain)?;
    }
    if let Some(error) = &call.error {
        sheet.quote(&plain(&error.resolve(blobs)), Emphasis::Bad)?;
    }
    if call.truncated {
        let whole = call.paths.last().map(|path| format!("; full output in {path}")).unwrap_or_default();
        sheet.row(
            None,
            ("", Emphasis::Dim),
            (&plain(&format!("shortened{whole}")), Emphasis::Warn),
            ("", Emphasis::Dim),
        )?;
    }
    call.attachments.iter().try_for_each(|attachment| attached(attachment, sheet))
}
