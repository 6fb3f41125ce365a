//! `annals replay`

mod head;
mod step;

use crate::command_context::{CommandContext, Target};
use crate::draw::timeline::{Detail, draw};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::Sheet;
use crate::style::Emphasis;
use annals_core::{Seq, Time};
use annals_inspect::SessionAt;
use annals_inspect::audit::SessionAudit;
use annals_projections::{Projection, Timeline, TimelineEntry};
use annals_store::ReadError;
use annals_store::exchange::Damage;
use std::io::Write;
use std::time::Duration;

/// Show a session as a readable timeline (verified).
///
/// SESSION may be a file: a session of OpenCode, Codex CLI or Claude Code, or an export. Nothing is written. Exit
/// status 1 if the log is damaged.
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
}

impl Args {
    /// Whether it is shown as it goes.
    pub fn is_live(&self) -> bool {
        self.step || self.speed.is_some()
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

/// Runs the command.
///
/// # Errors
/// When there is no such session, the store refuses, or the output does. Damage is an answer, not an error.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let found = cli.target(&args.target).await?;
    let (reader, session) = (&found.reader, found.session);
    let audit = SessionAt::from(&found).audit().await?;
    let verdict = Verdict::bad_if(!audit.is_clean());
    if cli.style.json {
        json::object(out, &audit.to_json(reader.blobs()))?;
        return Ok(verdict);
    }
    if args.step {
        step::run(&found, cli).await?;
        return Ok(verdict);
    }
    let SessionAudit { statistics, report, unreadable } = audit;
    let mut detail = if args.full { Detail::full() } else { Detail::default() };
    detail.directory = statistics.session.location.as_ref().map(|at| at.directory.clone()).unwrap_or_default();
    detail.undone = statistics.undone.clone();
    let names = statistics.tools.keys().map(String::as_str).chain(statistics.agents.iter().map(|agent| agent.as_str()));
    let mut sheet = Sheet::for_names(out, &cli.style, names);
    head::head(&statistics, &report, &mut sheet)?;
    let mut timeline = Timeline::default();
    let mut pace = args.speed.map(|speed| Playback { speed, last: None });
    let mut pages = reader.pages(session, Seq::ZERO, found.until);
    while let Some(slice) = match pages.next_slice().await {
        Err(ReadError::Damaged { .. }) => None,
        other => other?,
    } {
        for record in slice.records() {
            for anomaly in statistics.anomalies_at(record.seq) {
                timeline.anomaly(&record, &anomaly.what);
            }
            let here = |damage: &&Damage| damage.place.seq == Some(record.seq);
            for damage in report.damage.iter().filter(here) {
                timeline.anomaly(&record, &damage.flaw.to_string());
            }
            timeline.apply(&record);
        }
        while let Some(entry) = timeline.pop() {
            show(&entry, &mut pace, &mut sheet, &detail, reader).await?;
        }
    }
    for entry in timeline.finish() {
        show(&entry, &mut pace, &mut sheet, &detail, reader).await?;
    }
    if let Some(error) = &unreadable {
        sheet.row(None, ("damaged", Emphasis::Bad), (&error.to_string(), Emphasis::Bad), ("", Emphasis::Dim))?;
    }
    let cost = cli.pricing().cost(statistics.usage.cost, &statistics.unpriced.tokens);
    head::foot(&statistics, &report, cost, &mut sheet)?;
    Ok(verdict)
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
