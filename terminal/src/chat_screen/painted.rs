//! Painted text: what [`EscapingWriter`](crate::escape::EscapingWriter) gave, whose only control sequences are colours of our own.

use crate::cells::painted_by;
use crate::escape::{Escaping, EscapingWriter, unit_width, units};
use crate::layout::columns;
use crate::style::{Emphasis, Style};
use ratatui::style::{Color, Modifier, Style as CellStyle};
use ratatui::text::{Line, Span};
use std::io::Write;

/// A text that cannot steer the terminal, painted.
pub(super) fn painted(style: &Style, emphasis: Emphasis, text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut writer = EscapingWriter::new(&mut out, Escaping::Text);
    // Memory takes everything.
    drop(writer.write_all(style.paint(emphasis, text).as_bytes()).and_then(|()| writer.finish()));
    drop(writer);
    String::from_utf8_lossy(&out).into_owned()
}

/// The sequence of colours that is in force at the end of a text, if any.
pub(super) fn open_paint(text: &str) -> Option<&str> {
    let start = text.rfind("\x1b[")?;
    let length = text.get(start..)?.find('m')? + 1;
    let sequence = text.get(start..start + length)?;
    (sequence != "\x1b[0m").then_some(sequence)
}

/// A line with its colours, in rows of at most `width` columns, broken at blanks where there are any.
pub(super) fn rows(text: &str, width: usize) -> Vec<Line<'static>> {
    let (mut rows, mut row, mut used) = (Vec::new(), Vec::new(), 0);
    for (style, piece) in pieces(text) {
        for word in piece.split_inclusive(' ') {
            let mut word = word;
            if used > 0 && used + columns(word.trim_end()) > width {
                rows.push(Line::from(std::mem::take(&mut row)));
                used = 0;
            }
            while columns(word) > width {
                let (head, tail) = word.split_at(cut(word, width));
                rows.push(Line::from(vec![Span::styled(head.to_owned(), style)]));
                word = tail;
            }
            used += columns(word);
            row.push(Span::styled(word.to_owned(), style));
        }
    }
    if !row.is_empty() {
        rows.push(Line::from(row));
    }
    rows
}

/// Length in bytes of the longest beginning that is not wider than `width`; at least one unit.
fn cut(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, unit) in units(text) {
        used += unit_width(unit);
        if used > width && at > 0 {
            return at;
        }
    }
    text.len()
}

/// The pieces of a painted text, each of one style.
fn pieces(text: &str) -> Vec<(CellStyle, &str)> {
    let (mut style, mut pieces) = (CellStyle::new(), Vec::new());
    for (at, piece) in text.split("\x1b[").enumerate() {
        let piece = match piece.split_once('m') {
            Some((codes, rest)) if at > 0 => {
                style = codes.split(';').fold(style, painted_by);
                rest
            }
            _ => piece,
        };
        if !piece.is_empty() {
            pieces.push((style, piece));
        }
    }
    pieces
}

/// How a piece of text is painted in a cell.
pub(super) fn cell(emphasis: Emphasis, colour: bool) -> CellStyle {
    let style = CellStyle::new();
    let coloured = |paint: Color| if colour { style.fg(paint) } else { style };
    match emphasis {
        Emphasis::Plain => style,
        Emphasis::Dim => style.add_modifier(Modifier::DIM),
        Emphasis::Strong => style.add_modifier(Modifier::BOLD),
        Emphasis::User => coloured(Color::Cyan).add_modifier(Modifier::BOLD),
        Emphasis::Model => coloured(Color::Magenta).add_modifier(Modifier::BOLD),
        Emphasis::Tool => coloured(Color::Blue),
        Emphasis::Context => coloured(Color::Yellow),
        Emphasis::Good => coloured(Color::Green),
        Emphasis::Warn => coloured(Color::Yellow).add_modifier(Modifier::BOLD),
        Emphasis::Bad => coloured(Color::Red).add_modifier(Modifier::BOLD),
        Emphasis::Found => style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        Emphasis::Italic => style.add_modifier(Modifier::ITALIC),
        Emphasis::Code => coloured(Color::Cyan),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_painted_line_is_broken_at_blanks_and_keeps_its_colours() {
        let rows = rows("one \x1b[1;31mtwo three\x1b[0m fourfivesix", 8);
        let texts: Vec<String> = rows.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["one two ", "three ", "fourfive", "six"]);
        assert_eq!(rows[1].spans[0].style, CellStyle::new().fg(Color::Red).add_modifier(Modifier::BOLD));
        assert_eq!(rows[2].spans[0].style, CellStyle::new());
    }

    #[test]
    fn the_paint_that_is_in_force_is_the_last_one_that_was_not_ended() {
        assert_eq!(open_paint("a\x1b[1mb"), Some("\x1b[1m"));
        assert_eq!((open_paint("a\x1b[1mb\x1b[0m"), open_paint("a")), (None, None));
    }

    #[test]
    fn a_text_that_would_steer_the_terminal_is_drawn_visibly() {
        let style = Style {
            width: 80,
            colour: true,
            json: false,
            markdown: true,
            zone: jiff::tz::TimeZone::UTC,
            now: annals_core::Time(0),
        };
        assert_eq!(painted(&style, Emphasis::Strong, "a\x1b[2Jb"), "\x1b[1ma␛[2Jb\x1b[0m");
    }
}
