//! What changed between two Cuts, view by view.

use crate::layout::{columns, plain, wrap};
use crate::style::{Emphasis, Style};
use annals_inspect::view_diff::{Change, in_brief, in_full};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use std::io::{self, Write};
use std::time::Duration;

/// How long two texts are compared.
const PATIENCE: Duration = Duration::from_secs(2);

/// Draws changes, view by view.
pub fn draw(changes: &[Change], style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut view = "";
    for change in changes {
        if change.view != view {
            view = change.view;
            writeln!(out, "{}", style.paint(Emphasis::Strong, view))?;
        }
        one(change, style, out)?;
    }
    Ok(())
}

fn one(change: &Change, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let path = match change.path.strip_prefix("seq ") {
        Some(item) => format!("event {}", plain(item)),
        None => plain(&change.path),
    };
    match (&change.before, &change.after) {
        (None, Some(after)) => side('+', Emphasis::Good, &path, after, style, out),
        (Some(before), None) => side('-', Emphasis::Bad, &path, before, style, out),
        (before, after) => {
            let side = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), in_full);
            let (before, after) = (plain(&side(before)), plain(&side(after)));
            let line = format!("{before} → {after}");
            let fits = columns(&line) + columns(&path) + 3 <= style.width;
            if line.contains('\n') || !fits {
                return lines(&path, &before, &after, style, out);
            }
            let path =
                if path.is_empty() { String::new() } else { format!("{} ", style.paint(Emphasis::Context, &path)) };
            writeln!(out, "  {path}{line}")
        }
    }
}

/// The lines that differ between two texts, with two lines around them.
pub fn lines(path: &str, before: &str, after: &str, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if !path.is_empty() {
        writeln!(out, "  {}", style.paint(Emphasis::Context, path))?;
    }
    // The user waits: the first difference found in that time is as correct as the smallest.
    let mut differ = TextDiff::configure();
    let diff = differ.timeout(PATIENCE).diff_lines(before, after);
    let room = style.width.saturating_sub(6).max(20);
    for (at, group) in diff.grouped_ops(2).iter().enumerate() {
        if at > 0 {
            writeln!(out, "    {}", style.paint(Emphasis::Dim, "⋮"))?;
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let (mark, emphasis) = match change.tag() {
                ChangeTag::Equal => (' ', Emphasis::Dim),
                ChangeTag::Insert => ('+', Emphasis::Good),
                ChangeTag::Delete => ('-', Emphasis::Bad),
            };
            for (at, line) in wrap(change.value().trim_end_matches('\n'), room).iter().enumerate() {
                let mark = if at == 0 { mark } else { ' ' };
                writeln!(out, "{}", style.paint(emphasis, format!("    {mark} {line}").trim_end()))?;
            }
        }
    }
    Ok(())
}

/// Something that is only on one side.
fn side(
    mark: char,
    emphasis: Emphasis,
    path: &str,
    value: &Value,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let brief = in_brief(value);
    let head = format!("  {mark} {path}");
    let room = style.width.saturating_sub(6).max(20);
    if brief.is_empty() {
        return writeln!(out, "{}", style.paint(emphasis, &head));
    }
    let one = format!("{head}  {}", plain(&brief));
    if !brief.contains('\n') && columns(&one) <= style.width {
        return writeln!(out, "{}", style.paint(emphasis, &one));
    }
    writeln!(out, "{}", style.paint(emphasis, &head))?;
    for line in wrap(&plain(&brief), room) {
        writeln!(out, "{}", format!("      {}", style.paint(emphasis, &line)).trim_end())?;
    }
    Ok(())
}
