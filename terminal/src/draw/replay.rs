//! Draws the lines above and below a timeline.

use crate::layout::{Sheet, name, plain, wrap};
use crate::style::{Emphasis, counted, duration, thousands};
use annals_core::event::ProcessInfo;
use annals_inspect::pricing::Cost;
use annals_inspect::resume;
use annals_inspect::timeline::one_line;
use annals_projections::Statistics;
use annals_store::exchange::VerifyReport;
use std::io;

/// Columns of the names in the summary.
const NAME: usize = 11;

/// Who, where and when.
pub fn head(statistics: &Statistics, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let (session, style) = (&statistics.session, sheet.style);
    let opening = statistics.opening.as_ref().and_then(|text| text.inline()).map(one_line);
    let title = session.title.as_deref().filter(|title| !title.trim().is_empty());
    let title = title.or(opening.as_deref()).unwrap_or("An empty session");
    for line in wrap(&name(title), style.width) {
        writeln!(sheet.out, "{}", style.paint(Emphasis::Strong, &line))?;
    }
    let mut lines = Vec::new();
    if let Some(id) = session.id {
        lines.push(format!("session {id}"));
    }
    if let Some(origin) = &session.origin {
        let version = origin.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        lines.push(format!("recorded by {}{version} as {}", origin.agent, origin.id));
        lines.extend(resume::command(origin).map(|command| format!("to continue it there: {command}")));
    }
    if let Some(parent) = &session.parent {
        lines.push(format!("started by session {}", parent.session));
    }
    if let Some(fork) = &session.fork {
        lines.push(format!("forked from session {} after event {}", fork.parent, fork.cut.0.saturating_sub(1)));
    }
    let place = session.location.as_ref().map(|location| format!(" in {}", location.directory)).unwrap_or_default();
    lines.push(format!("{} on {}{place}", session.agent, session.model));
    // Of an imported session the second line has program and version already.
    let repeats = |process: &ProcessInfo| {
        session.origin.as_ref().is_some_and(|origin| {
            let (program, version) = (origin.agent.clone(), origin.version.clone());
            *process == ProcessInfo { program, version, ..ProcessInfo::default() }
        })
    };
    let process = session.process.as_ref().filter(|process| !repeats(process));
    lines.extend(process.map(|process| format!("last process: {process}")));
    if let Some(began) = statistics.began {
        let long = Some(statistics.duration_ms()).filter(|ms| *ms > 0).map(|ms| format!(", {} long", duration(ms)));
        lines.push(format!("{}{}", style.moment(began), long.unwrap_or_default()));
    }
    for line in lines {
        for line in wrap(&name(&line), style.width) {
            writeln!(sheet.out, "{}", style.paint(Emphasis::Dim, &line))?;
        }
    }
    Ok(())
}

/// That the session is verified after it is shown.
pub fn verified_last(events: u64, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let line = format!("{}, verified at the end", counted(events, "event"));
    writeln!(sheet.out, "{}", sheet.style.paint(Emphasis::Dim, &line))
}

/// Whether it is unaltered.
pub fn verdict(report: &VerifyReport, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let style = sheet.style;
    let facts = counted(report.events, "event");
    if report.is_sound() {
        writeln!(sheet.out, "{} {facts}, integrity verified", style.paint(Emphasis::Good, "✓"))
    } else {
        let count = counted(report.damage.len() as u64 + report.more, "damaged place");
        writeln!(sheet.out, "{} {facts}, {}", style.paint(Emphasis::Bad, "✗"), style.paint(Emphasis::Bad, &count))?;
        for damage in &report.damage {
            for line in wrap(&plain(&damage.to_string()), style.width.saturating_sub(2)) {
                writeln!(sheet.out, "  {}", style.paint(Emphasis::Bad, &line))?;
            }
        }
        Ok(())
    }
}

/// What it all added up to.
pub fn foot(statistics: &Statistics, report: &VerifyReport, cost: Cost, sheet: &mut Sheet<'_>) -> io::Result<()> {
    writeln!(sheet.out)?;
    sheet.rule("total", "", Emphasis::Strong)?;
    let mut facts = vec![counted(statistics.turns, "user message"), counted(statistics.steps, "answer")];
    facts.extend((statistics.failed > 0).then(|| format!("{} failed", statistics.failed)));
    facts.extend((statistics.retries > 0).then(|| counted(statistics.retries, "retry")));
    facts.extend((statistics.duration_ms() > 0).then(|| duration(statistics.duration_ms())));
    fact(sheet, "turns", &facts.join(", "), Emphasis::Plain)?;
    let tools: Vec<String> = statistics
        .tools
        .iter()
        .map(|(name, count)| match count.failed {
            0 => format!("{name} {}", count.calls),
            failed => format!("{name} {} ({failed} failed)", count.calls),
        })
        .collect();
    if !tools.is_empty() {
        fact(sheet, "tools", &tools.join(", "), Emphasis::Plain)?;
    }
    let tokens = &statistics.usage.tokens;
    if statistics.usage.attempts > 0 {
        let mut facts = vec![format!("{} in", thousands(tokens.input))];
        facts.extend((tokens.cache_read > 0).then(|| format!("{} from cache", thousands(tokens.cache_read))));
        facts.extend((tokens.cache_write > 0).then(|| format!("{} to cache", thousands(tokens.cache_write))));
        facts.push(format!("{} out", thousands(tokens.output)));
        facts.extend((tokens.reasoning > 0).then(|| format!("{} reasoning", thousands(tokens.reasoning))));
        fact(sheet, "tokens", &facts.join(", "), Emphasis::Plain)?;
        let how = match (cost.is_estimated, cost.is_incomplete) {
            (_, true) if cost.is_unknown() => " (no price is known)",
            (_, true) => " (at least: the price of some models is not known)",
            (true, false) => " (estimated from list prices)",
            (false, false) => "",
        };
        fact(sheet, "cost", &format!("{}{how}", cost.shown()), Emphasis::Plain)?;
    }
    let mut facts = Vec::new();
    facts.push(match statistics.epochs.marks.len() {
        0 => "no system prompt recorded".to_owned(),
        count => counted(count as u64, "system prompt"),
    });
    facts.extend((statistics.context_messages > 0).then(|| counted(statistics.context_messages, "context update")));
    facts.extend((statistics.compactions > 0).then(|| counted(statistics.compactions, "compaction")));
    facts.extend((!statistics.undone.is_empty()).then(|| counted(statistics.undone.len() as u64, "committed revert")));
    fact(sheet, "context", &facts.join(", "), Emphasis::Plain)?;
    match statistics.anomaly_count() {
        0 => {}
        count => fact(sheet, "anomalies", &counted(count, "place"), Emphasis::Bad)?,
    }
    if let Some(digest) = report.sessions.last().and_then(|proven| proven.digest).filter(|_| report.is_sound()) {
        fact(sheet, "head", &digest.to_string(), Emphasis::Dim)?;
    }
    Ok(())
}

fn fact(sheet: &mut Sheet<'_>, name: &str, text: &str, emphasis: Emphasis) -> io::Result<()> {
    let room = sheet.style.width.saturating_sub(NAME).max(20);
    for (at, line) in wrap(&crate::layout::name(text), room).iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        let name = sheet.style.paint(Emphasis::Strong, &format!("{name:<NAME$}"));
        // A digest that does not fit next to its name is copied more easily from a line of its own.
        let gap = if crate::layout::columns(line) <= room { "" } else { "\n" };
        writeln!(sheet.out, "{name}{gap}{}", sheet.style.paint(emphasis, line))?;
    }
    Ok(())
}
