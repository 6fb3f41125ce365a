//! The list of sessions: which are shown, and which one is selected.

use crate::draw::sessions::{self as table, TableRow};
use annals_core::SessionId;
use annals_inspect::sessions::SessionOverview;
use std::collections::BTreeMap;

/// A session of the list.
#[derive(Clone, Debug)]
struct TuiListRow {
    session: SessionOverview,
    id: String,
    project: String,
    here: bool,
    /// What a filter looks at, in lower case.
    searched: String,
}

/// The list of sessions.
#[derive(Clone, Debug, Default)]
pub struct TuiList {
    rows: Vec<TuiListRow>,
    shown: Vec<usize>,
    filter: String,
    at: usize,
    here: bool,
}

impl TuiList {
    /// All sessions in this order; those that `here` takes only, if there are any.
    pub fn new(
        sessions: Vec<SessionOverview>,
        ids: &BTreeMap<SessionId, String>,
        here: impl Fn(&SessionOverview) -> bool,
    ) -> Self {
        let projects = table::projects(&sessions);
        let row = |(session, project): (SessionOverview, String)| TuiListRow {
            id: ids.get(&session.id).cloned().unwrap_or_else(|| session.id.to_string()),
            here: here(&session),
            searched: searched(&session),
            project,
            session,
        };
        let rows: Vec<TuiListRow> = sessions.into_iter().zip(projects).map(row).collect();
        let here = rows.iter().any(|row| row.here) && rows.iter().any(|row| !row.here);
        let mut list = Self { rows, here, ..Self::default() };
        list.select();
        list
    }

    /// What was typed.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Whether only the sessions of the current project are shown.
    pub fn is_here(&self) -> bool {
        self.here
    }

    /// How many sessions are shown, and how many there are without a filter.
    pub fn counts(&self) -> (usize, usize) {
        (self.shown.len(), self.rows.iter().filter(|row| !self.here || row.here).count())
    }

    /// The place of the selected session among those that are shown.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The selected session.
    pub fn selected(&self) -> Option<SessionId> {
        self.row(self.at).map(|row| row.session.id)
    }

    /// The title of a session.
    pub fn title(&self, session: SessionId) -> Option<&str> {
        self.rows.iter().find(|row| row.session.id == session).map(|row| row.session.title.as_str())
    }

    /// The rows from `from` on.
    pub fn window(&self, from: usize, count: usize) -> Vec<TableRow<'_>> {
        let rows = (from..self.shown.len()).take(count).filter_map(|at| self.row(at));
        rows.map(|row| TableRow { session: &row.session, id: &row.id, project: &row.project }).collect()
    }

    /// Selects the session that is so many rows further; at the ends the last one.
    pub fn go(&mut self, by: isize) {
        self.at = self.at.saturating_add_signed(by).min(self.shown.len().saturating_sub(1));
    }

    /// Shows the sessions of all projects, or of the current one.
    pub fn switch(&mut self) {
        self.here = !self.here && self.rows.iter().any(|row| row.here);
        self.select();
    }

    /// Shows the sessions that contain all words of a text.
    pub fn set_filter(&mut self, filter: String) {
        self.filter = filter;
        self.select();
    }

    fn row(&self, at: usize) -> Option<&TuiListRow> {
        self.shown.get(at).and_then(|at| self.rows.get(*at))
    }

    /// Applies the filter; the selected session stays selected while it is shown.
    fn select(&mut self) {
        let selected = self.selected();
        let words: Vec<String> = self.filter.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let takes = |row: &TuiListRow| (!self.here || row.here) && words.iter().all(|word| row.searched.contains(word));
        self.shown = self.rows.iter().enumerate().filter(|(_, row)| takes(row)).map(|(at, _)| at).collect();
        let same = |at: &usize| self.rows.get(*at).map(|row| row.session.id) == selected;
        self.at = self.shown.iter().position(same).unwrap_or(0);
    }
}

fn searched(session: &SessionOverview) -> String {
    let agent = session.origin.as_deref().unwrap_or(session.agent.as_str());
    let branch = session.branch.as_deref().unwrap_or_default();
    let names = [&session.title, session.directory.as_str(), branch, agent, session.model.as_str()].join(" ");
    format!("{names} {}", session.id).to_lowercase()
}
