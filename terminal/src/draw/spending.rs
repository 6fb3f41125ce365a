//! The usage of all sessions as a table, as wide as the terminal at most.

use crate::layout::{clip, columns, name, pad};
use crate::shown_title::without_keys;
use crate::style::{Emphasis, Style, thousands};
use annals_core::{SessionId, Time};
use annals_host::project::short_paths;
use annals_inspect::reader::short_ids;
use annals_inspect::spending::{Dimension, SpendingTable, Spent};
use annals_projections::Catalogue;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

const HEADS: [&str; 6] = ["input", "output", "reasoning", "to cache", "from cache", "cost"];
/// The least columns of a name in a narrow terminal.
const NAME: usize = 10;

/// Prints the rows and, if there are several, their total.
pub fn print(
    by: &[Dimension],
    found: &SpendingTable,
    catalogue: &Catalogue,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names = Names::of(found, catalogue, style);
    let mut rows: Vec<(Vec<String>, &Spent)> = Vec::new();
    for row in &found.rows {
        rows.push((
            by.iter().map(|by| names.shown(*by, row.by.get(by).map_or("", String::as_str))).collect(),
            &row.spent,
        ));
    }
    if rows.len() > 1 {
        let mut total = vec![String::new(); by.len()];
        if let Some(first) = total.first_mut() {
            *first = "total".to_owned();
        }
        rows.push((total, &found.total));
    }
    let exact = cells(&rows, thousands);
    let room = |cells: &[[String; 6]]| {
        let used: usize = widths(cells).into_iter().filter(|width| *width > 0).map(|width| width + 2).sum();
        style.width.saturating_sub(used)
    };
    let mut firsts = first_widths(by, &rows);
    let least: usize = firsts.iter().map(|width| (*width).min(NAME) + 2).sum::<usize>().saturating_sub(2);
    let cells = if room(&exact) >= least { exact } else { cells(&rows, short) };
    shrink(&mut firsts, room(&cells));
    let widths = widths(&cells);
    let line = |firsts_of: &[String], cells: &[String; 6]| {
        let mut line: Vec<String> = Vec::new();
        line.extend(firsts_of.iter().zip(&firsts).map(|(text, width)| pad(&clip(text, *width), *width)));
        line.extend(
            cells.iter().zip(widths).filter(|(_, width)| *width > 0).map(|(cell, width)| format!("{cell:>width$}")),
        );
        line.join("  ").trim_end().to_owned()
    };
    let heads: Vec<String> = by.iter().map(|by| by.name().to_owned()).collect();
    writeln!(out, "{}", style.paint(Emphasis::Dim, &line(&heads, &HEADS.map(str::to_owned))))?;
    let last = rows.len().saturating_sub(1);
    for (at, ((names, _), cells)) in rows.iter().zip(&cells).enumerate() {
        let emphasis = if at == last && last > 0 { Emphasis::Strong } else { Emphasis::Plain };
        writeln!(out, "{}", style.paint(emphasis, &line(names, cells)))?;
    }
    Ok(())
}

/// The numbers of each row; columns without any are empty.
fn cells(rows: &[(Vec<String>, &Spent)], number: fn(u64) -> String) -> Vec<[String; 6]> {
    let numbers = |spent: &Spent| [spent.input, spent.output, spent.reasoning, spent.cache_write, spent.cache_read];
    let is_used: [bool; 5] = std::array::from_fn(|at| at < 2 || rows.iter().any(|(_, spent)| numbers(spent)[at] > 0));
    let row = |(_, spent): &(Vec<String>, &Spent)| {
        let numbers = numbers(spent);
        std::array::from_fn(|at| match numbers.get(at) {
            Some(count) if is_used[at] => number(*count),
            Some(_) => String::new(),
            None => spent.known_cost.shown(),
        })
    };
    rows.iter().map(row).collect()
}

/// The width of each column; 0 for one that is left out.
fn widths(cells: &[[String; 6]]) -> [usize; 6] {
    std::array::from_fn(|at| {
        let widest = cells.iter().map(|row| columns(&row[at])).max().unwrap_or(0);
        if widest == 0 { 0 } else { widest.max(HEADS[at].len()) }
    })
}

fn first_widths(by: &[Dimension], rows: &[(Vec<String>, &Spent)]) -> Vec<usize> {
    let widest = |at: usize| rows.iter().filter_map(|(names, _)| names.get(at)).map(|name| columns(name)).max();
    by.iter().enumerate().map(|(at, by)| widest(at).unwrap_or(0).max(by.name().len())).collect()
}

/// Takes from the widest names until all fit into `room` columns.
fn shrink(widths: &mut [usize], room: usize) {
    let total = |widths: &[usize]| widths.iter().map(|width| width + 2).sum::<usize>().saturating_sub(2);
    while total(widths) > room {
        match widths.iter_mut().max() {
            Some(widest) if *widest > NAME => *widest -= 1,
            _ => return,
        }
    }
}

/// `950`, `12.3k`, `4.5M`, `1.2G`.
fn short(number: u64) -> String {
    let scaled = |unit: u64, letter: char| format!("{}.{}{letter}", number / unit, number % unit / (unit / 10));
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => scaled(1_000, 'k'),
        1_000_000..1_000_000_000 => scaled(1_000_000, 'M'),
        _ => scaled(1_000_000_000, 'G'),
    }
}

/// How the values of rows are shown to people.
struct Names<'a> {
    catalogue: &'a Catalogue,
    style: &'a Style,
    ids: BTreeMap<SessionId, String>,
    projects: BTreeMap<String, String>,
}

impl<'a> Names<'a> {
    fn of(found: &SpendingTable, catalogue: &'a Catalogue, style: &'a Style) -> Self {
        let values = |by: Dimension| found.rows.iter().filter_map(move |row| row.by.get(&by)).collect::<BTreeSet<_>>();
        let ids = match values(Dimension::Session).is_empty() {
            true => BTreeMap::new(),
            false => short_ids(&catalogue.sessions.keys().copied().collect::<Vec<_>>()),
        };
        Self {
            catalogue,
            style,
            ids,
            projects: short_paths(values(Dimension::Project).into_iter().map(String::as_str)),
        }
    }

    fn shown(&self, by: Dimension, value: &str) -> String {
        let shown = match by {
            Dimension::Project => self.projects.get(value).cloned(),
            Dimension::Block => block(value, self.style),
            Dimension::Session => value.parse().ok().and_then(|id: SessionId| {
                let title = self
                    .catalogue
                    .sessions
                    .get(&id)
                    .map(|entry| without_keys(&entry.title).into_owned())
                    .unwrap_or_default();
                Some(format!("{}  {title}", self.ids.get(&id)?).trim_end().to_owned())
            }),
            Dimension::Day | Dimension::Week | Dimension::Month | Dimension::Model | Dimension::Agent => None,
        };
        name(&shown.unwrap_or_else(|| value.to_owned()))
    }
}

/// The beginning of a block on the reader's clock, and whether it is the current one.
fn block(value: &str, style: &Style) -> Option<String> {
    let begin = value.parse::<Timestamp>().ok()?;
    let begin = Time(u64::try_from(begin.as_millisecond()).ok()?);
    let exact = style.exact(begin);
    let now = begin.0 + annals_inspect::spending::BLOCK > style.now.0;
    Some(format!("{}{}", exact.get(..16).unwrap_or(&exact), if now { " now" } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_shortened_and_names_give_way() {
        assert_eq!([999, 1_000, 12_345, 4_500_000, 1_250_000_000].map(short), ["999", "1.0k", "12.3k", "4.5M", "1.2G"]);
        let mut widths = [10, 40, 12];
        shrink(&mut widths, 50);
        assert_eq!(widths, [10, 24, 12]);
        shrink(&mut widths, 3);
        assert_eq!(widths, [10, 10, 10]);
    }
}
