//! What stands above and below a timeline.

use crate::layout::{Sheet, name, plain, wrap};
use crate::pricing::Cost;
use crate::style::{Emphasis, counted, duration, thousands};
use annals_inspect::statistics::Audit;
use annals_store::exchange::VerifyReport;
use std::io;

/// Columns of the names in the summary.
const NAME: usize = 11;

/// Who, where, when, and whether it is unaltered.
pub fn head(audit: &Audit, report: &VerifyReport, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let (session, style) = (&audit.session, sheet.style);
    let title = session.title.as_deref().filter(|title| !title.trim().is_empty());
    let title = title.or(audit.opening.as_deref()).unwrap_or("An empty session");
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
    }
    if let Some(parent) = &session.parent {
        lines.push(format!("started by session {}", parent.session));
    }
    if let Some(fork) = &session.fork {
        lines.push(format!("forked from session {} after event {}", fork.parent, fork.cut.0.saturating_sub(1)));
    }
    let place = session.location.as_ref().map(|location| format!(" in {}", location.directory)).unwrap_or_default();
    lines.push(format!("{} on {}{place}", session.agent, session.model));
    if let Some(began) = audit.began {
        let long = Some(audit.lasted()).filter(|ms| *ms > 0).map(|ms| format!(", {} long", duration(ms)));
        lines.push(format!("{}{}", style.moment(began), long.unwrap_or_default()));
    }
    for line in lines {
        for line in wrap(&name(&line), style.width) {
            writeln!(sheet.out, "{}", style.paint(Emphasis::Dim, &line))?;
        }
    }
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
pub fn foot(audit: &Audit, report: &VerifyReport, cost: Cost, sheet: &mut Sheet<'_>) -> io::Result<()> {
    writeln!(sheet.out)?;
    sheet.rule("total", "", Emphasis::Strong)?;
    let mut facts = vec![counted(audit.turns, "user message"), counted(audit.steps, "answer")];
    facts.extend((audit.failed > 0).then(|| format!("{} failed", audit.failed)));
    facts.extend((audit.retries > 0).then(|| counted(audit.retries, "retry")));
    facts.extend((audit.lasted() > 0).then(|| duration(audit.lasted())));
    fact(sheet, "turns", &facts.join(", "), Emphasis::Plain)?;
    let tools: Vec<String> = audit
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
    let tokens = &audit.usage.tokens;
    if audit.usage.attempts > 0 {
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
    facts.push(match audit.epochs.marks.len() {
        0 => "no system prompt recorded".to_owned(),
        count => counted(count as u64, "system prompt"),
    });
    facts.extend((audit.told > 0).then(|| counted(audit.told, "context update")));
    facts.extend((audit.compactions > 0).then(|| counted(audit.compactions, "compaction")));
    facts.extend((!audit.undone.is_empty()).then(|| counted(audit.undone.len() as u64, "committed revert")));
    fact(sheet, "context", &facts.join(", "), Emphasis::Plain)?;
    match audit.anomaly_count() {
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
        writeln!(sheet.out, "{name}{}", sheet.style.paint(emphasis, line))?;
    }
    Ok(())
}
