//! Rows as a table, as CSV or as JSON.

use crate::command_context::CommandContext;
use crate::error::CliError;
use crate::layout::{clip, columns, hanging, pad, plain};
use crate::style::{Emphasis, Style, counted, thousands};
use annals_index::{SqlError, SqlTables, SqlValue, TABLE_NOTES};
use serde_json::{Map, Value};
use std::io::{self, Write};

/// How rows are printed.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerForm {
    pub json: bool,
    pub csv: bool,
    /// At most so many rows.
    pub limit: Option<u64>,
}

/// How many rows decide how wide the columns of a table are.
const MEASURED: usize = 200;
/// A column is at most this wide on a terminal.
const WIDEST: usize = 60;

/// Runs a query and prints its rows. Also returns whether any row was printed.
pub(super) fn print(
    tables: &SqlTables,
    query: &str,
    form: AnswerForm,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<(Result<(), SqlError>, bool), CliError> {
    let mut rows = RowPrinter {
        form,
        clips: cli.watched,
        line_width: cli.line_width(),
        style: &cli.style,
        out,
        widths: Vec::new(),
        names: Vec::new(),
        held: Vec::new(),
        begun: false,
        listed: false,
        count: 0,
    };
    let answer = match tables.query(query, |head, row| rows.row(head, row)) {
        Ok(head) => rows.end(&head).map_err(SqlError::from),
        Err(error) => Err(error),
    };
    let (shown, count) = (rows.begun, rows.count);
    if let (Ok(()), Some(more)) =
        (&answer, form.limit.and_then(|limit| count.checked_sub(limit)).filter(|more| *more > 0))
    {
        cli.remark(&format!("and {} more; -n 0 shows all", thousands(more)));
    } else if answer.is_ok() && !form.json && !form.csv && cli.watched {
        cli.remark(&counted(count, "row"));
    }
    Ok((answer, shown))
}

struct RowPrinter<'a> {
    form: AnswerForm,
    /// Whether long values are cut.
    clips: bool,
    /// How wide a line may be.
    line_width: Option<usize>,
    style: &'a Style,
    out: &'a mut (dyn Write + Send),
    /// The widths of the columns of a table, once they are measured.
    widths: Vec<usize>,
    /// The names of the columns, where rows are lists of values, since a table of them is wider than a line may be.
    names: Vec<String>,
    /// The first rows of a table, until its columns are measured.
    held: Vec<Vec<String>>,
    begun: bool,
    /// Whether a list of values was printed.
    listed: bool,
    count: u64,
}

impl RowPrinter<'_> {
    fn row(&mut self, head: &[String], row: &[SqlValue]) -> io::Result<()> {
        self.count += 1;
        if self.form.limit.is_some_and(|limit| self.count > limit) {
            return Ok(());
        }
        if self.form.json {
            // In the order of the query.
            let member = |(name, value): (&String, &SqlValue)| {
                Ok(format!("{}:{}", serde_json::to_string(name)?, serde_json::to_string(value)?))
            };
            let members: Vec<String> = head.iter().zip(row).map(member).collect::<serde_json::Result<_>>()?;
            write!(self.out, "{}{{{}}}", if self.begun { ",\n " } else { "[" }, members.join(","))?;
            self.begun = true;
            return Ok(());
        }
        if self.form.csv {
            self.csv_head(head)?;
            let fields: Vec<String> = row.iter().map(|value| csv_field(&value.text())).collect();
            return write!(self.out, "{}\r\n", fields.join(","));
        }
        let shown = row
            .iter()
            .map(|value| if matches!(value, SqlValue::Null) { "-".to_owned() } else { one_line(&value.text()) });
        self.held.push(shown.collect());
        if self.begun {
            return self.flush_rows();
        }
        if self.held.len() == MEASURED {
            self.begin_table(head)?;
        }
        Ok(())
    }

    fn end(&mut self, head: &[String]) -> io::Result<()> {
        if self.form.json {
            return writeln!(self.out, "{}", if self.begun { "]" } else { "[]" });
        }
        if self.form.csv {
            return self.csv_head(head);
        }
        if !self.begun { self.begin_table(head) } else { Ok(()) }
    }

    fn csv_head(&mut self, head: &[String]) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        let names: Vec<String> = head.iter().map(|name| csv_field(name)).collect();
        write!(self.out, "{}\r\n", names.join(","))
    }

    fn begin_table(&mut self, head: &[String]) -> io::Result<()> {
        self.begun = true;
        let widest = if self.clips { WIDEST } else { usize::MAX };
        let width = |at: usize, name: &String| {
            let cells = self.held.iter().filter_map(|row| row.get(at));
            cells.map(|cell| columns(cell)).max().unwrap_or(0).max(columns(name)).min(widest)
        };
        let widths: Vec<usize> = head.iter().enumerate().map(|(at, name)| width(at, name)).collect();
        let whole = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        if self.line_width.is_some_and(|width| whole > width) {
            self.names = head.to_vec();
            return self.flush_rows();
        }
        let cells = head.iter().zip(&widths).map(|(name, width)| pad(name, *width));
        let line = cells.collect::<Vec<_>>().join("  ");
        writeln!(self.out, "{}", self.style.paint(Emphasis::Strong, line.trim_end()))?;
        self.widths = widths;
        self.flush_rows()
    }

    fn flush_rows(&mut self) -> io::Result<()> {
        for row in std::mem::take(&mut self.held) {
            if !self.names.is_empty() {
                self.list(&row)?;
                continue;
            }
            let cells = row.iter().zip(&self.widths).map(|(cell, width)| {
                let cell = if self.clips { clip(cell, *width) } else { cell.clone() };
                pad(&cell, *width)
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    /// A row as a list of names and values.
    fn list(&mut self, row: &[String]) -> io::Result<()> {
        let widest = self.names.iter().map(|name| columns(name)).max().unwrap_or_default().min(24);
        if std::mem::replace(&mut self.listed, true) {
            writeln!(self.out)?;
        }
        for (name, cell) in self.names.iter().zip(row) {
            let cell = if self.clips { clip(cell, 8 * WIDEST) } else { cell.clone() };
            let line =
                hanging(&format!("{}  {cell}", pad(name, widest)), widest + 2, self.line_width.unwrap_or(usize::MAX));
            let (name, value) = line.split_at_checked(name.len()).unwrap_or((&line, ""));
            writeln!(self.out, "{}{}", self.style.paint(Emphasis::Strong, name), value.trim_end())?;
        }
        Ok(())
    }
}

fn one_line(text: &str) -> String {
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A field as RFC 4180 has it.
fn csv_field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Prints the tables and their columns.
pub(super) fn schema(cli: &CommandContext, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let style = &cli.style;
    if style.json {
        let tables: Map<String, Value> = TABLE_NOTES
            .iter()
            .map(|(table, _, columns)| {
                let columns = columns.iter().map(|(name, note)| ((*name).to_owned(), Value::from(*note)));
                ((*table).to_owned(), Value::Object(columns.collect()))
            })
            .collect();
        return writeln!(out, "{}", serde_json::to_string_pretty(&tables)?);
    }
    for (at, (table, about, columns)) in TABLE_NOTES.iter().enumerate() {
        let gap = if at > 0 { "\n" } else { "" };
        let line = format!("{table}  {about}");
        let line = cli.line_width().map_or(line.clone(), |width| hanging(&line, 2, width));
        let (table, about) = line.split_at(table.len());
        writeln!(out, "{gap}{}{about}", style.paint(Emphasis::Strong, table))?;
        for (name, note) in *columns {
            let line = format!("  {name:<13} {note}");
            writeln!(out, "{}", cli.line_width().map_or(line.clone(), |width| hanging(&line, 16, width)))?;
        }
    }
    Ok(())
}
