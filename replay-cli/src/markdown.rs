//! Answers of models, which are Markdown, as lines for a terminal. Where an answer goes elsewhere it stays as it is.

mod block;
mod paragraph;
mod stream;

pub use stream::{MarkdownPiece, MarkdownStream};

use crate::layout::wrap;
use crate::style::Style;
use block::Blocks;

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

#[cfg(test)]
mod tests;
