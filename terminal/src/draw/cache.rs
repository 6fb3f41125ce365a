//! Draws what a cache could keep as a table, one request a line.

use crate::layout::{columns, pad, wrap};
use crate::style::{Emphasis, Style, counted, duration, money, size, thousands};
use annals_inspect::Lack;
use annals_inspect::cache::{Break, Cached, Cause, Shared};
use std::collections::BTreeSet;
use std::io::{self, Write};

const HEADS: [&str; 7] = ["request", "event", "size", "tokens", "shared", "blocks", "cache read"];

/// Draws the answer.
pub fn draw(cached: &Cached, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    lacking(&cached.lacks, style, out)?;
    let rows: Vec<[String; 7]> = cached.requests.iter().map(cells).collect();
    let mut widths = HEADS.map(columns);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns(cell));
        }
    }
    // A narrow line has no sizes: tokens say as much.
    let is_narrow = widths.iter().sum::<usize>() + 2 * (widths.len() - 1) > style.width;
    let line = |cells: &[String; 7]| {
        let shown = HEADS.iter().zip(cells).zip(widths).filter(|((head, _), _)| !is_narrow || **head != "size");
        let cells: Vec<String> = shown.map(|((_, cell), width)| format!("{cell:>width$}")).collect();
        cells.join(if is_narrow { " " } else { "  " })
    };
    writeln!(out, "{}", style.paint(Emphasis::Dim, &line(&HEADS.map(str::to_owned))))?;
    for (shared, row) in cached.requests.iter().zip(&rows) {
        writeln!(out, "{}", line(row))?;
        if let Some(broken) = &shared.broken {
            let indent = widths[0] + 2;
            for (at, text) in wrap(&words(broken, shared), style.width.saturating_sub(indent + 7)).iter().enumerate() {
                let label = if at == 0 { "break" } else { "" };
                let emphasis = if at == 0 { Emphasis::Bad } else { Emphasis::Plain };
                writeln!(out, "{:indent$}{}  {}", "", style.paint(emphasis, &pad(label, 5)), text.trim_start())?;
            }
        }
        if let Some(anomaly) = &shared.anomaly {
            let indent = widths[0] + 2;
            for (at, text) in wrap(anomaly, style.width.saturating_sub(indent + 9)).iter().enumerate() {
                let label = if at == 0 { "anomaly" } else { "" };
                writeln!(out, "{:indent$}{}  {}", "", style.paint(Emphasis::Bad, &pad(label, 7)), text.trim_start())?;
            }
        }
        if shared.options_differ {
            let indent = widths[0] + 2;
            let event = shared.options_fact.map(|fact| format!(" · {} at event {}", fact.kind, fact.seq));
            let line = format!("request options changed{}", event.unwrap_or_default());
            writeln!(out, "{:indent$}{}", "", style.paint(Emphasis::Warn, &line))?;
        }
    }
    let price = match cached.price {
        0 => String::new(),
        price => format!(", {} more than with an unbroken prefix", money(price)),
    };
    let emphasis = if cached.breaks == 0 && cached.damaged == 0 { Emphasis::Good } else { Emphasis::Bad };
    let damaged = match cached.damaged {
        0 => String::new(),
        damaged => format!(", {damaged} of them damaged"),
    };
    let requests = counted(rows.len() as u64, "request");
    let total = format!("{} in {requests}{damaged}{price}", counted(cached.breaks, "break"));
    writeln!(out, "{}", style.paint(emphasis, &total))?;
    Ok(())
}

/// Says what the log lacks.
pub(crate) fn lacking(lacks: &BTreeSet<Lack>, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for line in Lack::told(lacks).iter().flat_map(|told| wrap(&format!("missing: {told}"), style.width)) {
        writeln!(out, "{}", style.paint(Emphasis::Warn, &line))?;
    }
    Ok(())
}

fn cells(shared: &Shared) -> [String; 7] {
    let percent = match (shared.before, shared.whole.tokens) {
        (None, _) => "first".to_owned(),
        (Some(_), 0) => "-".to_owned(),
        (Some(_), whole) => format!("{}%", shared.shared.tokens.saturating_mul(100) / whole),
    };
    let reported = match shared.usage {
        None => "-".to_owned(),
        Some(usage) => {
            let all = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
            format!("{} of {}", thousands(usage.cache_read), thousands(all))
        }
    };
    if shared.anomaly.is_some() {
        let none = || "-".to_owned();
        let (number, seq) = (shared.step.number.to_string(), shared.step.seq.to_string());
        return [number, seq, none(), none(), none(), none(), reported];
    }
    [
        shared.step.number.to_string(),
        shared.step.seq.to_string(),
        size(shared.whole.bytes),
        format!("{} of {}", thousands(shared.shared.tokens), thousands(shared.whole.tokens)),
        percent,
        format!("{} of {}", thousands(shared.shared.blocks), thousands(shared.whole.blocks)),
        reported,
    ]
}

fn words(broken: &Break, shared: &Shared) -> String {
    let mut words = vec![match broken.cause {
        Cause::ModelSwitch => format!("{}, {}", broken.cause.words(), shared.step.model),
        _ => broken.cause.words(),
    }];
    words.extend(broken.fact.map(|fact| format!("{} at event {}", fact.kind, fact.seq)));
    if !broken.part.is_empty() {
        words.push(format!("at {}, after {}", broken.part, size(shared.shared.bytes)));
    }
    if broken.part.is_empty() {
        words.extend(shared.gap_ms.map(|gap| format!("{} since the request before", duration(gap))));
    }
    words.push(format!("{} sent again", counted(broken.tokens, "token")));
    words.push(broken.price.map_or("price unknown".to_owned(), |price| format!("{} more", money(price))));
    words.join(" · ")
}
