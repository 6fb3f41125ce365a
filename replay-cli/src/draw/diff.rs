//! Draws differences: texts line by line, turns side by side.

use crate::draw::cache::lacking;
use crate::draw::why::heading;
use crate::error::CliError;
use crate::layout::{clip, pad, plain};
use crate::look::{Look, Tone, counted, size};
use annals_inspect::diff::{Entry, Lines, Pair, Part, Requests, Sessions};
use similar::{Algorithm, ChangeTag, DiffTag, TextDiff, capture_diff_slices};
use std::io::Write;

/// Lines of context around a change.
const AROUND: usize = 2;
/// Lines of an entry in a column.
const BRIEF: usize = 4;

/// Draws how two requests differ; with `stat`, only how much.
///
/// # Errors
/// When the output refuses.
pub fn draw_requests(found: &Requests, stat: bool, look: &Look, out: &mut dyn Write) -> Result<(), CliError> {
    for (mark, tone, step) in [("-", Tone::Bad, &found.a), ("+", Tone::Good, &found.b)] {
        let line = format!("{mark} {} · event {}", heading(step, None), step.seq);
        writeln!(out, "{}", look.paint(tone, &line))?;
    }
    lacking(&found.lacks, look, out)?;
    let Some(first) = &found.first else {
        writeln!(out, "{}", look.paint(Tone::Good, &format!("equal in all {}", counted(found.same, "part"))))?;
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
    writeln!(out, "{}", look.paint(Tone::Strong, &line))?;
    for part in &found.parts {
        head(part, look, out)?;
        if !stat {
            texts(part.before.as_deref().unwrap_or(""), part.after.as_deref().unwrap_or(""), look, out)?;
        }
    }
    let all = found.parts.iter().fold(Lines::default(), |sum, part| Lines {
        added: sum.added + part.lines.added,
        removed: sum.removed + part.lines.removed,
    });
    let differ = counted(found.parts.len() as u64, "part");
    writeln!(out, "{differ} of {} differ, {}", found.same + found.parts.len() as u64, count(all, look))?;
    Ok(())
}

fn head(part: &Part, look: &Look, out: &mut dyn Write) -> Result<(), CliError> {
    let name = match (&part.a, &part.b) {
        (Some(a), Some(b)) if a == b => a.clone(),
        (Some(a), Some(b)) => format!("{a} → {b}"),
        (Some(a), None) => format!("{a}, removed"),
        (None, Some(b)) => format!("{b}, added"),
        (None, None) => String::new(),
    };
    writeln!(out, "{}  {}", look.paint(Tone::Context, &name), count(part.lines, look))?;
    Ok(())
}

fn count(lines: Lines, look: &Look) -> String {
    let (added, removed) = (format!("+{}", lines.added), format!("-{}", lines.removed));
    format!("{} {}", look.paint(Tone::Good, &added), look.paint(Tone::Bad, &removed))
}

/// Two texts as a person reads a patch.
fn texts(before: &str, after: &str, look: &Look, out: &mut dyn Write) -> Result<(), CliError> {
    let (before, after) = (plain(before), plain(after));
    let diff = TextDiff::from_lines(&before, &after);
    for (at, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if at > 0 {
            writeln!(out, "{}", look.paint(Tone::Dim, "    ⋮"))?;
        }
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let (mark, tone) = match change.tag() {
                ChangeTag::Equal => (' ', Tone::Dim),
                ChangeTag::Insert => ('+', Tone::Good),
                ChangeTag::Delete => ('-', Tone::Bad),
            };
            let line = format!("  {mark} {}", change.value().trim_end_matches('\n'));
            writeln!(out, "{}", look.paint(tone, line.trim_end()))?;
        }
    }
    Ok(())
}

/// Draws how two Sessions differ, turns side by side from the first that does; with `stat`, only how much.
///
/// # Errors
/// When the output refuses.
pub fn draw_sessions(found: &Sessions, stat: bool, look: &Look, out: &mut dyn Write) -> Result<(), CliError> {
    if found.inherited > 0 {
        let line = format!("they share their first {}", counted(found.inherited, "event"));
        writeln!(out, "{}", look.paint(Tone::Dim, &line))?;
    }
    let Some(first) = found.first else {
        let line = format!("no difference in {}", counted(found.same, "turn"));
        writeln!(out, "{}", look.paint(Tone::Good, &line))?;
        return Ok(());
    };
    let line = match first {
        0 => "they differ before the first turn".to_owned(),
        turn => format!("first difference: turn {turn}"),
    };
    writeln!(out, "{}", look.paint(Tone::Strong, &line))?;
    for pair in &found.turns {
        let side = match (&pair.a, &pair.b) {
            (Some(_), None) => ", only in the first",
            (None, Some(_)) => ", only in the second",
            _ => "",
        };
        let left = format!("turn {}{side}", pair.turn);
        writeln!(out, "{}  {}", look.paint(Tone::Context, &left), count(pair.lines, look))?;
        if !stat {
            columns(pair, look, out)?;
        }
    }
    let differ = found.turns.len() as u64;
    match found.same {
        0 => writeln!(out, "all {} differ", counted(differ, "turn"))?,
        same => writeln!(out, "{} the same, {differ} different", counted(same, "turn"))?,
    }
    Ok(())
}

fn columns(pair: &Pair, look: &Look, out: &mut dyn Write) -> Result<(), CliError> {
    let none = Vec::new();
    let a = pair.a.as_ref().map_or(&none, |turn| &turn.entries);
    let b = pair.b.as_ref().map_or(&none, |turn| &turn.entries);
    let keys = |entries: &[Entry]| -> Vec<(&'static str, String)> {
        entries.iter().map(|entry| (entry.label, entry.text.clone())).collect()
    };
    for operation in capture_diff_slices(Algorithm::Myers, &keys(a), &keys(b)) {
        let (old, new) = (operation.old_range(), operation.new_range());
        let (old, new) = (a.get(old).unwrap_or_default(), b.get(new).unwrap_or_default());
        let same = operation.tag() == DiffTag::Equal;
        for at in 0..old.len().max(new.len()) {
            row(old.get(at), new.get(at), same, look, out)?;
        }
    }
    Ok(())
}

fn row(a: Option<&Entry>, b: Option<&Entry>, same: bool, look: &Look, out: &mut dyn Write) -> Result<(), CliError> {
    let width = look.width.saturating_sub(5) / 2;
    let lines = |entry: Option<&Entry>| -> Vec<String> {
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
    let (mark, tones) = match (same, a, b) {
        (true, ..) => (" ", (Tone::Dim, Tone::Dim)),
        (false, Some(_), Some(_)) => ("≠", (Tone::Bad, Tone::Good)),
        (false, Some(_), None) => ("<", (Tone::Bad, Tone::Plain)),
        _ => (">", (Tone::Plain, Tone::Good)),
    };
    for at in 0..left.len().max(right.len()) {
        let text = |side: &[String]| side.get(at).cloned().unwrap_or_default();
        let mark = if at == 0 { mark } else { " " };
        let line =
            format!("{} {mark} {}", look.paint(tones.0, &pad(&text(&left), width)), look.paint(tones.1, &text(&right)));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
