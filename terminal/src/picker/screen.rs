//! Draws a picker.

use super::state::{PickerRow, PickerState};
use crate::escape::visible_line;
use crate::layout::{clip, columns, pad};
use crate::style::thousands;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// From this width on the preview is next to the list.
const WIDE: u16 = 110;
/// From this height on the preview is below the list.
const HIGH: u16 = 16;
/// Columns of the name of a project, at most.
const PROJECT: usize = 16;

/// Where the parts of the screen are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PickerLayout {
    head: Rect,
    /// The list.
    pub list: Rect,
    /// The preview; without columns or rows on a small screen.
    pub preview: Rect,
    keys: Rect,
}

impl PickerLayout {
    /// The parts of a screen of this size.
    pub fn of(area: Rect) -> Self {
        let rows = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
        let [head, body, keys] = Layout::vertical(rows).areas(area);
        let [list, preview] = if area.width >= WIDE {
            Layout::horizontal([Constraint::Percentage(55), Constraint::Fill(1)]).spacing(2).areas(body)
        } else if area.height >= HIGH {
            Layout::vertical([Constraint::Percentage(55), Constraint::Fill(1)]).areas(body)
        } else {
            [body, Rect { width: 0, height: 0, ..body }]
        };
        Self { head, list, preview, keys }
    }
}

/// Draws the list with the selected session in view, the preview, and the keys.
pub fn draw(frame: &mut Frame<'_>, state: &PickerState, preview: &[String], colour: bool) {
    let layout = PickerLayout::of(frame.area());
    let dim = Style::new().add_modifier(Modifier::DIM);
    let (shown, all) = (state.shown().len(), state.all());
    let scope = if state.is_here() { "in this project · tab: all" } else { "of all projects" };
    let count = match shown == all {
        true => format!("{} {scope}", crate::style::counted(all as u64, "session")),
        false => format!("{} of {} {scope}", thousands(shown as u64), crate::style::counted(all as u64, "session")),
    };
    let width = usize::from(layout.head.width);
    let typed = clip(&visible_line(state.filter()), width.saturating_sub(columns(&count) + 5));
    let gap = width.saturating_sub(columns(&count) + columns(&typed) + 2);
    let hint = if typed.is_empty() { "type to filter" } else { "" };
    let hint = if columns(hint) < gap { hint } else { "" };
    let head = vec![
        Span::styled("› ", Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(typed),
        Span::styled(pad(hint, gap), dim),
        Span::styled(count, dim),
    ];
    frame.render_widget(Paragraph::new(Line::from(head)), layout.head);
    list(frame, state, layout.list, colour);
    let lines: Vec<Line<'_>> = preview.iter().map(|line| Line::raw(line.as_str())).collect();
    if layout.preview.height > 1 {
        let side = layout.preview.width < frame.area().width;
        let rule = if side { String::new() } else { "─".repeat(usize::from(layout.preview.width)) };
        let [top, rest] =
            Layout::vertical([Constraint::Length(u16::from(!side)), Constraint::Min(0)]).areas(layout.preview);
        frame.render_widget(Paragraph::new(rule).style(dim), top);
        frame.render_widget(Paragraph::new(lines), rest);
    }
    let keys = "enter show · ^R resume command · ^O cost · ^F search texts · tab all · esc quit";
    frame.render_widget(Paragraph::new(clip(keys, usize::from(layout.keys.width))).style(dim), layout.keys);
}

fn list(frame: &mut Frame<'_>, state: &PickerState, area: Rect, colour: bool) {
    let height = usize::from(area.height);
    let from = state.at().saturating_sub(height.saturating_sub(1) / 2).min(state.shown().len().saturating_sub(height));
    let rows: Vec<&PickerRow> = state.shown().skip(from).take(height).collect();
    let widest = |cell: fn(&PickerRow) -> &str| rows.iter().map(|row| columns(cell(row))).max().unwrap_or(0);
    let width = usize::from(area.width);
    let cost = if width >= 60 { widest(|row| &row.cost) } else { 0 };
    let widths = ListWidths {
        age: widest(|row| &row.age),
        project: if state.is_here() { 0 } else { widest(|row| &row.project).min(PROJECT) },
        agent: if width >= 60 { widest(|row| &row.agent).min(PROJECT) } else { 0 },
        cost,
        all: width,
    };
    let lines: Vec<Line<'_>> =
        rows.iter().enumerate().map(|(at, row)| widths.line(row, from + at == state.at(), colour)).collect();
    let empty = match (rows.is_empty(), state.is_here()) {
        (false, _) => None,
        (true, true) => Some("no match in this project; tab shows all"),
        (true, false) => Some("no match; ^F searches the texts of all sessions"),
    };
    match empty {
        Some(text) => frame.render_widget(Paragraph::new(text), area),
        None => frame.render_widget(Paragraph::new(lines), area),
    }
}

/// Columns of the cells of a row; 0 leaves one out.
struct ListWidths {
    age: usize,
    project: usize,
    agent: usize,
    cost: usize,
    all: usize,
}

impl ListWidths {
    fn line(&self, row: &PickerRow, selected: bool, colour: bool) -> Line<'static> {
        // The selected row is painted as a whole.
        let dim = if selected { Style::new() } else { Style::new().add_modifier(Modifier::DIM) };
        let painted = |color| if colour && !selected { Style::new().fg(color) } else { Style::new() };
        let mut spans = vec![Span::raw(if selected { "▸ " } else { "  " })];
        spans.push(Span::styled(format!("{:>width$}  ", row.age, width = self.age), dim));
        let cells = [(self.project, &row.project, painted(Color::Yellow)), (self.agent, &row.agent, dim)];
        for (width, text, style) in cells.into_iter().filter(|(width, ..)| *width > 0) {
            spans.push(Span::styled(pad(&clip(text, width), width) + "  ", style));
        }
        let used: usize = spans.iter().map(|span| columns(&span.content)).sum();
        let cost = if self.cost > 0 { self.cost + 2 } else { 0 };
        let room = self.all.saturating_sub(used + cost);
        spans.push(Span::raw(pad(&clip(&visible_line(&row.title), room), room)));
        if cost > 0 {
            spans.push(Span::styled(format!("  {:>width$}", row.cost, width = self.cost), dim));
        }
        let line = Line::from(spans);
        if selected { line.style(Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED)) } else { line }
    }
}
