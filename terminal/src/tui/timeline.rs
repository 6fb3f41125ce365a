//! The timeline of a session: one row a turn, a call of a tool, or an event between them.

use crate::escape::visible_line;
use crate::layout::{clip, columns, pad};
use crate::style::duration;
use annals_core::Seq;
use annals_inspect::recorded_path::below;
use annals_inspect::report::{ReportCall, ReportMark, ReportTurn, SessionIndex};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// What a row of a timeline is, by its place in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowKind {
    Turn,
    Call(usize),
    Mark(usize),
}

#[derive(Clone, Copy, Debug)]
struct RowPlace {
    seq: Seq,
    turn: usize,
    kind: RowKind,
}

/// The timeline of one session.
#[derive(Clone, Debug, Default)]
pub struct TuiTimeline {
    index: SessionIndex,
    directory: String,
    rows: Vec<RowPlace>,
    errors: Vec<Seq>,
}

/// Whether a call failed.
fn has_failed(call: &ReportCall) -> bool {
    !matches!(call.status, "completed" | "running") || call.command_failure.is_some()
}

impl TuiTimeline {
    /// The rows of an index; paths below the directory are shown from there.
    pub fn new(index: SessionIndex, directory: String) -> Self {
        let (mut rows, mut errors) = (Vec::new(), Vec::new());
        for (turn, entry) in index.turns().iter().enumerate() {
            let first = rows.len();
            rows.push(RowPlace { seq: entry.first, turn, kind: RowKind::Turn });
            for (at, call) in entry.calls.iter().enumerate() {
                rows.push(RowPlace { seq: call.first, turn, kind: RowKind::Call(at) });
                errors.extend(call.last.filter(|_| has_failed(call)));
            }
            for (at, mark) in entry.marks.iter().enumerate() {
                rows.push(RowPlace { seq: mark.seq, turn, kind: RowKind::Mark(at) });
                errors.extend((mark.kind == "error").then_some(mark.seq));
            }
            if let Some(after) = rows.get_mut(first.saturating_add(1)..) {
                after.sort_by_key(|row| row.seq);
            }
        }
        errors.sort_unstable();
        errors.dedup();
        Self { index, directory, rows, errors }
    }

    /// The index that it was made from.
    pub fn index(&self) -> &SessionIndex {
        &self.index
    }

    /// The directory of the session.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row of an event: the last one that begins at it or before.
    pub fn row_at(&self, seq: Seq) -> usize {
        self.rows.partition_point(|row| row.seq <= seq).saturating_sub(1)
    }

    /// The number of the turn of an event.
    pub fn turn_at(&self, seq: Seq) -> Option<u64> {
        let after = self.index.turns().partition_point(|turn| turn.first <= seq);
        Some(self.index.turns().get(after.checked_sub(1)?)?.turn)
    }

    /// The first event of a turn by its number.
    pub fn turn(&self, number: u64) -> Option<Seq> {
        self.index.turns().iter().find(|turn| turn.turn == number).map(|turn| turn.first)
    }

    /// The first event of the turn, or of the one before if it is the first already.
    pub fn turn_before(&self, seq: Seq) -> Option<Seq> {
        self.index.turns().iter().rev().map(|turn| turn.first).find(|first| *first < seq)
    }

    /// The first event of the next turn.
    pub fn turn_after(&self, seq: Seq) -> Option<Seq> {
        self.index.turns().iter().map(|turn| turn.first).find(|first| *first > seq)
    }

    /// The error before an event.
    pub fn error_before(&self, seq: Seq) -> Option<Seq> {
        self.errors.iter().rev().copied().find(|at| *at < seq)
    }

    /// The error after an event.
    pub fn error_after(&self, seq: Seq) -> Option<Seq> {
        self.errors.iter().copied().find(|at| *at > seq)
    }

    /// A row as a line of at most `width` columns.
    pub fn line(&self, row: usize, width: usize, selected: bool, colour: bool) -> Line<'static> {
        let place = self.rows.get(row);
        let turn = place.and_then(|place| self.index.turns().get(place.turn));
        let (Some(place), Some(turn)) = (place, turn) else { return Line::default() };
        let painted = |color: Color| if colour && !selected { Style::new().fg(color) } else { Style::new() };
        let line = match place.kind {
            RowKind::Turn => turn_line(turn, width, painted(Color::Cyan)),
            RowKind::Call(at) => turn.calls.get(at).map_or_else(Line::default, |call| {
                let style = if has_failed(call) { painted(Color::Red) } else { Style::new() };
                call_line(call, &self.directory, width, style, painted(Color::Blue))
            }),
            RowKind::Mark(at) => turn.marks.get(at).map_or_else(Line::default, |mark| {
                let color = if mark.kind == "error" { Color::Red } else { Color::Yellow };
                mark_line(mark, width, painted(color))
            }),
        };
        if selected { line.style(Style::new().add_modifier(Modifier::BOLD | Modifier::REVERSED)) } else { line }
    }
}

fn turn_line(turn: &ReportTurn, width: usize, style: Style) -> Line<'static> {
    let prompt = if turn.turn == 0 { "before the first turn" } else { turn.prompt.as_str() };
    let line = format!("{} {}", turn.turn, visible_line(prompt.trim()));
    Line::from(Span::styled(pad(&clip(&line, width), width), style.add_modifier(Modifier::BOLD)))
}

fn call_line(call: &ReportCall, directory: &str, width: usize, style: Style, name: Style) -> Line<'static> {
    let took = match (call.duration_ms, call.command_failure) {
        (Some(ms), Some(failure)) => format!("{failure} {}", duration(ms)),
        (Some(ms), None) => duration(ms),
        (None, _) => "running".to_owned(),
    };
    let mark = if has_failed(call) { "  ✗ " } else { "    " };
    let room = width.saturating_sub(columns(mark) + columns(&took) + 1);
    let tool = clip(&visible_line(&call.tool), room);
    let title = clip(&visible_line(&argument(&call.title, directory)), room.saturating_sub(columns(&tool) + 1));
    let left = if title.is_empty() { String::new() } else { format!(" {title}") };
    let gap = room.saturating_sub(columns(&tool) + columns(&left)) + 1;
    let name = if has_failed(call) { style } else { name };
    Line::from(vec![
        Span::styled(mark, style),
        Span::styled(tool, name),
        Span::styled(left, style.add_modifier(Modifier::DIM)),
        Span::styled(format!("{}{took}", " ".repeat(gap)), style.add_modifier(Modifier::DIM)),
    ])
}

/// The first text of an input of a call, else the input. The input may be cut anywhere.
fn argument(input: &str, directory: &str) -> String {
    let value = input.split_once(':').and_then(|(name, value)| {
        let name = name.trim().strip_prefix('{')?.trim();
        let value = value.trim_start().strip_prefix('"').filter(|_| name.starts_with('"'))?;
        Some(value.split_once('"').map_or(value, |(value, _)| value))
    });
    let value = value.filter(|value| !value.is_empty());
    // A value that was cut inside an escape is not a valid string.
    let text =
        value.and_then(|value| serde_json::from_str(&format!("\"{value}\"")).ok()).unwrap_or_else(|| input.to_owned());
    below(&text, directory).map(str::to_owned).unwrap_or(text)
}

/// A band across the timeline.
fn mark_line(mark: &ReportMark, width: usize, style: Style) -> Line<'static> {
    let text = visible_line(mark.text.trim());
    let words = if text.is_empty() { mark.kind.to_owned() } else { format!("{}: {text}", mark.kind) };
    let words = clip(&words, width.saturating_sub(4));
    let rest = "─".repeat(width.saturating_sub(columns(&words) + 4));
    Line::from(Span::styled(format!("── {words} {rest}"), style))
}
