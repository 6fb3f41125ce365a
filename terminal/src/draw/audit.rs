//! Draws an audit: counts, then the calls to look at.

use crate::layout::{clip, columns, name, pad, plain, wrap};
use crate::shown_title::shown_title;
use crate::style::{Emphasis, Style, counted, thousands};
use annals_core::event::Rule;
use annals_inspect::reader::short_ids;
use annals_inspect::safety::{
    AuditedCall, CallDecision, CallOutcome, CommandConfinement, CommandCounts, Destinations, SafetyAudit,
};
use annals_projections::Catalogue;
use std::io::{self, Write};

/// Columns before the texts of a call.
const INDENT: usize = 13;
/// Lines of a command that are shown.
const LINES: usize = 6;

/// Draws the answer.
pub fn draw(audit: &SafetyAudit, catalogue: &Catalogue, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut facts = vec![counted(audit.sessions, "session"), counted(audit.calls, "call")];
    let hosted = (audit.hosted > 0).then(|| format!("{} by the provider itself", thousands(audit.hosted)));
    let foreign = (audit.not_recorded > 0)
        .then(|| format!("{} of other agents, whose permissions were not recorded", thousands(audit.not_recorded)));
    facts.extend(hosted.into_iter().chain(foreign));
    write_wrapped(&facts.join(", "), 0, Emphasis::Strong, style, out)?;
    decisions(audit, style, out)?;
    for (label, text) in summary(audit) {
        let lines = wrap(&text, style.width.saturating_sub(INDENT));
        for (at, line) in lines.iter().enumerate() {
            let label = pad(if at == 0 { label } else { "" }, INDENT);
            writeln!(out, "{}{line}", style.paint(Emphasis::Dim, &label))?;
        }
    }
    listed(audit, catalogue, style, out)
}

/// The table of decisions.
fn decisions(audit: &SafetyAudit, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<[String; 4]> = audit
        .decisions
        .iter()
        .map(|row| {
            let action = if row.action.is_empty() { "(others)".to_owned() } else { name(&row.action) };
            let by = author(&row.by, row.rule.as_ref(), None);
            [thousands(row.count), row.outcome.name().to_owned(), action, by]
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let width = |at: usize| rows.iter().map(|row| columns(&row[at])).max().unwrap_or_default();
    let widths = [width(0).max(INDENT - 2), width(1), width(2).min(28)];
    writeln!(out)?;
    for (row, decision) in rows.iter().zip(&audit.decisions) {
        let [count, outcome, action, by] = row;
        let count = format!("{}{count}", " ".repeat(widths[0].saturating_sub(columns(count))));
        let outcome = style.paint(emphasis(decision.outcome), &pad(outcome, widths[1]));
        let line = format!("{count}  {outcome}  {}  {by}", pad(&clip(action, widths[2]), widths[2]));
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out)?;
    Ok(())
}

fn summary(audit: &SafetyAudit) -> Vec<(&'static str, String)> {
    let CommandCounts { confined, outside, unconfined, unknown, not_run, with_network, refused, put_back, by_user } =
        audit.commands;
    let parts = [
        (confined, "in the sandbox"),
        (with_network, "of them with a network"),
        (refused, "of them seem to have been refused something"),
        (put_back, "of them after which protected files were put back"),
        (outside, "outside of the sandbox"),
        (unconfined, "without a sandbox"),
        (unknown, "not known whether in a sandbox"),
        (not_run, "not run"),
        (by_user, "by the user"),
    ];
    let list = |parts: &mut dyn Iterator<Item = (u64, &str)>| -> String {
        let shown: Vec<String> =
            parts.filter(|(n, _)| *n > 0).map(|(n, text)| format!("{} {text}", thousands(n))).collect();
        shown.join(", ")
    };
    let commands = list(&mut parts.into_iter());
    let outside = match audit.outside_project {
        0 => String::new(),
        count => format!("named in {}", counted(count, "call")),
    };
    let redactions = list(&mut audit.redactions.iter().map(|(kind, count)| (*count, kind.as_str())));
    let requests = list(&mut audit.requests.iter().map(|(model, count)| (*count, model.as_str())));
    let Destinations { hosts, mcp, unnamed } = &audit.destinations;
    let mut destinations: Vec<String> =
        hosts.iter().map(|(host, count)| format!("{host} ({})", thousands(*count))).collect();
    destinations.extend(mcp.iter().map(|(server, count)| format!("MCP server {server} ({})", thousands(*count))));
    destinations.extend((*unnamed > 0).then(|| format!("not known for {}", counted(*unnamed, "command"))));
    let all = [
        ("commands", commands),
        ("outside", outside),
        ("redacted", redactions),
        ("requests", requests),
        ("network", destinations.join(", ")),
    ];
    let none = |label: &str| matches!(label, "outside" | "redacted" | "network");
    let rows = all.into_iter().filter_map(|(label, text)| match text.is_empty() {
        true if none(label) => Some((label, "nothing".to_owned())),
        true => None,
        false => Some((label, name(&text))),
    });
    rows.collect()
}

/// The calls, below their sessions.
fn listed(audit: &SafetyAudit, catalogue: &Catalogue, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let ids = short_ids(&catalogue.sessions.keys().copied().collect::<Vec<_>>());
    if audit.omitted > 0 {
        let text = format!("… {} before these; -n COUNT lists more", counted(audit.omitted, "call"));
        writeln!(out, "\n{}", style.paint(Emphasis::Dim, &text))?;
    }
    let mut session = None;
    for call in &audit.listed {
        if session.replace(call.session) != Some(call.session) {
            let id = ids.get(&call.session).cloned().unwrap_or_else(|| call.session.to_string());
            let title =
                catalogue.sessions.get(&call.session).map(|entry| shown_title(&entry.title)).unwrap_or_default();
            let head = clip(&format!("{id}  {title}"), style.width);
            writeln!(out, "\n{}", style.paint(Emphasis::Context, head.trim_end()))?;
        }
        one(call, style, out)?;
    }
    Ok(())
}

fn one(call: &AuditedCall, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let head = style.paint(Emphasis::Strong, &format!("event {:>5}", call.seq));
    let tool = style.paint(Emphasis::Tool, &name(&call.tool));
    writeln!(out, "{head}  {}  {tool}", style.paint(Emphasis::Dim, &style.exact(call.at)))?;
    let subject = plain(&call.subject);
    let lines = wrap(subject.trim_end(), style.width.saturating_sub(INDENT));
    for line in lines.iter().take(LINES) {
        writeln!(out, "{:INDENT$}{line}", "")?;
    }
    if let Some(more) = lines.len().checked_sub(LINES).filter(|more| *more > 0) {
        write_wrapped(&format!("… {}", counted(more as u64, "more line")), INDENT, Emphasis::Dim, style, out)?;
    }
    for decision in &call.decisions {
        write_wrapped(&decided(decision), INDENT, emphasis(decision.outcome), style, out)?;
    }
    let mut ran: Vec<String> = Vec::new();
    if let Some(confinement) = call.confinement.filter(|found| *found != CommandConfinement::NotRun) {
        ran.push(confinement.name().to_owned());
        ran.extend(call.network.then(|| "with a network".to_owned()));
        ran.extend(call.refused.then(|| "seems to have been refused something".to_owned()));
    }
    ran.extend((!call.hosts.is_empty()).then(|| format!("hosts: {}", name(&call.hosts.join(" ")))));
    ran.extend(call.put_back.iter().map(|path| format!("put back: {}", name(path))));
    ran.extend(call.outside_project.iter().map(|path| format!("outside of the project: {}", name(path))));
    if !ran.is_empty() {
        write_wrapped(&ran.join(", "), INDENT, Emphasis::Warn, style, out)?;
    }
    Ok(())
}

fn decided(decision: &CallDecision) -> String {
    let about = match decision.resources.as_slice() {
        [] => String::new(),
        resources => format!(" on {}", resources.iter().map(|it| name(it)).collect::<Vec<_>>().join(", ")),
    };
    let author = author(&decision.by, decision.rule.as_ref(), decision.approved.map(|seq| seq.0));
    let author = if author.is_empty() { String::new() } else { format!(" by {author}") };
    let asked = decision.asked.map(|seq| format!(" (asked in event {seq})")).unwrap_or_default();
    format!("{}{author}: {}{about}{asked}", decision.outcome.name(), name(&decision.action))
}

/// Who or what decided.
fn author(by: &str, rule: Option<&Rule>, approved: Option<u64>) -> String {
    let Some(Rule { action, resource, effect }) = rule else {
        return match by {
            "rule" => "a rule".to_owned(),
            "reply" => "a rule of an earlier reply".to_owned(),
            by => name(by),
        };
    };
    let given = approved.map(|seq| format!(" of the reply in event {seq}")).unwrap_or_default();
    format!("rule [{}, {}, {}]{given}", name(action), name(resource), effect.as_str())
}

const fn emphasis(outcome: CallOutcome) -> Emphasis {
    match outcome {
        CallOutcome::Allowed | CallOutcome::AllowedAlways => Emphasis::Good,
        CallOutcome::Denied | CallOutcome::Rejected => Emphasis::Bad,
        CallOutcome::Unanswered | CallOutcome::Unknown => Emphasis::Dim,
    }
}

fn write_wrapped(text: &str, indent: usize, emphasis: Emphasis, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    for line in wrap(&plain(text), style.width.saturating_sub(indent)) {
        writeln!(out, "{:indent$}{}", "", style.paint(emphasis, &line))?;
    }
    Ok(())
}
