//! `annals search`

use crate::command_context::CommandContext;
use crate::draw::search::MatchPrinter;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::plain;
use crate::style::{counted, thousands};
use crate::time_arg::{TimeArg, time};
use annals_index::{IndexPlace, IndexReader};
use annals_inspect::reader::Reader;
use annals_inspect::search::{SearchIndex, SearchPattern, SearchQuery, SearchTotals, TextAuthor};
use annals_inspect::sessions::SessionFilter;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::json;
use std::io::Write;

/// Search the text of the sessions of this project, newest first.
///
/// Searches prompts, answers, reasoning, tool calls, results, system prompts and context updates. An event matches if it
/// contains all words, in any place and order; if none does, sessions that contain them all are shown. Put a phrase in double quotes: annals search '"exit code" panic'. Case
/// matters only for words with capital letters. file:PATH finds sessions that read or changed a file; alone, it shows
/// each place. Sessions with whole words come first, then the newest. --all searches all projects. Exit status 1 if there is no match.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Words, "phrases" and file:PATH; all must match.
    #[arg(value_name = "TEXT", required_unless_present = "regex")]
    text: Vec<String>,
    /// Match a regular expression, line by line; may be repeated.
    #[arg(short = 'e', long, value_name = "REGEX")]
    regex: Vec<String>,
    /// Search this session only.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Search only sessions of the project in DIR (default: the current one), or of the project of this name.
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".", conflicts_with = "session")]
    project: Option<String>,
    /// Search only sessions of this agent.
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    agent: Option<String>,
    /// Search only what was written since this time: 7d, 12h, yesterday, 2026-11-21.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<TimeArg>,
    /// Search only what WHO wrote; may be repeated.
    #[arg(long, value_name = "WHO", value_parser = authors())]
    by: Vec<TextAuthor>,
    /// Search only calls and results of this tool.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Show N lines before and after each match.
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    context: usize,
    /// Show at most COUNT matches; 0 for all (default: 50, all in JSON).
    #[arg(long, short = 'n', value_name = "COUNT")]
    limit: Option<u64>,
}

/// How many matches are shown unless COUNT is given.
const SHOWN: u64 = 50;
/// How many matches of one event are shown in a bounded answer.
const PER_EVENT: usize = 5;

fn authors() -> impl TypedValueParser<Value = TextAuthor> {
    let value =
        |author: TextAuthor| PossibleValue::new(author.name()).help(author.meaning()).aliases(also_called(author));
    PossibleValuesParser::new(TextAuthor::ALL.map(value)).try_map(|name| {
        let mut all = TextAuthor::ALL.into_iter();
        let is_called = |author: &TextAuthor| author.name() == name || also_called(*author).contains(&name.as_str());
        all.find(is_called).ok_or("no author of this name")
    })
}

/// What else an author is called: as timelines and the formats of agents have it.
const fn also_called(author: TextAuthor) -> &'static [&'static str] {
    match author {
        TextAuthor::User => &["you", "me", "human"],
        TextAuthor::Model => &["assistant", "agent"],
        TextAuthor::Tool => &["tools"],
        TextAuthor::Context => &["system"],
    }
}

/// Runs the command.
///
/// # Errors
/// When the expression is wrong, there is no such session, or the store cannot be read.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let text = args.text.join(" ");
    let pattern = SearchPattern::parse(&text, &args.regex)?;
    let (reader, session) = match &args.session {
        Some(name) => cli.find(name).await.map(|(reader, session)| (reader, Some(session)))?,
        None => (cli.reader().await?, None),
    };
    let limit = match args.limit {
        Some(0) => None,
        None if cli.style.json => None,
        limit => Some(limit.unwrap_or(SHOWN)),
    };
    let query = SearchQuery {
        pattern,
        session,
        sessions: filter(args, cli, &reader).await?,
        authors: args.by.clone(),
        tool: args.tool.clone(),
        since: args.since.map(|since| since.start(&cli.style)),
        context: args.context,
        limit,
        per_event: limit.filter(|_| !cli.style.json).map(|_| PER_EVENT),
    };
    // A file that is read instead of the store has none.
    let index = match reader.saved() {
        Some(_) => IndexReader::open(&IndexPlace::in_store(cli.place.dir())),
        None => None,
    };
    let index = index.as_ref().map(|index| index as &dyn SearchIndex);
    if cli.style.json {
        let mut list = json::List::begin(out)?;
        let totals = reader.search::<CliError>(&query, index, |found| Ok(list.item(&json!(found))?)).await?;
        list.end()?;
        say_more(totals, cli);
        return Ok(Verdict::bad_if(totals.shown == 0));
    }
    let mut printer = MatchPrinter::new(&cli.style, args.context > 0, out);
    let totals = reader.search::<CliError>(&query, index, |found| Ok(printer.print(found)?)).await?;
    let sessions = printer.sessions();
    match totals.shown {
        0 => {
            let asked: Vec<&str> = [text.as_str()].into_iter().chain(args.regex.iter().map(String::as_str)).collect();
            let asked = plain(asked.join(" ").trim());
            let quotes = if asked.contains('"') { "" } else { "\"" };
            cli.remark(&format!("no match for {quotes}{asked}{quotes}"));
        }
        shown => cli.remark(&format!("{} in {}", counted(shown, "match"), counted(sessions, "session"))),
    }
    say_more(totals, cli);
    Ok(Verdict::bad_if(totals.shown == 0))
}

fn say_more(totals: SearchTotals, cli: &CommandContext) {
    if totals.across {
        cli.remark("no message has all of it; these sessions have it in several messages");
    }
    if totals.more > 0 {
        let estimated = if totals.estimated { " (estimated)" } else { "" };
        cli.remark(&format!("and {} more{estimated}; -n 0 shows all", thousands(totals.more)));
    }
}

/// The sessions that the options select: those of a project, unless one session was named.
async fn filter(args: &Args, cli: &CommandContext, reader: &Reader) -> Result<SessionFilter, CliError> {
    let mut filter = SessionFilter { agent: args.agent.clone(), children: true, ..SessionFilter::default() };
    if args.session.is_none() {
        let catalogue = reader.catalogue().await?;
        filter.directories = cli.project_scope(&catalogue, args.project.as_deref()).directories(&catalogue);
    }
    Ok(filter)
}
