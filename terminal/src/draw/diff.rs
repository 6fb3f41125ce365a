//! Draws differences: texts line by line, turns side by side.

use crate::draw::cache::lacking;
use crate::draw::why::heading;
use crate::layout::{clip, pad, plain};
use crate::style::{Emphasis, Style, counted, size};
use annals_inspect::diff::{Lines, Pair, Part, RequestDiff, SessionDiff, TurnEntry};
use similar::{Algorithm, ChangeTag, DiffTag, TextDiff, capture_diff_slices};
use std::io::{self, Write};

/// Lines of context around a change.
const AROUND: usize = 2;
/// Lines of an entry in a column.
const BRIEF: usize = 4;

/// Draws how two requests differ; with `stat`, only how much.
pub fn draw_requests(found: &RequestDiff, stat: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for (mark, emphasis, step) in [("-", Emphasis::Bad, &found.a), ("+", Emphasis::Good, &found.b)] {
        let line = format!("{mark} {} · event {}", heading(step, None), step.seq);
        writeln!(out, "{}", style.paint(emphasis, &line))?;
    }
    lacking(&found.lacks, style, out)?;
    let Some(first) = &found.first else {
        writeln!(out, "{}", style.paint(Emphasis::Good, &format!("equal in all {}", counted(found.same, "part"))))?;
        return Ok(());
    };
    let place = match (&first.a, &first.b) {
        (Some(a), Some(b)) if a == b => format!("at byte {} of {a}", first.byte),
        (Some(a), Some(b)) => format!("at byte {} of {a}, against {b}", first.byte),
        (Some(a), None) => format!("{a} has no counterpart"),
        (None, Some(b)) => format!("{b} is new"),
        (None, None) => String::new(),
    };
    let line = format!("first difference: {place}, after {} of equal parts", size(first.before));
    writeln!(out, "{}", style.paint(Emphasis::Strong, &line))?;
    for part in &found.parts {
        head(part, style, out)?;
        if !stat {
            texts(part.before.as_deref().unwrap_or(""), part.after.as_deref().unwrap_or(""), style, out)?;
        }
    }
    let all = found.parts.iter().fold(Lines::default(), |sum, part| Lines {
        added: sum.added + part.lines.added,
        removed: sum.removed + part.lines.removed,
    });
    let differ = counted(found.parts.len() as u64, "part");
    writeln!(out, "{differ} of {} differ, {}", found.same + found.parts.len() as u64, count(all, style))?;
    Ok(())
}

fn head(part: &Part, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let name = match (&part.a, &part.b) {
        (Some(a), Some(b)) if a == b => a.clone(),
        (Some(a), Some(b)) => format!("{a} → {b}"),
        (Some(a), None) => format!("{a}, removed"),
        (None, Some(b)) => format!("{b}, added"),
        (None, None) => String::new(),
    };
    writeln!(out, "{}  {}", style.paint(Emphasis::Context, &name), count(part.lines, style))?;
    Ok(())
}

fn count(lines: Lines, style: &Style) -> String {
    let (added, removed) = (format!("+{}", lines.added), format!("-{}", lines.removed));
    format!("{} {}", style.paint(Emphasis::Good, &added), style.paint(Emphasis::Bad, &removed))
}

/// Two texts as a patch.
fn texts(before: &str, after: &str, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let (before, after) = (plain(before), plain(after));
    let diff = TextDiff::from_lines(&before, &after);
    for (at, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if at > 0 {
            writeln!(out, "{}", style.paint(Emphasis::Dim, "    ⋮"))?;
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let (mark, emphasis) = match change.tag() {
                ChangeTag::Equal => (' ', Emphasis::Dim),
                ChangeTag::Insert => ('+', Emphasis::Good),
                ChangeTag::Delete => ('-', Emphasis::Bad),
            };
            let line = format!("  {mark} {}", change.value().trim_end_matches('\n'));
            writeln!(out, "{}", style.paint(emphasis, line.trim_end()))?;
        }
    }
    Ok(())
}

/// Draws how two sessions differ, turns side by side from the first that does; with `stat`, only how much.
pub fn draw_sessions(found: &SessionDiff, stat: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if found.inherited > 0 {
        let line = format!("they share their first {}", counted(found.inherited, "event"));
        writeln!(out, "{}", style.paint(Emphasis::Dim, &line))?;
    }
    let Some(first) = found.first else {
        let line = format!("no difference in {}", counted(found.same, "turn"));
        writeln!(out, "{}", style.paint(Emphasis::Good, &line))?;
        return Ok(());
    };
    let line = match first {
        0 => "they differ before the first turn".to_owned(),
        turn => format!("first difference: turn {turn}"),
    };
    writeln!(out, "{}", style.paint(Emphasis::Strong, &line))?;
    for pair in &found.turns {
        let side = match (&pair.a, &pair.b) {
            (Some(_), None) => ", only in the first",
            (None, Some(_)) => ", only in the second",
            _ => "",
        };
        let left = format!("turn {}{side}", pair.turn);
        writeln!(out, "{}  {}", style.paint(Emphasis::Context, &left), count(pair.lines, style))?;
        if !stat {
            columns(pair, style, out)?;
        }
    }
    let differ = found.turns.len() as u64;
    match (found.same, differ) {
        (0, 1) => writeln!(out, "the only turn differs")?,
        (0, _) => writeln!(out, "all {} differ", counted(differ, "turn"))?,
        (same, _) => writeln!(out, "{} the same, {differ} different", counted(same, "turn"))?,
    }
    Ok(())
}

fn columns(pair: &Pair, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let none = Vec::new();
    let a = pair.a.as_ref().map_or(&none, |turn| &turn.entries);
    let b = pair.b.as_ref().map_or(&none, |turn| &turn.entries);
    let keys = |entries: &[TurnEntry]| -> Vec<(&'static str, String)> {
        entries.iter().map(|entry| (entry.label, entry.text.clone())).collect()
    };
    for operation in capture_diff_slices(Algorithm::Myers, &keys(a), &keys(b)) {
        let (old, new) = (operation.old_range(), operation.new_range());
        let (old, new) = (a.get(old).unwrap_or_default(), b.get(new).unwrap_or_default());
        let same = operation.tag() == DiffTag::Equal;
        for at in 0..old.len().max(new.len()) {
            row(old.get(at), new.get(at), same, style, out)?;
        }
    }
    Ok(())
}

fn row(a: Option<&TurnEntry>, b: Option<&TurnEntry>, same: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let width = style.width.saturating_sub(5) / 2;
    let lines = |entry: Option<&TurnEntry>| -> Vec<String> {
        let Some(entry) = entry else { return Vec::new() };
        let text = plain(&entry.text);
        let total = text.lines().count().max(1);
        let shown = if same { 1 } else { BRIEF };
        let mut lines: Vec<String> = text.lines().take(shown).map(|line| clip(line, width.saturating_sub(9))).collect();
        if lines.is_empty() {
            lines.push(String::new());
        }
        if total > shown && !same {
            lines.push(format!("… {}", counted((total - shown) as u64, "more line")));
        }
        lines
            .iter()
            .enumerate()
            .map(|(at, line)| format!("{:<8} {line}", if at == 0 { entry.label } else { "" }))
            .collect()
    };
    let (left, right) = (lines(a), lines(b));
    let (mark, emphases) = match (same, a, b) {
        (true, ..) => (" ", (Emphasis::Dim, Emphasis::Dim)),
        (false, Some(_), Some(_)) => ("≠", (Emphasis::Bad, Emphasis::Good)),
        (false, Some(_), None) => ("<", (Emphasis::Bad, Emphasis::Plain)),
        _ => (">", (Emphasis::Plain, Emphasis::Good)),
    };
    for at in 0..left.len().max(right.len()) {
        let text = |side: &[String]| side.get(at).cloned().unwrap_or_default();
        let mark = if at == 0 { mark } else { " " };
        let line = format!(
            "{} {mark} {}",
            style.paint(emphases.0, &pad(&text(&left), width)),
            style.paint(emphases.1, &text(&right))
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
