//! A text on a screen of its own: all of a change, or of an output.

use super::painted::{cell, rows};
use crate::escape::visible_line;
use crate::layout::clip;
use crate::style::Emphasis;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// The text, and what is seen of it.
pub(super) struct TextPage {
    title: String,
    /// Painted lines.
    lines: Vec<String>,
    rows: Vec<Line<'static>>,
    top: usize,
    /// Columns that `rows` were made for, and rows on the screen.
    size: (u16, u16),
}

impl TextPage {
    pub(super) fn new(title: String, lines: Vec<String>) -> Self {
        Self { title, lines, rows: Vec::new(), top: 0, size: (0, 0) }
    }

    /// Fits the text to the screen.
    pub(super) fn resize(&mut self, area: Rect) {
        let size = (area.width, area.height.saturating_sub(2));
        if self.size.0 != size.0 {
            let width = usize::from(size.0).max(4);
            let broken = |line: &String| match rows(line, width) {
                rows if rows.is_empty() => vec![Line::default()],
                rows => rows,
            };
            self.rows = self.lines.iter().flat_map(broken).collect();
        }
        self.size = size;
        self.top = self.top.min(self.last());
    }

    fn last(&self) -> usize {
        self.rows.len().saturating_sub(usize::from(self.size.1))
    }

    /// Applies a key; says whether the page stays.
    pub(super) fn press(&mut self, key: KeyEvent) -> bool {
        if key.kind == KeyEventKind::Release {
            return true;
        }
        let page = usize::from(self.size.1).max(1);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let top = match key.code {
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | 'd') if !control => return false,
            KeyCode::Char('c' | 'o') if control => return false,
            KeyCode::Down | KeyCode::Char('j') => self.top + 1,
            KeyCode::Up | KeyCode::Char('k') => self.top.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ' | 'f') => self.top + page,
            KeyCode::PageUp | KeyCode::Char('b') => self.top.saturating_sub(page),
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => usize::MAX,
            _ => self.top,
        };
        self.top = top.min(self.last());
        true
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>, colour: bool) {
        let parts = [Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
        let [head, body, keys] = Layout::vertical(parts).areas(frame.area());
        let line = |emphasis, text: &str| {
            Paragraph::new(Span::styled(clip(&visible_line(text), usize::from(head.width)), cell(emphasis, colour)))
        };
        frame.render_widget(line(Emphasis::Strong, &self.title), head);
        let shown: Vec<Line<'_>> = self.rows.iter().skip(self.top).take(usize::from(body.height)).cloned().collect();
        let end = self.top + shown.len();
        frame.render_widget(Paragraph::new(shown), body);
        let status = format!("{}-{end} of {} · ↑↓ space b g G · q returns", self.top + 1, self.rows.len());
        frame.render_widget(line(Emphasis::Dim, &status), keys);
    }
}
