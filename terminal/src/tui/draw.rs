//! Draws the time machine.

mod help;
mod session;

use super::layout::TuiLayout;
use super::page::painted;
use super::state::{TuiState, TuiTyping};
use crate::draw::sessions as table;
use crate::escape::visible_line;
use crate::layout::{clip, columns, pad};
use crate::style::{Style as Look, counted, thousands};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// Draws what is shown.
pub fn draw(frame: &mut Frame<'_>, state: &TuiState, look: &Look) {
    let layout = TuiLayout::of(frame.area());
    if state.help {
        help::draw(frame, &layout);
    } else if let Some(open) = &state.open {
        session::draw(frame, open, &layout, look.colour);
    } else {
        list(frame, state, &layout, look);
    }
    last_line(frame, state, layout.keys);
}

/// The list of sessions, as `annals sessions` prints it.
fn list(frame: &mut Frame<'_>, state: &TuiState, layout: &TuiLayout, look: &Look) {
    let list = &state.list;
    let (shown, all) = list.counts();
    let scope = if list.is_here() { " in this project · tab: all" } else { "" };
    let count = match shown == all {
        true => format!("{}{scope}", counted(all as u64, "session")),
        false => format!("{} of {}{scope}", thousands(shown as u64), counted(all as u64, "session")),
    };
    let left = if list.filter().is_empty() { "Annals".to_owned() } else { format!("/{}", visible_line(list.filter())) };
    head(frame, layout.head, &left, &count);
    let height = usize::from(layout.body.height.saturating_sub(1));
    let from = list.at().saturating_sub(height.saturating_sub(1) / 2).min(shown.saturating_sub(height));
    let width = usize::from(layout.body.width);
    let rows = list.window(from, height);
    if rows.is_empty() {
        let none = if all == 0 { "no sessions" } else { "no match; esc clears the filter" };
        frame.render_widget(Paragraph::new(none).style(dim()), layout.body);
        return;
    }
    let mut lines = Vec::new();
    for (at, line) in table::lines(&rows, look, Some(width)).iter().enumerate() {
        let is_selected = at.checked_sub(1).is_some_and(|at| from + at == list.at());
        let line = painted(line);
        lines.push(match is_selected {
            true => {
                let text = pad(&line.to_string(), width);
                Line::styled(text, bold().add_modifier(Modifier::REVERSED))
            }
            false => line,
        });
    }
    frame.render_widget(Paragraph::new(lines), layout.body);
}

/// The first line: what is shown, and how much of it.
fn head(frame: &mut Frame<'_>, area: Rect, left: &str, right: &str) {
    let width = usize::from(area.width);
    let right = clip(right, width);
    let left = clip(left, width.saturating_sub(columns(&right) + 2));
    let gap = width.saturating_sub(columns(&left) + columns(&right));
    let spans = vec![Span::styled(left, bold()), Span::raw(" ".repeat(gap)), Span::styled(right, dim())];
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
}

/// The last line: what is typed, else a remark, else the keys.
fn last_line(frame: &mut Frame<'_>, state: &TuiState, area: Rect) {
    let typed = |label: &str, text: &str| {
        let room = usize::from(area.width).saturating_sub(label.len() + 1);
        let text = visible_line(text);
        // The end is what is being typed.
        let mut start = text.as_str();
        while columns(start) > room {
            let mut chars = start.chars();
            chars.next();
            start = chars.as_str();
        }
        Line::from(vec![Span::styled(label.to_owned(), bold()), Span::raw(start.to_owned()), Span::raw("▏")])
    };
    let line = match (&state.typing, &state.remark) {
        (Some(TuiTyping::Filter), _) => typed("filter: ", state.list.filter()),
        (Some(TuiTyping::Find), _) => {
            typed("find: ", state.open.as_ref().map(|open| open.find.as_str()).unwrap_or_default())
        }
        (Some(TuiTyping::Event(text)), _) => typed("go to event (12, turn:3, -1): ", text),
        (None, Some(remark)) => Line::raw(visible_line(remark)),
        (None, None) if state.help => Line::styled("any key: back · q quit", dim()),
        (None, None) if state.open.as_ref().is_some_and(|open| !open.arriving.is_empty()) => {
            typed("", state.open.as_ref().map(|open| open.arriving.as_str()).unwrap_or_default())
        }
        (None, None) if state.open.is_some() => {
            Line::styled("? help · ←→ cut · [ ] turn · e E error · tab 1-9 tabs · m mark · / find · q quit", dim())
        }
        (None, None) => Line::styled("enter open · ↑↓ select · / filter · tab project or all · ? help · q quit", dim()),
    };
    frame.render_widget(Paragraph::new(line), area);
}
