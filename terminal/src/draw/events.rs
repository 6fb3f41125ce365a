//! Draws events, one a line.

use crate::layout::{columns, wrap};
use crate::style::{Emphasis, Style};
use annals_core::{Kind, Record};
use annals_inspect::reader::Reader;
use annals_inspect::timeline::brief;
use std::io::{self, Write};

/// Draws events, one a line.
pub struct EventLines<'a> {
    /// How they look.
    pub style: &'a Style,
    /// Paths below it are shown from there.
    pub directory: String,
    /// Where texts are read.
    pub reader: &'a Reader,
}

impl EventLines<'_> {
    /// Draws events that were written together.
    pub fn batch(&mut self, records: &[Record<'_>], out: &mut dyn Write) -> io::Result<()> {
        for (at, record) in records.iter().enumerate() {
            let joint = match (at, records.len()) {
                (_, 1) => ' ',
                (0, _) => '┌',
                (at, count) if at + 1 == count => '└',
                _ => '│',
            };
            self.line(record, joint, at == 0, out)?;
        }
        Ok(())
    }

    fn line(&self, record: &Record<'_>, joint: char, first: bool, out: &mut dyn Write) -> io::Result<()> {
        let style = self.style;
        let time = if first { style.clock(record.at) } else { " ".repeat(8) };
        let name = record.event.kind().name();
        let head = format!("{:>6} {joint} {time}  {name:<18} ", record.seq);
        let text = brief(record.event, &self.directory, self.reader.blobs());
        if style.width < NARROW {
            return self.narrow_line(record, &head, &text, out);
        }
        let room = style.width.saturating_sub(columns(&head));
        let mut lines = wrap(&text, room).into_iter();
        let text = lines.next().unwrap_or_default();
        writeln!(out, "{}", format!("{}{text}", self.painted(record, &head)).trim_end())?;
        for line in lines {
            writeln!(out, "{:width$}{line}", "", width = columns(&head))?;
        }
        Ok(())
    }

    fn painted(&self, record: &Record<'_>, head: &str) -> String {
        let kind = record.event.kind();
        let (before, kind_name) = head.split_at(head.len() - kind.name().len().max(18) - 1);
        format!("{}{}", self.style.paint(Emphasis::Dim, before), self.style.paint(emphasis(kind), kind_name))
    }

    fn narrow_line(&self, record: &Record<'_>, head: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
        const INDENT: usize = 19;
        writeln!(out, "{}", self.painted(record, head).trim_end())?;
        for line in wrap(text, self.style.width.saturating_sub(INDENT)).iter().filter(|line| !line.is_empty()) {
            writeln!(out, "{:INDENT$}{line}", "")?;
        }
        Ok(())
    }
}

/// Below this width what an event contains is shown below its kind.
const NARROW: usize = 72;

/// How the name of a kind is painted.
pub fn emphasis(kind: Kind) -> Emphasis {
    match kind.name().split('.').next().unwrap_or_default() {
        "input" => Emphasis::User,
        "step" | "text" | "reasoning" => Emphasis::Model,
        "tool" | "permission" | "shell" => Emphasis::Tool,
        "epoch" | "context" | "snapshot" | "instruction" | "compaction" | "tool_outputs" => Emphasis::Context,
        "retry" | "revert" | "redaction" => Emphasis::Warn,
        _ => Emphasis::Plain,
    }
}
