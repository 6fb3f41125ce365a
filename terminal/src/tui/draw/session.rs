//! One session: head, tabs, timeline, tab.

use super::super::layout::TuiLayout;
use super::super::session::TuiSession;
use super::super::tab::TuiTab;
use super::{bold, dim};
use crate::escape::visible_line;
use crate::layout::columns;
use crate::shown_title::without_keys;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

pub(super) fn draw(frame: &mut Frame<'_>, open: &TuiSession, layout: &TuiLayout, colour: bool) {
    super::head(frame, layout.head, &visible_line(&without_keys(&open.title)), &place(open));
    tabs(frame, open, layout.tabs);
    let upright = layout.rule.height > 1;
    let rule = if upright { " │ " } else { "─" };
    let rule: Vec<Line<'_>> = match upright {
        true => (0..layout.rule.height).map(|_| Line::raw(rule)).collect(),
        false => vec![Line::raw(rule.repeat(usize::from(layout.rule.width)))],
    };
    frame.render_widget(Paragraph::new(rule).style(dim()), layout.rule);
    timeline(frame, open, layout.timeline, colour);
    page(frame, open, layout.page);
}

/// `event 12 of 61 · turn 3`, with the mark.
fn place(open: &TuiSession) -> String {
    let Some(timeline) = &open.timeline else { return "loading".to_owned() };
    let (first, last) = (open.cut.map_or(open.at, |cut| cut.first), open.last_of_cut());
    let events = if first == last { format!("event {last}") } else { format!("events {first}-{last}") };
    let turn = timeline.turn_at(open.at).map(|turn| format!(" · turn {turn}")).unwrap_or_default();
    let mark = open.mark.map(|mark| format!(" · mark {mark}")).unwrap_or_default();
    format!("{events} of {}{turn}{mark}", open.end.0.saturating_sub(1))
}

/// The tabs; on a narrow screen the names of the others are left out.
fn tabs(frame: &mut Frame<'_>, open: &TuiSession, area: Rect) {
    let label = |tab: TuiTab, named: bool| match named {
        true => format!("{} {}", tab.place() + 1, tab.name()),
        false => (tab.place() + 1).to_string(),
    };
    let all: usize = TuiTab::ALL.iter().map(|tab| label(*tab, true).len() + 1).sum();
    let named = all <= usize::from(area.width) + 1;
    let mut spans = Vec::new();
    for tab in TuiTab::ALL {
        let is_open = tab == open.tab;
        let style = if is_open { bold().add_modifier(Modifier::REVERSED) } else { dim() };
        spans.push(Span::styled(label(tab, named || is_open), style));
        spans.push(Span::raw(" "));
    }
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
}

fn timeline(frame: &mut Frame<'_>, open: &TuiSession, area: Rect, colour: bool) {
    let Some(timeline) = &open.timeline else { return };
    let (height, width) = (usize::from(area.height), usize::from(area.width));
    let at = timeline.row_at(open.last_of_cut());
    let from = at.saturating_sub(height.saturating_sub(1) / 2).min(timeline.len().saturating_sub(height));
    let rows = from..timeline.len().min(from.saturating_add(height));
    let lines: Vec<Line<'_>> = rows.map(|row| timeline.line(row, width, row == at, colour)).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn page(frame: &mut Frame<'_>, open: &TuiSession, area: Rect) {
    if let Some(error) = &open.error {
        frame.render_widget(Paragraph::new(visible_line(error)), area);
        return;
    }
    let Some((_, page)) = &open.page else {
        let text = if open.timeline.is_some() && open.end.0 == 0 { "no events" } else { "loading" };
        frame.render_widget(Paragraph::new(text).style(dim()), area);
        return;
    };
    // What is shown until the next page is there is dim.
    let style = if open.is_current(area.width) { Style::new() } else { dim() };
    let height = usize::from(area.height);
    let wanted = open.find.to_lowercase();
    let shown = page.lines.iter().enumerate().skip(open.scroll).take(height);
    let lines: Vec<Line<'_>> = shown
        .map(|(at, line)| match wanted.is_empty() || !line.to_string().to_lowercase().contains(&wanted) {
            true => line.clone(),
            false if open.found_at == Some(at) => line.clone().style(Style::new().add_modifier(Modifier::REVERSED)),
            false => line.clone().style(Style::new().add_modifier(Modifier::UNDERLINED)),
        })
        .collect();
    frame.render_widget(Paragraph::new(lines).style(style), area);
    more(frame, open, area, page.lines.len(), page.cut);
}

/// How many lines follow, at the lower right.
fn more(frame: &mut Frame<'_>, open: &TuiSession, area: Rect, lines: usize, cut: bool) {
    let below = lines.saturating_sub(open.scroll.saturating_add(usize::from(area.height)));
    let text = match (below, cut) {
        (0, false) => return,
        (0, true) => " the rest is not shown ".to_owned(),
        (below, _) => format!(" {below} more ↓ "),
    };
    let width = u16::try_from(columns(&text)).unwrap_or(u16::MAX);
    if width >= area.width || area.height < 2 {
        return;
    }
    let at = Rect { x: area.right().saturating_sub(width), y: area.bottom().saturating_sub(1), width, height: 1 };
    frame.render_widget(Paragraph::new(text).style(Style::new().add_modifier(Modifier::REVERSED)), at);
}
