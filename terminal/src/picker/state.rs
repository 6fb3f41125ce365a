//! What a picker shows and what keys do to it.

use crate::escape::remove_last_unit;
use crate::layout::name;
use crate::shown_title::shown_title;
use crate::style::Style;
use annals_core::SessionId;
use annals_inspect::pricing::Cost;
use annals_inspect::recorded_path::last_name;
use annals_inspect::sessions::SessionOverview;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::path::Path;

/// A session in the list.
#[derive(Clone, Debug)]
pub struct PickerRow {
    /// The session.
    pub id: SessionId,
    /// How long ago it changed.
    pub age: String,
    /// The name of its directory.
    pub project: String,
    /// The agent that recorded it or works in it.
    pub agent: String,
    /// Its title.
    pub title: String,
    /// What it cost; empty when that is not known.
    pub cost: String,
    /// Whether it works in the current project.
    pub here: bool,
    /// What a filter looks at, in lower case.
    searched: String,
}

impl PickerRow {
    /// The row of a session; `here` is the root of the current project.
    pub fn of(session: &SessionOverview, here: &Path, style: &Style) -> Self {
        let agent = session.origin.clone().unwrap_or_else(|| session.agent.to_string());
        let title = if session.title.is_empty() { "(no title)" } else { &session.title };
        let branch = session.branch.as_deref().unwrap_or_default();
        let model = session.model.as_str();
        let searched = format!("{title} {} {branch} {agent} {model} {}", session.directory, session.id);
        let cost = session.known_cost;
        Self {
            id: session.id,
            age: style.short_age(session.updated),
            project: name(last_name(&session.directory)),
            agent: name(&agent),
            title: shown_title(title),
            cost: if cost == Cost::default() { String::new() } else { cost.shown() },
            here: Path::new(&session.directory).starts_with(here),
            searched: searched.to_lowercase(),
        }
    }

    fn matches(&self, words: &[String]) -> bool {
        words.iter().all(|word| self.searched.contains(word))
    }
}

/// What a key asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PickerAction {
    /// Nothing but a redraw.
    Stay,
    /// Leave.
    Quit,
    /// Show the session.
    Replay(SessionId),
    /// Show its tokens and cost.
    Usage(SessionId),
    /// Print the command that continues it, and leave.
    Continue(SessionId),
    /// Search all sessions for a text.
    Search(String),
}

/// The list, the filter and the selected session.
#[derive(Clone, Debug)]
pub struct PickerState {
    rows: Vec<PickerRow>,
    /// Indexes of the rows that the filter takes.
    shown: Vec<usize>,
    filter: String,
    /// The selected row, as an index of `shown`.
    at: usize,
    /// Whether only sessions of the current project are shown.
    here: bool,
}

impl PickerState {
    /// All rows; those of the current project only, if there are any.
    pub fn new(rows: Vec<PickerRow>) -> Self {
        let here = rows.iter().any(|row| row.here);
        let mut state = Self { rows, shown: Vec::new(), filter: String::new(), at: 0, here };
        state.select();
        state
    }

    /// What was typed.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// The rows that are shown.
    pub fn shown(&self) -> impl ExactSizeIterator<Item = &PickerRow> {
        self.shown.iter().map(|at| &self.rows[*at])
    }

    /// The index of the selected row among those that are shown.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The number of sessions without a filter.
    pub fn all(&self) -> usize {
        self.rows.iter().filter(|row| !self.here || row.here).count()
    }

    /// Whether only sessions of the current project are shown.
    pub fn is_here(&self) -> bool {
        self.here
    }

    /// The selected session.
    pub fn selected(&self) -> Option<&PickerRow> {
        self.shown.get(self.at).map(|at| &self.rows[*at])
    }

    /// Applies a key; `page` is the number of rows on the screen.
    pub fn press(&mut self, key: KeyEvent, page: usize) -> PickerAction {
        if key.kind == KeyEventKind::Release {
            return PickerAction::Stay;
        }
        let last = self.shown.len().saturating_sub(1);
        let selected = self.selected().map(|row| row.id);
        let of = |action: fn(SessionId) -> PickerAction| selected.map_or(PickerAction::Stay, action);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if control => return PickerAction::Quit,
            KeyCode::Char('n') if control => self.at = (self.at + 1).min(last),
            KeyCode::Char('p') if control => self.at = self.at.saturating_sub(1),
            KeyCode::Char('o') if control => return of(PickerAction::Usage),
            KeyCode::Char('r') if control => return of(PickerAction::Continue),
            KeyCode::Char('f') if control && !self.filter.trim().is_empty() => {
                return PickerAction::Search(self.filter.trim().to_owned());
            }
            KeyCode::Char('u' | 'w') if control => self.typed(String::new()),
            KeyCode::Esc if self.filter.is_empty() => return PickerAction::Quit,
            KeyCode::Esc => self.typed(String::new()),
            KeyCode::Enter => return of(PickerAction::Replay),
            KeyCode::Tab | KeyCode::BackTab => {
                self.here = !self.here && self.rows.iter().any(|row| row.here);
                self.select();
            }
            KeyCode::Down => self.at = (self.at + 1).min(last),
            KeyCode::Up => self.at = self.at.saturating_sub(1),
            KeyCode::PageDown => self.at = (self.at + page.max(1)).min(last),
            KeyCode::PageUp => self.at = self.at.saturating_sub(page.max(1)),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = last,
            KeyCode::Backspace => {
                let mut text = self.filter.clone();
                remove_last_unit(&mut text);
                self.typed(text);
            }
            KeyCode::Char(c) if !control => self.typed(format!("{}{c}", self.filter)),
            _ => {}
        }
        PickerAction::Stay
    }

    fn typed(&mut self, filter: String) {
        self.filter = filter;
        self.select();
    }

    /// Applies the filter; the selected session stays selected while it is shown.
    fn select(&mut self) {
        let selected = self.selected().map(|row| row.id);
        let words: Vec<String> = self.filter.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let takes = |row: &PickerRow| (!self.here || row.here) && row.matches(&words);
        self.shown = self.rows.iter().enumerate().filter(|(_, row)| takes(row)).map(|(at, _)| at).collect();
        let same = |at: &usize| self.rows.get(*at).map(|row| row.id) == selected;
        self.at = self.shown.iter().position(same).unwrap_or(0);
    }
}
