//! An audit by rules.

use super::{Args, AuditedSessions, found, project_of};
use crate::command_context::CommandContext;
use crate::error::{CliError, Verdict};
use crate::json;
use crate::style::counted;
use annals_rules::{AuditRule, RuleAudit, RuleError, RuleQuery, audit, sarif, shipped};
use annals_store::cache::ViewCache;
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

/// The rules of the options, and the other values that follow them on the command line: sessions.
fn rules(args: &Args) -> Result<(Vec<AuditRule>, Vec<String>), RuleError> {
    let mut rules = Vec::new();
    for expression in &args.rules.expressions {
        rules.push(AuditRule::of_expression(expression)?);
    }
    if rules.len() > 1 {
        for (rule, number) in rules.iter_mut().zip(1..) {
            rule.id = format!("where-{number}");
        }
    }
    let names = args.rules.rules.as_deref().unwrap_or_default();
    let is_session = |name: &&String| {
        let path = Path::new(name.as_str());
        path.is_file() && path.extension().is_none_or(|extension| extension != "rule") || name.starts_with('@')
    };
    let end = names.iter().position(|name| is_session(&name)).unwrap_or(names.len());
    let (names, sessions) = names.split_at(end);
    for name in names {
        rules.extend(AuditRule::named(name)?);
    }
    if rules.is_empty() {
        rules = shipped()?;
    }
    Ok((rules, sessions.to_vec()))
}

/// The folder with the states of rules, for this user alone: a state contains what findings show of texts.
fn states(folder: &Path) -> Result<Arc<ViewCache>, CliError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|source| CliError::File { path: folder.to_owned(), source })?;
    Ok(Arc::new(ViewCache::in_folder(folder)))
}

pub(super) async fn run(args: &Args, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<Verdict, CliError> {
    let (rules, more) = rules(args)?;
    let named: Vec<String> = args.sessions.iter().chain(&more).cloned().collect();
    let mut answer = RuleAudit::default();
    let states = args.rules.state.as_deref().map(states).transpose()?;
    for AuditedSessions { reader, sessions, named, .. } in args.audited(&named, cli).await? {
        let limit = args.limit.unwrap_or(usize::MAX).saturating_sub(answer.findings.len());
        let query = RuleQuery { rules: rules.clone(), sessions, inherited: named, limit, states: states.clone() };
        answer = answer.and(audit(&reader, &query, &project_of).await?);
    }
    let report = args.rules.sarif.as_ref().map(|_| sarif(&answer, "Annals", env!("CARGO_PKG_VERSION")));
    match (&args.rules.sarif, report) {
        (Some(None), Some(report)) => json::object(out, &report)?,
        (Some(Some(path)), Some(report)) => {
            write(path, &report)?;
            draw(&answer, cli, out)?;
        }
        _ => draw(&answer, cli, out)?,
    }
    for unreadable in &answer.unreadable {
        let (session, seq, reason) = (unreadable.session, unreadable.seq, &unreadable.reason);
        cli.remark(&format!("session {session} is damaged at event {seq} and was read up to it: {reason}"));
    }
    for limit in &answer.limits {
        let (rule, session) = (&limit.rule, limit.session);
        cli.remark(&format!(
            "{rule} remembers a limited number of facts, and session {session} has more: findings may be missing there"
        ));
    }
    cli.remark(&summary(&answer, states.is_some()));
    let found = answer.rules.iter().any(|rule| rule.findings > 0);
    Ok(Verdict::bad_if(args.rules.deny && found || !answer.unreadable.is_empty()))
}

fn draw(answer: &RuleAudit, cli: &CommandContext, out: &mut (dyn Write + Send)) -> Result<(), CliError> {
    match cli.style.json {
        true => Ok(json::object(out, answer)?),
        false => found::draw(answer, &cli.style, out),
    }
}

fn summary(answer: &RuleAudit, resumes: bool) -> String {
    let total: u64 = answer.rules.iter().map(|rule| rule.findings).sum();
    let (rules, mut sessions) = (counted(answer.rules.len() as u64, "rule"), counted(answer.sessions, "session"));
    if resumes {
        sessions.push_str(&format!("; {} since the saved state", counted(answer.events, "new event")));
    }
    match total {
        0 => format!("nothing found by {rules} in {sessions}"),
        total => format!("{} by {rules} in {sessions}", counted(total, "finding")),
    }
}

fn write(path: &Path, report: &Value) -> Result<(), CliError> {
    let failed = |source| CliError::File { path: path.to_owned(), source };
    let mut text = serde_json::to_string_pretty(report).map_err(|error| failed(error.into()))?;
    text.push('\n');
    std::fs::write(path, text).map_err(failed)
}
