//! `annals log`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use crate::layout::{columns, wrap};
use crate::style::{Emphasis, Style};
use annals_core::{Event, Kind, Record, Seq};
use annals_inspect::reader::Reader;
use annals_inspect::timeline::brief;
use annals_projections::ToJson;
use annals_store::{Followed, Scope};
use futures_util::StreamExt;
use std::io::Write;

/// List the events of a session, oldest first.
///
/// Events that were written together are joined by a line on the left. `annals show EVENT` shows one in full.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Start at EVENT.
    #[arg(long, value_name = "EVENT", allow_negative_numbers = true)]
    from: Option<EventArg>,
    /// Show the last COUNT events only.
    #[arg(long, short = 'n', value_name = "COUNT")]
    last: Option<u64>,
    /// Only events of KIND (`tool.called`), or of a group (`tool`); may be repeated.
    #[arg(long = "kind", short = 'k', value_name = "KIND", value_parser = kind)]
    kinds: Vec<String>,
    /// Continue with new events until interrupted.
    #[arg(long, short = 'f', conflicts_with = "at")]
    follow: bool,
}

fn kind(text: &str) -> Result<String, String> {
    let under =
        |kind: &&Kind| kind.name() == text || kind.family() == text || kind.name().split('.').next() == Some(text);
    if Kind::ALL.iter().any(|kind| under(&kind)) {
        return Ok(text.to_owned());
    }
    let mut near: Vec<(f64, &str)> =
        Kind::ALL.iter().map(|kind| (strsim::jaro_winkler(text, kind.name()), kind.name())).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near = near.first().map(|(_, name)| format!("; did you mean {name}?")).unwrap_or_default();
    Err(format!("no kind of event has this name{near}"))
}

impl Args {
    /// Whether it is shown as it goes.
    pub fn is_live(&self) -> bool {
        self.follow
    }

    fn takes(&self, event: &Event) -> bool {
        let (name, family) = (event.kind().name(), event.kind().family());
        let group = name.split('.').next();
        self.kinds.is_empty()
            || self.kinds.iter().any(|kind| kind == name || kind == family || group == Some(kind.as_str()))
    }
}

pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let found = cli.target(&args.target).await?;
    let (reader, session) = (&found.reader, found.session);
    let mut from = match args.from {
        Some(from) => from.seq(reader, session, &cli.style).await?,
        None => Seq::ZERO,
    };
    if let Some(last) = args.last.filter(|_| args.kinds.is_empty()) {
        from = from.max(Seq(found.until.0.saturating_sub(last)));
    }
    let mut lines = EventLines { style: &cli.style, directory: directory(reader, session).await?, reader };
    if cli.style.json && !args.follow {
        let mut list = json::List::begin(out)?;
        let mut pages = reader.pages(session, from, found.until);
        while let Some(slice) = pages.next_slice().await? {
            for record in slice.records().filter(|record| args.takes(record.event)) {
                list.item(&record.to_json(reader.blobs()))?;
            }
        }
        list.end()?;
        return Ok(Verdict::Fine);
    }
    if let Some(last) = args.last.filter(|_| !args.kinds.is_empty()) {
        let takes = |record: &Record<'_>| args.takes(record.event);
        from = from.max(reader.newest_from(session, found.until, last, takes).await?);
    }
    let mut pages = reader.pages(session, from, found.until);
    while let Some(slice) = pages.next_slice().await? {
        let records: Vec<Record<'_>> = slice.records().filter(|record| args.takes(record.event)).collect();
        lines.batch(&records, out)?;
    }
    if args.follow {
        out.flush()?;
        let mut follow = reader.log().follow(Scope::Session { session, from: found.until });
        while let Some(item) = follow.next().await {
            let Followed::Batch { slice, .. } = item? else { continue };
            let records: Vec<Record<'_>> = slice.records().filter(|record| args.takes(record.event)).collect();
            if cli.style.json {
                for record in &records {
                    serde_json::to_writer(&mut *out, &record.to_json(reader.blobs())).map_err(std::io::Error::from)?;
                    writeln!(out)?;
                }
            } else {
                lines.batch(&records, out)?;
            }
            out.flush()?;
        }
    }
    Ok(Verdict::Fine)
}

/// The directory that a session was created in: paths below it are shown from there.
pub async fn directory(reader: &Reader, session: annals_core::SessionId) -> Result<String, CliError> {
    let created = reader.created(session).await?;
    Ok(created.map(|created| created.location.directory).unwrap_or_default())
}

/// Draws events, one a line.
pub struct EventLines<'a> {
    /// How they look.
    pub style: &'a Style,
    /// Paths below it are shown from there.
    pub directory: String,
    /// Where texts are read.
    pub reader: &'a Reader,
}

impl EventLines<'_> {
    /// Draws events that were written together.
    ///
    /// # Errors
    /// When the output fails.
    pub fn batch(&mut self, records: &[Record<'_>], out: &mut dyn Write) -> Result<(), CliError> {
        for (at, record) in records.iter().enumerate() {
            let joint = match (at, records.len()) {
                (_, 1) => ' ',
                (0, _) => '┌',
                (at, count) if at + 1 == count => '└',
                _ => '│',
            };
            self.line(record, joint, at == 0, out)?;
        }
        Ok(())
    }

    fn line(&self, record: &Record<'_>, joint: char, first: bool, out: &mut dyn Write) -> Result<(), CliError> {
        let style = self.style;
        let time = if first { style.clock(record.at) } else { " ".repeat(8) };
        let name = record.event.kind().name();
        let head = format!("{:>6} {joint} {time}  {name:<18} ", record.seq);
        let told = brief(record.event, &self.directory, self.reader.blobs());
        if style.width < NARROW {
            return self.narrow_line(record, &head, &told, out);
        }
        let room = style.width.saturating_sub(columns(&head));
        let mut lines = wrap(&told, room).into_iter();
        let told = lines.next().unwrap_or_default();
        writeln!(out, "{}", format!("{}{told}", self.painted(record, &head)).trim_end())?;
        for line in lines {
            writeln!(out, "{:width$}{line}", "", width = columns(&head))?;
        }
        Ok(())
    }

    fn painted(&self, record: &Record<'_>, head: &str) -> String {
        let kind = record.event.kind();
        let (before, kind_name) = head.split_at(head.len() - kind.name().len().max(18) - 1);
        format!("{}{}", self.style.paint(Emphasis::Dim, before), self.style.paint(emphasis(kind), kind_name))
    }

    fn narrow_line(&self, record: &Record<'_>, head: &str, told: &str, out: &mut dyn Write) -> Result<(), CliError> {
        const INDENT: usize = 19;
        writeln!(out, "{}", self.painted(record, head).trim_end())?;
        for line in wrap(told, self.style.width.saturating_sub(INDENT)).iter().filter(|line| !line.is_empty()) {
            writeln!(out, "{:INDENT$}{line}", "")?;
        }
        Ok(())
    }
}

/// Below this width what an event contains is shown below its kind.
const NARROW: usize = 72;

/// How the name of a kind is painted.
pub(super) fn emphasis(kind: Kind) -> Emphasis {
    match kind.name().split('.').next().unwrap_or_default() {
        "input" => Emphasis::User,
        "step" | "text" | "reasoning" => Emphasis::Model,
        "tool" | "permission" | "shell" => Emphasis::Tool,
        "epoch" | "context" | "snapshot" | "instruction" | "compaction" | "tool_outputs" => Emphasis::Context,
        "retry" | "revert" | "redaction" => Emphasis::Warn,
        _ => Emphasis::Plain,
    }
}
