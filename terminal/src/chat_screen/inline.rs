//! Writes lines above the lower part of the screen, and that part below them. What was written above is the terminal's: it can be
//! scrolled, copied and searched as any other output.

use super::frame::{LowerScreen, is_blank};
use crossterm::cursor::{Hide, MoveDown, MoveTo, MoveToColumn, MoveUp, Show};
use crossterm::queue;
use crossterm::style::{Attribute, ContentStyle, Print, PrintStyledContent, SetAttribute, StyledContent};
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};
use ratatui::backend::IntoCrossterm;
use ratatui::buffer::Buffer;
use std::io::{self, Write};

/// The terminal below which a part is drawn again and again.
pub(super) struct InlineTerminal<W: Write> {
    out: W,
    /// Columns of each row that is drawn.
    drawn: Vec<usize>,
    /// The row and column of the cursor in them.
    cursor: (usize, usize),
    /// What is drawn.
    shown: LowerScreen,
}

#[cfg(test)]
impl InlineTerminal<Vec<u8>> {
    pub(super) fn written(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }
}

impl<W: Write> InlineTerminal<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, drawn: Vec::new(), cursor: (0, 0), shown: LowerScreen::default() }
    }

    /// Writes whole lines, and the lower part below them, in a terminal of this width.
    pub(super) fn draw(&mut self, above: &str, lower: LowerScreen, width: u16) -> io::Result<()> {
        if above.is_empty() && lower == self.shown && !self.drawn.is_empty() {
            return Ok(());
        }
        queue!(self.out, BeginSynchronizedUpdate, Hide)?;
        self.clear(width)?;
        for line in above.split_inclusive('\n') {
            let text = line.trim_end_matches(['\n', '\r']);
            queue!(self.out, Print(text), SetAttribute(Attribute::Reset))?;
            queue!(self.out, Print("\r\n"))?;
        }
        let cells = lower.cells(width);
        self.drawn = (0..lower.rows.len()).map(|row| columns(&cells, row)).collect();
        for row in 0..self.drawn.len() {
            if row > 0 {
                queue!(self.out, Print("\r\n"))?;
            }
            self.row(&cells, row)?;
        }
        let last = self.drawn.len().saturating_sub(1);
        self.cursor = lower.cursor.unwrap_or((last, 0));
        if let Some(up) = up(last, self.cursor.0) {
            queue!(self.out, up)?;
        }
        queue!(self.out, MoveToColumn(u16::try_from(self.cursor.1).unwrap_or(u16::MAX)))?;
        if lower.cursor.is_some() {
            queue!(self.out, Show)?;
        }
        self.shown = lower;
        queue!(self.out, EndSynchronizedUpdate)?;
        self.out.flush()
    }

    /// Takes the lower part away.
    pub(super) fn erase(&mut self, width: u16) -> io::Result<()> {
        self.clear(width)?;
        queue!(self.out, Show)?;
        self.out.flush()
    }

    /// Clears the whole screen; what was scrolled away stays.
    pub(super) fn clear_screen(&mut self) -> io::Result<()> {
        self.forget();
        queue!(self.out, Clear(ClearType::All), MoveTo(0, 0))?;
        self.out.flush()
    }

    /// Something else wrote to the terminal: nothing of the lower part is there.
    pub(super) fn forget(&mut self) {
        self.drawn.clear();
        self.cursor = (0, 0);
        self.shown = LowerScreen::default();
    }

    /// Moves to the beginning of the lower part and clears from there. In a terminal that became narrower its rows have been broken.
    fn clear(&mut self, width: u16) -> io::Result<()> {
        let width = usize::from(width).max(1);
        let before = self.drawn.iter().take(self.cursor.0);
        let rows = before.map(|columns| columns.div_ceil(width).max(1)).sum::<usize>() + self.cursor.1 / width;
        queue!(self.out, MoveToColumn(0))?;
        if let Some(up) = up(rows, 0) {
            queue!(self.out, up)?;
        }
        // A terminal may take a screen that is cleared from its first row on for one that is scrolled away.
        queue!(self.out, Clear(ClearType::CurrentLine))?;
        if self.drawn.len() > 1 {
            queue!(self.out, MoveDown(1), Clear(ClearType::FromCursorDown), MoveUp(1))?;
        }
        self.forget();
        Ok(())
    }

    fn row(&mut self, cells: &Buffer, row: usize) -> io::Result<()> {
        let (mut styled, mut text) = (ContentStyle::default(), String::new());
        let mut skips = 0;
        for column in 0..columns(cells, row) {
            let Some(cell) = at(cells, column, row) else { break };
            if skips > 0 {
                skips -= 1;
                continue;
            }
            skips = unicode_width::UnicodeWidthStr::width(cell.symbol()).saturating_sub(1);
            let mut style = cell.style();
            // The terminal's own colours.
            (style.fg, style.bg) = (style.fg.filter(is_colour), style.bg.filter(is_colour));
            (style.underline_color, style.sub_modifier) = (None, ratatui::style::Modifier::empty());
            let style: ContentStyle = style.into_crossterm();
            if style != styled && !text.is_empty() {
                self.piece(styled, std::mem::take(&mut text))?;
            }
            styled = style;
            text.push_str(cell.symbol());
        }
        if text.is_empty() { Ok(()) } else { self.piece(styled, text) }
    }

    fn piece(&mut self, style: ContentStyle, text: String) -> io::Result<()> {
        if style == ContentStyle::default() {
            return queue!(self.out, Print(text));
        }
        queue!(self.out, PrintStyledContent(StyledContent::new(style, text)), SetAttribute(Attribute::Reset))
    }
}

fn is_colour(colour: &ratatui::style::Color) -> bool {
    *colour != ratatui::style::Color::Reset
}

fn up(from: usize, to: usize) -> Option<MoveUp> {
    let rows = u16::try_from(from.checked_sub(to)?).unwrap_or(u16::MAX);
    (rows > 0).then_some(MoveUp(rows))
}

fn at(cells: &Buffer, column: usize, row: usize) -> Option<&ratatui::buffer::Cell> {
    cells.cell((u16::try_from(column).ok()?, u16::try_from(row).ok()?))
}

/// Columns of a row up to its last character.
fn columns(cells: &Buffer, row: usize) -> usize {
    let width = usize::from(cells.area.width);
    let last = (0..width).rev().find(|column| at(cells, *column, row).is_some_and(|cell| !is_blank(cell)));
    let Some(last) = last else { return 0 };
    let wide = at(cells, last, row).map_or(1, |cell| unicode_width::UnicodeWidthStr::width(cell.symbol()).max(1));
    last + wide
}
