//! `annals usage`

use crate::desk::{Desk, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{columns, pad};
use crate::look::{Look, Tone, counted, money, thousands};
use annals_core::event::Purpose;
use annals_core::{Event, ModelName, Record};
use annals_projections::{Projection, ToJson, UsageTotals};
use std::collections::BTreeMap;
use std::io::Write;

/// Shows what a Session used and what it cost, in all and by model.
///
/// Every attempt that reported usage counts, failed and undone ones included.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

#[derive(Default)]
struct ByModel {
    all: UsageTotals,
    models: BTreeMap<ModelName, UsageTotals>,
    model: ModelName,
    summary: Option<ModelName>,
    title: Option<ModelName>,
}

impl ByModel {
    fn apply(&mut self, record: &Record<'_>) {
        self.all.apply(record);
        match record.event {
            Event::SessionForked(_) => self.models.clear(),
            Event::StepStarted(started) => self.model = started.model.clone(),
            Event::RequestSent(sent) if sent.purpose == Purpose::Title => self.title = Some(sent.model.clone()),
            Event::RequestSent(sent) => self.model = sent.model.clone(),
            Event::CompactionStarted(started) => self.summary = started.model.clone(),
            _ => {}
        }
        let of_purpose = match record.event {
            Event::CompactionEnded(_) | Event::CompactionFailed(_) => self.summary.as_ref(),
            Event::SessionTitled(_) | Event::TitleFailed(_) => self.title.as_ref(),
            _ => None,
        };
        let model = of_purpose.unwrap_or(&self.model);
        let totals = self.models.entry(model.clone()).or_default();
        totals.apply(record);
    }
}

/// Runs the command.
///
/// # Errors
/// When the Session cannot be read or the output refuses.
pub async fn run(args: &Args, desk: &Desk, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let found = desk.target(&args.target).await?;
    let mut usage = ByModel::default();
    found.reader.each(found.session, annals_core::Seq::ZERO, found.until, |record| usage.apply(record)).await?;
    usage.models.retain(|_, totals| totals.attempts > 0 || totals.cost > 0);
    if desk.look.json {
        json::object(out, &usage.all.to_json(found.reader.blobs()))?;
        return Ok(Verdict::Fine);
    }
    table(&usage, &desk.look, out)?;
    if usage.all.attempts == 0 {
        desk.remark("no attempt of this Session reported usage");
    }
    Ok(Verdict::Fine)
}

const HEADS: [&str; 7] = ["answers", "input", "from cache", "to cache", "output", "reasoning", "cost"];

fn cells(totals: &UsageTotals) -> [String; 7] {
    let tokens = &totals.tokens;
    [
        thousands(totals.attempts),
        thousands(tokens.input),
        thousands(tokens.cache_read),
        thousands(tokens.cache_write),
        thousands(tokens.output),
        thousands(tokens.reasoning),
        money(totals.cost),
    ]
}

fn table(usage: &ByModel, look: &Look, out: &mut dyn Write) -> Result<(), CliError> {
    let mut rows: Vec<(String, [String; 7], Tone)> = Vec::new();
    if usage.models.len() > 1 {
        rows.extend(usage.models.iter().map(|(model, totals)| (model.to_string(), cells(totals), Tone::Plain)));
    }
    let all = match usage.models.keys().next() {
        Some(model) if usage.models.len() == 1 => model.to_string(),
        _ => counted(usage.models.len() as u64, "model"),
    };
    rows.push((all, cells(&usage.all), Tone::Strong));
    let first = rows.iter().map(|(name, ..)| columns(name)).max().unwrap_or_default();
    let mut widths = HEADS.map(columns);
    for (_, cells, _) in &rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(columns(cell));
        }
    }
    // A column in which nobody reported anything is left out.
    let all = cells(&usage.all);
    let shown: Vec<usize> = (0..HEADS.len()).filter(|at| !matches!(all[*at].as_str(), "0" | "$0") || *at < 2).collect();
    let line = |name: &str, cells: &[String; 7]| {
        let cells = shown.iter().map(|at| format!("  {:>width$}", cells[*at], width = widths[*at]));
        format!("{}{}", pad(name, first), cells.collect::<String>())
    };
    writeln!(out, "{}", look.paint(Tone::Dim, &line("", &HEADS.map(str::to_owned))))?;
    for (name, cells, tone) in &rows {
        writeln!(out, "{}", look.paint(*tone, &line(name, cells)))?;
    }
    Ok(())
}
