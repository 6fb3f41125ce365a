//! Draws provenance on the sheet of timelines.

use crate::error::CliError;
use crate::layout::{Sheet, plain};
use crate::look::{Tone, counted};
use annals_inspect::why::Sort;
use annals_inspect::why::{Actor, Origin, Why};
use annals_inspect::{Lack, Step};

/// How many lines of a span are shown when it is not shown whole.
const BRIEF: usize = 3;

/// Draws the answer; with `full`, every text whole.
///
/// # Errors
/// When the output refuses.
pub fn draw(why: &Why, full: bool, sheet: &mut Sheet<'_>) -> Result<(), CliError> {
    let look = sheet.look;
    let right = format!("event {} · {}", why.step.seq, look.clock(why.step.at));
    sheet.rule(&heading(&why.step, Some(why.steps)), &right, Tone::Strong)?;
    if let Some(told) = Lack::told(&why.lacks) {
        sheet.row(None, ("missing", Tone::Warn), (&told, Tone::Plain), ("", Tone::Dim))?;
    }
    let mut part = "";
    for origin in why.spans.iter().filter(|origin| origin.span.sort != Sort::Blank || why.text.is_some()) {
        if origin.span.part != part {
            part = &origin.span.part;
            writeln!(sheet.out, "{}", look.paint(Tone::Dim, part))?;
        }
        row(origin, sheet)?;
        let text = plain(&origin.span.text);
        match &why.text {
            _ if full => sheet.quote(&text, Tone::Plain)?,
            None => sheet.quote_brief(&text, Tone::Plain, BRIEF)?,
            Some(wanted) => found(&text, wanted, sheet)?,
        }
    }
    Ok(())
}

/// What a request is, in words.
pub(crate) fn heading(step: &Step, of: Option<u64>) -> String {
    let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
    let attempt = if step.attempt > 1 { format!(", attempt {}", step.attempt) } else { String::new() };
    let rebuilt = if step.recorded { "" } else { " · rebuilt, not recorded" };
    format!("request {}{of} · {}{attempt} · {} on {}{rebuilt}", step.number, step.purpose, step.agent, step.model)
}

fn row(origin: &Origin, sheet: &mut Sheet<'_>) -> Result<(), CliError> {
    let span = &origin.span;
    let (label, tone) = label(span.sort);
    let mut line = Vec::new();
    if !span.sources.is_empty() {
        line.push(span.sources.join(", "));
    }
    line.push(by(&span.actor));
    if let Some(fact) = &origin.fact {
        line.push(fact.kind.to_owned());
    }
    line.extend(span.admitted.map(|seq| format!("admitted at {seq}")));
    line.extend(span.settled.map(|seq| format!("output given at {seq}")));
    line.push(if origin.turn == 0 { "before turn 1".to_owned() } else { format!("turn {}", origin.turn) });
    line.push(format!("since request {}", origin.since));
    line.extend(origin.fact.and_then(|fact| fact.inherited).map(|session| format!("inherited from {session}")));
    let time = origin.fact.map(|fact| sheet.look.clock(fact.at)).unwrap_or_default();
    let seq = origin.fact.map(|fact| fact.seq);
    sheet.row(seq, (label, tone), (&line.join(" · "), Tone::Dim), (&time, Tone::Dim))?;
    Ok(())
}

/// The lines that hold the text.
fn found(text: &str, wanted: &str, sheet: &mut Sheet<'_>) -> Result<(), CliError> {
    let wanted = plain(wanted);
    if wanted.contains('\n') {
        sheet.quote_brief(&wanted, Tone::Found, BRIEF)?;
        return Ok(());
    }
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(&wanted)).collect();
    for line in lines.iter().take(BRIEF) {
        sheet.quote(line.trim(), Tone::Plain)?;
    }
    if lines.len() > BRIEF {
        let more = format!("… {} with it", counted((lines.len() - BRIEF) as u64, "more line"));
        sheet.quote(&more, Tone::Dim)?;
    }
    Ok(())
}

/// Who acted, in words.
pub(crate) fn by(actor: &Actor) -> String {
    match actor {
        Actor::User => "the user".to_owned(),
        Actor::Model { agent, model } => format!("{agent} on {model}"),
        Actor::Tool { name } => format!("tool {name}"),
        Actor::Configuration => "configuration".to_owned(),
        Actor::Runtime => "the runtime".to_owned(),
    }
}

/// The label of a kind of span, and how it is painted.
pub(crate) fn label(sort: Sort) -> (&'static str, Tone) {
    match sort {
        Sort::AgentText => ("agent", Tone::Strong),
        Sort::Baseline | Sort::Blank => ("baseline", Tone::Context),
        Sort::User => ("user", Tone::User),
        Sort::Attachment => ("attached", Tone::User),
        Sort::System => ("system", Tone::Context),
        Sort::Synthetic | Sort::Added => ("runtime", Tone::Warn),
        Sort::Shell => ("shell", Tone::User),
        Sort::Compaction => ("compact", Tone::Context),
        Sort::Text => ("text", Tone::Model),
        Sort::Reasoning => ("thought", Tone::Model),
        Sort::Call => ("call", Tone::Tool),
        Sort::Result => ("result", Tone::Tool),
        Sort::Pruned => ("pruned", Tone::Warn),
        Sort::Prompt => ("prompt", Tone::Strong),
        Sort::Tool => ("tool", Tone::Tool),
        Sort::Options => ("options", Tone::Strong),
    }
}
