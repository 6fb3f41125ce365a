//! Draws the state of a store in a folder.

use crate::style::{Emphasis, Style, counted, size, thousands};
use annals_store::Position;
use annals_store::disk::{DiskUsage, Examination, GapCause, StoreUsage};
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

fn usage(name: &str, usage: DiskUsage, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    if usage.files > 0 {
        let name = style.paint(Emphasis::Strong, &format!("{name:<9}"));
        writeln!(out, "{name}  {:>10}  in {}", size(usage.bytes), counted(usage.files, "file"))?;
    }
    Ok(())
}

/// Draws the space that a store takes, and what was found in its two copies.
pub fn draw(
    dir: &Path,
    facts: &StoreUsage,
    examination: &Examination,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", style.paint(Emphasis::Dim, &dir.display().to_string()))?;
    usage("journal", facts.journal, style, out)?;
    usage("sealed", facts.sealed, style, out)?;
    usage("index", facts.sled, style, out)?;
    usage("blobs", facts.blobs, style, out)?;
    usage("views", facts.cache, style, out)?;
    usage("outputs", facts.outputs, style, out)?;
    usage("worktrees", facts.worktrees, style, out)?;
    usage("set aside", facts.damaged, style, out)?;
    let paths: Vec<String> = facts.set_aside.iter().map(|path| path.display().to_string()).collect();
    some(&paths, Emphasis::Plain, style, out)?;
    let batches = thousands(examination.batches);
    match &examination.unchecked {
        _ if !examination.findings.is_empty() => {
            writeln!(out, "{} {batches} batches can be read", style.paint(Emphasis::Bad, "✗"))?;
        }
        None => writeln!(out, "{} {batches} batches, both copies are intact", style.paint(Emphasis::Good, "✓"))?,
        Some(reason) => {
            let good = style.paint(Emphasis::Good, "✓");
            writeln!(out, "{good} {batches} batches, the journal is intact")?;
            let line = format!("the second copy (sled) was not checked: {reason}");
            writeln!(out, "  {}", style.paint(Emphasis::Warn, &line))?;
        }
    }
    let findings: Vec<String> = examination.findings.iter().map(ToString::to_string).collect();
    some(&findings, Emphasis::Bad, style, out)?;
    let gaps: Vec<String> = gaps(examination);
    some(&gaps, Emphasis::Warn, style, out)
}

/// How many lines of one kind are shown.
const SHOWN: usize = 10;

/// Some lines, and how many more there are.
fn some(lines: &[String], emphasis: Emphasis, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for line in lines.iter().take(SHOWN) {
        writeln!(out, "  {}", style.paint(emphasis, line))?;
    }
    if lines.len() > SHOWN {
        writeln!(out, "  … and {} more (--json lists them)", thousands((lines.len() - SHOWN) as u64))?;
    }
    Ok(())
}

/// The places without a batch, one line for each range.
fn gaps(examination: &Examination) -> Vec<String> {
    let line = |(range, cause): (Range<Position>, GapCause)| match range.end.0 - range.start.0 {
        1 => format!("position {}: {}", range.start.0, cause.words()),
        _ => format!("positions {} to {}: {}", range.start.0, range.end.0 - 1, cause.words()),
    };
    examination.gap_ranges().into_iter().map(line).collect()
}
