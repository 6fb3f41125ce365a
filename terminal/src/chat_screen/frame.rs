//! The lower part of the screen as rows: what streams, what runs, the question, the text that the user edits, and the status.

use super::card::QuestionCard;
use super::editor::TAB;
use super::painted::{cell, rows};
use super::state::ScreenState;
use crate::escape::{exact, units, visible, visible_line};
use crate::layout::{clip, columns};
use crate::style::{Emphasis, counted, thousands};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style as CellStyle};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};
use std::borrow::Cow;
use std::time::{Duration, Instant};

const SPINNER: [char; 8] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠇'];
/// How long each picture of the spinner stays.
const TURN: Duration = Duration::from_millis(125);
/// Rows of an incomplete line.
const PARTIAL: usize = 4;
/// How many candidates are shown at once.
const CANDIDATES: usize = 6;
/// How many queued messages and tasks are named.
const NAMED: usize = 3;
/// The mark before the text that the user edits.
const PROMPT: &str = "› ";

/// Rows, and where the cursor is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LowerScreen {
    pub(super) rows: Vec<Line<'static>>,
    /// Row and column; `None` while it is hidden.
    pub(super) cursor: Option<(usize, usize)>,
}

impl LowerScreen {
    /// The rows as cells.
    pub(super) fn cells(&self, width: u16) -> Buffer {
        let area = Rect::new(0, 0, width, u16::try_from(self.rows.len()).unwrap_or(u16::MAX));
        let mut cells = Buffer::empty(area);
        Paragraph::new(self.rows.clone()).render(area, &mut cells);
        cells
    }
}

pub(super) fn draw(state: &ScreenState, now: Instant) -> LowerScreen {
    let room = usize::from(state.size.1).saturating_sub(1).max(3);
    let painter = Painter { width: state.width(), colour: state.style.colour };
    let status = painter.status(state);
    let (input, cursor) = painter.input(state, (room / 3).max(1));
    let mut left = room.saturating_sub(input.len() + 1);
    let rule = (left > 4).then(|| painter.line(Emphasis::Dim, &"─".repeat(painter.width)));
    left = left.saturating_sub(rule.iter().len());
    let card = state.card.as_ref().map(|card| painter.card(card, left)).unwrap_or_default();
    left = left.saturating_sub(card.len());
    let candidates = painter.candidates(state, left.min(CANDIDATES));
    left = left.saturating_sub(candidates.len());
    let around = painter.around(state, now, left);
    left = left.saturating_sub(around.len());
    let calls = painter.calls(state, now, left);
    left = left.saturating_sub(calls.len());
    let mut partial = rows(&state.partial, painter.width);
    let surplus = partial.len().saturating_sub(PARTIAL.min(left));
    partial.drain(..surplus);

    let mut all: Vec<Line<'static>> = Vec::new();
    for part in [partial, calls, around, card] {
        all.extend(part);
    }
    all.extend(rule);
    let first = all.len();
    all.extend(input);
    all.extend(candidates);
    all.push(status);
    let hidden = state.card.as_ref().is_some_and(|card| card.focused && card.typing.is_none());
    LowerScreen { rows: all, cursor: (!hidden).then_some((first + cursor.0, cursor.1)) }
}

/// How rows are painted.
struct Painter {
    width: usize,
    colour: bool,
}

impl Painter {
    fn span(&self, emphasis: Emphasis, text: &str) -> Span<'static> {
        Span::styled(visible_line(text), cell(emphasis, self.colour))
    }

    /// One row; what is too long is left out.
    fn line(&self, emphasis: Emphasis, text: &str) -> Line<'static> {
        Line::from(self.span(emphasis, &clip(text, self.width)))
    }

    fn status(&self, state: &ScreenState) -> Line<'static> {
        let live = &state.live;
        let parts = [Some(&live.model), Some(&live.agent), Some(&live.mode), live.window.as_ref()];
        let parts: Vec<&str> =
            parts.into_iter().flatten().map(String::as_str).filter(|part| !part.is_empty()).collect();
        let status = clip(&parts.join(" · "), self.width);
        let hints = ["shift-tab agent · ctrl-o details · /help", "/help"];
        let gap = |hint: &str| self.width.saturating_sub(columns(&status) + columns(hint));
        let hint = hints.into_iter().find(|hint| gap(hint) >= 3).unwrap_or_default();
        let text = format!("{status}{}{hint}", " ".repeat(gap(hint)));
        self.line(Emphasis::Dim, text.trim_end())
    }

    /// The text that the user edits, around the cursor; and the cursor's row and column.
    fn input(&self, state: &ScreenState, most: usize) -> (Vec<Line<'static>>, (usize, usize)) {
        let (all, (row, column)) = state.editor.layout(state.input_width());
        let first = (row + 1).saturating_sub(most).min(all.len().saturating_sub(most));
        let text = state.editor.text();
        let mut lines = Vec::new();
        for (at, one) in all.iter().enumerate().skip(first).take(most) {
            let mark = if at == 0 { PROMPT } else { "  " };
            let shown = text.get(one.start..one.end).unwrap_or_default();
            let shown: String = units(shown).map(|(_, unit)| drawn(unit)).collect();
            lines.push(Line::from(vec![self.span(Emphasis::User, mark), Span::raw(shown)]));
        }
        if text.is_empty()
            && let (Some(line), Some(hint)) = (lines.first_mut(), hint(state))
        {
            line.push_span(self.span(Emphasis::Dim, &clip(hint, self.width.saturating_sub(2))));
        }
        (lines, (row - first, column + columns(PROMPT)))
    }

    /// The question: its head and its answers always, of the rest as much as there is room for.
    fn card(&self, card: &QuestionCard, room: usize) -> Vec<Line<'static>> {
        let mut lines = vec![self.line(Emphasis::Warn, &format!("? {}", card.question.head))];
        let options = self.options(card);
        let keys = self.line(Emphasis::Dim, &format!("    {}", keys(card)));
        let most = room.saturating_sub(2).max(1);
        let shown = options.len().min(most);
        let first = card.selected.saturating_sub(shown.saturating_sub(1));
        let mut left = room.saturating_sub(2 + shown);
        let notes: Vec<_> = card.question.notes.iter().take(left.saturating_sub(2)).collect();
        left -= notes.len();
        if card.about.len() <= left {
            lines.extend(card.about.iter().map(|(emphasis, line)| self.line(*emphasis, &format!("    {line}"))));
        } else if left > 0 {
            let about = card.about.iter().take(left - 1);
            lines.extend(about.map(|(emphasis, line)| self.line(*emphasis, &format!("    {line}"))));
            let more = counted(card.all.max(card.about.len()).saturating_sub(left - 1) as u64, "more line");
            let how = if card.question.whole.is_some() { "; d shows all" } else { "" };
            lines.push(self.line(Emphasis::Warn, &format!("    … {more}{how}")));
        }
        lines.extend(notes.into_iter().map(|note| self.line(Emphasis::Dim, &format!("    {note}"))));
        lines.extend(options.into_iter().skip(first).take(shown));
        lines.push(keys);
        lines
    }

    fn options(&self, card: &QuestionCard) -> Vec<Line<'static>> {
        let options = card.question.options.iter().enumerate().map(|(at, option)| {
            let selected = card.focused && card.typing.is_none() && at == card.selected;
            let mark = if selected { "❯" } else { " " };
            let chosen = match (card.question.multiple, card.chosen.contains(&at)) {
                (false, _) => "",
                (true, true) => "[x] ",
                (true, false) => "[ ] ",
            };
            let emphasis = if selected { Emphasis::User } else { Emphasis::Plain };
            self.line(emphasis, &format!("  {mark} {} {chosen}{}", option.key, exact(&option.label)))
        });
        options.collect()
    }

    fn candidates(&self, state: &ScreenState, room: usize) -> Vec<Line<'static>> {
        let Some(completion) = &state.completion else { return Vec::new() };
        let first = completion.selected.saturating_sub(room.saturating_sub(1));
        let shown = completion.candidates.iter().enumerate().skip(first).take(room);
        let widest = shown.clone().map(|(_, (name, _))| columns(name)).max().unwrap_or_default().min(self.width / 2);
        let lines = shown.map(|(at, (name, what))| {
            let name = crate::layout::pad(&clip(&visible_line(name), self.width.saturating_sub(4)), widest);
            let selected = at == completion.selected;
            let what = clip(&visible_line(what), self.width.saturating_sub(columns(&name) + 6));
            let emphasis = if selected { Emphasis::User } else { Emphasis::Plain };
            let mark = if selected { "❯ " } else { "  " };
            Line::from(vec![
                self.span(emphasis, &format!("{mark}{name}")),
                self.span(Emphasis::Dim, &format!("  {what}")),
            ])
        });
        lines.collect()
    }

    /// What is waited for, what runs in the background, and what waits to be read.
    fn around(&self, state: &ScreenState, now: Instant, room: usize) -> Vec<Line<'static>> {
        let live = &state.live;
        let mut lines = Vec::new();
        if let Some((what, since)) = &live.activity {
            let mut text = format!("{} {what}", turning(*since, now));
            if live.tokens > 0 {
                text.push_str(&format!(" · ~{} tokens", thousands(live.tokens)));
            }
            text.push_str(if state.interrupting { " · interrupting" } else { " · esc interrupts" });
            lines.push(self.line(Emphasis::Tool, &text));
        }
        let tasks = live.tasks.iter().take(NAMED);
        lines.extend(tasks.map(|(what, since)| {
            self.line(Emphasis::Dim, &format!("◦ {} in the background: {what}", elapsed(*since, now)))
        }));
        lines.extend(self.more(live.tasks.len()));
        let queued = live.queued.iter().take(NAMED);
        lines.extend(queued.map(|text| self.line(Emphasis::Dim, &format!("↳ sent with the next request: {text}"))));
        lines.extend(self.more(live.queued.len()));
        lines.truncate(room);
        lines
    }

    fn more(&self, count: usize) -> Option<Line<'static>> {
        let more = count.checked_sub(NAMED).filter(|more| *more > 0)?;
        Some(self.line(Emphasis::Dim, &format!("  … {more} more")))
    }

    /// The calls that run, each with the last lines of its output as far as there is room.
    fn calls(&self, state: &ScreenState, now: Instant, room: usize) -> Vec<Line<'static>> {
        let calls = &state.live.calls;
        let shown = calls.len().min(NAMED).min(room);
        let each = (room - shown).checked_div(shown).unwrap_or_default();
        let mut lines = Vec::new();
        for (at, call) in calls.iter().take(shown).enumerate() {
            let how = match (at, state.interrupting) {
                (0, true) => " · interrupting",
                (0, false) if state.card.is_none() => " · esc interrupts",
                _ => "",
            };
            let about = format!("{} {}", turning(call.since, now), call.about);
            let about = clip(&visible_line(&about), self.width.saturating_sub(columns(how)));
            lines.push(self.line(Emphasis::Tool, &format!("{about}{how}")));
            let surplus = call.lines.len().saturating_sub(each);
            let output = call.lines.iter().skip(surplus);
            lines.extend(output.map(|line| self.line(Emphasis::Dim, &format!("  │ {line}"))));
        }
        lines
    }
}

/// A unit of the text as it is drawn.
fn drawn(unit: &str) -> Cow<'_, str> {
    if unit == "\t" { TAB.into() } else { visible(unit) }
}

/// What can be typed while nothing is.
fn hint(state: &ScreenState) -> Option<&'static str> {
    match &state.card {
        Some(card) if card.typing.is_some() => Some("type the answer; enter sends it"),
        Some(card) if card.focused => None,
        Some(_) => Some("tab: to the question"),
        None => Some("a message · @file · /command · !shell"),
    }
}

/// The keys of a question.
fn keys(card: &QuestionCard) -> String {
    let mut keys = Vec::new();
    match (card.focused, card.typing.is_some()) {
        (_, true) => keys.push("enter answers"),
        (false, _) => keys.push("tab: answer"),
        (true, _) if card.question.multiple => keys.extend(["space marks", "enter answers"]),
        (true, _) => keys.extend(["↑↓ enter, or the letter"]),
    }
    if card.question.whole.is_some() {
        keys.push(if card.focused { "d shows all" } else { "ctrl-o shows all" });
    }
    keys.push("esc interrupts");
    keys.join(" · ")
}

fn turning(since: Instant, now: Instant) -> String {
    let passed = now.saturating_duration_since(since);
    let turn = usize::try_from(passed.as_millis() / TURN.as_millis()).unwrap_or_default() % SPINNER.len();
    format!("{} {}", SPINNER.get(turn).copied().unwrap_or('·'), elapsed(since, now))
}

/// `8s`, `2m 05s`.
fn elapsed(since: Instant, now: Instant) -> String {
    let seconds = now.saturating_duration_since(since).as_secs();
    match seconds / 60 {
        0 => format!("{seconds}s"),
        minutes => format!("{minutes}m {:02}s", seconds % 60),
    }
}

/// Whether a row of cells ends before this cell.
pub(super) fn is_blank(cell: &ratatui::buffer::Cell) -> bool {
    let style: CellStyle = cell.style();
    let visible = Modifier::REVERSED | Modifier::UNDERLINED;
    cell.symbol().trim().is_empty() && !style.add_modifier.intersects(visible)
}
