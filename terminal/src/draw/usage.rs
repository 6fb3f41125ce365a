//! What one session used, by model, and what was allowed in it.

use crate::layout::{columns, name, pad, wrap};
use crate::style::{Emphasis, Style, counted, thousands};
use annals_core::ModelName;
use annals_inspect::pricing::{Cost, Pricing};
use annals_inspect::safety::SafetySummary;
use annals_projections::{UsageByModel, UsageTotals};
use std::io::{self, Write};

/// Prints what was allowed, in one or two lines. Nothing without calls and secrets.
pub fn counts(safety: &SafetySummary, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let parts = [
        (safety.calls, "tool call", ""),
        (safety.asked, "", " decided by the user"),
        (safety.refused, "", " refused"),
        (safety.confined, "", " in the sandbox"),
        (safety.unconfined, "", " outside of it"),
        (safety.sandbox_refusals, "", " refused something by it"),
        (safety.outside_project, "", " with paths outside of the project"),
        (safety.hosts, "host", " named"),
        (safety.redactions, "secret", " replaced"),
    ];
    let shown: Vec<String> = parts
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, noun, rest)| match noun.is_empty() {
            true => format!("{}{rest}", thousands(*count)),
            false => format!("{}{rest}", counted(*count, noun)),
        })
        .collect();
    if !shown.is_empty() {
        for line in wrap(&shown.join(" · "), style.width) {
            writeln!(out, "{}", style.paint(Emphasis::Dim, &line))?;
        }
    }
    Ok(())
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

/// Draws the usage by model.
pub fn table(usage: &UsageByModel, pricing: &Pricing, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut rows: Vec<(String, [String; 7], Emphasis)> = Vec::new();
    let used: Vec<(&ModelName, &UsageTotals)> = usage.used().collect();
    if used.len() > 1 {
        let of = |(model, totals): &(&ModelName, &UsageTotals)| {
            (name(model.as_str()), cells(totals, pricing.of_model(usage, model)), Emphasis::Plain)
        };
        rows.extend(used.iter().map(of));
    }
    let all = match used.as_slice() {
        [(model, _)] => name(model.as_str()),
        several => counted(several.len() as u64, "model"),
    };
    let total = cells(&usage.total, pricing.total(usage));
    rows.push((all, total.clone(), Emphasis::Strong));
    let first = rows.iter().map(|(name, ..)| columns(name)).max().unwrap_or_default();
    let mut widths = HEADS.map(columns);
    for (_, cells, _) in &rows {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(columns(cell));
        }
    }
    // A column without reported values is left out.
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
