//! Columns of secrets: tables of psql, MySQL and Markdown, CSV and its relatives, and rows that are inserted into a database.

mod html;

use super::assigned::{Class, ValuePlace, class, is_secret};
use super::contents::content;
use super::work;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// The longest header, the longest row that is inserted, and the most columns.
const HEADER: usize = 2_000;
const ROW: usize = 2_000;
const COLUMNS: usize = 100;

/// The columns of an insertion, and those of rows that a dump copies.
static INSERT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    // Without upper bounds, which would multiply the expression: compiling it took longer than most commands.
    Regex::new(r"(?i)\b(?:insert|replace)\s+(?:ignore\s+)?into\s+[^\s(]+\s*\(([^()]+)\)\s*values?\s*").ok()
});
static COPY: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\bcopy\s+[^\s(]+\s*\(([^()]+)\)\s+from\s+stdin[^\n]*\n").ok());

/// A column whose name is that of a secret.
struct SecretColumn {
    at: usize,
    name: String,
    class: Class,
}

/// The separators of columns; a space is two or more.
const SEPARATORS: [char; 8] = ['|', '│', '┃', '║', '\t', ';', ',', ' '];

/// Visits the secrets in columns.
pub(super) fn spans(text: &str, visit: &mut dyn FnMut(Range<usize>)) {
    inserted(text, visit);
    copied(text, visit);
    html::spans(text, visit);
    let mut lines = lines(text).peekable();
    let mut before_is_empty = true;
    while let Some((start, whole)) = lines.next() {
        let (skipped, line) = content(whole);
        let header = header(line, before_is_empty);
        before_is_empty = line.trim().is_empty() || line.starts_with("```") || line.starts_with("$ ");
        let Some((separator, count, columns)) = header else { continue };
        let _ = start;
        // A table of AsciiDoc has an empty line behind its header.
        if separator == '|' && lines.peek().is_some_and(|(_, line)| line.trim().is_empty()) {
            lines.next();
        }
        while let Some((start, whole)) = lines.peek().copied() {
            let (offset, line) = if skipped > 0 { content(whole) } else { (0, whole.trim_end_matches(['\n', '\r'])) };
            let of_rule = |c| matches!(c, '-' | '+' | '|' | ':' | '=' | ' ' | '\u{2500}'..='\u{257f}');
            let is_rule = !line.is_empty() && line.chars().all(of_rule);
            if !is_rule {
                // Tables of terminals have a heavier line around their header.
                let separator = if separator == '┃' && !line.contains('┃') { '│' } else { separator };
                let mut cells = cells(line, separator);
                if separator == ' ' && count > 2 && cells.len() != count {
                    cells = by_blanks(line, 1);
                }
                if cells.len() != count {
                    break;
                }
                let place = if separator == ' ' { ValuePlace::Sentence } else { ValuePlace::Quoted };
                secrets(line, &cells, &columns, place, &mut |span| {
                    visit(start + offset + span.start..start + offset + span.end);
                });
            }
            lines.next();
        }
    }
}

/// The lines of a text with their ends, each with its place.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at - line.len(), line))
    })
}

/// The columns of secrets in a line, if it is the header of a table: names only, one of them that of a secret.
fn header(line: &str, begins: bool) -> Option<(char, usize, Vec<SecretColumn>)> {
    if line.len() > HEADER {
        return None;
    }
    for separator in SEPARATORS {
        if !line.contains(separator) || separator == ' ' && !line.contains("  ") {
            continue;
        }
        let cells = cells(line, separator);
        let names: Vec<&str> = cells.iter().filter_map(|cell| line.get(cell.clone())).map(unquoted).collect();
        let option = separator == ' ' && names.iter().any(|name| name.starts_with('-'));
        // Arguments and lists of code have spaces behind their commas.
        let spaced = matches!(separator, ',' | ';') && names.len() > 1 && line.contains(&format!("{separator} "));
        if names.len() < 2
            || names.len() > COLUMNS
            || spaced && !begins
            || option
            || !names.iter().all(|name| is_column(name))
        {
            continue;
        }
        let columns: Vec<SecretColumn> = columns(&names);
        if !columns.is_empty() {
            return Some((separator, cells.len(), columns));
        }
    }
    None
}

fn columns(names: &[&str]) -> Vec<SecretColumn> {
    // With the name of an account `pass` means a password, not the result of a test.
    let accounts = ["user", "username", "login", "email"];
    let account = names.iter().any(|name| accounts.iter().any(|one| name.eq_ignore_ascii_case(one)));
    let column = |(at, name): (usize, &&str)| {
        let class = match class(name)? {
            Class::Perhaps if account && name.eq_ignore_ascii_case("pass") => Class::Password,
            class => class,
        };
        Some(SecretColumn { at, name: (*name).to_owned(), class })
    };
    names.iter().enumerate().filter_map(column).collect()
}

/// Whether a text can be the name of a column: a few words.
fn is_column(text: &str) -> bool {
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '/' | '#' | '(' | ')');
    let begins =
        ["import ", "from ", "use ", "let ", "const ", "var ", "return ", "pub ", "fn ", "def ", "for ", "if "];
    !text.is_empty()
        && text.len() <= 40
        && text.split(' ').count() <= 4
        && text.chars().all(legal)
        && !text.ends_with('.')
        && !text.starts_with('#')
        // Names have few digits, values many.
        && text.bytes().filter(u8::is_ascii_digit).count() < 3
        && text.contains(char::is_alphabetic)
        && !begins.iter().any(|begin| text.starts_with(begin))
}

fn unquoted(cell: &str) -> &str {
    cell.trim().trim_matches(['"', '\'', '`', '*'])
}

/// Where the cells of a line are. Quotes of CSV hold separators; the outer bars of a table separate nothing.
fn cells(line: &str, separator: char) -> Vec<Range<usize>> {
    if separator == ' ' {
        return by_blanks(line, 2);
    }
    let (mut cells, mut start, mut quoted) = (Vec::new(), 0, None);
    work::count(line.len());
    for (at, c) in line.char_indices() {
        match quoted {
            Some(quote) if c == quote => quoted = None,
            None if matches!(c, '"' | '\'') && line.get(start..at).is_some_and(|before| before.trim().is_empty()) => {
                quoted = Some(c);
            }
            None if c == separator => {
                cells.push(start..at);
                start = at + separator.len_utf8();
            }
            _ => {}
        }
    }
    cells.push(start..line.len());
    if matches!(separator, '|' | '│' | '┃' | '║') {
        let blank = |cell: Option<&Range<usize>>| {
            cell.is_some_and(|cell| line.get(cell.clone()).is_some_and(|cell| cell.trim().is_empty()))
        };
        if cells.len() > 1 && blank(cells.last()) {
            cells.pop();
        }
        if cells.len() > 1 && blank(cells.first()) {
            cells.remove(0);
        }
    }
    cells
}

/// The cells of a line with so many blanks between them.
fn by_blanks(line: &str, least: usize) -> Vec<Range<usize>> {
    let (mut cells, mut at): (Vec<Range<usize>>, usize) = (Vec::new(), 0);
    work::count(line.len());
    for word in line.split(' ') {
        let end = at + word.len();
        match cells.last_mut() {
            _ if word.is_empty() => {}
            Some(last) if at - last.end < least => last.end = end,
            _ => cells.push(at..end),
        }
        at = end + 1;
    }
    cells
}

/// Visits the secrets of a row.
fn secrets(
    row: &str,
    cells: &[Range<usize>],
    columns: &[SecretColumn],
    place: ValuePlace,
    visit: &mut dyn FnMut(Range<usize>),
) {
    for SecretColumn { at, name, class } in columns {
        let Some(cell) = cells.get(*at) else { continue };
        let value = unquoted(row.get(cell.clone()).unwrap_or_default());
        if is_secret(name, *class, value, place) {
            let start = cell.start + row.get(cell.clone()).and_then(|cell| cell.find(value)).unwrap_or_default();
            visit(start..start + value.len());
        }
    }
}

/// Visits the secrets among the values of `INSERT INTO t (name, password) VALUES ('a', 'b')`.
fn inserted(text: &str, visit: &mut dyn FnMut(Range<usize>)) {
    let Some(insert) = INSERT.as_ref() else { return };
    for found in insert.captures_iter(text) {
        let (Some(all), Some(names)) = (found.get(0), found.get(1)) else { continue };
        let names: Vec<&str> = names.as_str().split(',').map(unquoted).collect();
        let columns = columns(&names);
        let mut at = all.end();
        while !columns.is_empty() && text.get(at..).is_some_and(|rest| rest.starts_with('(')) {
            let Some(length) = tuple_end(text.get(at..).unwrap_or_default()) else { break };
            let end = at + length;
            let row = text.get(at + 1..end - 1).unwrap_or_default();
            let place = ValuePlace::Quoted;
            secrets(row, &cells(row, ','), &columns, place, &mut |span| visit(at + 1 + span.start..at + 1 + span.end));
            let rest = text.get(end..).unwrap_or_default();
            at = end + rest.len() - rest.trim_start_matches([',', ' ', '\n', '\r', '\t']).len();
        }
    }
}

/// Behind the parenthesis that closes the one at the beginning; nowhere if that is far away.
fn tuple_end(text: &str) -> Option<usize> {
    let (mut quoted, mut depth) = (false, 0);
    for (at, byte) in text.bytes().enumerate().take(ROW) {
        work::count(1);
        match byte {
            b'\'' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

/// Visits the secrets among the rows of a dump: `COPY t (name, password) FROM stdin;`.
fn copied(text: &str, visit: &mut dyn FnMut(Range<usize>)) {
    let Some(copy) = COPY.as_ref() else { return };
    for found in copy.captures_iter(text) {
        let (Some(all), Some(names)) = (found.get(0), found.get(1)) else { continue };
        let names: Vec<&str> = names.as_str().split(',').map(unquoted).collect();
        let columns = columns(&names);
        for (start, line) in lines(text.get(all.end()..).unwrap_or_default()) {
            let row = line.trim_end_matches(['\n', '\r']);
            let cells = cells(row, '\t');
            if cells.len() != names.len() || columns.is_empty() {
                break;
            }
            let from = all.end() + start;
            secrets(row, &cells, &columns, ValuePlace::Quoted, &mut |span| visit(from + span.start..from + span.end));
        }
    }
}
