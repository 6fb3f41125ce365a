//! `annals sessions`

use crate::command_context::CommandContext;
use crate::draw::sessions as table;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::shown_title::without_keys;
use crate::style::{Style, counted};
use crate::time_arg::{TimeArg, time};
use annals_host::project::{ProjectFolder, ProjectScope};
use annals_inspect::pricing::Cost;
use annals_inspect::reader::short_ids;
use annals_inspect::sessions::{SessionFilter, SessionOrder, list};
use annals_projections::Catalogue;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::io::Write;

/// List the sessions of this project, newest first.
///
/// The project is the git repository that contains the current directory, or the directory itself; --all lists the sessions
/// of all projects. Wherever a command takes a session, the start of its id is enough, as shown here.
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
    /// Only sessions that work in DIR or below it, in any project.
    #[arg(long, value_name = "DIR")]
    directory: Option<String>,
    /// Only sessions of the project in DIR (default: the current one), or of the project of this name.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    project: Option<String>,
    /// Only sessions whose last recorded git branch is NAME.
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Only sessions that changed since this time: 7d, 12h, yesterday, 2026-11-21.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<TimeArg>,
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
    fn filter(&self, style: &Style) -> SessionFilter {
        SessionFilter {
            words: self.words.clone(),
            agent: self.agent.clone(),
            model: self.model.clone(),
            directories: None,
            branch: self.branch.clone(),
            since: self.since.map(|since| since.start(style)),
            children: self.children,
        }
    }

    /// Whether nothing but sub-agents is left out.
    fn lists_all(&self) -> bool {
        let chosen = self.agent.is_some() || self.model.is_some() || self.branch.is_some() || self.since.is_some();
        !self.children && self.words.is_empty() && self.limit.is_none() && !chosen
    }

    /// Whose sessions are listed.
    fn scope(&self, catalogue: &Catalogue, cli: &CommandContext) -> ProjectScope {
        match &self.directory {
            Some(directory) => ProjectScope::In(ProjectFolder::folder(directory, &cli.environment.directory)),
            None => cli.project_scope(catalogue, self.project.as_deref()),
        }
    }
}

/// Runs the command.
///
/// # Errors
/// When there is no store, or it cannot be read.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let mut catalogue = cli.reader().await?.catalogue().await?;
    let ids = short_ids(&catalogue.sessions.keys().copied().collect::<Vec<_>>());
    let all = catalogue.sessions.len();
    let scope = args.scope(&catalogue, cli);
    catalogue.sessions.retain(|_, entry| scope.takes(&entry.directory));
    let started = catalogue.sessions.values().filter(|entry| entry.parent.is_some() && !entry.forgotten).count();
    let mut rows = list(catalogue, &args.filter(&cli.style), args.sort, &cli.pricing());
    if args.reverse {
        rows.reverse();
    }
    rows.truncate(args.limit.unwrap_or(usize::MAX));
    for row in &mut rows {
        row.title = without_keys(&row.title).into_owned();
    }
    if cli.style.json {
        json::list(out, &rows)?;
        return Ok(Verdict::Fine);
    }
    table::print(&rows, &ids, &cli.style, cli.line_width(), out)?;
    if let Some(remark) = Cost::remark(rows.iter().map(|row| row.known_cost)) {
        cli.remark(remark);
    }
    if started > 0 && args.lists_all() && !rows.is_empty() {
        let sessions = counted(started as u64, "session");
        cli.remark(&format!("{sessions} of sub-agents not listed; --children lists them, too"));
    }
    match (rows.len(), &scope) {
        (0, _) if all == 0 => {
            cli.remark("the store is empty; `annals import` imports what it finds (--dry-run lists it)");
        }
        (0, ProjectScope::In(_)) if args.directory.is_none() && args.project.is_none() => {
            cli.remark(&format!("no match in this project; --all lists all {}", counted(all as u64, "session")));
        }
        (0, _) => cli.remark(&format!("no match in {}", counted(all as u64, "session"))),
        _ => {}
    }
    Ok(Verdict::Fine)
}
