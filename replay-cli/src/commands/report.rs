//! `annals report`

mod compared_page;
mod exports;
mod markdown;
mod page;
mod secrets;

use crate::command_context::CommandContext;
use crate::error::{CliError, ReportError, Verdict};
use crate::event_arg::EventArg;
use crate::matching;
use crate::style::size;
use annals_core::{Seq, SessionId};
use annals_guard::redaction::Redactor;
use annals_inspect::SessionAt;
use annals_inspect::reader::Reader;
use annals_inspect::report::{REQUESTS, ReportData};
use annals_store::exchange::WithholdRule;
use exports::{Exporter, ProvedExport};
use markdown::Summary;
use page::ReportPage;
use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

pub use compared_page::compare_page;

/// How many sub-agents are in a report at most.
const SUBAGENTS: usize = 50;

/// Write a session as one HTML file that shows and proves it.
///
/// The file opens in a browser without a network and shows what `annals serve` shows. It contains the export of the
/// session and of the sub-agents that it started: `annals verify FILE.html` checks it, and wherever a command takes a session, it takes
/// FILE.html.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: its id, the start or end of the id, words of its title, or @last; or a FILE with one.
    #[arg(value_name = "SESSION", default_value = "@last")]
    session: String,
    /// The file to write (default: stdout). An existing file is replaced.
    #[arg(long, short = 'o', value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show events A to B only; `A..` and `..B` have one end. The export in the file is whole: add --only seq:A-B to withhold
    /// the other texts.
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    at: Option<ReportRange>,
    /// Withhold the texts of every event in which a key or another secret is found.
    #[arg(long, conflicts_with = "only")]
    redact: bool,
    /// Withhold texts: tool:NAME (its calls), path:GLOB, text:REGEX, seq:N, seq:N-M or kind:KIND; may be repeated.
    ///
    /// They are neither shown nor in the export; a commitment replaces each, so that the rest is still proved.
    #[arg(long, value_name = "RULE")]
    withhold: Vec<WithholdRule>,
    /// Withhold all texts except these; may be repeated.
    #[arg(long, value_name = "RULE", conflicts_with = "withhold")]
    only: Vec<WithholdRule>,
    /// Leave out the sessions of sub-agents; so does --only.
    #[arg(long)]
    alone: bool,
    /// Write a summary in Markdown instead, for an issue or a pull request.
    #[arg(long)]
    markdown: bool,
}

impl Args {
    /// Whether the answer is a page, byte for byte.
    pub fn gives_bytes(&self) -> bool {
        !self.markdown
    }
}

/// Two events, the first and the last that is shown.
#[derive(Clone, Copy, Debug)]
pub struct ReportRange {
    from: Option<EventArg>,
    last: Option<EventArg>,
}

impl FromStr for ReportRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected two events, such as 12..40, turn:3.. or ..-1".to_owned();
        let (from, last) = text.split_once("..").ok_or_else(expected)?;
        let end = |text: &str| match text {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| expected()),
        };
        Ok(Self { from: end(from)?, last: end(last)? })
    }
}

/// Runs the command.
///
/// # Errors
/// When there is no such session or event, a rule matches no text, the session is damaged, or the file cannot be written.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if !args.markdown && args.output.is_none() && cli.watched {
        return Err(ReportError::Terminal.into());
    }
    let (reader, session) = cli.find_to_export(&args.session).await?;
    let redactor = args.redact.then(|| redactor(cli)).transpose()?;
    let mut exporter = Exporter::new(args, &reader, redactor);
    let mut export = exporter.session(session, cli).await?;
    let proved = ProvedExport::read_back(&export, &args.session).await?;
    if let Some(redactor) = &exporter.redactor {
        let left = secrets::left(redactor, &proved.reader, session).await?;
        let left: Vec<String> = left.iter().map(ToString::to_string).collect();
        if !left.is_empty() {
            cli.remark(&format!(
                "a secret is left in a name or path, which cannot be withheld: event {}",
                left.join(", ")
            ));
        }
    }
    let (from, until) = range(args, &proved.reader, session, cli).await?;
    let past = proved.reader.session_at(session, until);
    let mut data = past.report(from, proved.verified.clone()).await?;
    if !args.alone && !args.markdown && args.only.is_empty() {
        data.subagents = subagents(&mut exporter, &data, &mut export, cli).await?;
    }
    exporter.end(session, cli)?;
    let written = match args.markdown {
        true => summary(&past, &data, cli).await?.into_bytes(),
        false => ReportPage { export: &export, data: &data }.to_html()?,
    };
    match &args.output {
        Some(path) => {
            write_whole(path, &written).map_err(|source| CliError::File { path: path.clone(), source })?;
            cli.remark(&format!("wrote {} to {}", size(written.len() as u64), path.display()));
        }
        None => out.write_all(&written)?,
    }
    remarks(args, &data, cli);
    matching::remark_left(&exporter.left, cli);
    Ok(Verdict::bad_if(!exporter.left.is_empty()))
}

/// The sub-agents of a session and theirs: what a report shows of them, with their exports added to `bytes`.
async fn subagents(
    exporter: &mut Exporter<'_>,
    session: &ReportData,
    bytes: &mut Vec<u8>,
    cli: &CommandContext,
) -> Result<Vec<ReportData>, CliError> {
    let mut waiting: VecDeque<SessionId> = session.session.children.iter().copied().collect();
    let (mut found, mut left_out, mut secret) = (Vec::new(), 0_u64, Vec::new());
    while let Some(child) = waiting.pop_front() {
        // One that is not in this store cannot be shown.
        if exporter.reader.head(child).await.is_err() {
            continue;
        }
        if found.len() >= SUBAGENTS {
            left_out += 1;
            continue;
        }
        let export = exporter.subagent(child).await?;
        let proved = ProvedExport::read_back(&export, &exporter.args.session).await?;
        if let Some(redactor) = &exporter.redactor {
            secret.extend((!secrets::left(redactor, &proved.reader, child).await?.is_empty()).then_some(child));
        }
        let until = proved.reader.until(child, None).await?;
        let data = proved.reader.session_at(child, until).report(Seq::ZERO, proved.verified).await?;
        waiting.extend(data.session.children.iter().copied());
        found.push(data);
        bytes.extend_from_slice(&export);
    }
    if left_out > 0 {
        cli.remark(&format!("{SUBAGENTS} sub-agents are in the report, {left_out} are not"));
    }
    for child in secret {
        cli.remark(&format!("a secret is left in a name or path of the sub-agent {child}, which cannot be withheld"));
    }
    Ok(found)
}

/// What knows secrets here: formats, and the values of variables.
fn redactor(cli: &CommandContext) -> Result<Arc<Redactor>, CliError> {
    let config = cli.environment.config(&cli.environment.directory)?;
    Ok(config.redactor().unwrap_or_default())
}

/// The first event that is shown, and the first after it that is not.
async fn range(args: &Args, reader: &Reader, session: SessionId, cli: &CommandContext) -> Result<(Seq, Seq), CliError> {
    let range = args.at.unwrap_or(ReportRange { from: None, last: None });
    let from = match range.from {
        Some(from) => from.seq(reader, session, &cli.style).await?,
        None => Seq::ZERO,
    };
    let last = match range.last {
        Some(last) => Some(last.seq(reader, session, &cli.style).await?),
        None => None,
    };
    let until = reader.until(session, last).await?;
    match last {
        _ if from < until => Ok((from, until)),
        last => Err(ReportError::Backwards { from, until: last.unwrap_or(Seq(until.0.saturating_sub(1))) }.into()),
    }
}

async fn summary(past: &SessionAt, data: &ReportData, cli: &CommandContext) -> Result<String, CliError> {
    let statistics = past.statistics().await?;
    let cost = cli.pricing().cost(statistics.usage.cost, &statistics.unpriced.tokens);
    Ok(Summary { data, statistics: &statistics, cost, style: &cli.style }.to_markdown())
}

/// What a reader of the report should know.
fn remarks(args: &Args, data: &ReportData, cli: &CommandContext) {
    if args.markdown {
        return;
    }
    if args.at.is_some() && args.only.is_empty() {
        cli.remark("the export in the file is whole; --only seq:A-B withholds the texts of other events");
    }
    if data.left_out() > 0 {
        cli.remark(&format!("{REQUESTS} requests are shown whole, {} are not", data.left_out()));
    }
}

/// Writes a file for the user alone; a reader sees all of it or what was there before.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
