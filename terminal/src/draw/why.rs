//! Draws provenance on the sheet of timelines.

use crate::layout::{Sheet, plain};
use crate::style::{Emphasis, counted};
use annals_inspect::why::Sort;
use annals_inspect::why::{Actor, Origin, Why};
use annals_inspect::{IndexedRequest, Lack};
use std::io;

/// How many lines of a span are shown when it is not shown whole.
const BRIEF: usize = 3;

/// Draws the answer; with `full`, every text whole.
pub fn draw(why: &Why, full: bool, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let style = sheet.style;
    let right = format!("event {} · {}", why.step.seq, style.clock(why.step.at));
    sheet.rule(&heading(&why.step, Some(why.steps)), &right, Emphasis::Strong)?;
    if let Some(sentence) = Lack::sentence(&why.lacks) {
        sheet.row(None, ("missing", Emphasis::Warn), (&sentence, Emphasis::Plain), ("", Emphasis::Dim))?;
    }
    let mut part = "";
    for origin in why.spans.iter().filter(|origin| origin.span.sort != Sort::Blank || why.text.is_some()) {
        if origin.span.part != part {
            part = &origin.span.part;
            writeln!(sheet.out, "{}", style.paint(Emphasis::Dim, part))?;
        }
        row(origin, sheet)?;
        let text = plain(&origin.span.text);
        match &why.text {
            _ if full => sheet.quote(&text, Emphasis::Plain)?,
            None => sheet.quote_brief(&text, Emphasis::Plain, BRIEF)?,
            Some(wanted) => found(&text, wanted, sheet)?,
        }
    }
    Ok(())
}

/// What a request is, in words.
pub(crate) fn heading(step: &IndexedRequest, of: Option<u64>) -> String {
    let of = of.map(|of| format!(" of {of}")).unwrap_or_default();
    let attempt = if step.attempt > 1 { format!(", attempt {}", step.attempt) } else { String::new() };
    let rebuilt = if step.recorded { "" } else { " · rebuilt, not recorded" };
    format!("request {}{of} · {}{attempt} · {} on {}{rebuilt}", step.number, step.purpose, step.agent, step.model)
}

fn row(origin: &Origin, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let span = &origin.span;
    let (label, emphasis) = label(span.sort);
    let mut line: Vec<String> =
        origin.files.iter().take(BRIEF).map(|at| format!("{}:{}", plain(&at.file), at.line)).collect();
    if origin.files.len() > BRIEF {
        line.push(format!("and {} more", counted((origin.files.len() - BRIEF) as u64, "line")));
    }
    if !span.sources.is_empty() {
        line.push(span.sources.join(", "));
    }
    line.push(by(&span.actor));
    match &origin.fact {
        Some(fact) => line.push(fact.kind.to_owned()),
        None if span.sort == Sort::Unknown => line.push("in the body, from no known event".to_owned()),
        None => {}
    }
    line.extend(span.admitted.map(|seq| format!("admitted at event {seq}")));
    let instead = if span.sort == Sort::Pruned { "output at" } else { "in the place of" };
    line.extend(span.settled.map(|seq| format!("{instead} event {seq}")));
    line.extend(
        span.pointer.as_ref().filter(|_| span.sort == Sort::Unknown).map(|pointer| format!("at {}", plain(pointer))),
    );
    line.push(if origin.turn == 0 { "before turn 1".to_owned() } else { format!("turn {}", origin.turn) });
    line.push(format!("since request {}", origin.since));
    line.extend(origin.fact.and_then(|fact| fact.inherited).map(|session| format!("inherited from {session}")));
    let before = if origin.unrecorded { "~" } else { "" };
    let time = origin.fact.map(|fact| format!("{before}{}", sheet.style.clock(fact.at))).unwrap_or_default();
    let seq = origin.fact.map(|fact| fact.seq);
    sheet.row(seq, (label, emphasis), (&line.join(" · "), Emphasis::Dim), (&time, Emphasis::Dim))?;
    Ok(())
}

/// The lines that hold the text.
fn found(text: &str, wanted: &str, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let wanted = plain(wanted);
    if wanted.contains('\n') {
        sheet.quote_brief(&wanted, Emphasis::Found, BRIEF)?;
        return Ok(());
    }
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(&wanted)).collect();
    for line in lines.iter().take(BRIEF) {
        sheet.quote(line.trim(), Emphasis::Plain)?;
    }
    if lines.len() > BRIEF {
        let more = format!("… {} with it", counted((lines.len() - BRIEF) as u64, "more line"));
        sheet.quote(&more, Emphasis::Dim)?;
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
pub(crate) fn label(sort: Sort) -> (&'static str, Emphasis) {
    match sort {
        Sort::AgentText => ("agent", Emphasis::Strong),
        Sort::Baseline | Sort::Blank => ("baseline", Emphasis::Context),
        Sort::User => ("user", Emphasis::User),
        Sort::Attachment => ("attached", Emphasis::User),
        Sort::System => ("system", Emphasis::Context),
        Sort::Synthetic | Sort::Added => ("runtime", Emphasis::Warn),
        Sort::Shell => ("shell", Emphasis::User),
        Sort::Compaction => ("compact", Emphasis::Context),
        Sort::Text => ("text", Emphasis::Model),
        Sort::Reasoning => ("thought", Emphasis::Model),
        Sort::Call => ("call", Emphasis::Tool),
        Sort::Result => ("result", Emphasis::Tool),
        Sort::Pruned => ("pruned", Emphasis::Warn),
        Sort::Prompt => ("prompt", Emphasis::Strong),
        Sort::Tool => ("tool", Emphasis::Tool),
        Sort::Options => ("options", Emphasis::Strong),
        Sort::Unknown => ("unknown", Emphasis::Warn),
    }
}
