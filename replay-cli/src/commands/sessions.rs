//! `annals sessions`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{clip, columns, name, pad};
use crate::pricing::{Cost, Pricing};
use crate::style::{Emphasis, counted, thousands};
use annals_core::SessionId;
use annals_inspect::reader::short_ids;
use annals_projections::CatalogueEntry;
use clap::ValueEnum;
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
    /// Sort by this.
    #[arg(long, value_enum, default_value = "updated")]
    sort: SortOrder,
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

/// An order of Sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SortOrder {
    /// Most recently changed first.
    Updated,
    /// Newest first.
    Created,
    /// By title.
    Title,
    /// Most expensive first.
    Cost,
    /// Most turns first.
    Turns,
    /// Most events first.
    Events,
}

type SessionRow = (SessionId, CatalogueEntry);

impl Args {
    fn takes(&self, entry: &CatalogueEntry) -> bool {
        let title = entry.title.to_lowercase();
        let agent = |agent: &String| entry.agent.as_str() == agent || entry.origin.as_ref() == Some(agent);
        let below = |directory: &String| {
            let rest = entry.directory.strip_prefix(directory.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.words.iter().all(|word| title.contains(&word.to_lowercase()))
            && self.agent.as_ref().is_none_or(agent)
            && self.model.as_ref().is_none_or(|model| entry.model.as_str().contains(model))
            && self.directory.as_ref().is_none_or(below)
            && (self.children || entry.parent.is_none())
    }

    fn sort(&self, rows: &mut [SessionRow], pricing: &Pricing) {
        let cost = |entry: &CatalogueEntry| pricing.cost(entry.cost, &entry.unpriced.tokens).known();
        rows.sort_by(|(a_id, a), (b_id, b)| {
            let order = match self.sort {
                SortOrder::Updated => b.updated.cmp(&a.updated),
                SortOrder::Created => b.created.cmp(&a.created),
                SortOrder::Title => a.title.to_lowercase().cmp(&b.title.to_lowercase()),
                SortOrder::Cost => cost(b).cmp(&cost(a)),
                SortOrder::Turns => b.turns.cmp(&a.turns),
                SortOrder::Events => b.next.cmp(&a.next),
            };
            order.then(a_id.cmp(b_id))
        });
        if self.reverse {
            rows.reverse();
        }
    }
}

/// Runs the command.
///
/// # Errors
/// When the store cannot be read or the output refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let catalogue = cli.reader().await?.catalogue().await?;
    let ids = short_ids(&catalogue.sessions.keys().copied().collect::<Vec<_>>());
    let all = catalogue.sessions.len();
    let mut rows: Vec<SessionRow> = catalogue.sessions.into_iter().filter(|(_, entry)| args.takes(entry)).collect();
    let pricing = Pricing::of(cli);
    args.sort(&mut rows, &pricing);
    rows.truncate(args.limit.unwrap_or(usize::MAX));
    if cli.style.json {
        let mut list = json::List::begin(out)?;
        for (id, entry) in &rows {
            list.item(&in_json(*id, entry, pricing.cost(entry.cost, &entry.unpriced.tokens)))?;
        }
        list.end()?;
        return Ok(Verdict::Fine);
    }
    let table: Vec<[String; 5]> = rows
        .iter()
        .map(|(id, entry)| {
            let cost = pricing.cost(entry.cost, &entry.unpriced.tokens);
            let cost = if cost == Cost::default() { String::new() } else { cost.shown() };
            let who = name(&entry.origin.clone().unwrap_or_else(|| entry.agent.to_string()));
            let id = ids.get(id).cloned().unwrap_or_else(|| id.to_string());
            [id, cli.style.short_age(entry.updated), who, thousands(entry.turns), cost]
        })
        .collect();
    draw(&rows, &table, cli, out)?;
    if let Some(remark) = Cost::remark(rows.iter().map(|(_, entry)| pricing.cost(entry.cost, &entry.unpriced.tokens))) {
        cli.remark(remark);
    }
    match rows.len() {
        0 if all == 0 => cli.remark("the store is empty; `annals import --discover` lists sessions to import"),
        0 => cli.remark(&format!("no match in {}", counted(all as u64, "session"))),
        _ => {}
    }
    Ok(Verdict::Fine)
}

/// One row a Session; on a terminal titles are cut at its edge.
fn draw(rows: &[SessionRow], table: &[[String; 5]], cli: &CommandContext, out: &mut dyn Write) -> Result<(), CliError> {
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
    for ((_, entry), cells) in rows.iter().zip(table) {
        let [id, age, who, turns, cost] = cells;
        let cells = line([id, age, who, turns, cost]);
        let (id, rest) = cells.split_at(id.len());
        let title = if entry.title.is_empty() { "(no title)".to_owned() } else { name(&entry.title) };
        let title = if watched { clip(&title, room) } else { title };
        let emphasis = if entry.titled { Emphasis::Strong } else { Emphasis::Plain };
        writeln!(out, "{}{}{}", style.paint(Emphasis::Context, id), rest, style.paint(emphasis, &title))?;
    }
    Ok(())
}

fn in_json(id: SessionId, entry: &CatalogueEntry, cost: Cost) -> serde_json::Value {
    serde_json::json!({
        "id": id, "title": entry.title, "titled": entry.titled, "agent": entry.agent, "model": entry.model,
        "directory": entry.directory, "origin": entry.origin, "parent": entry.parent, "fork": entry.fork,
        "created": entry.created, "updated": entry.updated, "next": entry.next, "turns": entry.turns,
        "cost": cost.in_json(), "estimated": cost.estimated,
    })
}
