//! `annals usage`

pub mod session;

use crate::command_context::{CommandContext, Target};
use crate::draw;
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use crate::layout::plain;
use crate::time_arg::{TimeArg, time};
use annals_core::{SessionId, Time};
use annals_host::project::root;
use annals_inspect::pricing::Cost;
use annals_inspect::reader::Reader;
use annals_inspect::safety::{SafetyQuery, SafetySummary, with_subagents};
use annals_inspect::spending::{Calendar, Dimension, SpendingQuery, SpendingSource, SpendingTable};
use annals_projections::QUARTER_HOUR;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;
use std::io::Write;
use std::path::Path;

/// Show tokens and cost: of all sessions by day, or of one session.
///
/// Without SESSION, adds up the whole store. --by chooses the rows; several can be combined: --by month,model. An answer
/// that an agent copied into the file of a resumed session counts once, and a session includes the sub-agents that it
/// started. A cost that was not recorded is estimated from the prices of `annals models` and marked `~`; `-` means that no
/// price is known.
///
/// With SESSION alone, shows that session by model. With --json its `cost` is the recorded cost, and `unpriced` counts the
/// attempts without one.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// One session: its id, the start or end of the id, words of its title, or @last; or a FILE with one.
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Show the state right after EVENT (and the events written with it): its number, turn:N, -N from the end, a time.
    #[arg(long, value_name = "EVENT", allow_negative_numbers = true, requires = "session", conflicts_with_all = ["by", "since", "until", "project", "csv", "blocks", "line"])]
    at: Option<EventArg>,
    /// Add up by this (may be repeated, or separated by commas).
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = dimensions())]
    by: Vec<Dimension>,
    /// Only from this time on: 7d, 12h, yesterday, 2026-11-21.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<TimeArg>,
    /// Only until this time; a day is included.
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<TimeArg>,
    /// Only sessions of the project in DIR (default: the current one), or of the project of this name.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    project: Option<String>,
    /// Add up by blocks of five hours, as subscriptions count.
    #[arg(long)]
    blocks: bool,
    /// Print comma-separated values: the members of --json, costs in nano-dollars.
    #[arg(long, conflicts_with_all = ["json", "line"])]
    csv: bool,
    /// Print one line for a status bar: today, the current block, this month.
    #[arg(long, aliases = ["statusline", "status-line"], conflicts_with_all = ["json", "by", "since", "until", "blocks"])]
    line: bool,
    /// Also count calls, what was allowed by whom, confined commands and replaced secrets (reads every session; as annals audit).
    #[arg(long, conflicts_with_all = ["csv", "line", "since", "until"])]
    safety: bool,
}

fn dimensions() -> impl TypedValueParser<Value = Dimension> {
    PossibleValuesParser::new(Dimension::ALL.map(|by| PossibleValue::new(by.name()))).try_map(|name| {
        let mut all = Dimension::ALL.into_iter();
        all.find(|by| by.name() == name).ok_or("not a column of this name")
    })
}

impl Args {
    fn is_of_store(&self) -> bool {
        let selects = self.since.is_some() || self.until.is_some() || self.project.is_some();
        self.session.is_none() || selects || !self.by.is_empty() || self.blocks || self.csv || self.line || self.safety
    }

    fn query(&self, cli: &CommandContext, session: Option<SessionId>) -> SpendingQuery {
        let mut by = self.by.clone();
        if self.blocks {
            by.insert(0, Dimension::Block);
        }
        if by.is_empty() {
            by.push(Dimension::Day);
        }
        let mut known = Vec::new();
        by.retain(|by| {
            !known.contains(by) && {
                known.push(*by);
                true
            }
        });
        // Usage is known by quarters of an hour.
        let quarter = |at: Time| Time(at.0 - at.0 % QUARTER_HOUR);
        SpendingQuery {
            by,
            since: self.since.map(|since| quarter(since.start(&cli.style))),
            until: self.until.map(|until| until.end(&cli.style)),
            session,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// When no session has the name, or the log cannot be read.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if let (Some(session), false) = (&args.session, args.is_of_store()) {
        return session::run(&Target { session: session.clone(), at: args.at }, cli, out).await;
    }
    let (reader, session) = match &args.session {
        Some(name) => cli.find(name).await.map(|(reader, session)| (reader, Some(session)))?,
        None => (cli.reader().await?, None),
    };
    let query = args.query(cli, session);
    let safety = if args.safety { Some(safety(args, cli, &reader, session).await?) } else { None };
    with_source(args, cli, &reader, |source| {
        if args.line {
            return Ok(draw::spending_line::print(source, &query, &cli.style, out)?);
        }
        let found = SpendingTable { safety, ..source.table(&query) };
        if cli.style.json {
            json::object(out, &found)?;
        } else if args.csv {
            comma_separated(&query.by, &found, out)?;
        } else if found.rows.is_empty() {
            cli.remark(&match args.project.as_deref().filter(|name| *name != ".") {
                Some(name) => {
                    plain(&format!("no usage recorded in project {name}; the projects: annals usage --by project"))
                }
                None => "no usage recorded".to_owned(),
            });
        } else {
            draw::spending::print(&query.by, &found, source.catalogue, &cli.style, out)?;
            let costs = found.rows.iter().map(|row| row.spent.known_cost).chain([found.total.known_cost]);
            if let Some(remark) = Cost::remark(costs) {
                cli.remark(remark);
            }
        }
        if let (Some(safety), false) = (&found.safety, cli.style.json) {
            draw::usage::counts(safety, &cli.style, out)?;
        }
        Ok(())
    })
    .await?;
    Ok(Verdict::Fine)
}

/// What was allowed in the sessions that are added up.
async fn safety(
    args: &Args,
    cli: &CommandContext,
    reader: &Reader,
    session: Option<SessionId>,
) -> Result<SafetySummary, CliError> {
    let catalogue = reader.catalogue().await?;
    let scope = cli.named_project(args.project.as_deref());
    let wanted = catalogue.sessions.iter().filter(|(_, entry)| !entry.forgotten && scope.takes(&entry.directory));
    let sessions = match session {
        Some(session) => with_subagents(&catalogue, session),
        None => wanted.map(|(id, _)| *id).collect(),
    };
    let query = SafetyQuery { sessions, limit: 0, every_call: false, inherited: session.is_some(), until: None };
    Ok(reader.safety(&query, &|directory| root(Path::new(directory))).await?.summary())
}

/// Gives what is added up, with the prices, the days and the projects of the reader.
async fn with_source(
    args: &Args,
    cli: &CommandContext,
    reader: &Reader,
    answer: impl FnOnce(&SpendingSource<'_>) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let (spending, catalogue) = (reader.spending().await?, reader.catalogue().await?);
    let scope = cli.named_project(args.project.as_deref());
    let offset = |at: Time| {
        let instant = i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        instant.map_or(0, |at| i64::from(cli.style.zone.to_offset(at).seconds()))
    };
    let project =
        |directory: &str| scope.takes(directory).then(|| root(Path::new(directory)).to_string_lossy().into_owned());
    answer(&SpendingSource {
        spending: &spending,
        catalogue: &catalogue,
        pricing: &cli.pricing(),
        calendar: Calendar { offset: &offset },
        project: &project,
    })
}

fn comma_separated(by: &[Dimension], found: &SpendingTable, out: &mut dyn Write) -> Result<(), CliError> {
    let quoted = |text: &str| match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    for by in by {
        write!(out, "{},", by.name())?;
    }
    writeln!(out, "input,output,reasoning,cache_read,cache_write,cost,estimated")?;
    for row in &found.rows {
        for by in by {
            write!(out, "{},", quoted(row.by.get(by).map_or("", String::as_str)))?;
        }
        let spent = &row.spent;
        let cost = spent.cost.map(|cost| cost.to_string()).unwrap_or_default();
        let tokens = [spent.input, spent.output, spent.reasoning, spent.cache_read, spent.cache_write];
        let tokens = tokens.map(|count| count.to_string()).join(",");
        writeln!(out, "{tokens},{cost},{}", spent.estimated)?;
    }
    Ok(())
}
