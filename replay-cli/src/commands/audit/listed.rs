//! Lists of rules, and of what expressions may name.

use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::layout::{name, pad, plain, wrap};
use crate::style::{Emphasis, Style};
use annals_rules::{AuditRule, AuditedRule, COMMON_FIELDS, FactField, FactKind, FactType, shipped};
use serde_json::{Value, json};
use std::io::Write;

/// Lists the rules of these names; those of the program without one.
pub(super) fn rules(names: &[String], cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let mut rules: Vec<AuditRule> = Vec::new();
    for name in names {
        rules.extend(AuditRule::named(name)?);
    }
    if names.is_empty() {
        rules = shipped()?;
    }
    if cli.style.json {
        json::list(out, rules.iter().map(AuditedRule::from))?;
        return Ok(Verdict::Fine);
    }
    let width = rules.iter().map(|rule| rule.id.chars().count()).max().unwrap_or_default();
    for rule in &rules {
        let id = style_id(&rule.id, width, &cli.style);
        writeln!(out, "{id}  {}  {}", pad(rule.level.name(), 7), plain(&rule.title))?;
        for line in wrap(&plain(&rule.help), cli.style.width.saturating_sub(4)) {
            writeln!(out, "    {}", cli.style.paint(Emphasis::Dim, &line))?;
        }
    }
    Ok(Verdict::Fine)
}

fn style_id(id: &str, width: usize, style: &Style) -> String {
    style.paint(Emphasis::Strong, &pad(&name(id), width))
}

/// Lists kinds of facts and fields.
pub(super) fn fields(cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    if cli.style.json {
        json::list(out, FactKind::ALL.iter().map(|kind| kind_json(*kind)))?;
        return Ok(Verdict::Fine);
    }
    let mut section = |title: &str, about: &str, fields: &[FactField]| -> Result<(), CliError> {
        writeln!(out, "{}  {about}", cli.style.paint(Emphasis::Strong, title))?;
        for field in fields {
            let head = format!("  {}  {}  ", pad(field.name(), 13), pad(field.value_type().name(), 8));
            let indent = head.chars().count();
            let mut about = field.about().to_owned();
            if let FactType::Word(words) = field.value_type() {
                about = format!("{about} One of {}.", words.join(", "));
            }
            for (number, line) in wrap(&about, cli.style.width.saturating_sub(indent)).iter().enumerate() {
                let head = if number == 0 { head.clone() } else { " ".repeat(indent) };
                writeln!(out, "{head}{line}")?;
            }
        }
        Ok(())
    };
    section("(every kind)", "", &COMMON_FIELDS)?;
    for kind in FactKind::ALL {
        section(kind.name(), kind.about(), kind.fields())?;
    }
    Ok(Verdict::Fine)
}

fn kind_json(kind: FactKind) -> Value {
    let fields: Vec<Value> = kind
        .fields()
        .iter()
        .chain(&COMMON_FIELDS)
        .map(|field| {
            let words = match field.value_type() {
                FactType::Word(words) => Some(words),
                _ => None,
            };
            json!({"name": field.name(), "type": field.value_type().name(), "words": words, "about": field.about()})
        })
        .collect();
    json!({"kind": kind.name(), "about": kind.about(), "fields": fields})
}
