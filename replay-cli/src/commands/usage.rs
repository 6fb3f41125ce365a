//! `annals usage`

use crate::command_context::{CommandContext, Target};
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{columns, name, pad};
use crate::pricing::{Cost, Pricing};
use crate::style::{Emphasis, Style, counted, thousands};
use annals_core::event::SessionEvent;
use annals_core::{Event, ModelName, Record};
use annals_projections::{Projection, ToJson, Unpriced, UsageTotals};
use std::collections::BTreeMap;
use std::io::Write;

/// Show tokens and cost of a session, by model.
///
/// Failed and undone attempts count too. A cost that was not recorded is estimated from the prices of `annals models`
/// and marked `~`; `-` means that no price is known. With --json, `cost` is the recorded cost, and `unpriced` counts
/// the attempts without one.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
}

#[derive(Default)]
struct ByModel {
    all: UsageTotals,
    models: BTreeMap<ModelName, UsageTotals>,
    unpriced: Unpriced,
}

impl ByModel {
    fn apply(&mut self, record: &Record<'_>) {
        self.all.apply(record);
        if let Event::Session(SessionEvent::Forked(_)) = record.event {
            self.models.clear();
        }
        self.unpriced.apply(record);
        if let Some(model) = self.unpriced.asked(record.event) {
            self.models.entry(model.clone()).or_default().apply(record);
        }
    }

    /// What one model cost.
    fn cost(&self, model: &ModelName, pricing: &Pricing) -> Cost {
        let tokens = self.unpriced.tokens.get(model).map(|usage| (model.clone(), *usage));
        let unpriced = tokens.into_iter().collect();
        pricing.cost(self.models.get(model).map_or(0, |totals| totals.cost), &unpriced)
    }
}

/// Runs the command.
///
/// # Errors
/// When the Session cannot be read or the output refuses.
pub async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let found = cli.target(&args.target).await?;
    let mut usage = ByModel::default();
    found.reader.each(found.session, annals_core::Seq::ZERO, found.until, |record| usage.apply(record)).await?;
    usage.models.retain(|_, totals| totals.attempts > 0 || totals.cost > 0);
    if cli.style.json {
        json::object(out, &usage.all.to_json(found.reader.blobs()))?;
        return Ok(Verdict::Fine);
    }
    if usage.all.attempts == 0 && usage.all.cost == 0 {
        cli.remark("no usage recorded");
        return Ok(Verdict::Fine);
    }
    let pricing = Pricing::of(cli);
    table(&usage, &pricing, &cli.style, out)?;
    let costs = usage.models.keys().map(|model| usage.cost(model, &pricing));
    if let Some(remark) = Cost::remark(costs.chain([pricing.cost(usage.all.cost, &usage.unpriced.tokens)])) {
        cli.remark(remark);
    }
    Ok(Verdict::Fine)
}

const HEADS: [&str; 7] = ["answers", "input", "from cache", "to cache", "output", "reasoning", "cost"];

fn cells(totals: &UsageTotals, cost: Cost) -> [String; 7] {
    let tokens = &totals.tokens;
    [
        thousands(totals.attempts),
        thousands(tokens.input),
        thousands(tokens.cache_read),
        thousands(tokens.cache_write),
        thousands(tokens.output),
        thousands(tokens.reasoning),
        cost.shown(),
    ]
}

fn table(usage: &ByModel, pricing: &Pricing, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let mut rows: Vec<(String, [String; 7], Emphasis)> = Vec::new();
    if usage.models.len() > 1 {
        let of = |(model, totals): (&ModelName, &UsageTotals)| {
            (name(model.as_str()), cells(totals, usage.cost(model, pricing)), Emphasis::Plain)
        };
        rows.extend(usage.models.iter().map(of));
    }
    let all = match usage.models.keys().next() {
        Some(model) if usage.models.len() == 1 => name(model.as_str()),
        _ => counted(usage.models.len() as u64, "model"),
    };
    let total = cells(&usage.all, pricing.cost(usage.all.cost, &usage.unpriced.tokens));
    rows.push((all, total.clone(), Emphasis::Strong));
    let first = rows.iter().map(|(name, ..)| columns(name)).max().unwrap_or_default();
    let mut widths = HEADS.map(columns);
    for (_, cells, _) in &rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(columns(cell));
        }
    }
    // A column in which nobody reported anything is left out.
    let shown: Vec<usize> =
        (0..HEADS.len()).filter(|at| !matches!(total[*at].as_str(), "0" | "$0") || *at < 2).collect();
    let line = |name: &str, cells: &[String; 7]| {
        let cells = shown.iter().map(|at| format!("  {:>width$}", cells[*at], width = widths[*at]));
        format!("{}{}", pad(name, first), cells.collect::<String>())
    };
    writeln!(out, "{}", style.paint(Emphasis::Dim, &line("", &HEADS.map(str::to_owned))))?;
    for (name, cells, emphasis) in &rows {
        writeln!(out, "{}", style.paint(*emphasis, &line(name, cells)))?;
    }
    Ok(())
}
