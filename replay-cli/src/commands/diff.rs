//! `annals diff`

use crate::changes::{Change, changes};
use crate::desk::Desk;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{plain, wrap};
use crate::look::{Look, Tone};
use annals_core::Seq;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use std::io::{self, Write};

/// Shows what changed in every view of a Session between two of its events.
///
/// Compares the views as they were when event FROM had happened with those when event TO had (each with its whole
/// Batch). Exit status 1 if anything differs.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The Session: its id, the beginning (or the end) of it, words of its title, or @last; or a FILE that holds one.
    #[arg(value_name = "SESSION")]
    session: String,
    /// The earlier event.
    #[arg(value_name = "FROM")]
    from: u64,
    /// The later event; the last one if it is left out.
    #[arg(value_name = "TO")]
    to: Option<u64>,
}

/// Runs the command.
///
/// # Errors
/// When the Session cannot be read or the output refuses.
pub async fn run(args: &Args, desk: &Desk, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (reader, session) = desk.find(&args.session).await?;
    let from = reader.until(session, Some(Seq(args.from))).await?;
    let to = reader.until(session, args.to.map(Seq)).await?;
    let before = reader.view(session, from).await?;
    let after = reader.view(session, to).await?;
    let found = changes(&before, &after, reader.blobs());
    if desk.look.json {
        json::object(out, &found)?;
    } else {
        draw(&found, &desk.look, out)?;
        if from == to {
            desk.remark("both events landed in one Batch: there is no view between them");
        }
    }
    Ok(Verdict::bad_if(!found.is_empty()))
}

/// Draws changes, view by view.
///
/// # Errors
/// When the output refuses.
pub fn draw(changes: &[Change], look: &Look, out: &mut dyn Write) -> io::Result<()> {
    let mut view = "";
    for change in changes {
        if change.view != view {
            view = change.view;
            writeln!(out, "{}", look.paint(Tone::Strong, view))?;
        }
        one(change, look, out)?;
    }
    Ok(())
}

fn one(change: &Change, look: &Look, out: &mut dyn Write) -> io::Result<()> {
    let path = plain(&change.path);
    match (&change.before, &change.after) {
        (None, Some(after)) => side('+', Tone::Good, &path, after, look, out),
        (Some(before), None) => side('-', Tone::Bad, &path, before, look, out),
        (Some(Value::String(before)), Some(Value::String(after))) if before.contains('\n') || after.contains('\n') => {
            writeln!(out, "  {}", look.paint(Tone::Context, &path))?;
            let (before, after) = (plain(before), plain(after));
            let diff = TextDiff::from_lines(&before, &after);
            for group in diff.grouped_ops(2) {
                for line in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
                    let (mark, tone) = match line.tag() {
                        ChangeTag::Equal => (' ', Tone::Dim),
                        ChangeTag::Insert => ('+', Tone::Good),
                        ChangeTag::Delete => ('-', Tone::Bad),
                    };
                    let text = line.value().trim_end_matches('\n');
                    writeln!(out, "{}", look.paint(tone, &format!("    {mark} {text}")).trim_end())?;
                }
            }
            Ok(())
        }
        (before, after) => {
            let side = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), short);
            let line = format!("{} → {}", side(before), side(after));
            let path = if path.is_empty() { String::new() } else { format!("{} ", look.paint(Tone::Context, &path)) };
            writeln!(out, "  {path}{}", plain(&line))
        }
    }
}

/// Something that is only on one side.
fn side(mark: char, tone: Tone, path: &str, value: &Value, look: &Look, out: &mut dyn Write) -> io::Result<()> {
    let told = short(value);
    let head = format!("  {mark} {path}");
    let room = look.width.saturating_sub(6).max(20);
    if told.is_empty() {
        return writeln!(out, "{}", look.paint(tone, &head));
    }
    let one = format!("{head}  {}", plain(&told));
    if !told.contains('\n') && crate::layout::columns(&one) <= look.width {
        return writeln!(out, "{}", look.paint(tone, &one));
    }
    writeln!(out, "{}", look.paint(tone, &head))?;
    for line in wrap(&plain(&told), room) {
        writeln!(out, "{}", format!("      {}", look.paint(tone, &line)).trim_end())?;
    }
    Ok(())
}

/// A value for people: messages by who speaks and what is said, texts as they are.
fn short(value: &Value) -> String {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) => match (text("type"), text("text").or(text("summary"))) {
            (Some("assistant"), _) => {
                let content = value.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let parts: Vec<String> = content.iter().map(part).collect();
                format!("assistant: {}", parts.join("\n"))
            }
            (Some(kind), Some(text)) => format!("{kind}: {text}"),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}

fn part(part: &Value) -> String {
    let text = |name: &str| part.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "tool" => format!("[{} {}] {}", text("name"), text("status"), part.get("input").unwrap_or(&Value::Null)),
        "reasoning" => format!("[reasoning] {}", text("text")),
        _ => text("text").to_owned(),
    }
}
