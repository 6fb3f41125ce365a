//! Draws what a cache could keep as a table, one request a line.

use crate::layout::{columns, pad, wrap};
use crate::style::{Emphasis, Style, counted, duration, money, size, thousands};
use annals_inspect::Lack;
use annals_inspect::cache::{Break, CacheTotals, Cached, Cause, Shared};
use std::collections::BTreeSet;
use std::io::{self, Write};

const HEADS: [&str; 7] = ["request", "event", "size", "tokens", "shared", "blocks", "cache read"];

/// So many rows decide how wide the columns are.
const MEASURED: usize = 512;

/// The table, drawn while requests are compared.
pub struct CacheTable<'a> {
    out: &'a mut (dyn Write + Send),
    style: &'a Style,
    widths: [usize; 7],
    /// The first rows, until the columns are known.
    waiting: Vec<Shared>,
    is_begun: bool,
}

/// Draws the answer.
pub fn draw(cached: &Cached, style: &Style, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let mut table = CacheTable::new(style, out);
    cached.requests.iter().try_for_each(|shared| table.row(shared.clone()))?;
    table.end(&cached.totals())
}

impl<'a> CacheTable<'a> {
    /// An empty table.
    pub fn new(style: &'a Style, out: &'a mut (dyn Write + Send)) -> Self {
        Self { out, style, widths: HEADS.map(columns), waiting: Vec::new(), is_begun: false }
    }

    /// Draws the next request.
    pub fn row(&mut self, shared: Shared) -> io::Result<()> {
        if self.is_begun {
            return self.draw(&shared);
        }
        self.waiting.push(shared);
        if self.waiting.len() < MEASURED { Ok(()) } else { self.begin() }
    }

    /// Ends the table with the sums over all requests.
    pub fn end(mut self, totals: &CacheTotals) -> io::Result<()> {
        // Of a long answer this is known only now.
        lacking(&totals.lacks, self.style, self.out)?;
        if !self.is_begun {
            self.begin()?;
        }
        let price = match totals.price {
            0 => String::new(),
            price => format!(", {} more than with an unbroken prefix", money(price)),
        };
        let emphasis = if totals.breaks == 0 && totals.damaged == 0 { Emphasis::Good } else { Emphasis::Bad };
        let damaged = match totals.damaged {
            0 => String::new(),
            damaged => format!(", {damaged} of them damaged"),
        };
        let requests = counted(totals.requests, "request");
        let total = format!("{} in {requests}{damaged}{price}", counted(totals.breaks, "break"));
        writeln!(self.out, "{}", self.style.paint(emphasis, &total))
    }

    fn begin(&mut self) -> io::Result<()> {
        self.is_begun = true;
        let waiting = std::mem::take(&mut self.waiting);
        for row in waiting.iter().map(cells) {
            for (width, cell) in self.widths.iter_mut().zip(&row) {
                *width = (*width).max(columns(cell));
            }
        }
        let heads = self.line(&HEADS.map(str::to_owned));
        writeln!(self.out, "{}", self.style.paint(Emphasis::Dim, &heads))?;
        waiting.iter().try_for_each(|shared| self.draw(shared))
    }

    fn line(&self, cells: &[String; 7]) -> String {
        // A narrow line has no sizes: tokens say as much.
        let is_narrow = self.widths.iter().sum::<usize>() + 2 * (self.widths.len() - 1) > self.style.width;
        let shown = HEADS.iter().zip(cells).zip(self.widths).filter(|((head, _), _)| !is_narrow || **head != "size");
        let cells: Vec<String> = shown.map(|((_, cell), width)| format!("{cell:>width$}")).collect();
        cells.join(if is_narrow { " " } else { "  " })
    }

    fn draw(&mut self, shared: &Shared) -> io::Result<()> {
        if shared.unrecorded > 0 {
            let answers = counted(shared.unrecorded, "answer");
            let line = format!("{:>1$}  {answers} before, no request recorded", "~", self.widths[0]);
            writeln!(self.out, "{}", self.style.paint(Emphasis::Dim, &line))?;
        }
        let line = self.line(&cells(shared));
        writeln!(self.out, "{line}")?;
        if let Some(broken) = &shared.broken {
            self.note(("break", Emphasis::Bad, Emphasis::Plain), &words(broken, shared))?;
        }
        if let Some(anomaly) = &shared.anomaly {
            self.note(("anomaly", Emphasis::Bad, Emphasis::Bad), anomaly)?;
        }
        if shared.options_differ {
            let event = shared.options_fact.map(|fact| format!(" · {} at event {}", fact.kind, fact.seq));
            let line = format!("request options changed{}", event.unwrap_or_default());
            let indent = self.widths[0] + 2;
            writeln!(self.out, "{:indent$}{}", "", self.style.paint(Emphasis::Warn, &line))?;
        }
        Ok(())
    }

    /// What is said of a row, below it: its label, how that is drawn, and how the label of further lines is.
    fn note(&mut self, (label, first, rest): (&str, Emphasis, Emphasis), text: &str) -> io::Result<()> {
        let (indent, wide) = (self.widths[0] + 2, columns(label));
        for (at, text) in wrap(text, self.style.width.saturating_sub(indent + wide + 2)).iter().enumerate() {
            let (label, emphasis) = if at == 0 { (label, first) } else { ("", rest) };
            let label = self.style.paint(emphasis, &pad(label, wide));
            writeln!(self.out, "{:indent$}{label}  {}", "", text.trim_start())?;
        }
        Ok(())
    }
}

/// Says what the log lacks.
pub(crate) fn lacking(lacks: &BTreeSet<Lack>, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for line in Lack::sentence(lacks).iter().flat_map(|sentence| wrap(&format!("missing: {sentence}"), style.width)) {
        writeln!(out, "{}", style.paint(Emphasis::Warn, &line))?;
    }
    Ok(())
}

fn cells(shared: &Shared) -> [String; 7] {
    let percent = match (shared.before, shared.whole.tokens) {
        (None, _) if shared.unrecorded > 0 => "~".to_owned(),
        (None, _) => "first".to_owned(),
        (Some(_), 0) => "-".to_owned(),
        (Some(_), whole) => {
            // What was not recorded is only known as far as something else shows it.
            let is_known = shared.step.recorded && shared.unrecorded == 0;
            let share = shared.shared.tokens.saturating_mul(100) / whole;
            format!("{}{share}%", if is_known { "" } else { "~" })
        }
    };
    let reported = match shared.usage {
        None => "-".to_owned(),
        Some(usage) => {
            format!("{} of {}", thousands(usage.cache_read), thousands(usage.input_tokens()))
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
