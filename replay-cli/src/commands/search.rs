//! `annals search`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{clip, columns, plain};
use crate::style::{Emphasis, Style, counted};
use annals_core::SessionId;
use annals_inspect::search::{SearchMatch, SearchQuery, TextAuthor};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde_json::json;
use std::io::Write;

/// Search the text of all sessions, newest first.
///
/// Searches prompts, answers, reasoning, tool calls, results, system prompts and context updates. Case matters only
/// if TEXT has capital letters. Exit status 1 if there is no match.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The text to search for.
    #[arg(value_name = "TEXT")]
    text: String,
    /// Search this session only.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Search only what WHO wrote; may be repeated.
    #[arg(long, value_name = "WHO", value_parser = authors())]
    by: Vec<TextAuthor>,
    /// Show at most COUNT matches.
    #[arg(long, short = 'n', value_name = "COUNT")]
    limit: Option<u64>,
}

fn authors() -> impl TypedValueParser<Value = TextAuthor> {
    let values = TextAuthor::ALL.map(|author| PossibleValue::new(author.name()).help(author.meaning()));
    PossibleValuesParser::new(values).try_map(|name| {
        let mut all = TextAuthor::ALL.into_iter();
        all.find(|author| author.name() == name).ok_or("no author of this name")
    })
}

const fn emphasis(author: TextAuthor) -> Emphasis {
    match author {
        TextAuthor::User => Emphasis::User,
        TextAuthor::Model => Emphasis::Model,
        TextAuthor::Tool => Emphasis::Tool,
        TextAuthor::Context => Emphasis::Context,
    }
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (reader, session) = match &args.session {
        Some(name) => cli.find(name).await.map(|(reader, session)| (reader, Some(session)))?,
        None => (cli.reader().await?, None),
    };
    let query = SearchQuery { text: args.text.clone(), session, authors: args.by.clone(), limit: args.limit };
    if cli.style.json {
        let mut list = json::List::begin(out)?;
        let count = reader.search::<CliError>(&query, |found| Ok(list.item(&json!(found))?)).await?;
        list.end()?;
        return Ok(Verdict::bad_if(count == 0));
    }
    let (mut sessions, mut last) = (0, None);
    let show = |found: &SearchMatch| {
        if last.replace(found.session) != Some(found.session) {
            sessions += 1;
            heading(found.session, &found.title, sessions == 1, &cli.style, out)?;
        }
        place(found, &cli.style, out)
    };
    match reader.search::<CliError>(&query, show).await? {
        0 => cli.remark(&format!("no match for {:?}", args.text)),
        count => cli.remark(&format!("{} in {}", counted(count, "match"), counted(sessions, "session"))),
    }
    Ok(Verdict::bad_if(last.is_none()))
}

fn heading(session: SessionId, title: &str, first: bool, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    if !first {
        writeln!(out)?;
    }
    let title = if title.is_empty() { "(no title)".to_owned() } else { plain(title) };
    let id = style.paint(Emphasis::Context, &session.to_string());
    writeln!(out, "{id}  {}", style.paint(Emphasis::Strong, &title))?;
    Ok(())
}

fn place(found: &SearchMatch, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let SearchMatch { line, range, by, .. } = found;
    let head = format!("{:>6}  {:<7}  ", found.seq, by.name());
    let room = style.width.saturating_sub(columns(&head)).max(24);
    let (before, rest) = line.split_at_checked(range.start).unwrap_or(("", line.as_str()));
    let (hit, after) = rest.split_at_checked(range.len()).unwrap_or(("", rest));
    let (hit, after) = (plain(hit), plain(after));
    // A long line is shown around the place.
    let mut before = plain(before.trim_start());
    let half = room.saturating_sub(columns(&hit)) / 2;
    let most = room.saturating_sub(columns(&hit) + columns(&after).min(half));
    if columns(&before) > most {
        let keep: String = before.chars().rev().take(most.saturating_sub(1)).collect();
        before = format!("…{}", keep.chars().rev().collect::<String>());
    }
    let after = clip(&after, room.saturating_sub(columns(&before) + columns(&hit)).max(1));
    let (seq, label) = head.split_at(8);
    writeln!(
        out,
        "{}{}{before}{}{}",
        style.paint(Emphasis::Dim, seq),
        style.paint(emphasis(*by), label),
        style.paint(Emphasis::Found, &hit),
        after.trim_end()
    )?;
    Ok(())
}
