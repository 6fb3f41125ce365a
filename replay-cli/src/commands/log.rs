//! `annals log`

use crate::command_context::{CommandContext, Target};
use crate::draw::events::EventLines;
use crate::error::{CliError, Verdict};
use crate::event_arg::EventArg;
use crate::json;
use annals_core::{Event, Kind, Record, Seq};
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
    let mut lines = EventLines { style: &cli.style, directory: reader.directory(session).await?, reader };
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
