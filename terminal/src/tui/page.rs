//! The text of a tab: what a command would print, limited, as lines that a terminal can show.

use crate::cells::painted_by;
use crate::escape::{self, Escaping, EscapingWriter};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::io::{self, Write};

/// Bytes that a tab shows at most.
const BYTES: usize = 1 << 20;
/// Lines that a tab shows at most.
const LINES: usize = 20_000;

/// Collects what is drawn, and refuses more once there is too much.
#[derive(Clone, Debug, Default)]
pub struct PageOutput {
    bytes: Vec<u8>,
    full: bool,
}

impl PageOutput {
    /// Whether more was drawn than is kept, which is the only error that drawing can have.
    pub fn is_full(&self) -> bool {
        self.full
    }
}

impl Write for PageOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = BYTES.saturating_sub(self.bytes.len());
        if room == 0 && !bytes.is_empty() {
            self.full = true;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let taken = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        self.bytes.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines of a tab.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageText {
    /// The lines, none wider than the tab.
    pub lines: Vec<Line<'static>>,
    /// Whether there is more than is shown.
    pub cut: bool,
}

impl PageText {
    /// What was drawn, in lines of at most `width` columns.
    pub fn of(output: &PageOutput, width: usize) -> Self {
        let mut lines = lines(&output.bytes, width.max(1));
        let cut = output.full || lines.len() > LINES;
        lines.truncate(LINES);
        Self { lines, cut }
    }

    /// The numbers of the lines that contain a text, in any case.
    pub fn found(&self, text: &str) -> Vec<usize> {
        let wanted = text.to_lowercase();
        if wanted.is_empty() {
            return Vec::new();
        }
        let has = |line: &Line<'_>| line.to_string().to_lowercase().contains(&wanted);
        self.lines.iter().enumerate().filter(|(_, line)| has(line)).map(|(at, _)| at).collect()
    }
}

/// One line of painted text, escaped.
pub fn painted(text: &str) -> Line<'static> {
    lines(text.as_bytes(), usize::MAX).into_iter().next().unwrap_or_default()
}

/// A character and how it is painted.
type PaintedChar = (char, Style);

/// Escaped lines. What is left of control sequences is our own, and only paints.
fn lines(bytes: &[u8], width: usize) -> Vec<Line<'static>> {
    let mut escaped = Vec::with_capacity(bytes.len());
    let mut writer = EscapingWriter::new(&mut escaped, Escaping::Text);
    // Memory takes everything.
    drop(writer.write_all(bytes).and_then(|()| writer.finish()));
    drop(writer);
    let text = String::from_utf8_lossy(&escaped).replace('\t', "    ");
    let mut style = Style::new();
    let mut all = Vec::new();
    for line in text.lines() {
        let mut chars: Vec<PaintedChar> = Vec::new();
        let mut pieces = line.split('\x1b');
        chars.extend(pieces.next().unwrap_or_default().chars().map(|c| (c, style)));
        for piece in pieces {
            let Some((codes, rest)) = piece.strip_prefix('[').and_then(|piece| piece.split_once('m')) else { continue };
            style = codes.split(';').fold(style, painted_by);
            chars.extend(rest.chars().map(|c| (c, style)));
        }
        fold(&chars, width, &mut all);
    }
    all
}

/// Breaks a line where it is wider than the tab, at a blank if there is one: nothing of it is lost.
fn fold(mut line: &[PaintedChar], width: usize, lines: &mut Vec<Line<'static>>) {
    loop {
        let mut used = 0_usize;
        let fits = line.iter().take_while(|(c, _)| {
            used = used.saturating_add(escape::width(*c));
            used <= width
        });
        let fits = fits.count().max(1);
        if fits >= line.len() {
            lines.push(spans(line));
            return;
        }
        let (head, rest) = line.split_at(fits);
        let is_blank = |(c, _): &PaintedChar| *c == ' ';
        let at_blank = match rest.first().is_some_and(is_blank) {
            true => Some(fits),
            false => head.iter().rposition(is_blank).filter(|at| *at > fits / 2),
        };
        lines.push(spans(head.get(..at_blank.unwrap_or(fits)).unwrap_or(head)));
        line = line.get(at_blank.map_or(fits, |at| at + 1)..).unwrap_or_default();
    }
}

/// A line of runs of one style.
fn spans(line: &[PaintedChar]) -> Line<'static> {
    let runs = line.chunk_by(|(_, one), (_, next)| one == next);
    let run = |run: &[PaintedChar]| {
        let style = run.first().map(|(_, style)| *style).unwrap_or_default();
        Span::styled(run.iter().map(|(c, _)| c).collect::<String>(), style)
    };
    Line::from(runs.map(run).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::escape::control;
    use ratatui::style::{Color, Modifier};

    fn page(text: &str, width: usize) -> PageText {
        let mut out = PageOutput::default();
        out.write_all(text.as_bytes()).expect("room");
        PageText::of(&out, width)
    }

    #[test]
    fn styles_of_our_own_paint_and_those_of_a_text_are_shown() {
        let page = page(&format!("{}red{} \x1b[31mtext\n", control("1;31m"), control("0m")), 40);
        let [line] = page.lines.as_slice() else { panic!("{page:?}") };
        assert_eq!(line.to_string(), "red ␛[31mtext");
        assert_eq!(line.spans[0].style, Style::new().fg(Color::Red).add_modifier(Modifier::BOLD));
        assert_eq!(line.spans[1].style, Style::new());
    }

    #[test]
    fn wide_lines_are_broken_and_too_much_is_cut() {
        let page = page("abcdef\n日本語\n", 4);
        let lines: Vec<String> = page.lines.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["abcd", "ef", "日本", "語"]);
        let lines: Vec<String> = self::page("one two three\n", 9).lines.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["one two", "three"]);
        assert_eq!(page.found("EF"), [1]);
        let mut out = PageOutput::default();
        assert!(out.write_all(&vec![b'a'; BYTES + 1]).is_err() && out.is_full());
        assert!(PageText::of(&out, 80).cut);
    }
}
