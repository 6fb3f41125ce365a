//! Tables of HTML.

use super::{COLUMNS, SecretColumn, columns, is_column, secrets};
use crate::redaction::assigned::ValuePlace;
use crate::redaction::work;
use std::ops::Range;

/// The longest row, in bytes.
const ROW: usize = 4_000;

/// The longest tag and the longest text of a cell.
const TAG: usize = 200;
const CELL: usize = 200;

/// Visits the secrets below headers with the name of one.
pub(super) fn spans(text: &str, visit: &mut dyn FnMut(Range<usize>)) {
    let (mut count, mut header): (usize, Vec<SecretColumn>) = (0, Vec::new());
    for (start, _) in text.match_indices("<tr") {
        let row = row(text.get(start..).unwrap_or_default());
        let cells = cells(row);
        if row.contains("<th") {
            let names: Vec<&str> = cells.iter().filter_map(|cell| row.get(cell.clone())).map(str::trim).collect();
            let is_header = (2..=COLUMNS).contains(&names.len()) && names.iter().all(|name| is_column(name));
            (count, header) = if is_header { (names.len(), columns(&names)) } else { (0, Vec::new()) };
        } else if cells.len() == count {
            secrets(row, &cells, &header, ValuePlace::Quoted, &mut |span| visit(start + span.start..start + span.end));
        }
    }
}

/// A row, which the next one or its end ends.
fn row(text: &str) -> &str {
    let bytes = text.as_bytes();
    let ends = |at: &usize| bytes.get(*at..).is_some_and(|rest| rest.starts_with(b"<tr") || rest.starts_with(b"</tr"));
    let most = bytes.len().min(ROW);
    let end = (3..most).find(ends).unwrap_or(most);
    work::count(end);
    text.get(..end).unwrap_or_default()
}

/// Where the texts of the cells of a row are.
fn cells(row: &str) -> Vec<Range<usize>> {
    let cell = |(at, _): (usize, &str)| {
        let rest = row.get(at..)?;
        let is_cell = rest.starts_with("<td") || rest.starts_with("<th>") || rest.starts_with("<th ");
        let start = at + rest.bytes().take(TAG).position(|byte| byte == b'>')? + 1;
        let length = row.get(start..)?.bytes().take(CELL).position(|byte| byte == b'<')?;
        is_cell.then_some(start..start + length)
    };
    row.match_indices("<t").filter_map(cell).collect()
}
