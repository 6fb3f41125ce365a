//! The list of sessions as a table, one row a session.

use crate::layout::{clip, columns, name, pad};
use crate::shown_title::shown_title;
use crate::style::{Emphasis, Style, thousands};
use annals_core::SessionId;
use annals_host::project::{root, short_paths};
use annals_inspect::pricing::Cost;
use annals_inspect::sessions::SessionOverview;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// A column before the title.
struct Column {
    head: &'static str,
    /// The least width that it is cut to; `None` for one that is never cut.
    least: Option<usize>,
    /// Whether it is aligned on the right.
    right: bool,
    /// The least columns of a line that has it.
    from: usize,
}

const fn column(head: &'static str, least: Option<usize>, right: bool, from: usize) -> Column {
    Column { head, least, right, from }
}

const COLUMNS: [Column; 8] = [
    column("id", None, false, 0),
    column("age", None, true, 0),
    column("project", Some(7), false, 0),
    column("branch", Some(5), false, 64),
    column("agent", Some(8), false, 100),
    column("model", Some(8), false, 0),
    column("turns", None, true, 90),
    column("cost", None, true, 0),
];

/// Lines of fewer columns have one blank between columns, and ages without dates.
const NARROW: usize = 80;
/// The most columns of a name, unless the line is endless.
const WIDEST: usize = 24;
/// The part of a line that is left to the title, unless names are at their least.
const TITLE_SHARE: usize = 3;

/// A session, and the names that its row has for it.
#[derive(Clone, Copy, Debug)]
pub struct TableRow<'a> {
    /// The session.
    pub session: &'a SessionOverview,
    /// The start of its id that is enough.
    pub id: &'a str,
    /// The name of its project.
    pub project: &'a str,
}

impl TableRow<'_> {
    fn cells(&self, style: &Style, cut_at: Option<usize>) -> [String; 8] {
        let (row, is_narrow) = (self.session, cut_at.is_some_and(|width| width < NARROW));
        let cost = if row.known_cost == Cost::default() { String::new() } else { row.known_cost.shown() };
        let (_, model) = row.model.as_str().split_once('/').unwrap_or(("", row.model.as_str()));
        [
            self.id.to_owned(),
            if is_narrow { style.shortest_age(row.updated) } else { style.short_age(row.updated) },
            name(self.project),
            name(row.branch.as_deref().unwrap_or_default()),
            name(row.origin.as_deref().unwrap_or(row.agent.as_str())),
            name(if cut_at.is_some() { short_model(model) } else { model }),
            thousands(row.turns),
            cost,
        ]
    }
}

/// The name of a model without its date and without the name of its family, which say least: `sonnet-4-5`.
fn short_model(model: &str) -> &str {
    let is_date = |end: &&str| end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit());
    let undated = match model.rsplit_once('-') {
        Some((name, end)) if is_date(&end) => name,
        _ => model,
    };
    undated.strip_prefix("claude-").unwrap_or(undated)
}

/// The names of the projects of sessions, in the order of the sessions.
pub fn projects(rows: &[SessionOverview]) -> Vec<String> {
    let roots: Vec<String> =
        rows.iter().map(|row| root(Path::new(&row.directory)).to_string_lossy().into_owned()).collect();
    let projects = short_paths(roots.iter().map(String::as_str));
    roots.iter().map(|root| projects.get(root).cloned().unwrap_or_default()).collect()
}

/// Prints one row a session, cut to `cut_at` columns, if that is a number.
pub fn print(
    rows: &[SessionOverview],
    ids: &BTreeMap<SessionId, String>,
    style: &Style,
    cut_at: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let (projects, unknown) = (projects(rows), String::new());
    let rows: Vec<TableRow<'_>> = rows
        .iter()
        .zip(&projects)
        .map(|(session, project)| TableRow { session, id: ids.get(&session.id).unwrap_or(&unknown), project })
        .collect();
    lines(&rows, style, cut_at).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(())
}

/// The lines of a table, its heads first; cut to a width if one is given.
pub fn lines(rows: &[TableRow<'_>], style: &Style, cut_at: Option<usize>) -> Vec<String> {
    let cells: Vec<[String; 8]> = rows.iter().map(|row| row.cells(style, cut_at)).collect();
    let widths = widths(&cells, cut_at);
    let gap = " ".repeat(gap(cut_at));
    let line = |cells: [&str; 8]| -> String {
        let shown = COLUMNS.iter().zip(cells).zip(widths).filter(|(_, width)| *width > 0);
        let cell = |((column, cell), width): ((&Column, &str), usize)| match column.right {
            true => format!("{cell:>width$}{gap}"),
            false => format!("{}{gap}", pad(&clip(cell, width), width)),
        };
        shown.map(cell).collect()
    };
    let head = line(COLUMNS.map(|column| column.head));
    let room = cut_at.map_or(usize::MAX, |width| width.saturating_sub(columns(&head)));
    let mut lines = vec![style.paint(Emphasis::Dim, &format!("{head}{}", clip("title", room)))];
    for (row, cells) in rows.iter().zip(&cells) {
        let line = line(cells.each_ref().map(String::as_str));
        let (id, rest) = line.split_at_checked(cells[0].len()).unwrap_or(("", &line));
        let title =
            if row.session.title.is_empty() { "(no title)".to_owned() } else { shown_title(&row.session.title) };
        let emphasis = if row.session.titled { Emphasis::Strong } else { Emphasis::Plain };
        lines.push(format!(
            "{}{rest}{}",
            style.paint(Emphasis::Context, id),
            style.paint(emphasis, &clip(&title, room))
        ));
    }
    lines
}

/// The blanks between two columns.
fn gap(width: Option<usize>) -> usize {
    if width.is_some_and(|width| width < NARROW) { 1 } else { 2 }
}

/// The width of each column; 0 for one that is left out: without a value, or because the line is narrow. Names are cut until
/// the title has its share, the widest first.
fn widths(cells: &[[String; 8]], width: Option<usize>) -> [usize; 8] {
    let mut widths: [usize; 8] = std::array::from_fn(|at| {
        let column = &COLUMNS[at];
        let widest = cells.iter().map(|row| columns(&row[at])).max().unwrap_or(0);
        let left_out = widest == 0 || width.is_some_and(|width| width < column.from);
        if left_out { 0 } else { widest.max(column.head.len()) }
    });
    let Some(width) = width else { return widths };
    for (at, column) in COLUMNS.iter().enumerate() {
        if column.least.is_some() {
            widths[at] = widths[at].min(WIDEST);
        }
    }
    let gap = gap(Some(width));
    let used = |widths: &[usize; 8]| widths.iter().filter(|width| **width > 0).map(|width| width + gap).sum::<usize>();
    while used(&widths) > width - width / TITLE_SHARE {
        let spare = |at: &usize| widths[*at].saturating_sub(COLUMNS[*at].least.unwrap_or(usize::MAX));
        match (0..widths.len()).filter(|at| spare(at) > 0).max_by_key(spare) {
            Some(widest) => widths[widest] -= 1,
            None => break,
        }
    }
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_model_has_no_date() {
        let short = ["claude-sonnet-4-5-20250929", "gpt-5-codex", "claude-opus-4-1"].map(short_model);
        assert_eq!(short, ["sonnet-4-5", "gpt-5-codex", "opus-4-1"]);
    }

    #[test]
    fn names_are_cut_so_that_a_row_fits_and_narrow_lines_have_fewer_columns() {
        let row = ["01M7ZW253A", "2026-11-21", "a-project-of-a-long-name", "feature/with-a-name", "claude-code"];
        let row: Vec<&str> = row.into_iter().chain(["claude-sonnet-4-5-20250929", "1,204", "~$12.3456"]).collect();
        let cells: [String; 8] = std::array::from_fn(|at| row[at].to_owned());
        for width in 60..=120 {
            let gap = gap(Some(width));
            let used = |widths: [usize; 8]| widths.iter().filter(|at| **at > 0).map(|at| at + gap).sum::<usize>();
            let widths = widths(std::slice::from_ref(&cells), Some(width));
            assert!(used(widths) < width, "{width}: {widths:?}");
            assert_eq!((widths[4] > 0, widths[6] > 0), (width >= 100, width >= 90));
            assert!(widths[2] >= 7 && widths[5] >= 8);
            assert_eq!(widths[3] >= 5, width >= 64);
        }
        let whole = widths(std::slice::from_ref(&cells), None);
        assert_eq!(whole[5], 26);
    }
}
