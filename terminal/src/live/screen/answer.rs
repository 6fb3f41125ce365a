//! What streams of an answer: on a terminal its Markdown is painted piece by piece, and lines are broken at blanks.

use super::{Live, Screen};
use crate::markdown::MarkdownPiece;
use crate::style::Emphasis;
use std::io::{self, Write};

impl Screen {
    /// Writes a piece of an answer where it is shown live.
    pub(super) fn piece(&mut self, text: &str, reasoning: bool, out: &mut dyn Write) -> io::Result<()> {
        self.open_line = !text.ends_with('\n');
        let width = self.width();
        if !reasoning && self.live == Live::Answer && self.style.markdown {
            let pieces = self.markdown.take(text, width, &self.style);
            return pieces.iter().try_for_each(|piece| self.markdown_piece(piece, width, out));
        }
        self.painted = if reasoning { Emphasis::Dim } else { Emphasis::Plain };
        // Above a prompt the printer breaks lines.
        let breaks = self.above_a_prompt && self.chat.is_none();
        let text = if breaks { text.to_owned() } else { self.edge.broken(text, width) };
        self.streamed(self.painted, &text, out)
    }

    fn markdown_piece(&mut self, piece: &MarkdownPiece, width: usize, out: &mut dyn Write) -> io::Result<()> {
        if piece.whole || self.painted != piece.emphasis {
            let word = self.edge.word(width);
            self.streamed(self.painted, &word, out)?;
            self.painted = piece.emphasis;
        }
        let text = if piece.whole { piece.text.clone() } else { self.edge.broken(&piece.text, width) };
        self.streamed(piece.emphasis, &text, out)
    }

    /// Writes what was held back: the answer is over, or something else follows.
    pub(super) fn rest_of_answer(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let width = self.width();
        let pieces = self.markdown.rest(width, &self.style);
        pieces.iter().try_for_each(|piece| self.markdown_piece(piece, width, out))?;
        let rest = self.edge.rest(width);
        self.streamed(self.painted, &rest, out)?;
        self.painted = Emphasis::Plain;
        Ok(())
    }
}
