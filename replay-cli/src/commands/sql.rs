//! `annals sql`

mod answer;
mod prompt;

use crate::command_context::CommandContext;
use crate::error::{CliError, EditError, Verdict};
use annals_index::{IndexPlace, SqlError, SqlTables};
use answer::AnswerForm;
use std::io::{IsTerminal, Read, Write};

/// Ask questions in SQL: annals sql "select title from sessions".
///
/// The tables are sessions, turns, messages, calls, requests, usage, files and events (docs/sql.md). Queries only read.
/// Without QUERY on a terminal, prompts for queries; otherwise reads one from stdin. The whole store is asked unless
/// --project is given.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The query.
    #[arg(value_name = "QUERY", conflicts_with_all = ["schema", "path"])]
    query: Option<String>,
    /// Show the tables and their columns.
    #[arg(long)]
    schema: bool,
    /// Print CSV.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print where the SQLite file is, for other tools.
    #[arg(long, conflicts_with = "schema")]
    path: bool,
    /// Ask only about sessions of the project in DIR, or of the project of this name.
    #[arg(long, value_name = "DIR")]
    project: Option<String>,
    /// Show at most COUNT rows; 0 for all (default: 200 on a terminal, otherwise all).
    #[arg(long, short = 'n', value_name = "COUNT")]
    limit: Option<u64>,
}

/// How many rows are shown on a terminal.
const SHOWN: u64 = 200;
/// How often a query is repeated when a writer changes the index meanwhile.
const TRIES: usize = 5;

impl Args {
    /// Whether a long answer is shown in a pager.
    pub fn is_paged(&self) -> bool {
        self.query.is_some() || self.schema
    }
}

/// Runs the command.
///
/// # Errors
/// When the query is wrong, or the store cannot be read.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if args.path {
        if let Some(file) = cli.file.clone() {
            return Err(EditError::OnlyInTheStore { file }.into());
        }
        writeln!(out, "{}", IndexPlace::in_store(cli.place.dir()).file().display())?;
        return Ok(Verdict::Fine);
    }
    if args.schema {
        answer::schema(cli, out)?;
        return Ok(Verdict::Fine);
    }
    let limit = match args.limit {
        Some(0) => None,
        None if !cli.watched || cli.style.json || args.csv => None,
        limit => Some(limit.unwrap_or(SHOWN)),
    };
    let form = AnswerForm { json: cli.style.json, csv: args.csv, limit };
    match &args.query {
        Some(query) => ask(args, query, form, cli, out).await,
        None if std::io::stdin().is_terminal() => prompt::run(args, form, cli, out).await,
        None => {
            let mut query = String::new();
            std::io::stdin().read_to_string(&mut query)?;
            ask(args, &query, form, cli, out).await
        }
    }
}

/// Runs one query; again when a writer changed the index before the first row was shown.
async fn ask(
    args: &Args,
    query: &str,
    form: AnswerForm,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let mut tries = 0;
    let mut indexed = true;
    loop {
        tries += 1;
        let tables = tables(args, indexed, cli).await?;
        let (answer, shown) = answer::print(&tables, query, form, cli, out)?;
        match answer {
            Ok(()) => return Ok(Verdict::Fine),
            Err(SqlError::Changed) if !shown && tries < TRIES => {}
            Err(SqlError::Damaged) if !shown && indexed => indexed = false,
            Err(error) => return Err(error.into()),
        }
    }
}

async fn tables(args: &Args, indexed: bool, cli: &CommandContext) -> Result<SqlTables, CliError> {
    let reader = cli.reader().await?;
    let place = (indexed && reader.saved().is_some()).then(|| IndexPlace::in_store(cli.place.dir()));
    let tables = SqlTables::open(&**reader.log(), place.as_ref()).await?;
    let Some(name) = args.project.as_deref() else { return Ok(tables) };
    match cli.named_project(Some(name)).directories(&reader.catalogue().await?) {
        Some(directories) => Ok(tables.of_directories(&directories)?),
        None => Ok(tables),
    }
}
