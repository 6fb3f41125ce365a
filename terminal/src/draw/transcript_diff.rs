//! Draws what a transcript left out of a session.

use crate::layout::{clip, plain};
use crate::style::{Emphasis, Style, counted, thousands};
use annals_inspect::diff::{TranscriptDiff, TranscriptKind, TranscriptPart};
use std::io::{self, Write};

/// How many of a kind are listed.
const LISTED: usize = 8;

/// Draws it kind by kind; with `stat`, only how much.
pub fn draw(found: &TranscriptDiff, stat: bool, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", style.paint(Emphasis::Bad, &format!("- recording  {}", found.recording)))?;
    writeln!(out, "{}", style.paint(Emphasis::Good, &format!("+ transcript {}", found.transcript)))?;
    for kind in &found.kinds {
        writeln!(out, "{} {}", style.paint(Emphasis::Strong, &format!("{:<9}", kind.kind)), summary(kind))?;
        if stat {
            continue;
        }
        list(&kind.left_out, "-", Emphasis::Bad, style, out)?;
        list(&kind.added, "+", Emphasis::Good, style, out)?;
    }
    let (kept, all) = found.kept();
    writeln!(out, "the transcript has {} of {} characters", thousands(kept), thousands(all))?;
    Ok(())
}

fn summary(kind: &TranscriptKind) -> String {
    let characters = |parts: &[TranscriptPart]| thousands(parts.iter().map(|part| part.characters).sum());
    let left_out = match kind.left_out.len() as u64 {
        0 if kind.recorded == 0 => "none in the recording".to_owned(),
        0 => format!("{} in both", kind.recorded),
        count if kind.characters == 0 => format!("{count} of {} left out", kind.recorded),
        count => format!("{count} of {} left out, {} characters", kind.recorded, characters(&kind.left_out)),
    };
    match kind.added.len() as u64 {
        0 => left_out,
        count => format!("{left_out}; {count} only in the transcript"),
    }
}

fn list(
    parts: &[TranscriptPart],
    mark: &str,
    emphasis: Emphasis,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    for part in parts.iter().take(LISTED) {
        let size = match part.characters {
            0 => String::new(),
            characters => format!(", {}", counted(characters, "character")),
        };
        let head = format!("  {mark} event {}{size}: ", part.seq);
        let room = style.width.saturating_sub(head.len()).max(24);
        writeln!(out, "{}", style.paint(emphasis, &format!("{head}{}", clip(&plain(&part.text), room))))?;
    }
    if parts.len() > LISTED {
        writeln!(out, "  {mark} and {} more", parts.len() - LISTED)?;
    }
    Ok(())
}
