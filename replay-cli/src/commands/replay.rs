//! `annals replay`

mod follow;
mod step;

use crate::command_context::{CommandContext, FoundSession, Target};
use crate::draw::replay as head;
use crate::draw::timeline::{Detail, draw};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::Sheet;
use crate::style::Emphasis;
use annals_core::{Seq, Time};
use annals_inspect::SessionAt;
use annals_inspect::audit::SessionAudit;
use annals_inspect::pricing::Cost;
use annals_projections::{Projection, Statistics, Timeline, TimelineEntry};
use annals_store::ReadError;
use annals_store::exchange::{Damage, VerifyReport};
use std::io::Write;
use std::time::Duration;

/// Show a session as a readable timeline (verified).
///
/// SESSION may be a file: a session of OpenCode, Codex CLI or Claude Code, or an export. Nothing is written. A session of
/// 5,000 events or more is verified after its last line is printed. Exit status 1 if the log is damaged.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Show results, reasoning, context and summaries in full.
    #[arg(long)]
    full: bool,
    /// Step through the events with the arrow keys; q quits.
    #[arg(long, conflicts_with_all = ["full", "speed"])]
    step: bool,
    /// Play it N times as fast as it happened (default 10); pauses are at most 2 seconds.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10", value_parser = speed)]
    speed: Option<f64>,
    /// Continue with new events until interrupted; on a terminal also with text that a model is still sending.
    #[arg(long, short = 'f', conflicts_with_all = ["at", "step", "speed"])]
    follow: bool,
}

impl Args {
    /// Whether it is shown as it goes.
    pub fn is_live(&self) -> bool {
        self.step || self.speed.is_some() || self.follow
    }
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed.is_finite() && speed > 0.0 => Ok(speed),
        _ => Err("expected a number above 0, such as 10".to_owned()),
    }
}

/// No pause of a played session is longer than this.
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// How many batches are read at a time: the first lines are waited for.
const SCREEN: usize = 128;

/// A session of no fewer events is shown at once, and verified while its last lines are on the screen.
const LONG: u64 = 5_000;

/// Runs the command.
///
/// # Errors
/// When there is no such session, the store refuses, or the output does. Damage is an answer, not an error.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let mut found = cli.target(&args.target).await?;
    let begin = match args.target.at {
        Some(at) if args.step => Some(at.seq(&found.reader, found.session, &cli.style).await?),
        _ => None,
    };
    if begin.is_some() {
        // One may step on from there.
        found.until = found.reader.until(found.session, None).await?;
    }
    let past = SessionAt::from(&found);
    if args.follow && cli.style.json {
        return follow::follow_as_json(&found, out).await;
    }
    if found.until.0 >= LONG && !cli.style.json {
        match past.statistics().await {
            Ok(statistics) => return shown_first(args, &found, begin, &statistics, cli, out).await,
            // What can be read is shown below.
            Err(ReadError::Damaged { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let audit = past.audit().await?;
    let verdict = Verdict::bad_if(!audit.is_clean());
    if cli.style.json {
        json::object(out, &audit.to_json(found.reader.blobs()))?;
        return Ok(verdict);
    }
    if args.step {
        step::run(&found, begin, cli).await?;
        return Ok(verdict);
    }
    let SessionAudit { statistics, report, .. } = audit;
    let mut sheet = sheet(&statistics, cli, out);
    head::head(&statistics, &mut sheet)?;
    head::verdict(&report, &mut sheet)?;
    timeline(args, &found, &statistics, &report.damage, cli, &mut sheet).await?;
    head::foot(&statistics, &report, cost(&statistics, cli), &mut sheet)?;
    Ok(verdict)
}

/// Shows a long session before it is verified; damage is listed at the end.
async fn shown_first(
    args: &Args,
    found: &FoundSession,
    begin: Option<Seq>,
    statistics: &Statistics,
    cli: &CommandContext,
    out: &mut (dyn Write + Send),
) -> Result<Verdict, CliError> {
    let clean = |report: &VerifyReport| report.is_sound() && statistics.anomaly_count() == 0;
    if args.step {
        step::run(found, begin, cli).await?;
        return Ok(Verdict::bad_if(!clean(&SessionAt::from(found).integrity().await?)));
    }
    let mut sheet = sheet(statistics, cli, out);
    head::head(statistics, &mut sheet)?;
    head::verified_last(statistics.events, &mut sheet)?;
    let readable = timeline(args, found, statistics, &[], cli, &mut sheet).await?;
    let report = SessionAt::from(found).integrity().await?;
    writeln!(sheet.out)?;
    head::verdict(&report, &mut sheet)?;
    head::foot(statistics, &report, cost(statistics, cli), &mut sheet)?;
    Ok(Verdict::bad_if(!readable || !clean(&report)))
}

fn sheet<'a>(statistics: &Statistics, cli: &'a CommandContext, out: &'a mut (dyn Write + Send)) -> Sheet<'a> {
    let names = statistics.tools.keys().map(String::as_str).chain(statistics.agents.iter().map(|agent| agent.as_str()));
    Sheet::for_names(out, &cli.style, names).priced(cli.pricing())
}

fn cost(statistics: &Statistics, cli: &CommandContext) -> Cost {
    cli.pricing().cost(statistics.usage.cost, &statistics.unpriced.tokens)
}

/// Draws the timeline, with damage at its events; returns whether all of it could be read.
async fn timeline(
    args: &Args,
    found: &FoundSession,
    statistics: &Statistics,
    damage: &[Damage],
    cli: &CommandContext,
    sheet: &mut Sheet<'_>,
) -> Result<bool, CliError> {
    let reader = &found.reader;
    let mut detail = if args.full { Detail::full() } else { Detail::default() };
    detail.directory = statistics.session.location.as_ref().map(|at| at.directory.clone()).unwrap_or_default();
    detail.undone = statistics.undone.clone();
    let (mut timeline, mut unreadable) = (Timeline::default(), None);
    let mut pace = args.speed.map(|speed| Playback { speed, last: None });
    let mut pages = reader.pages(found.session, Seq::ZERO, found.until).at_most(SCREEN);
    loop {
        let slice = match pages.next_slice().await {
            Ok(Some(slice)) => slice,
            Ok(None) => break,
            Err(error @ ReadError::Damaged { .. }) => {
                unreadable = Some(error);
                break;
            }
            Err(error) => return Err(error.into()),
        };
        for record in slice.records() {
            for anomaly in statistics.anomalies_at(record.seq) {
                timeline.anomaly(&record, &anomaly.what);
            }
            for damage in damage.iter().filter(|damage| damage.place.seq == Some(record.seq)) {
                timeline.anomaly(&record, &damage.flaw.to_string());
            }
            timeline.apply(&record);
        }
        while let Some(entry) = timeline.pop() {
            show(&entry, &mut pace, sheet, &detail, reader).await?;
        }
    }
    if args.follow && unreadable.is_none() {
        follow::follow(found, timeline, &detail, sheet, cli.watched).await?;
        return Ok(true);
    }
    for entry in timeline.finish() {
        show(&entry, &mut pace, sheet, &detail, reader).await?;
    }
    if let Some(error) = &unreadable {
        sheet.row(None, ("damaged", Emphasis::Bad), (&error.to_string(), Emphasis::Bad), ("", Emphasis::Dim))?;
    }
    Ok(unreadable.is_none())
}

async fn show(
    entry: &TimelineEntry,
    pace: &mut Option<Playback>,
    sheet: &mut Sheet<'_>,
    detail: &Detail,
    reader: &annals_inspect::reader::Reader,
) -> Result<(), CliError> {
    if let Some(pace) = pace {
        sheet.out.flush()?;
        pace.wait(entry.at).await;
    }
    draw(entry, sheet, detail, reader.blobs())?;
    Ok(())
}

/// The pace at which a session is played.
struct Playback {
    speed: f64,
    last: Option<Time>,
}

impl Playback {
    async fn wait(&mut self, at: Time) {
        let ms = at.millis().saturating_sub(self.last.unwrap_or(at).millis());
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
        let pause = Duration::try_from_secs_f64(ms as f64 / 1000.0 / self.speed).unwrap_or(PAUSE_MAX);
        tokio::time::sleep(pause.min(PAUSE_MAX)).await;
    }
}
