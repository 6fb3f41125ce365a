//! `annals search`

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::layout::{clip, columns, plain};
use crate::style::{Emphasis, Style, counted};
use annals_core::event::{
    ChildEvent, CompactionEvent, ContextEvent, InputEvent, MessageEvent, PermissionEvent, SessionEvent, StepEvent,
    ToolEvent,
};
use annals_core::{Event, Record, Seq, SessionId, Text};
use annals_projections::CatalogueEntry;
use clap::ValueEnum;
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
    #[arg(long, value_enum, value_name = "WHO")]
    by: Vec<By>,
    /// Show at most COUNT matches.
    #[arg(long, short = 'n', value_name = "COUNT")]
    limit: Option<u64>,
}

/// Who wrote a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Prompts, shell commands, feedback.
    User,
    /// Answers, reasoning, tool calls.
    Model,
    /// Results and errors of tools.
    Tool,
    /// System prompts, context updates, summaries, titles.
    Context,
}

impl By {
    const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Context => "context",
        }
    }

    const fn emphasis(self) -> Emphasis {
        match self {
            Self::User => Emphasis::User,
            Self::Model => Emphasis::Model,
            Self::Tool => Emphasis::Tool,
            Self::Context => Emphasis::Context,
        }
    }
}

/// The texts of an event that a person would look for, and who wrote them.
fn texts(event: &Event) -> Vec<(By, std::borrow::Cow<'_, Text>)> {
    use std::borrow::Cow::{Borrowed, Owned};
    match event {
        Event::Session(SessionEvent::Titled(titled)) => vec![(By::Context, Owned(titled.title.as_str().into()))],
        Event::Input(InputEvent::Admitted(admitted)) => vec![(By::User, Borrowed(&admitted.text))],
        Event::Context(ContextEvent::EpochStarted(started)) => {
            started.parts.iter().map(|part| (By::Context, Borrowed(&part.text))).collect()
        }
        Event::Context(ContextEvent::Admitted(told)) => vec![(By::Context, Borrowed(&told.text))],
        Event::Step(StepEvent::Failed(failed)) => vec![(By::Model, Borrowed(&failed.error.message))],
        Event::Step(StepEvent::TextEnded(ended)) => vec![(By::Model, Borrowed(&ended.text))],
        Event::Step(StepEvent::ReasoningEnded(ended)) => vec![(By::Model, Borrowed(&ended.text))],
        Event::Tool(ToolEvent::Called(called)) => {
            vec![(By::Model, Owned(called.name.as_str().into())), (By::Model, Borrowed(&called.input.0))]
        }
        Event::Tool(ToolEvent::Settled(settled)) => {
            let error = settled.error.iter().map(|error| (By::Tool, Borrowed(error)));
            std::iter::once((By::Tool, Borrowed(&settled.output))).chain(error).collect()
        }
        Event::Permission(PermissionEvent::Replied(replied)) => {
            replied.feedback.iter().map(|feedback| (By::User, Borrowed(feedback))).collect()
        }
        Event::Compaction(CompactionEvent::Ended(ended)) => vec![(By::Context, Borrowed(&ended.summary))],
        Event::Message(MessageEvent::SyntheticAdded(added)) => vec![(By::Context, Borrowed(&added.text))],
        Event::Message(MessageEvent::ShellRan(ran)) => {
            vec![(By::User, Borrowed(&ran.command)), (By::Tool, Borrowed(&ran.output))]
        }
        Event::Child(ChildEvent::Settled(settled)) => vec![(By::Tool, Borrowed(&settled.result))],
        // Names, ids and numbers: `log` lists them.
        _ => Vec::new(),
    }
}

/// What is looked for.
struct Needle {
    text: String,
    any_case: bool,
}

impl Needle {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), any_case: !text.chars().any(char::is_uppercase) }
    }

    /// Where it stands in a line, in bytes.
    fn find(&self, line: &str) -> Option<std::ops::Range<usize>> {
        if !self.any_case {
            return line.find(&self.text).map(|at| at..at + self.text.len());
        }
        let lower = line.to_lowercase();
        let at = lower.find(&self.text)?;
        // Where lower case has another length, the place in the line is not known; the line is told without it.
        let range = at..at + self.text.len();
        if lower.len() == line.len() && line.get(range.clone()).is_some() { Some(range) } else { Some(0..0) }
    }
}

/// Runs the command.
///
/// # Errors
/// When the store cannot be read or the output refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let needle = Needle::new(&args.text);
    let (reader, only) = match &args.session {
        Some(name) => cli.find(name).await.map(|(reader, session)| (reader, Some(session)))?,
        None => (cli.reader().await?, None),
    };
    let catalogue = reader.catalogue().await?;
    let mut sessions: Vec<(SessionId, CatalogueEntry)> =
        catalogue.sessions.into_iter().filter(|(id, _)| only.is_none_or(|only| only == *id)).collect();
    sessions.sort_by(|(a_id, a), (b_id, b)| b.updated.cmp(&a.updated).then(a_id.cmp(b_id)));
    let (mut found, mut places) = (0_u64, 0_u64);
    let limit = args.limit.unwrap_or(u64::MAX);
    let mut items = Vec::new();
    if cli.style.json {
        write!(out, "[")?;
    }
    'sessions: for (session, entry) in &sessions {
        // What a fork inherits is found in its parent.
        let from = entry.fork.filter(|_| only.is_none()).map_or(Seq::ZERO, |fork| fork.cut);
        let mut pages = reader.pages(*session, from, entry.next);
        let mut headed = false;
        while let Some(slice) = pages.next_slice().await? {
            for record in slice.records() {
                hits(&record, &needle, args, reader.blobs(), &mut items);
                for (by, line, range) in items.drain(..) {
                    if places == limit {
                        break 'sessions;
                    }
                    places += 1;
                    if cli.style.json {
                        let comma = if places == 1 { "\n" } else { ",\n" };
                        let item = serde_json::json!({
                            "session": session, "title": entry.title, "seq": record.seq, "at": record.at,
                            "type": record.event.kind().name(), "by": by.name(), "line": line,
                        });
                        write!(out, "{comma}{item}")?;
                        continue;
                    }
                    if !headed {
                        headed = true;
                        found += 1;
                        heading(*session, entry, found == 1, &cli.style, out)?;
                    }
                    place(&record, by, &line, range, &cli.style, out)?;
                }
            }
        }
    }
    if cli.style.json {
        writeln!(out, "{}", if places == 0 { "]" } else { "\n]" })?;
    } else {
        cli.remark(&match places {
            0 => format!("no match for {:?}", args.text),
            places => format!("{} in {}", counted(places, "match"), counted(found, "session")),
        });
    }
    Ok(Verdict::bad_if(places == 0))
}

type Hit = (By, String, std::ops::Range<usize>);

fn hits(record: &Record<'_>, needle: &Needle, args: &Args, blobs: &dyn annals_core::Blobs, items: &mut Vec<Hit>) {
    for (by, text) in texts(record.event) {
        if !args.by.is_empty() && !args.by.contains(&by) {
            continue;
        }
        let text = text.resolve(blobs);
        for line in text.lines() {
            if let Some(range) = needle.find(line) {
                items.push((by, line.to_owned(), range));
            }
        }
    }
}

fn heading(
    session: SessionId,
    entry: &CatalogueEntry,
    first: bool,
    style: &Style,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    if !first {
        writeln!(out)?;
    }
    let title = if entry.title.is_empty() { "(no title)".to_owned() } else { plain(&entry.title) };
    let id = style.paint(Emphasis::Context, &session.to_string());
    writeln!(out, "{id}  {}", style.paint(Emphasis::Strong, &title))?;
    Ok(())
}

fn place(
    record: &Record<'_>,
    by: By,
    line: &str,
    range: std::ops::Range<usize>,
    style: &Style,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let head = format!("{:>6}  {:<7}  ", record.seq, by.name());
    let room = style.width.saturating_sub(columns(&head)).max(24);
    let (before, rest) = line.split_at_checked(range.start).unwrap_or(("", line));
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
        style.paint(by.emphasis(), label),
        style.paint(Emphasis::Found, &hit),
        after.trim_end()
    )?;
    Ok(())
}
