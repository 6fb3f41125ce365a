//! `annals sessions`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{clip, columns, name, pad};
use crate::style::{Emphasis, counted, thousands};
use annals_inspect::pricing::Cost;
use annals_inspect::reader::short_ids;
use annals_inspect::sessions::{SessionFilter, SessionOrder, SessionOverview, list};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::io::Write;

/// List the sessions of the store, newest first.
///
/// Wherever a command takes a session, the start of its id is enough, as shown here.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Only sessions whose titles contain all of these words.
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// Only sessions of this agent (opencode, codex, claude-code, or the name of an agent).
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only sessions whose model name contains TEXT.
    #[arg(long, value_name = "TEXT")]
    model: Option<String>,
    /// Only sessions that work in DIR or below it.
    #[arg(long, value_name = "DIR")]
    directory: Option<String>,
    /// Only sessions whose last recorded git branch is NAME.
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Sort by this.
    #[arg(long, default_value = "updated", value_parser = orders())]
    sort: SessionOrder,
    /// Reverse the order.
    #[arg(long)]
    reverse: bool,
    /// Show at most COUNT sessions.
    #[arg(long, short = 'n', value_name = "COUNT")]
    limit: Option<usize>,
    /// Include sub-agents (sessions that another session started).
    #[arg(long)]
    children: bool,
}

fn orders() -> impl TypedValueParser<Value = SessionOrder> {
    let values = SessionOrder::ALL.map(|order| PossibleValue::new(order.name()).help(order.meaning()));
    PossibleValuesParser::new(values).try_map(|name| {
        let mut all = SessionOrder::ALL.into_iter();
        all.find(|order| order.name() == name).ok_or("no order of this name")
    })
}

impl Args {
    fn filter(&self) -> SessionFilter {
        SessionFilter {
            words: self.words.clone(),
            agent: self.agent.clone(),
            model: self.model.clone(),
            directory: self.directory.clone(),
            branch: self.branch.clone(),
            children: self.children,
            ..SessionFilter::default()
        }
    }
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let catalogue = cli.reader().await?.catalogue().await?;
    let ids = short_ids(&catalogue.sessions.keys().copied().collect::<Vec<_>>());
    let all = catalogue.sessions.len();
    let mut rows = list(catalogue, &args.filter(), args.sort, &cli.pricing());
    if args.reverse {
        rows.reverse();
    }
    rows.truncate(args.limit.unwrap_or(usize::MAX));
    if cli.style.json {
        json::list(out, &rows)?;
        return Ok(Verdict::Fine);
    }
    let table: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            let cost = row.known_cost;
            let cost = if cost == Cost::default() { String::new() } else { cost.shown() };
            let who = name(&row.origin.clone().unwrap_or_else(|| row.agent.to_string()));
            let id = ids.get(&row.id).cloned().unwrap_or_else(|| row.id.to_string());
            [id, cli.style.short_age(row.updated), who, thousands(row.turns), cost]
        })
        .collect();
    draw(&rows, &table, cli, out)?;
    if let Some(remark) = Cost::remark(rows.iter().map(|row| row.known_cost)) {
        cli.remark(remark);
    }
    match rows.len() {
        0 if all == 0 => cli.remark("the store is empty; `annals import --discover` lists sessions to import"),
        0 => cli.remark(&format!("no match in {}", counted(all as u64, "session"))),
        _ => {}
    }
    Ok(Verdict::Fine)
}

/// One row a session; on a terminal titles are cut at its edge.
fn draw(
    rows: &[SessionOverview],
    table: &[[String; 5]],
    cli: &CommandContext,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let (style, watched) = (&cli.style, cli.watched);
    const HEADS: [&str; 5] = ["id", "age", "agent", "turns", "cost"];
    if rows.is_empty() {
        return Ok(());
    }
    let mut widths = HEADS.map(columns);
    for row in table {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns(cell));
        }
    }
    // A column with nothing in it is left out.
    let shown: Vec<usize> = (0..HEADS.len()).filter(|at| table.iter().any(|row| !row[*at].is_empty())).collect();
    let line = |cells: [&str; 5]| -> String {
        let cell = |at: &usize| match at {
            1 | 3 | 4 => format!("{:>width$}  ", cells[*at], width = widths[*at]),
            _ => format!("{}  ", pad(cells[*at], widths[*at])),
        };
        shown.iter().map(cell).collect()
    };
    let head = line(HEADS);
    let room = style.width.saturating_sub(columns(&head)).max(16);
    writeln!(out, "{}{}", style.paint(Emphasis::Dim, &head), style.paint(Emphasis::Dim, "title"))?;
    for (row, cells) in rows.iter().zip(table) {
        let [id, age, who, turns, cost] = cells;
        let cells = line([id, age, who, turns, cost]);
        let (id, rest) = cells.split_at(id.len());
        let title = if row.title.is_empty() { "(no title)".to_owned() } else { name(&row.title) };
        let title = if watched { clip(&title, room) } else { title };
        let emphasis = if row.titled { Emphasis::Strong } else { Emphasis::Plain };
        writeln!(out, "{}{}{}", style.paint(Emphasis::Context, id), rest, style.paint(emphasis, &title))?;
    }
    Ok(())
}
