//! Draws one event whole: every field and every text.

use super::events::emphasis;
use crate::layout::{columns, pad, plain, wrap};
use crate::markdown;
use crate::style::{Emphasis, Style};
use annals_core::event::StepEvent;
use annals_core::text::Texts;
use annals_core::{Batch, Blobs, Event, Json, NoBlobs, Record, Seq, SessionId, Text};
use serde_json::Value;
use std::io::{self, Write};

/// Draws an event whole.
pub fn draw(
    record: &Record<'_>,
    batch: &Batch,
    session: SessionId,
    style: &Style,
    blobs: &dyn Blobs,
    out: &mut dyn Write,
) -> io::Result<()> {
    let kind = record.event.kind();
    writeln!(
        out,
        "{} {}",
        style.paint(emphasis(kind), kind.name()),
        style.paint(Emphasis::Dim, &format!("event {}", record.seq))
    )?;
    for line in wrap(kind.meaning(), style.width) {
        writeln!(out, "{}", style.paint(Emphasis::Dim, &line))?;
    }
    writeln!(out)?;
    fact(style, out, "time", &style.exact(record.at))?;
    if batch.session != session {
        fact(style, out, "inherited", &format!("from session {}", batch.session))?;
    }
    let last = Seq(batch.next().0.saturating_sub(1));
    let range = if batch.events.len() == 1 {
        "this event only".to_owned()
    } else {
        format!("events {} to {last}", batch.first)
    };
    fact(style, out, "batch", &range)?;
    fact(style, out, "digest", &batch.digest.to_string())?;
    fact(
        style,
        out,
        "prev",
        &batch.prev.map_or("none (the first event of the log)".to_owned(), |prev| prev.to_string()),
    )?;
    writeln!(out)?;
    let mut event = record.event.clone();
    event.texts(&mut |text: &mut Text| *text = text.resolve(blobs).into_owned().into());
    if let Value::Object(fields) = event.to_json() {
        let fields: Vec<(&str, &Value)> =
            fields.iter().filter(|(name, _)| *name != "type").map(|(name, value)| (name.as_str(), value)).collect();
        let text = match &event {
            Event::Step(StepEvent::TextEnded(text)) if style.markdown => text.text.inline(),
            _ => None,
        };
        let rest: Vec<(&str, &Value)> =
            fields.iter().filter(|(name, _)| text.is_none() || *name != "text").copied().collect();
        all(style, out, &rest, 0)?;
        if let Some(text) = text {
            writeln!(out, "{}", style.paint(Emphasis::Strong, "text"))?;
            let bar = style.paint(Emphasis::Dim, "│");
            for line in markdown::lines(&plain(text.trim_end()), style.width.saturating_sub(4), style) {
                writeln!(out, "{}", format!("  {bar} {line}").trim_end())?;
            }
        }
    }
    Ok(())
}

fn fact(style: &Style, out: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    let label = style.paint(Emphasis::Strong, &format!("{name:<9}"));
    // What does not fit next to its name is copied more easily from a line of its own.
    let gap = if 11 + columns(value) <= style.width { "  " } else { "\n" };
    writeln!(out, "{label}{gap}{value}")?;
    Ok(())
}

/// Fields of one level, their values below each other.
fn all(style: &Style, out: &mut dyn Write, fields: &[(&str, &Value)], depth: usize) -> io::Result<()> {
    let widest = fields.iter().map(|(name, _)| columns(name)).max().unwrap_or_default().min(16);
    fields.iter().try_for_each(|(name, value)| field(style, out, &pad(name, widest), value, depth))
}

/// A field and its value; texts are shown as they are, JSON in them indented.
fn field(style: &Style, out: &mut dyn Write, name: &str, value: &Value, depth: usize) -> io::Result<()> {
    let indent = "  ".repeat(depth);
    let label = style.paint(Emphasis::Strong, &plain(name));
    match value {
        Value::Null => writeln!(out, "{indent}{label}  {}", style.paint(Emphasis::Dim, "none"))?,
        Value::Object(fields) if fields.is_empty() => {
            writeln!(out, "{indent}{label}  {}", style.paint(Emphasis::Dim, "empty"))?;
        }
        Value::Array(items) if items.is_empty() => {
            writeln!(out, "{indent}{label}  {}", style.paint(Emphasis::Dim, "empty"))?;
        }
        Value::Object(fields) => {
            writeln!(out, "{indent}{}", label.trim_end())?;
            let fields: Vec<(&str, &Value)> = fields.iter().map(|(name, value)| (name.as_str(), value)).collect();
            all(style, out, &fields, depth + 1)?;
        }
        Value::Array(items) => {
            writeln!(out, "{indent}{}", label.trim_end())?;
            for (at, value) in items.iter().enumerate() {
                field(style, out, &format!("{}.", at + 1), value, depth + 1)?;
            }
        }
        Value::String(text) => {
            let text = indented(text);
            if !text.contains('\n') && text.len() + name.len() + indent.len() + 2 <= style.width {
                writeln!(out, "{indent}{label}  {}", plain(&text))?;
            } else {
                writeln!(out, "{indent}{}", label.trim_end())?;
                let bar = style.paint(Emphasis::Dim, "│");
                for line in wrap(&plain(&text), style.width.saturating_sub(indent.len() + 4)) {
                    writeln!(out, "{}", format!("{indent}  {bar} {line}").trim_end())?;
                }
            }
        }
        other => writeln!(out, "{indent}{label}  {other}")?,
    }
    Ok(())
}

/// JSON in a text, indented; any other text as it is.
fn indented(text: &str) -> String {
    if !text.starts_with(['{', '[']) {
        return text.to_owned();
    }
    let value = Json::received(text).value(&NoBlobs);
    match &value {
        Value::Object(_) | Value::Array(_) if text.len() > 60 => {
            serde_json::to_string_pretty(&value).unwrap_or_else(|_| text.to_owned())
        }
        _ => text.to_owned(),
    }
}
