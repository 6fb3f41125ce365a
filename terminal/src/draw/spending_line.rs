//! The usage of all sessions in one line, for status bars.

use crate::style::{Style, duration};
use annals_core::Time;
use annals_inspect::spending::{BLOCK, Dimension, SpendingQuery, SpendingSource};
use std::io::{self, Write};

/// Prints what was spent today, in the current block and this month: `today $1.20, block $0.40 (2h 05m left), month $31.07`.
pub fn print(source: &SpendingSource<'_>, query: &SpendingQuery, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let spent = |by: Dimension, value: &str| {
        let found = source.table(&SpendingQuery { by: vec![by], ..query.clone() });
        let row = found.rows.into_iter().find(|row| row.by.get(&by).is_some_and(|found| found == value));
        row.map_or_else(|| "$0".to_owned(), |row| row.spent.known_cost.shown())
    };
    let today = spent(Dimension::Day, &source.calendar.day(style.now));
    let month = spent(Dimension::Month, &source.calendar.month(style.now));
    let current = source.blocks(query).last().copied().filter(|block| style.now.0 < block.0 + BLOCK);
    let block = current.map(|Time(block)| {
        let since = SpendingQuery { by: Vec::new(), since: Some(Time(block)), ..query.clone() };
        let left = duration((block + BLOCK).saturating_sub(style.now.0));
        format!("block {} ({left} left), ", source.table(&since).total.known_cost.shown())
    });
    writeln!(out, "today {today}, {}month {month}", block.unwrap_or_default())?;
    Ok(())
}
