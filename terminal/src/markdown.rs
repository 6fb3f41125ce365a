//! Answers of models, which are Markdown, as lines for a terminal. Where an answer goes elsewhere it stays as it is.

mod block;
mod paragraph;
mod stream;

pub use stream::{MarkdownPiece, MarkdownStream};

use crate::layout::{Sheet, plain, wrap};
use crate::style::{Emphasis, Style};
use annals_core::Seq;
use block::Blocks;
use std::io;

/// How long a text may be that is drawn as Markdown; a longer one is shown as it is.
const MOST: usize = 1 << 20;

/// The painted lines of a text, at most `width` columns wide; code and words that are wider stay whole. Without colours the marks
/// of emphasis stay, and headings, lists and tables are drawn all the same.
pub fn lines(text: &str, width: usize, style: &Style) -> Vec<String> {
    if text.len() > MOST {
        return wrap(text, width);
    }
    Blocks::new(width.max(8), style).drawn(text)
}

/// Draws a row with a text of a model: on a terminal its Markdown is drawn, elsewhere it stays as it is.
pub fn draw_row(sheet: &mut Sheet<'_>, seq: Option<Seq>, label: (&str, Emphasis), text: &str) -> io::Result<()> {
    let text = plain(text.trim_end());
    if !sheet.style.markdown || sheet.undone || !sheet.has_room_for(label.0) {
        return sheet.row(seq, label, (&text, Emphasis::Plain), ("", Emphasis::Dim));
    }
    let lines = lines(&text, sheet.room(), sheet.style);
    sheet.painted_row(seq, label, &lines)
}

#[cfg(test)]
mod tests;
