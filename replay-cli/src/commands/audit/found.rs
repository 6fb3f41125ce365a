//! Draws findings: what was found, where, and the events that explain it.

use crate::error::CliError;
use crate::layout::{name, plain, wrap};
use crate::style::{Emphasis, Style, counted};
use annals_rules::{FoundByRule, RelatedFact, RuleAudit, RuleLevel};
use std::io::Write;

/// Columns before the facts of a finding.
const INDENT: usize = 2;

pub(super) fn draw(audit: &RuleAudit, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    for (number, found) in audit.findings.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        one(found, style, out)?;
    }
    if audit.omitted > 0 {
        let text = format!("\u{2026} {} more", counted(audit.omitted, "finding"));
        writeln!(out, "\n{}", style.paint(Emphasis::Dim, &text))?;
    }
    Ok(())
}

fn one(found: &FoundByRule, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    let emphasis = match found.level {
        RuleLevel::Error => Emphasis::Bad,
        RuleLevel::Warning => Emphasis::Warn,
        RuleLevel::Note => Emphasis::Dim,
    };
    let level = style.paint(emphasis, found.level.name());
    writeln!(out, "{level} {}", style.paint(Emphasis::Strong, &name(&found.rule)))?;
    if found.rule != "where" {
        lines(&found.title, INDENT, Emphasis::Plain, style, out)?;
    }
    fact(&found.fact, found, "", style, out)?;
    for related in &found.related {
        fact(related, found, &related.name, style, out)?;
    }
    if found.open {
        lines("no later event of the session says otherwise", INDENT, Emphasis::Dim, style, out)?;
    }
    Ok(())
}

/// A fact with its place: `annals show SESSION EVENT` shows it whole.
fn fact(
    fact: &RelatedFact,
    found: &FoundByRule,
    label: &str,
    style: &Style,
    out: &mut dyn Write,
) -> Result<(), CliError> {
    let place = format!("{}@{}", fact.session, fact.seq);
    let mut facts = vec![format!("turn {}", fact.turn)];
    if fact.session != found.session {
        facts.push("inherited".to_owned());
    }
    facts.extend(fact.call.as_ref().map(|call| format!("call {}", name(call))));
    let label = if label.is_empty() { String::new() } else { format!("{}: ", name(label)) };
    let head = format!("{label}{place}  {}", facts.join("  "));
    lines(&head, INDENT, if label.is_empty() { Emphasis::Context } else { Emphasis::Dim }, style, out)?;
    lines(&fact.excerpt, INDENT + 2, Emphasis::Plain, style, out)
}

fn lines(text: &str, indent: usize, emphasis: Emphasis, style: &Style, out: &mut dyn Write) -> Result<(), CliError> {
    for line in wrap(&plain(text), style.width.saturating_sub(indent)) {
        writeln!(out, "{:indent$}{}", "", style.paint(emphasis, &line))?;
    }
    Ok(())
}
